"""The console's API: the conversation with its whole evidence trail, and the corpus sync. Staff only."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from litestar import Request, Response, get, post

from refdesk.api.ask import no_conversation
from refdesk.api.auth import require_staff
from refdesk.api.contract import STAFF_ONLY
from refdesk.api.problems import problems
from refdesk.api.schemas import SyncRequest, may_be_id
from refdesk.api.services import services_of
from refdesk.domain.conversation import StoredTurn


def console_turn(stored: StoredTurn) -> dict[str, Any]:
    """The visitor's turn and, beside it, what only staff see."""
    seen = msgspec.to_builtins(stored.trail)
    hidden = ("quoted", "carried")
    return {**msgspec.to_builtins(stored.turn), **{name: value for name, value in seen.items() if name not in hidden}}


@get("/v1/console/conversations/{conversation_id:str}", security=STAFF_ONLY, responses=problems(401, 404, 503))
async def console_conversation(request: Request[Any, Any, Any], conversation_id: str) -> dict[str, Any]:
    require_staff(request)
    store = services_of(request).store
    found = await store.conversation(conversation_id, None) if may_be_id(conversation_id) else None
    if found is None:
        raise no_conversation()
    turns = await store.turns(conversation_id)
    return {
        "id": found.id,
        "visitor_id": found.visitor_id,
        "created_at": found.created_at,
        "turns": [console_turn(stored) for stored in turns],
    }


@post("/v1/console/sync", status_code=202, security=STAFF_ONLY, responses=problems(401, 409, 413, 415, 503))
async def start_sync(request: Request[Any, Any, Any], data: SyncRequest | None = None) -> Response[dict[str, Any]]:
    """Starts a sync. With `wait` it answers 200 and the report once readers see the result."""
    require_staff(request)
    wanted = data or SyncRequest()
    syncing = services_of(request).syncing
    task = asyncio.create_task(syncing.sync(force=wanted.force))
    if not wanted.wait:
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return Response({"status": "started"}, status_code=202)
    return Response(await asyncio.shield(task), status_code=200)


@get("/v1/console/sync", security=STAFF_ONLY, responses=problems(401))
async def last_sync(request: Request[Any, Any, Any]) -> dict[str, Any]:
    require_staff(request)
    return services_of(request).syncing.last_report() or {"status": "none"}
