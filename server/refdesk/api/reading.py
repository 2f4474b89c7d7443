"""Reading: a visitor's conversations and turns, and the articles they may see."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any

from litestar import Request, delete, get, put
from litestar.params import FromPath, JSONBody, QueryParameter

from refdesk.api.ask import address_of, no_conversation, no_turn, own_turn
from refdesk.api.auth import required_visitor, visitor_of
from refdesk.api.contract import VISITOR_IF_ANY, VISITOR_ONLY
from refdesk.api.problems import problems
from refdesk.api.schemas import (
    MAX_COMMENT,
    ArticleList,
    ArticleResponse,
    ArticleSummary,
    ConversationResponse,
    FeedbackRequest,
    FoundPassage,
    SearchResponse,
    checked_text,
    may_be_id,
    storable,
)
from refdesk.api.services import Services, services_of
from refdesk.api.times import timestamp
from refdesk.assistant.withholding import visible_turn
from refdesk.domain.articles import ANONYMOUS, STAFF, Article, Roles
from refdesk.domain.conversation import Feedback, Turn
from refdesk.domain.gap_queue import Happened
from refdesk.errors import RequestError, StorageUnavailable
from refdesk.ports import Hit, SearchResult, Snapshot
from refdesk.text.redaction import redact

PAGE = 100
MAX_QUERY = 500
EXCERPT = 300


@get("/v1/conversations/{conversation_id:str}", security=VISITOR_ONLY, responses=problems(401, 404, 503))
async def conversation(request: Request[Any, Any, Any], conversation_id: FromPath[str]) -> ConversationResponse:
    services = services_of(request)
    visitor = await required_visitor(request)
    known = may_be_id(conversation_id)
    found = await services.store.conversation(conversation_id, visitor.id) if known else None
    if found is None:
        raise no_conversation()
    snapshot, roles = services.retriever.current(), frozenset(visitor.roles)
    turns = [visible_turn(stored, snapshot, roles) for stored in await services.store.turns(conversation_id)]
    return ConversationResponse(id=found.id, created_at=found.created_at, turns=turns)


@delete(
    "/v1/conversations/{conversation_id:str}",
    status_code=204,
    security=VISITOR_ONLY,
    responses=problems(401, 404, 503),
)
async def erase(request: Request[Any, Any, Any], conversation_id: FromPath[str]) -> None:
    """Erases the conversation, what of it is still in memory, and a turn that runs in it."""
    services = services_of(request)
    visitor = await required_visitor(request)
    known = may_be_id(conversation_id)
    if not known or not await services.store.delete_conversation(conversation_id, visitor.id):
        raise no_conversation()
    services.runs.forget(conversation_id)


@get("/v1/turns/{turn_id:str}", security=VISITOR_ONLY, responses=problems(401, 404, 503))
async def turn(request: Request[Any, Any, Any], turn_id: FromPath[str]) -> Turn:
    return await own_turn(request, turn_id, await required_visitor(request))


@put("/v1/turns/{turn_id:str}/feedback", security=VISITOR_ONLY, responses=problems(401, 404, 413, 415, 503))
async def feedback(
    request: Request[Any, Any, Any], turn_id: FromPath[str], data: JSONBody[FeedbackRequest]
) -> Feedback:
    """Up or down with a comment; may be changed."""
    visitor = await required_visitor(request)
    comment = storable(data.comment.strip(), "comment")
    if services_of(request).settings.redact:
        comment = redact(comment)
    if len(comment) > MAX_COMMENT:
        raise RequestError(400, "comment_too_long", f"`comment` may have {MAX_COMMENT} characters.", field="comment")
    given = Feedback(rating=data.rating, comment=comment)
    known = may_be_id(turn_id)
    if not known or not await services_of(request).store.set_feedback(turn_id, visitor.id, given):
        raise no_turn()
    if given.rating == "down":
        await tell_of_thumbs_down(services_of(request), turn_id)
    return given


async def tell_of_thumbs_down(services: Services, turn_id: str) -> None:
    """The webhook, where there is one; the visitor's feedback counts whether it can be told or not."""
    if services.gaps.tells:
        with suppress(StorageUnavailable):
            await services.gaps.store.add_event(Happened("feedback.down", turn_id, timestamp(services.clock.now())))


