"""Who may use a console route: guards, which decide before anything of the request's body is read.

A request that comes with the session's cookie and changes something must come from a page of our own: a browser sends
`Origin` with every such request, and the cookie is SameSite=Strict besides. Every write is recorded for ever.
"""

from __future__ import annotations

from typing import Any

import structlog
from litestar import Request
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from refdesk.api.auth import bearer
from refdesk.api.members import Member, member_by_session, member_by_token
from refdesk.api.services import Services
from refdesk.api.times import timestamp
from refdesk.domain.console import AuditEntry
from refdesk.errors import RequestError
from refdesk.settings import origin_of

log = structlog.get_logger()

COOKIE = "__Host-refdesk"
"""Browsers accept it over https only, and on localhost."""
SAFE = ("GET", "HEAD", "OPTIONS")

Connection = ASGIConnection[Any, Any, Any, Any]


async def agents(connection: Connection, _: BaseRouteHandler) -> None:
    """A guard: agents and admins."""
    await admitted(connection)


async def admins(connection: Connection, _: BaseRouteHandler) -> None:
    """A guard: admins only."""
    if (await admitted(connection)).role != "admin":
        raise RequestError(403, "admin_only", "Only an admin may do this.")


async def own_pages(connection: Connection, _: BaseRouteHandler) -> None:
    """A guard for what needs nobody signed in, but no other page may do."""
    check_origin(connection, connection.app.state.services)


async def admitted(connection: Connection) -> Member:
    services: Services = connection.app.state.services
    member = await member_of(connection, services)
    if member is None:
        raise RequestError(401, "staff_key_invalid", "Sign in, or send a staff key as `Authorization: Bearer …`.")
    if member.session is not None:
        check_origin(connection, services)
    connection.state.member = member
    return member


async def member_of(connection: Connection, services: Services) -> Member | None:
    token = bearer(connection)
    if token is not None:
        return await member_by_token(token, services)
    cookie = connection.cookies.get(COOKIE)
    return await member_by_session(cookie, services) if cookie else None


def check_origin(connection: Connection, services: Services) -> None:
    """Raises RequestError 403 for a write that comes from a page other than our own."""
    if str(connection.scope.get("method")) in SAFE:
        return
    origin, site = connection.headers.get("origin"), connection.headers.get("sec-fetch-site")
    own = own_origins(connection, services)
    if (origin is not None and origin_of(origin) not in own) or site not in (None, "same-origin", "none"):
        raise RequestError(403, "origin_not_allowed", "This can be done from the console's own pages only.")


def own_origins(connection: Connection, services: Services) -> set[str | None]:
    if services.settings.public_url:
        return {services.settings.own_origin}
    host = connection.headers.get("host", "")
    return {origin_of(f"http://{host}"), origin_of(f"https://{host}")} - {None}


def client_address(connection: Connection) -> str:
    return connection.client.host if connection.client else "unknown"


def member_in(request: Request[Any, Any, Any]) -> Member:
    """Whom the guard let in."""
    found: Member = request.state.member
    return found


async def record(
    request: Request[Any, Any, Any],
    action: str,
    target: str = "",
    *,
    actor: str | None = None,
    ip: str | None = None,
    **detail: Any,
) -> None:
    """One row of the audit log: ids and settings, nothing that a visitor wrote. `actor` and `ip` None: the member's."""
    services: Services = request.app.state.services
    entry = AuditEntry(
        created_at=timestamp(services.clock.now()),
        actor=member_in(request).name if actor is None else actor,
        ip=client_address(request) if ip is None else ip,
        action=action,
        target=target,
        detail=detail,
    )
    await services.console.add_audit(entry)
    log.info("audit", action=action, actor=entry.actor, target=target)
