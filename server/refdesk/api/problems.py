"""Every error as a problem document (RFC 9457), made in one place. Nothing of an exception's text reaches a client."""

from __future__ import annotations

from typing import Any

import msgspec
import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException

from refdesk.errors import RefdeskError, RequestError, StorageUnavailable

log = structlog.get_logger()

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


class Problem(msgspec.Struct, omit_defaults=True):
    """`code` is stable; `detail` names the field and the remedy where the client can do something about it."""

    title: str
    status: int
    code: str
    detail: str = ""
    request_id: str = ""
    field: str | None = None
    type: str = "about:blank"


def problem(
    status: int, code: str = "", detail: str = "", *, request_id: str = "", field: str | None = None
) -> Problem:
    return Problem(
        title=TITLES.get(status, "Error"),
        status=status,
        code=code or CODES.get(status, "error"),
        detail=detail,
        request_id=request_id,
        field=field,
    )


def problem_of(error: Exception, request_id: str = "") -> tuple[Problem, dict[str, str]]:
    """The problem and the headers for an exception; what is unforeseen says nothing of itself."""
    if isinstance(error, RequestError):
        headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
        return problem(error.status, error.code, error.detail, request_id=request_id, field=error.field), headers
    if isinstance(error, StorageUnavailable):
        made = problem(503, "storage_unavailable", "The store does not answer now; try again.", request_id=request_id)
        return made, {"Retry-After": str(error.retry_after)}
    if isinstance(error, ValidationException):
        field, detail = validation_detail(error)
        return problem(400, "invalid_request", detail, request_id=request_id, field=field), {}
    if isinstance(error, HTTPException) and error.status_code < 500:
        made = problem(error.status_code, detail=http_detail(error), request_id=request_id)
        return made, {k: v for k, v in (error.headers or {}).items() if k.lower() in ("allow", "retry-after")}
    return problem(500, detail="The error was logged under this request id.", request_id=request_id), {}


def validation_detail(error: ValidationException) -> tuple[str | None, str]:
    """Field and sentence from what the decoder says, without any value that was sent."""
    extra = error.extra if isinstance(error.extra, list) else []
    first: dict[str, Any] = extra[0] if extra and isinstance(extra[0], dict) else {}
    message = str(first.get("message", "The request is not valid."))
    field = str(first.get("key", "")) or None
    if field == "data" or field is None:
        field = message.rpartition("$.")[2].rstrip("`") if "$." in message else None
    return field, message[:300]


def http_detail(error: HTTPException) -> str:
    if error.status_code == 400:
        return "The body is not valid JSON for this request."
    return {404: "There is nothing at this address.", 405: "This address does not take that method."}.get(
        error.status_code, ""
    )


def handle(request: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    request_id = str(request.scope.get("state", {}).get("request_id", ""))
    made, headers = problem_of(error, request_id)
    if made.status >= 500:
        log.error(
            "request failed",
            code=made.code,
            path=request.url.path,
            exc_info=error if made.status == 500 and not isinstance(error, RefdeskError) else None,
        )
    return problem_response(made, headers)


def problem_response(made: Problem, headers: dict[str, str] | None = None) -> Response[bytes]:
    return Response(
        msgspec.json.encode({"type": made.type, **msgspec.to_builtins(made)}),
        status_code=made.status,
        headers=headers or {},
        media_type="application/problem+json",
    )
