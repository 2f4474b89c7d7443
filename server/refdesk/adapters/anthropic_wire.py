"""The Messages API's event stream on the wire: server-sent events cut out of bytes, each decoded into a typed struct.

Accepted: what the standard allows (any line ending, comments, several `data` lines). Unknown event and delta types are
passed over, as the API asks of its clients. Any other byte that does not fit is a `ModelFailure`.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from refdesk.errors import ModelFailure

MAX_EVENT_BYTES = 1 << 20
MAX_REPLY_BYTES = 16 << 20
"""Far above any reply within 4 000 output tokens; a stream that runs on must not fill the memory."""

ERROR_KINDS = {
    "overloaded_error": "overloaded",
    "rate_limit_error": "rate_limited",
    "api_error": "unavailable",
    "timeout_error": "timeout",
    "authentication_error": "not_configured",
    "permission_error": "not_configured",
    "not_found_error": "not_configured",
    "billing_error": "not_configured",
    "invalid_request_error": "not_configured",
    "request_too_large": "not_configured",
}
"""The API's error type -> `model_error`; a type that is not here is a fault on their side."""


# --- the wire ----------------------------------------------------------------------------------


class TextPiece(msgspec.Struct, tag="text_delta"):
    text: str


class InputPiece(msgspec.Struct, tag="input_json_delta"):
    partial_json: str


class ThinkingPiece(msgspec.Struct, tag="thinking_delta"):
    thinking: str


class SignaturePiece(msgspec.Struct, tag="signature_delta"):
    signature: str


Tokens = Annotated[int, msgspec.Meta(ge=0, le=100_000_000)]
"""No call has as many; more would cost a day's figures their sense, and fit into no column."""


class TokenCounts(msgspec.Struct):
    """Cumulative; what an event leaves out keeps its earlier value."""

    input_tokens: Tokens | None = None
    output_tokens: Tokens | None = None
    cache_read_input_tokens: Tokens | None = None
    cache_creation_input_tokens: Tokens | None = None


class MessageHead(msgspec.Struct):
    model: str | None = None
    usage: TokenCounts | None = None


class MessageStart(msgspec.Struct, tag="message_start"):
    message: MessageHead


class BlockStart(msgspec.Struct, tag="content_block_start"):
    index: int
    content_block: dict[str, Any]


class BlockDelta(msgspec.Struct, tag="content_block_delta"):
    index: int
    delta: TextPiece | InputPiece | ThinkingPiece | SignaturePiece


class BlockStop(msgspec.Struct, tag="content_block_stop"):
    index: int


class Ending(msgspec.Struct):
    stop_reason: str | None = None


class MessageDelta(msgspec.Struct, tag="message_delta"):
    delta: Ending
    usage: TokenCounts | None = None


class MessageStop(msgspec.Struct, tag="message_stop"):
    pass


class Ping(msgspec.Struct, tag="ping"):
    pass


class WireError(msgspec.Struct):
    type: str = ""
    message: str = ""


class ErrorEvent(msgspec.Struct, tag="error"):
    error: WireError


WireEvent = MessageStart | BlockStart | BlockDelta | BlockStop | MessageDelta | MessageStop | Ping | ErrorEvent


class Outline(msgspec.Struct):
    type: str
    delta: msgspec.Raw = msgspec.Raw()


KNOWN_EVENTS = frozenset(
    {"message_start", "content_block_start", "content_block_delta", "content_block_stop"}
    | {"message_delta", "message_stop", "ping", "error"}
)
KNOWN_DELTAS = frozenset({"text_delta", "input_json_delta", "thinking_delta", "signature_delta"})

_decode_event = msgspec.json.Decoder(WireEvent).decode
_decode_outline = msgspec.json.Decoder(Outline).decode


def invalid(what: str) -> ModelFailure:
    return ModelFailure("invalid_response", f"The model endpoint sent no valid reply: {what}.")


def read_event(payload: bytes) -> WireEvent | None:
    """None: an event or a delta of a type that this version does not know."""
    try:
        return _decode_event(payload)
    except msgspec.ValidationError:
        if _is_unknown(payload):
            return None
        raise invalid("an event has an unknown shape") from None
    except (msgspec.DecodeError, RecursionError):
        raise invalid("an event is not JSON") from None


def _is_unknown(payload: bytes) -> bool:
    """Whether the event, or the delta in it, is of another version of the API; not a known one in a wrong shape."""
    kind = type_of(payload)
    if kind == "content_block_delta":
        delta = type_of(_decode_outline(payload).delta)
        return delta is not None and delta not in KNOWN_DELTAS
    return kind is not None and kind not in KNOWN_EVENTS


def type_of(payload: bytes | msgspec.Raw) -> str | None:
    """None: not an object with a type."""
    try:
        return _decode_outline(payload).type
    except (msgspec.DecodeError, RecursionError):
        return None


def upstream_failure(kind: str, hint: str, error_type: str | None, message: str | None, **more: Any) -> ModelFailure:
    """A failure that the API itself named: its type and the beginning of its message, on one line."""
    said = " ".join(f"{error_type or ''}: {message or ''}".split())[:200].strip(": ")
    return ModelFailure(kind, f"{hint} It said: {said}" if said else hint, **more)


# --- server-sent events ------------------------------------------------------------------------


class EventSplitter:
    """Cuts the body, as it arrives, into the data of whole events."""

    def __init__(self) -> None:
        self._rest = b""
        self._after_cr = False
        self._total = 0

    def feed(self, data: bytes) -> list[bytes]:
        self._total += len(data)
        if self._after_cr or b"\r" in data:
            data = self._with_line_feeds(data)
        *events, self._rest = (self._rest + data).split(b"\n\n")
        if len(self._rest) > MAX_EVENT_BYTES or self._total > MAX_REPLY_BYTES:
            raise invalid("it does not end")
        return [payload for event in events if (payload := data_of(event))]

    def _with_line_feeds(self, data: bytes) -> bytes:
        """CR LF and CR are line ends too; JSON holds neither. A CR LF may be cut between the two by the network."""
        if self._after_cr and data:
            data = data.removeprefix(b"\n")
            self._after_cr = False
        self._after_cr = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def data_of(event: bytes) -> bytes:
    """The data of one event, empty if it has none. Its name is not needed: the JSON holds it too."""
    at = event.find(b"data:")
    if at < 0:
        return b""
    if (at == 0 or event[at - 1] == 10) and event.find(b"\n", at) < 0:
        return event[at + 5 :]
    return b"\n".join(line[5:] for line in event.split(b"\n") if line.startswith(b"data:"))
