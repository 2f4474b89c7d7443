"""The events of a turn as a client sees them (api.md): name and data; the sequence number is the SSE id."""

from __future__ import annotations

import msgspec


class TurnEvent(msgspec.Struct, frozen=True):
    number: int
    name: str
    """accepted, step, delta, done, error."""
    data: bytes
    """JSON, one line."""
