"""The corpus sync, as staff drive it."""

from __future__ import annotations

import asyncio
from typing import Any

from litestar import Request, Response, get, post
from litestar.params import JSONBody

from refdesk.api.contract import STAFF_ONLY
from refdesk.api.problems import problems
from refdesk.api.schemas import SyncRequest
from refdesk.api.services import services_of
from refdesk.api.staff import agents, member_in, record
from refdesk.errors import RequestError


@post(
    "/v1/console/sync",
    status_code=202,
    guards=[agents],
    security=STAFF_ONLY,
    responses=problems(401, 409, 413, 415, 503),
)
async def start_sync(
    request: Request[Any, Any, Any], data: JSONBody[SyncRequest | None] = None
) -> Response[dict[str, Any]]:
    """Starts a sync. With `wait` it answers 200 and the report once readers see the result; `force`, which an admin may
    use, lets more than half of the articles go."""
    wanted = data or SyncRequest()
    if wanted.force:
        if member_in(request).role != "admin":
            raise RequestError(403, "admin_only", "Only an admin may force a sync.", field="force")
        await record(request, "sync_forced")
    syncing = services_of(request).syncing
    task = asyncio.create_task(syncing.sync(force=wanted.force))
    if not wanted.wait:
        task.add_done_callback(lambda done: done.cancelled() or done.exception())
        return Response({"status": "started"}, status_code=202)
    return Response(await asyncio.shield(task), status_code=200)


@get("/v1/console/sync", guards=[agents], security=STAFF_ONLY, responses=problems(401, 503))
async def last_sync(request: Request[Any, Any, Any]) -> dict[str, Any]:
    return services_of(request).syncing.last_report() or {"status": "none"}
