"""Asking as somebody else: a turn of the log once more, a question as a role, a search as a role. Nothing is logged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from litestar import Request, get, post
from litestar.params import FromPath, JSONBody, QueryParameter

from refdesk.api.console_schemas import (
    DiffPiece,
    PreviewRequest,
    ReplayRequest,
    ReplayResponse,
    SourcesDiff,
    TurnDiff,
)
from refdesk.api.console_turn import console_turn, everybody
from refdesk.api.contract import STAFF_ONLY
from refdesk.api.log import turn_of
from refdesk.api.problems import problems
from refdesk.api.reading import MAX_QUERY, explanation, found_passage
from refdesk.api.schemas import MAX_QUESTION, SearchResponse, checked_text, locale_of
from refdesk.api.services import Services, services_of
from refdesk.api.staff import agents
from refdesk.assistant.rehearsal import rehearse
from refdesk.domain.articles import PUBLIC
from refdesk.domain.conversation import StoredTurn, Turn
from refdesk.domain.turn_diff import differing, shown_sources
from refdesk.errors import RequestError

MOST_ROLES = 50


@post(
    "/v1/console/turns/{turn_id:str}/replay",
    status_code=200,
    guards=[agents],
    security=STAFF_ONLY,
    responses=problems(401, 404, 413, 415, 503),
)
async def replay(
    request: Request[Any, Any, Any], turn_id: FromPath[str], data: JSONBody[ReplayRequest | None] = None
) -> ReplayResponse:
    """The question once more, after the same earlier turns, with today's articles and model. The visitor's
    conversation stays what it is."""
    services = services_of(request)
    before = await turn_of(services, turn_id)
    wanted = data.roles if data is not None else None
    roles = roles_then(services, before) if wanted is None else roles_wanted(services, wanted)
    earlier = await turns_before(services, before.turn)
    after = await rehearse(services.assistant, before.turn.question, roles, earlier=earlier, locale=before.trail.locale)
    snapshot = services.retriever.current()
    return ReplayResponse(
        before=console_turn(before, snapshot),
        now=console_turn(after, snapshot),
        diff=turn_diff(before.turn, after.turn),
    )


async def turns_before(services: Services, turn: Turn) -> list[StoredTurn]:
    stored = await services.store.turns(turn.conversation_id)
    place = next((at for at, item in enumerate(stored) if item.turn.id == turn.id), 0)
    return stored[:place]


def turn_diff(before: Turn, now: Turn) -> TurnDiff:
    old, new = shown_sources(before), shown_sources(now)
    return TurnDiff(
        same=before.answer == now.answer and old == new and before.status == now.status,
        status=[before.status, now.status],
        answer=[DiffPiece(op, text) for op, text in differing(before.answer, now.answer)],
        sources=SourcesDiff(
            added=[article_id for article_id in new if article_id not in old],
            removed=[article_id for article_id in old if article_id not in new],
            kept=[article_id for article_id in new if article_id in old],
        ),
    )


def roles_then(services: Services, stored: StoredTurn) -> list[str]:
    """The visitor's at that time, as far as they still exist."""
    known = everybody(services.retriever.current())
    return [PUBLIC, *(role for role in stored.trail.roles if role in known and role != PUBLIC)]


def roles_wanted(services: Services, wanted: Sequence[str]) -> list[str]:
    """With `public`, which everybody has. Raises RequestError 400 for a role that is not declared."""
    known = everybody(services.retriever.current())
    if len(wanted) > MOST_ROLES or any(role not in known for role in wanted):
        detail = f"`roles`: allowed are {', '.join(sorted(known))}."
        raise RequestError(400, "role_unknown", detail, field="roles")
    return list(dict.fromkeys([PUBLIC, *wanted]))


@post(
    "/v1/console/preview",
    status_code=200,
    guards=[agents],
    security=STAFF_ONLY,
    responses=problems(401, 413, 415, 503),
)
async def preview(request: Request[Any, Any, Any], data: JSONBody[PreviewRequest]) -> dict[str, Any]:
    """A question as a visitor of these roles would have it answered."""
    services = services_of(request)
    question = checked_text(data.question, "question", MAX_QUESTION)
    roles = roles_wanted(services, data.roles)
    stored = await rehearse(services.assistant, question, roles, locale=locale_of(data.locale))
    return console_turn(stored, services.retriever.current())


@get("/v1/console/search", guards=[agents], security=STAFF_ONLY, responses=problems(401, 503))
async def search(
    request: Request[Any, Any, Any],
    q: Annotated[str, QueryParameter(min_length=1)],
    roles: Annotated[list[str] | None, QueryParameter(required=False, max_items=MOST_ROLES)] = None,
) -> SearchResponse:
    """What a visitor of these roles would find, with the figures behind the order."""
    services = services_of(request)
    snapshot = services.retriever.current()
    result = await snapshot.search(checked_text(q, "q", MAX_QUERY), frozenset(roles_wanted(services, roles or [])))
    return SearchResponse(
        passages=[found_passage(hit, explanation(hit, result, snapshot)) for hit in result.hits],
        searched=list(result.searched),
    )
