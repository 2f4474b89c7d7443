"""Whose data is whose: a visitor's own export and erasure, and the same by an admin; retention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import msgspec
import structlog
from litestar import Request, delete, get, post
from litestar.params import FromPath, JSONBody, QueryParameter

from refdesk.api.auth import required_visitor
from refdesk.api.console_schemas import (
    ErasedResponse,
    EraseRequest,
    RetentionRequest,
    RetentionResponse,
    VisitorsResponse,
)
from refdesk.api.contract import STAFF_ONLY, VISITOR_ONLY
from refdesk.api.problems import problems
from refdesk.api.schemas import ConversationResponse, may_be_id
from refdesk.api.services import Services, services_of
from refdesk.api.staff import admins, record
from refdesk.api.times import timestamp
from refdesk.assistant.withholding import visible_turn
from refdesk.domain.console import STAFF_VISITOR, Retention
from refdesk.domain.conversation import StoredTurn, Turn
from refdesk.errors import RequestError

log = structlog.get_logger()

DAY = 24 * 3600
MAX_SUBJECT = 256


class OwnData(msgspec.Struct):
    """Everything that is kept of a visitor."""

    visitor_id: str
    conversations: list[ConversationResponse]


# --- the visitor's own -----------------------------------------------------------------------


@get("/v1/me/export", security=VISITOR_ONLY, responses=problems(401, 503))
async def export_own(request: Request[Any, Any, Any]) -> OwnData:
    """The caller's conversations, as the caller may see them now."""
    services, visitor = services_of(request), await required_visitor(request)
    snapshot, roles = services.retriever.current(), frozenset(visitor.roles)
    return await data_of(services, visitor.id, lambda stored: visible_turn(stored, snapshot, roles))


@delete("/v1/me", status_code=204, security=VISITOR_ONLY, responses=problems(401, 503))
async def erase_own(request: Request[Any, Any, Any]) -> None:
    """Erases the caller: conversations, feedback and every session. The token means nothing afterwards. What stays for
    ever, the audit log's row, must not say from where."""
    services, visitor = services_of(request), await required_visitor(request)
    if visitor.id.startswith(STAFF_VISITOR):
        raise RequestError(403, "not_a_visitor", "A staff key is no visitor; there is nothing to erase.")
    await erase(services, [visitor.id])
    await record(request, "erase", visitor.id, actor="visitor", ip="")


async def data_of(services: Services, visitor_id: str, shown: Callable[[StoredTurn], Turn]) -> OwnData:
    found = []
    for conversation in await services.console.conversations_of(visitor_id):
        turns = [shown(stored) for stored in await services.store.turns(conversation.id)]
        found.append(ConversationResponse(id=conversation.id, created_at=conversation.created_at, turns=turns))
    return OwnData(visitor_id=visitor_id, conversations=found)


async def erase(services: Services, visitor_ids: list[str]) -> bool:
    """In store, full text and what is still in memory; a turn that runs is ended. False: there is no such visitor."""
    erased = False
    for visitor_id in visitor_ids:
        conversations = await services.console.conversations_of(visitor_id)
        erased |= await services.console.erase_visitor(visitor_id)
        for conversation in conversations:
            services.runs.forget(conversation.id)
    return erased


# --- by an admin -----------------------------------------------------------------------------


@get("/v1/console/visitors", guards=[admins], security=STAFF_ONLY, responses=problems(401, 503))
async def visitors(
    request: Request[Any, Any, Any],
    subject: Annotated[str, QueryParameter(min_length=1, max_length=MAX_SUBJECT)],
) -> VisitorsResponse:
    """The visitors whom an identity token named so."""
    return VisitorsResponse(visitors=await services_of(request).console.visitors_of(subject))


@get("/v1/console/visitors/{visitor_id:str}/export", guards=[admins], security=STAFF_ONLY, responses=problems(401, 503))
async def export_visitor(request: Request[Any, Any, Any], visitor_id: FromPath[str]) -> OwnData:
    """What is kept of a visitor, to be handed to that person: none of the trail, which is the operator's."""
    known = visitor_id if may_be_id(visitor_id) else ""
    found = await data_of(services_of(request), known, lambda stored: stored.turn)
    await record(request, "export", known, what="visitor")
    return found


@post(
    "/v1/console/erase",
    status_code=200,
    guards=[admins],
    security=STAFF_ONLY,
    responses=problems(401, 404, 413, 415, 503),
)
async def erase_visitor(request: Request[Any, Any, Any], data: JSONBody[EraseRequest]) -> ErasedResponse:
    """By the visitor's id, or by the subject of the identity token."""
    services = services_of(request)
    if (data.visitor_id is None) == (data.subject is None):
        raise RequestError(400, "erase_what", "Give either `visitor_id` or `subject`.", field="visitor_id")
    ids = [data.visitor_id] if data.visitor_id is not None else await services.console.visitors_of(data.subject or "")
    if any(visitor_id.startswith(STAFF_VISITOR) for visitor_id in ids) or not await erase(services, ids):
        raise RequestError(404, "visitor_not_found", "There is no such visitor.")
    await record(request, "erase", ids[0])
    return ErasedResponse(erased=True)


@post(
    "/v1/console/retention",
    status_code=200,
    guards=[admins],
    security=STAFF_ONLY,
    responses=problems(401, 413, 415, 503),
)
async def run_retention(
    request: Request[Any, Any, Any], data: JSONBody[RetentionRequest | None] = None
) -> RetentionResponse:
    """What is done daily, now. `force`: even where it would delete more than a fifth of all turns."""
    services, force = services_of(request), data is not None and data.force
    done = await retain(services, force=force)
    if done.deleted:
        await record(request, "retention", deleted=done.deleted, due=done.due, total=done.total, forced=force)
    return RetentionResponse(**msgspec.structs.asdict(done), days=services.settings.retention_days)


async def retain(services: Services, *, force: bool = False) -> Retention:
    since = timestamp(services.clock.now() - services.settings.retention_days * DAY)
    done = await services.console.retain(since=since, force=force)
    (log.warning if done.stopped else log.info)("retention", **figures(done), stopped=done.stopped)
    return done


def figures(done: Retention) -> dict[str, int]:
    return {"deleted": done.deleted, "due": done.due, "total": done.total}
