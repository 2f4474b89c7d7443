"""Articles as writers need them: how far each came, how a role sees one and the index its passages, what a question
would find."""

from __future__ import annotations

from typing import Any

from litestar import Request, Response, get
from litestar.params import FromPath
from markupsafe import Markup

from refdesk.api.article_figures import article_days, article_figures
from refdesk.api.console_turn import everybody
from refdesk.api.gap_schemas import ArticleDays
from refdesk.api.reading import MAX_QUERY, explanation
from refdesk.api.rehearsals import roles_wanted
from refdesk.api.schemas import checked_text
from refdesk.api.services import Services, services_of
from refdesk.api.staff import agents
from refdesk.console_pages.rendering import AnyRequest, show
from refdesk.domain.articles import PUBLIC, Article
from refdesk.errors import RequestError
from refdesk.ports import Hit

DAYS = ("found", "read", "opened", "cited", "listed", "shown", "failed")
MOST_HITS = 20


@get("/console/articles", guards=[agents], include_in_schema=False)
async def article_list(request: Request[Any, Any, Any]) -> Response[Any]:
    """What turns found of each, those read for most unanswered questions first; then the articles nobody was led to."""
    services = services_of(request)
    given = {name: request.query_params.get(name) or None for name in ("from", "to")}
    told = await article_figures.fn(request, since=given["from"], until=given["to"])
    snapshot = services.retriever.current()
    known = {figure.id for figure in told.articles}
    unfound = [article for article in snapshot.articles(everybody(snapshot)) if article.id not in known]
    return show(request, "articles.html", here="articles", told=told, unfound=unfound)


@get("/console/articles/{article_id:str}", guards=[agents], include_in_schema=False)
async def article_page(request: Request[Any, Any, Any], article_id: FromPath[str]) -> Response[Any]:
    """With `role`, as a visitor of it sees the article; without, as its file has it."""
    services = services_of(request)
    snapshot = services.retriever.current()
    article = snapshot.article(article_id, everybody(snapshot))
    if article is None:
        raise RequestError(404, "article_not_found", "There is no such article.")
    role = request.query_params.get("role", "")
    days: ArticleDays = await article_days.fn(request, article.id)
    return show(
        request,
        "article.html",
        here="articles",
        article=article,
        days=days,
        names=DAYS,
        role=role,
        roles=sorted(everybody(snapshot)),
        seen=await seen_by(services, article, role) if role else None,
        passages=[(passage, passage.text(article.body)) for passage in article.passages],
    )


async def seen_by(services: Services, article: Article, role: str) -> Markup | None:
    """The HTML that visitors of the role get; None: they may not read it. Raises RequestError 400: no such role."""
    roles = frozenset(roles_wanted(services, [role]))
    found = services.retriever.current().article(article.id, roles)
    if found is None or found.visibility == "title":
        return None
    return Markup(await services.syncing.article_html(found, roles))  # noqa: S704 - sanitised by `corpus.pages`


@get("/console/search", guards=[agents], include_in_schema=False)
async def search_page(request: Request[Any, Any, Any]) -> Response[Any]:
    """What a visitor of a role would find for a question: the order, the figures behind it, and what the gate makes of
    them."""
    services = services_of(request)
    query, role = request.query_params.get("q", ""), request.query_params.get("role", "") or PUBLIC
    roles = roles_wanted(services, [role])
    found = await found_for(request, query, frozenset(roles)) if query.strip() else None
    every = sorted(everybody(services.retriever.current()))
    return show(request, "search.html", here="articles", query=query, role=role, roles=every, found=found)


async def found_for(request: AnyRequest, query: str, roles: frozenset[str]) -> dict[str, Any]:
    snapshot = services_of(request).retriever.current()
    result = await snapshot.search(checked_text(query, "q", MAX_QUERY), roles, limit=MOST_HITS)
    hits: list[tuple[Hit, dict[str, float]]] = [(hit, explanation(hit, result, snapshot)) for hit in result.hits]
    best = max((figures["evidence_score"] for _, figures in hits), default=0.0)
    return {
        "hits": hits,
        "searched": result.searched,
        "degraded": result.degraded,
        "best": best,
        "threshold": snapshot.threshold,
        "passes": best >= snapshot.threshold,
    }
