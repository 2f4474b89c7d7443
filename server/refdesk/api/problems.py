"""Every error as a problem document (RFC 9457), made in one place. Nothing of an exception's text reaches a client."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress
from typing import Any

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import (
    HTTPException,
    InternalServerException,
    SerializationException,
    ValidationException,
)
from litestar.openapi.datastructures import ResponseSpec

from refdesk.errors import RefdeskError, RequestError, as_request_error

log = structlog.get_logger()

PROBLEM_TYPE = "application/problem+json"
NAMED = re.compile(r"(?:field|parameter) [`']([^`']*)[`']")
"""How msgspec and Litestar name a field that is missing or unknown."""

TITLES = {
    400: "Bad request",
    401: "Not signed in",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Conflict",
    413: "Too large",
    415: "Unsupported media type",
    422: "Cannot be processed",
    429: "Too many requests",
    500: "Internal error",
    503: "Not available now",
}
CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "body_too_large",
    415: "unsupported_media_type",
    422: "unprocessable",
    429: "rate_limited",
    500: "internal_error",
    503: "unavailable",
}
DETAILS = {
    400: "The body is not valid JSON for this request.",
    404: "There is nothing at this address.",
    405: "This address does not take that method.",
    413: "The body is larger than 64 KiB.",
}


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """`code` is stable; `detail` names the field and the remedy where the client can do something about it."""

    type: str = "about:blank"
    title: str
    status: int
    code: str
    detail: str
    request_id: str
    field: str | msgspec.UnsetType = msgspec.UNSET


def problem(status: int, code: str = "", detail: str = "", *, request_id: str, field: str | None = None) -> Problem:
    return Problem(
        title=TITLES.get(status, "Error"),
        status=status,
        code=code or CODES.get(status, "error"),
        detail=detail or DETAILS.get(status, TITLES.get(status, "Error") + "."),
        request_id=request_id,
        field=field or msgspec.UNSET,
    )


def problems(*statuses: int) -> dict[int, ResponseSpec]:
    """For a handler's `responses`: what it may refuse with, besides a wrong Host (400) and a foreign origin (403)."""
    return {
        status: ResponseSpec(Problem, generate_examples=False, description=TITLES[status], media_type=PROBLEM_TYPE)
        for status in (400, 403, *statuses)
    }


def problem_of(error: Exception, request_id: str = "") -> tuple[Problem, dict[str, str]]:
    """The problem and the headers for an exception; what is unforeseen says nothing of itself."""
    if isinstance(error, ValidationException):
        field, detail = validation_detail(error)
        return problem(400, "invalid_request", detail, request_id=request_id, field=field), {}
    if isinstance(error, HTTPException) and error.status_code < 500:
        made = problem(error.status_code, request_id=request_id)
        return made, {k: v for k, v in (error.headers or {}).items() if k.lower() in ("allow", "retry-after")}
    told = as_request_error(error)
    headers = {} if told.retry_after is None else {"Retry-After": str(told.retry_after)}
    return problem(told.status, told.code, told.detail, request_id=request_id, field=told.field), headers


def validation_detail(error: ValidationException) -> tuple[str | None, str]:
    """Field and sentence from what the decoder says, without any value that was sent."""
    extra = error.extra if isinstance(error.extra, list) else []
    first: dict[str, Any] = extra[0] if extra and isinstance(extra[0], dict) else {}
    message = str(first.get("message") or error.detail)
    key = str(first.get("key", "")).removeprefix("data").removeprefix(".")
    named = NAMED.search(message)
    if named is None:
        sentence = "not one of the allowed values" if message.startswith("Invalid enum") else message
        return (key, f"`{key}`: {sentence}"[:300]) if key else (None, "The request is not valid.")
    missing = "issing" in message
    field = ".".join(part for part in (key, named[1]) if part)[:200]
    return field, f"`{field}` is missing." if missing else f"`{field}` is not a field of this request."


def handle(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    made, headers = problem_of(error, request_id_of(request))
    if made.status >= 500:
        log.error(
            "request failed",
            code=made.code,
            request_id=made.request_id,
            path=request.url.path,
            error=type(error).__name__,
            exc_info=None if isinstance(error, RefdeskError) else error,
        )
    return Response(msgspec.json.encode(made), status_code=made.status, headers=headers, media_type=PROBLEM_TYPE)


def request_id_of(request: Request[Any, Any, Any]) -> str:
    return str(request.scope.get("state", {}).get("request_id", ""))


def refuse_bent(value: Any, kind: Any) -> None:
    """Raises RequestError 400 where the value fits the type only loosely; one that does not fit at all is left to the
    decoder, which names every such field."""
    try:
        msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        try:
            msgspec.convert(value, kind, strict=False)
        except msgspec.ValidationError:
            return
        what, _, place = str(error).partition(" - at `$.")
        field = place.rstrip("`")
        raise RequestError(400, "invalid_request", f"`{field}`: {what}.", field=field) from error


def refuse_repeated_names(body: bytes) -> None:
    """Raises RequestError 400 where an object has a name twice, however it is spelt: a proxy that looks at bodies may
    take the first value, and the decoder takes the last. A body that is no JSON is left to the decoder."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            repeated = next(name for name, count in counts.items() if count > 1)[:80]
            detail = f"`{repeated}` stands twice in one object; send it once."
            raise RequestError(400, "field_repeated", detail, field=repeated)
        return made

    with suppress(ValueError, RecursionError):
        json.loads(body, object_pairs_hook=once, strict=False)


class JsonRequest(Request[Any, Any, Any]):
    """A body that breaks off, or is nested so deeply that the decoder gives up, is a bad body, not a fault of ours."""

    async def body(self) -> bytes:
        try:
            return await super().body()
        except InternalServerException as error:  # raised where the client has gone
            raise RequestError(400, "body_incomplete", "The body ended before its announced length.") from error

    async def json(self) -> Any:
        """What the decoder would bend into its type (`"force": "no"`, `"page": "null"`) is refused like any other value
        of a wrong type, and so is a name that stands twice."""
        try:
            value = await super().json()
        except RecursionError as error:
            raise SerializationException from error
        refuse_repeated_names(await self.body())
        data = self.scope["route_handler"].parsed_fn_signature.parameters.get("data")
        if data is not None:
            refuse_bent(value, data.annotation)
        return value