async def roles_of_request(request: Request[Any, Any, Any]) -> Roles:
    visitor = await visitor_of(request)
    return ANONYMOUS if visitor is None else frozenset(visitor.roles)


def summary(article: Article) -> ArticleSummary:
    return ArticleSummary(
        id=article.id,
        title=article.title,
        url=article.url,
        category=article.category,
        language=article.language,
        updated_at=article.updated,
    )


@get("/v1/articles", security=VISITOR_IF_ANY, responses=problems(401, 503))
async def articles(
    request: Request[Any, Any, Any],
    category: Annotated[str | None, QueryParameter(max_length=200, required=False)] = None,
    language: Annotated[str | None, QueryParameter(max_length=35, required=False)] = None,
    cursor: Annotated[str | None, QueryParameter(pattern=r"^[0-9]{1,8}$", required=False)] = None,
) -> ArticleList:
    """Titles the visitor may see; with `language`, of each translation family the variant in it, else the original."""
    roles = await roles_of_request(request)
    found = services_of(request).retriever.current().articles(roles, language=language, category=category)
    start = int(cursor or 0)
    more = start + PAGE < len(found)
    return ArticleList(
        articles=[summary(article) for article in found[start : start + PAGE]],
        total=len(found),
        next_cursor=str(start + PAGE) if more else None,
    )


@get("/v1/articles/{article_id:str}", security=VISITOR_IF_ANY, responses=problems(401, 404, 503))
async def article(request: Request[Any, Any, Any], article_id: FromPath[str]) -> ArticleResponse:
    roles = await roles_of_request(request)
    services = services_of(request)
    found = services.retriever.current().article(article_id, roles)
    if found is None or found.visibility == "title":
        raise RequestError(404, "article_not_found", "There is no such article.")
    return ArticleResponse(
        id=found.id,
        title=found.title,
        url=found.url,
        category=found.category,
        language=found.language,
        updated_at=found.updated,
        version=found.version,
        body=found.body,
        html=await services.syncing.article_html(found, roles),
    )


@get("/v1/search", security=VISITOR_IF_ANY, responses=problems(401, 429, 503))
async def search(
    request: Request[Any, Any, Any],
    q: Annotated[str, QueryParameter(min_length=1, description="What to search for")],
) -> SearchResponse:
    """Passages, best first. Staff also get the figures behind the order."""
    roles = await roles_of_request(request)
    services = services_of(request)
    text = checked_text(q, "q", MAX_QUERY)
    explained = STAFF in roles
    if not explained:
        await services.searches.take(services.limits.searches.use(address_of(request)))
    snapshot = services.retriever.current()
    result = await snapshot.search(text, roles)
    return SearchResponse(
        passages=[found_passage(hit, explanation(hit, result, snapshot) if explained else None) for hit in result.hits],
        searched=list(result.searched),
    )


def explanation(hit: Hit, result: SearchResult, snapshot: Snapshot) -> dict[str, float]:
    """Signals and ranks, and what the gate makes of them: a question passes if one passage reaches the threshold."""
    signals = {**result.signals, **hit.signals}
    return {**signals, "evidence_score": snapshot.evidence_score(signals), "threshold": snapshot.threshold}


def found_passage(hit: Hit, explained: dict[str, float] | None = None) -> FoundPassage:
    """`explained`: for staff."""
    article = hit.article
    return FoundPassage(
        id=article.id,
        title=article.title,
        url=article.url,
        section=hit.passage.section,
        excerpt=hit.text.strip()[:EXCERPT],
        language=article.language,
        updated_at=article.updated,
        score=None if explained is None else round(hit.score, 4),
        signals={name: round(value, 4) for name, value in (explained or {}).items()},
    )
