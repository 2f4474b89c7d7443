"""Every way in which a call of the Messages API can fail, as the one typed outcome that the port knows.

The visitor sees the kind, the operator the hint: one sentence that says what to change. Why which status is
which kind: server/decisions/model-failures.md.
"""

from __future__ import annotations

import math
import time
from email.utils import parsedate_to_datetime

import anthropic
import httpx2
import msgspec

from refdesk.adapters.anthropic_wire import invalid, upstream_failure
from refdesk.errors import ModelFailure

PASSING_KINDS = frozenset({"overloaded", "rate_limited", "unavailable"})
"""Kinds that another try may mend at once. A timeout is not among them: it has used up the visitor's patience."""

NEVER = math.inf
"""As `retry_after`: no retry within this call, though a later one may succeed."""

STATUS_HINTS = {
    400: "The model endpoint refuses what this deployment sends (400): check REFDESK_MODEL and the model's settings.",
    401: "The model endpoint refuses the key (401): check ANTHROPIC_API_KEY.",
    402: "The model endpoint asks for payment (402): check the billing of the account.",
    403: "The model endpoint forbids this key to use the model (403): check ANTHROPIC_API_KEY and REFDESK_MODEL.",
    404: "The model endpoint knows no such model or path (404): check REFDESK_MODEL and ANTHROPIC_BASE_URL.",
    413: "The model endpoint finds the request too large (413): choose a model or proxy that takes larger ones.",
    429: "The model endpoint limits the rate of requests (429): wait, or raise the account's limits.",
    529: "The model endpoint is overloaded (529): it passes by itself.",
}
SPEND_HINT = "The account's spend limit is reached (429): raise it, or wait for its next period."
REDIRECT_HINT = (
    "The model endpoint redirects ({0}), which is never followed: set ANTHROPIC_BASE_URL to the final address."
)


def status_error(response: httpx2.Response) -> anthropic.APIStatusError:
    """What an answer says that is none, its body read; the SDK knows the places of type, code and message."""
    try:
        body = msgspec.json.decode(response.content)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        body = response.text
    return anthropic.APIStatusError(f"status {response.status_code}", response=response, body=body)


def status_failure(error: anthropic.APIStatusError) -> ModelFailure:
    status = error.status_code
    kind = kind_of_status(status)
    spent = (error.error_code or "").endswith("spend_limit_reached")
    hint = SPEND_HINT if spent else STATUS_HINTS.get(status) or plain_hint(status)
    headers = error.response.headers
    no_retry = headers.get("x-should-retry") == "false"
    return upstream_failure(
        kind,
        hint,
        error.type if isinstance(error.type, str) else None,
        error.api_message if isinstance(error.api_message, str) else None,
        status=status,
        retry_after=NEVER if no_retry else retry_after_of(headers),
        permanent=spent or kind == "not_configured",
    )


def kind_of_status(status: int) -> str:
    if status == 529:
        return "overloaded"
    if status == 429:
        return "rate_limited"
    if status == 408:
        return "timeout"
    return "unavailable" if status >= 500 or status == 409 else "not_configured"


def plain_hint(status: int) -> str:
    if 300 <= status < 400:
        return REDIRECT_HINT.format(status)
    return f"The model endpoint answers {status}: " + (
        "its own fault." if status >= 500 else "check ANTHROPIC_BASE_URL."
    )


def retry_after_of(headers: httpx2.Headers) -> float | None:
    """Seconds to wait; both forms of the header, seconds and a date. None: not said, or not understood."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return None if math.isnan(seconds) else max(0.0, seconds)


def fault_failure(error: Exception, *, answered: bool) -> ModelFailure:
    """For what was raised around a call. `answered`: the endpoint had begun to answer."""
    if isinstance(error, anthropic.APIStatusError):
        return status_failure(error)
    reason = f"{type(error).__name__} {innermost(error)}"
    if isinstance(error, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        hint = "No connection to the model endpoint in time: check the network and ANTHROPIC_BASE_URL."
        return ModelFailure("unavailable", hint, retry_after=NEVER)
    if isinstance(error, httpx2.TimeoutException):
        return ModelFailure("timeout", "The model endpoint fell silent.")
    if isinstance(error, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        return ModelFailure("not_configured", f"ANTHROPIC_BASE_URL is no usable address: {reason}", permanent=True)
    if isinstance(error, httpx2.TransportError | OSError):
        lost = f"The connection to the model endpoint broke while it answered ({type(error).__name__})."
        return ModelFailure("unavailable", lost if answered else f"No connection to the model endpoint: {reason}")
    if isinstance(error, ValueError | TypeError) and not answered:
        hint = f"The request cannot be sent: check ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL: {reason}"
        return ModelFailure("not_configured", hint, permanent=True)
    return invalid(reason)


def innermost(error: BaseException) -> str:
    """The bottom of a chain of wrapped errors: there is the word that helps (refused, certificate, name)."""
    seen = {id(error)}
    while (deeper := error.__cause__ or error.__context__) is not None and id(deeper) not in seen:
        seen.add(id(deeper))
        error = deeper
    return " ".join(str(error).split())[:200]
