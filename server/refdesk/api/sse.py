"""The events of a turn on the wire: server-sent events that replay, then go on live."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

import msgspec
from litestar.response import Stream

from refdesk.assistant.runs import TurnRun
from refdesk.domain.events import TurnEvent

HEADERS = {
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}
"""What keeps proxies from holding a stream back or compressing it."""

HEARTBEAT = b": still here\n\n"


def frame(event: TurnEvent) -> bytes:
    """JSON never holds a raw line break, so one data line is enough and no text can forge an event."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.number, event.name.encode(), event.data)


def with_token(event: TurnEvent, token: str | None) -> TurnEvent:
    """`accepted` tells the token only to the one who opened the session, never on replay."""
    if token is None or event.name != "accepted":
        return event
    data = msgspec.json.decode(event.data) | {"token": token}
    return TurnEvent(number=event.number, name=event.name, data=msgspec.json.encode(data))


async def follow(run: TurnRun, after: int, heartbeat: float, token: str | None = None) -> AsyncIterator[bytes]:
    async for event in run.follow(after, heartbeat):
        yield HEARTBEAT if event is None else frame(with_token(event, token))


async def replay(events: Iterable[TurnEvent]) -> AsyncIterator[bytes]:
    for event in events:
        yield frame(event)


def stream(chunks: AsyncIterator[bytes]) -> Stream:
    return Stream(chunks, status_code=200, media_type="text/event-stream; charset=utf-8", headers=HEADERS)
