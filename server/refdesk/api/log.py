"""The conversation log: finding, reading and judging what was answered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Literal, get_args

import msgspec
from litestar import Request, get, patch, post, put
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter
from litestar.response import Stream

from refdesk.api.ask import no_conversation, no_turn
from refdesk.api.console_schemas import (
    MAX_NOTE,
    MAX_TAG,
    MOST_TAGS,
    LogResponse,
    NoteRequest,
    TagsRequest,
    VerdictRequest,
)
from refdesk.api.console_turn import console_turn, everybody
from refdesk.api.contract import STAFF_ONLY
from refdesk.api.problems import problems
from refdesk.api.schemas import checked_text, may_be_id, storable
from refdesk.api.services import Services, services_of
from refdesk.api.staff import admins, agents, member_in, record
from refdesk.api.times import timestamp
from refdesk.domain.articles import PUBLIC
from refdesk.domain.console import Annotations, LogFilter, LoggedTurn, Note, TurnVerdict, Verdict
from refdesk.domain.conversation import Kind, Status, StoredTurn
from refdesk.domain.turn_diff import shown_sources
from refdesk.errors import RequestError
from refdesk.ports import Snapshot

PAGE = 50
MAX_Q = 500
EXPORT_PAGE = 200
NDJSON = "application/x-ndjson"

Text = Annotated[str | None, QueryParameter(max_length=200, required=False)]
From = Annotated[str | None, QueryParameter(name="from", required=False)]
To = Annotated[str | None, QueryParameter(name="to", required=False)]
"""Without a rule here: what Litestar refuses it names `until`."""
Query = Annotated[str | None, QueryParameter(max_length=MAX_Q, required=False)]


def log_filter(
    *,
    status: FromQuery[Status | None] = None,
    grounded: FromQuery[Literal["true", "false"] | None] = None,
    rating: FromQuery[Literal["up", "down"] | None] = None,
    kind: FromQuery[Kind | None] = None,
    language: Text = None,
    reason: Text = None,
    model_error: Text = None,
    verdict: FromQuery[Verdict | None] = None,
    tag: Text = None,
    visitor: Text = None,
    q: Query = None,
    since: From = None,
    until: To = None,
) -> LogFilter:
    return LogFilter(
        status=status,
        grounded=None if grounded is None else grounded == "true",
        rating=rating,
        kind=kind,
        language=language,
        reason=reason,
        model_error=model_error,
        verdict=verdict,
        tag=tag,
        visitor_id=visitor,
        q=storable(q or "", "q"),
        since=since,
        until=until,
    )


FILTER = {"wanted": Provide(log_filter, sync_to_thread=False)}
"""For handlers that take the filter of the log as query parameters."""


@get(
    "/v1/console/conversations",
    guards=[agents],
    dependencies=FILTER,
    security=STAFF_ONLY,
    responses=problems(401, 503),
)
async def conversations(
    request: Request[Any, Any, Any],
    wanted: NamedDependency[LogFilter],
    cursor: Text = None,
    limit: Annotated[int, QueryParameter(ge=1, le=200, required=False)] = PAGE,
) -> LogResponse:
    """Each conversation at its newest turn that passes every filter; the newest first."""
    page = await services_of(request).console.log(wanted, cursor=cursor, limit=limit)
    return LogResponse(conversations=list(page.entries), next_cursor=page.next_cursor)


@get(
    "/v1/console/conversations/{conversation_id:str}",
    guards=[agents],
    security=STAFF_ONLY,
    responses=problems(401, 404, 503),
)
async def conversation(request: Request[Any, Any, Any], conversation_id: FromPath[str]) -> dict[str, Any]:
    """All its turns, each with its evidence trail, and what staff have put to it."""
    services = services_of(request)
    found = await services.store.conversation(conversation_id, None) if may_be_id(conversation_id) else None
    if found is None:
        raise no_conversation()
    noted = await services.console.annotations(conversation_id)
    turns = await services.store.turns(conversation_id)
    snapshot = services.retriever.current()
    return {
        "id": found.id,
        "visitor_id": found.visitor_id,
        "created_at": found.created_at,
        "permalink": permalink(services, found.id),
        **msgspec.to_builtins(noted),
        "turns": [console_turn(stored, snapshot) for stored in turns],
    }


@get("/v1/console/turns/{turn_id:str}", guards=[agents], security=STAFF_ONLY, responses=problems(401, 404, 503))
async def turn(request: Request[Any, Any, Any], turn_id: FromPath[str]) -> dict[str, Any]:
    """One turn by its id alone: what a permalink names."""
    services = services_of(request)
    stored = await turn_of(services, turn_id)
    link = permalink(services, stored.turn.conversation_id, turn_id)
    return {**console_turn(stored, services.retriever.current()), "permalink": link}


async def turn_of(services: Services, turn_id: str) -> StoredTurn:
    stored = await services.store.turn(turn_id, None) if may_be_id(turn_id) else None
    if stored is None:
        raise no_turn()
    return stored


def permalink(services: Services, conversation_id: str, turn_id: str = "") -> str:
    """Relative to the server's own address where no public one is set."""
    place = f"/console/conversations/{conversation_id}" + (f"#{turn_id}" if turn_id else "")
    return f"{services.settings.public_url}{place}"


# --- notes, tags, verdicts -------------------------------------------------------------------


