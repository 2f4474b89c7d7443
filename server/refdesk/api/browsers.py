"""What every request passes first: a known Host, an allowed Origin, a JSON body, and the headers of every answer.

An ASGI middleware, because a foreign page must be refused before anything is read, stored or spent; CORS headers alone
only keep a browser from reading an answer that was made all the same.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import secrets
from typing import Any

import msgspec
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars

from refdesk.api.problems import PROBLEM_TYPE, problem
from refdesk.api.proxies import set_client
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
PAGES_WITH_FORMS = "/console/"
"""Their forms come without a preflight; their guards look at Origin, and the session's cookie is SameSite=Strict."""
KEYED_PATH = "/metrics"
"""Scraped under the name of a container or service, and open to nobody without a key: no Host check."""
SEND_SECONDS = 30.0
"""How long a client may leave a piece of a stream unread before the connection is closed; the turn goes on."""
PORT = re.compile(r"(?::[0-9]{0,5})?")
"""What of a Host header may follow the name."""
NO_BODY = frozenset((b"", b"0"))


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
        bind_contextvars(request_id=request_id)  # for the log: of the request, and of the turn that it begins
        if self._settings.trusted_proxies:
            set_client(scope, self._settings.trusted_proxies)
        headers: dict[bytes, str] = {}
        for name, value in scope["headers"]:  # of a header that is sent twice none of the values counts
            headers[name] = "" if name in headers and name in (b"host", b"origin") else value.decode("latin-1")
        origin = headers.get(b"origin")
        if scope["path"] != KEYED_PATH and not self._known_host(headers.get(b"host", "")):
            bare = with_headers(send, scope["path"], request_id, [])
            await refuse(bare, 400, "unknown_host", "This server is not reached under that name.", request_id)
            return
        shared = scope["path"].startswith(PUBLIC_PATHS)
        allowed = origin is None or shared or self._is_allowed(origin, headers.get(b"host", ""))
        if not allowed:
            detail = "Pages of this origin may not use this help centre; its operator can allow it."
            bare = with_headers(send, scope["path"], request_id, [(b"vary", b"Origin")])
            await refuse(bare, 403, "origin_not_allowed", detail, request_id)
            return
        cors = [(b"vary", b"Origin")]
        if origin is not None:
            cors += [(b"access-control-allow-origin", origin.encode("latin-1"))]
            cors += [(b"access-control-expose-headers", EXPOSE_HEADERS)]
        if scope["method"] == "OPTIONS" and b"access-control-request-method" in headers:
            await preflight(send, cors)
            return
        sending = with_headers(send, scope["path"], request_id, cors)
        changes = scope["method"] in ("POST", "PUT", "PATCH")
        if changes and not is_json(headers) and not (scope["path"].startswith(PAGES_WITH_FORMS) and is_form(headers)):
            detail = "Send the body as `Content-Type: application/json`, not compressed."
            await refuse(sending, 415, "unsupported_media_type", detail, request_id)
            return
        if scope["method"] == "OPTIONS":
            scope, sending = {**scope, "method": "ALLOWED"}, options_answer(sending)  # type: ignore[typeddict-item]
        elif scope["method"] == "HEAD" and not scope["path"].endswith("/events"):
            scope = {**scope, "method": "GET"}  # the server itself leaves the body out
        await self._app(scope, receive, sending)

    def _known_host(self, host: str) -> bool:
        """Addresses and configured names only: a foreign name here means DNS rebinding or a wrong proxy."""
        name = host_name(host)
        if PORT.fullmatch(host[len(name) :]) is None:
            return False
        try:
            ipaddress.ip_address(name[1:-1] if name.startswith("[") else name)
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


def options_answer(send: Send) -> Send:
    """OPTIONS as the router's refusal of a method that no route has: where several handlers share a path, its own
    answer names the methods of one of them."""
    allowed = False

    async def sending(message: Message) -> None:
        nonlocal allowed
        if message["type"] == "http.response.start" and message["status"] == 405:
            allowed = True
            kept = [(name, value) for name, value in message["headers"] if name.lower() == b"allow"]
            message = {**message, "status": 204, "headers": kept}
        elif message["type"] == "http.response.body" and allowed:
            message = {**message, "body": b""}
        await send(message)

    return sending


def is_json(headers: dict[bytes, str]) -> bool:
    """Whether the body, if there is one, is JSON. Decided before anything is read: a text/plain body would be parsed
    as JSON all the same, and needs no preflight from a foreign page."""
    kind = headers.get(b"content-type")
    if headers.get(b"content-encoding", "identity").strip().lower() != "identity":
        return False
    if kind is None:
        return b"transfer-encoding" not in headers and headers.get(b"content-length", "").encode() in NO_BODY
    return kind.partition(";")[0].strip().lower() == "application/json"


def is_form(headers: dict[bytes, str]) -> bool:
    """Whether the body is a form as a page sends it, without files."""
    kind = headers.get(b"content-type", "").partition(";")[0].strip().lower()
    return kind == "application/x-www-form-urlencoded" and b"content-encoding" not in headers


def with_headers(send: Send, path: str, request_id: str, cors: list[tuple[bytes, bytes]]) -> Send:
    """Adds what every answer carries, unless a handler has said otherwise."""
    page = not path.startswith(("/v1/", "/widget/", "/health", "/schema", "/metrics"))

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [with_charset(name.lower(), value) for name, value in message["headers"]]
            present = {name for name, _ in headers}
            added: list[tuple[bytes, bytes]] = [
                (b"x-content-type-options", b"nosniff"),
                (b"referrer-policy", b"strict-origin-when-cross-origin"),
                (b"cache-control", b"no-store"),
                (b"x-request-id", request_id.encode()),
                *cors,
            ]
            if page:
                added.append((b"content-security-policy", PAGE_POLICY))
            message["headers"] = [*headers, *((n, v) for n, v in added if n not in present)]
        if message["type"] == "http.response.body" and message.get("more_body"):
            async with asyncio.timeout(SEND_SECONDS):
                await send(message)
        else:
            await send(message)

    return sending


def with_charset(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """Every text says its encoding, JSON included: clients exist that guess otherwise."""
    return name, b"application/json; charset=utf-8" if value == b"application/json" else value


async def refuse(send: Send, status: int, code: str, detail: str, request_id: str) -> None:
    body = msgspec.json.encode(problem(status, code, detail, request_id=request_id))
    headers: list[tuple[bytes, bytes]] = [
        (b"content-type", PROBLEM_TYPE.encode()),
        (b"content-length", str(len(body)).encode()),
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
