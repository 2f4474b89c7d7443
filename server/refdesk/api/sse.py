"""The events of a turn on the wire: server-sent events that replay, then go on live."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import msgspec
from litestar.response import Stream

from refdesk.assistant.runs import TurnRun
from refdesk.domain.conversation import StoredTurn, Turn
from refdesk.domain.events import Accepted, TurnEvent
from refdesk.ports import ConversationStore

HEADERS = {
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}
"""What keeps proxies from holding a stream back or compressing it."""

HEARTBEAT = b": still here\n\n"
POLL_SECONDS = 0.5
"""How often a turn that another process runs is looked up."""


def frame(event: TurnEvent) -> bytes:
    """JSON never holds a raw line break, so one data line is enough and no text can forge an event."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.number, event.name.encode(), event.data)


def with_token(event: TurnEvent, token: str | None) -> TurnEvent:
    """`accepted` tells the token only to the one who opened the session, never on replay."""
    if token is None or event.name != "accepted":
        return event
    accepted = msgspec.json.decode(event.data, type=Accepted)
    told = msgspec.structs.replace(accepted, token=token)
    return TurnEvent(number=event.number, name=event.name, data=msgspec.json.encode(told))


async def follow(run: TurnRun, after: int, heartbeat: float, token: str | None = None) -> AsyncIterator[bytes]:
    """Events that are there together leave in one write."""
    async for events in run.follow(after, heartbeat):
        yield b"".join(frame(with_token(event, token)) for event in events) or HEARTBEAT


async def stored_end(
    turn: Turn, after: int, heartbeat: float, store: ConversationStore, visible: Callable[[StoredTurn], Turn]
) -> AsyncIterator[bytes]:
    """The `done` of a turn whose events are not here: it ended long ago, or another process runs it."""
    silent = 0.0
    while turn.status == "running":
        await asyncio.sleep(POLL_SECONDS)
        silent += POLL_SECONDS
        if silent >= heartbeat:
            silent = 0.0
            yield HEARTBEAT
        stored = await store.turn(turn.id, None)
        if stored is None:
            return
        turn = visible(stored)
    yield frame(TurnEvent(number=after + 1, name="done", data=msgspec.json.encode(turn)))


def stream(chunks: AsyncIterator[bytes]) -> Stream:
    return Stream(chunks, status_code=200, media_type="text/event-stream", headers=HEADERS)