@post(
    "/v1/console/conversations/{conversation_id:str}/notes",
    status_code=201,
    guards=[agents],
    security=STAFF_ONLY,
    responses=problems(401, 404, 413, 415, 503),
)
async def add_note(
    request: Request[Any, Any, Any], conversation_id: FromPath[str], data: JSONBody[NoteRequest]
) -> Annotations:
    """Notes are only ever added: nobody's is overwritten."""
    services = services_of(request)
    note = Note(member_in(request).name, now(services), checked_text(data.text, "text", MAX_NOTE))
    if not may_be_id(conversation_id) or not await services.console.add_note(conversation_id, note):
        raise no_conversation()
    return await services.console.annotations(conversation_id)


@patch(
    "/v1/console/conversations/{conversation_id:str}/tags",
    guards=[agents],
    security=STAFF_ONLY,
    responses=problems(401, 404, 413, 415, 503),
)
async def change_tags(
    request: Request[Any, Any, Any], conversation_id: FromPath[str], data: JSONBody[TagsRequest]
) -> Annotations:
    """Adds some and removes others; what another agent does to other tags meanwhile stays."""
    services = services_of(request)
    for field, tags in (("add", data.add), ("remove", data.remove)):
        if len(tags) > MOST_TAGS:
            raise RequestError(400, "too_many_tags", f"`{field}`: at most {MOST_TAGS} tags at once.", field=field)
    add = [checked_text(tag, "add", MAX_TAG) for tag in data.add]
    remove = [checked_text(tag, "remove", MAX_TAG) for tag in data.remove]
    known = may_be_id(conversation_id) and await services.console.change_tags(
        conversation_id, add=add, remove=remove, author=member_in(request).name, at=now(services)
    )
    if not known:
        raise no_conversation()
    return await services.console.annotations(conversation_id)


@put(
    "/v1/console/turns/{turn_id:str}/verdict",
    guards=[agents],
    security=STAFF_ONLY,
    responses=problems(401, 404, 413, 415, 503),
)
async def set_verdict(
    request: Request[Any, Any, Any], turn_id: FromPath[str], data: JSONBody[VerdictRequest]
) -> TurnVerdict:
    """One for each turn. A later one replaces it; its note stays among the conversation's, and the audit log keeps who
    judged what."""
    services, member = services_of(request), member_in(request)
    stored = await turn_of(services, turn_id)
    note = storable(data.note.strip(), "note")[:MAX_NOTE]
    verdict = TurnVerdict(turn_id, data.verdict, member.name, now(services), note, known_ids(services, data.articles))
    if not await services.console.set_verdict(verdict):
        raise no_turn()
    if note:
        told = Note(member.name, verdict.created_at, f"{data.verdict}: {note}")
        await services.console.add_note(stored.turn.conversation_id, told)
    await record(request, "verdict", turn_id, verdict=data.verdict)
    return verdict


def known_ids(services: Services, ids: Sequence[str]) -> tuple[str, ...]:
    """Raises RequestError 400 for an article that does not exist: a misspelt id would be a case that always fails."""
    snapshot = services.retriever.current()
    for article_id in ids:
        if snapshot.article(article_id, everybody(snapshot)) is None:
            raise RequestError(400, "article_unknown", "`articles` names one that does not exist.", field="articles")
    return tuple(dict.fromkeys(ids))


def now(services: Services) -> str:
    return timestamp(services.clock.now())


# --- verdicts as cases -----------------------------------------------------------------------


@get(
    "/v1/console/verdicts.jsonl",
    guards=[admins],
    security=STAFF_ONLY,
    media_type=NDJSON,
    responses=problems(401, 503),
)
async def verdict_cases(request: Request[Any, Any, Any], since: From = None, until: To = None) -> Stream:
    """Judged questions as `refdesk eval` reads them, one a line. A verdict that tells neither which articles answer nor
    that none does makes no case."""
    services = services_of(request)
    wanted = [LogFilter(verdict=verdict, since=since, until=until) for verdict in get_args(Verdict)]
    await services.console.exported(wanted[0], limit=1)  # refuses a wrong time before the answer begins
    await record(request, "export", "verdicts")
    return attachment(case_lines(services, wanted), "verdicts.jsonl", NDJSON)


def attachment(chunks: AsyncIterator[bytes], name: str, media_type: str) -> Stream:
    headers = {
        "Content-Type": f"{media_type}; charset=utf-8",
        "Content-Disposition": f'attachment; filename="{name}"',
    }
    return Stream(chunks, headers=headers)


async def case_lines(services: Services, filters: Sequence[LogFilter]) -> AsyncIterator[bytes]:
    snapshot = services.retriever.current()
    for wanted in filters:
        async for logged in logged_turns(services, wanted):
            case = eval_case(logged, snapshot)
            if case is not None:
                yield msgspec.json.encode(case) + b"\n"


async def logged_turns(services: Services, wanted: LogFilter) -> AsyncIterator[LoggedTurn]:
    """Oldest first, read page by page: a large log is never in memory."""
    cursor = None
    while True:
        page = await services.console.exported(wanted, cursor=cursor, limit=EXPORT_PAGE)
        for logged in page.turns:
            yield logged
        cursor = page.next_cursor
        if cursor is None:
            return


def eval_case(logged: LoggedTurn, snapshot: Snapshot) -> dict[str, Any] | None:
    """Articles that are gone, or that the visitor's roles cannot read, are left out: no search could find them."""
    turn, right = logged.stored.turn, logged.verdict == "right"
    roles = frozenset(logged.stored.trail.roles) & everybody(snapshot)
    named = list(logged.articles) or (shown_sources(turn) if right else [])
    articles = [article_id for article_id in named if snapshot.article(article_id, roles) is not None]
    if not articles and (named or not (right and turn.status == "insufficient")):
        return None
    return {
        "question": turn.question,
        "articles": articles,
        "language": turn.language,
        "roles": sorted(roles - {PUBLIC}),
        "verdict": logged.verdict,
        "turn_id": turn.id,
    }
