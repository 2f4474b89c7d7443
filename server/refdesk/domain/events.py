"""The events of a turn as a client sees them (api.md): name and data; the sequence number is the SSE id."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from refdesk.domain.conversation import Turn


class TurnEvent(msgspec.Struct, frozen=True):
    number: int
    name: str
    """accepted, step, delta, done, error."""
    data: bytes
    """JSON, one line."""


class Accepted(msgspec.Struct, frozen=True):
    """The turn is stored."""

    turn_id: str
    conversation_id: str
    token: str | msgspec.UnsetType = msgspec.UNSET
    """Only to the one who opened the session with this question."""


class StepArticle(msgspec.Struct, frozen=True):
    id: str
    title: str
    form: Literal["title", "passage", "part", "full"]


class Step(msgspec.Struct, frozen=True):
    """What is being searched or read."""

    tool: str
    input: dict[str, Any]
    articles: tuple[StepArticle, ...]


class Delta(msgspec.Struct, frozen=True):
    """Validated answer text, to be appended."""

    text: str


class Done(Turn, kw_only=True):
    """The whole turn, which decides."""

    replaced: bool | msgspec.UnsetType = msgspec.UNSET
    """True: `answer` is not a continuation of the deltas."""


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """The turn failed: a problem like that of an HTTP answer."""

    type: str = "about:blank"
    title: str = "The turn failed"
    status: int
    code: str
    detail: str
    request_id: str


PAYLOADS: dict[str, type[msgspec.Struct]] = {
    "accepted": Accepted,
    "step": Step,
    "delta": Delta,
    "done": Done,
    "error": Failed,
}
"""What `data` holds, by the event's name."""
