"""What every request passes first: a known Host, an allowed Origin, and the headers that every answer carries.

An ASGI middleware, because a foreign page must be refused before anything is read, stored or spent; CORS headers alone
only keep a browser from reading an answer that was made all the same.
"""

from __future__ import annotations

import ipaddress
import secrets
from typing import Any

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from refdesk.api.problems import problem
from refdesk.settings import Settings, origin_of

ALLOW_METHODS = b"GET, POST, PUT, DELETE"
ALLOW_HEADERS = b"authorization, content-type, idempotency-key, last-event-id, accept"
EXPOSE_HEADERS = b"retry-after, x-request-id"
PAGE_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    b"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
PUBLIC_PATHS = ("/widget/", "/static/")
"""Files that any page may load: no Origin check, their own caching."""


class BrowserGate:
    """Wraps the application. Refusals are problems like all others, without CORS headers for a foreign origin."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._allowed = {settings.own_origin, *settings.allowed_origins}
        self._names = {"localhost", host_name(settings.own_origin.partition("//")[2]), settings.host.lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP:
            await self._guarded(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _guarded(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        request_id = "r_" + secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        origin = headers.get(b"origin")
        if not self._known_host(headers.get(b"host", "")):
            await refuse(send, 400, "unknown_host", "This server is not reached under that name.", request_id)
            return
        shared = scope["path"].startswith(PUBLIC_PATHS)
        allowed = origin is None or shared or self._is_allowed(origin, headers.get(b"host", ""))
        if not allowed:
            detail = "Pages of this origin may not use this help centre; its operator can allow it."
            await refuse(send, 403, "origin_not_allowed", detail, request_id)
            return
        cors = (
            [] if origin is None else [(b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"Origin")]
        )
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            await preflight(send, cors)
            return
        await self._app(scope, receive, with_headers(send, scope["path"], request_id, cors))

    def _known_host(self, host: str) -> bool:
        """Addresses and configured names only: a foreign name here means DNS rebinding or a wrong proxy."""
        name = host_name(host)
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return name in self._names
        return True

    def _is_allowed(self, origin: str, host: str) -> bool:
        made = origin_of(origin)
        if made is None or origin.lower() not in (made, f"{made}:{443 if made.startswith('https') else 80}"):
            return False
        same = not self._settings.public_url and made in (f"http://{host.lower()}", f"https://{host.lower()}")
        return same or made in self._allowed


def host_name(host: str) -> str:
    """The name of a Host header: without port, lower case."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


def with_headers(send: Send, path: str, request_id: str, cors: list[tuple[bytes, bytes]]) -> Send:
    """Adds what every answer carries, unless a handler has said otherwise."""
    page = not path.startswith(("/v1/", "/widget/", "/health", "/schema", "/metrics"))

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            present = {name.lower() for name, _ in message["headers"]}
            added: list[tuple[bytes, bytes]] = [
                (b"x-content-type-options", b"nosniff"),
                (b"referrer-policy", b"strict-origin-when-cross-origin"),
                (b"cache-control", b"no-store"),
                (b"x-request-id", request_id.encode()),
            ]
            if page:
                added.append((b"content-security-policy", PAGE_POLICY))
            if cors:
                added += [*cors, (b"access-control-expose-headers", EXPOSE_HEADERS)]
            message["headers"] = [*message["headers"], *((n, v) for n, v in added if n not in present)]
        await send(message)

    return sending


async def refuse(send: Send, status: int, code: str, detail: str, request_id: str) -> None:
    body = msgspec.json.encode(
        {"type": "about:blank", **msgspec.to_builtins(problem(status, code, detail, request_id=request_id))}
    )
    headers: list[tuple[bytes, bytes]] = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"cache-control", b"no-store"),
    ]
    await answer(send, status, headers, body)


async def preflight(send: Send, cors: list[tuple[bytes, bytes]]) -> None:
    headers = [
        *cors,
        (b"access-control-allow-methods", ALLOW_METHODS),
        (b"access-control-allow-headers", ALLOW_HEADERS),
        (b"access-control-max-age", b"600"),
        (b"content-length", b"0"),
    ]
    await answer(send, 204, headers, b"")


async def answer(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    start: Any = {"type": "http.response.start", "status": status, "headers": headers}
    await send(start)
    end: Any = {"type": "http.response.body", "body": body, "more_body": False}
    await send(end)
