"""Running turns: each has a task that the application owns, and a bounded record of its events.

A client only follows. Closing a connection stops nothing; a client that comes back reads on from the event it saw last.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal

import msgspec

from refdesk.domain.articles import ANONYMOUS, Roles
from refdesk.domain.conversation import Turn
from refdesk.domain.events import Delta, Failed, TurnEvent
from refdesk.errors import RequestError, as_request_error

KEEP_SECONDS = 600
"""How long the events of a finished turn are kept for replay; afterwards the stored turn answers."""

KEEP_BYTES = 8 * 1024 * 1024
"""Of memory, all that is kept of ended turns together: 4,700 short turns, some 600 with long answers. Beyond it those
that ended first go earlier, however many end in ten minutes."""
ENTRY_BYTES = 256
"""Of memory for an ended turn beside its events: its ids, and its place among the others."""

TERMINAL = ("done", "error")
StopCause = Literal["stopped", "interrupted"]


class TurnRun:
    """The events of one turn, in memory; any number of followers read them at their own pace."""

    def __init__(self, turn_id: str, conversation_id: str, roles: Roles = ANONYMOUS) -> None:
        self.turn_id, self.conversation_id = turn_id, conversation_id
        self.roles = roles
        """Those with which it runs: its events are for nobody who has less."""
        self.events: list[TurnEvent] = []
        self.task: asyncio.Task[None] | None = None
        self.stop_cause: StopCause | None = None
        self.turn: Turn | None = None
        self.error: RequestError | None = None
        self.begun = False
        self.finishing = False
        """The outcome is decided and being stored; it cannot be stopped any more."""
        self._waiting: list[asyncio.Future[bool]] = []
        self._text: list[str] = []
        self.sent = ""
        """Everything that went out in deltas."""

    @property
    def ended(self) -> bool:
        return bool(self.events) and self.events[-1].name in TERMINAL

    def delta(self, text: str) -> None:
        """Text that arrives in one go leaves in one event, at the next pass of the event loop."""
        if text and not self._text:
            asyncio.get_running_loop().call_soon(self._flush)
        if text:
            self._text.append(text)
            self.sent += text

    def emit_done(self, turn: Turn) -> None:
        """The last event; `replaced` tells a client that what it has shown is not how the answer begins."""
        self._flush()
        body = msgspec.json.encode(turn)
        if self.sent and not (turn.answer.startswith(self.sent)):
            body = body[:-1] + b',"replaced":true}'
        self._append("done", msgspec.Raw(body))

    def fail(self, error: RequestError, request_id: str) -> None:
        """The last event of a turn without an outcome."""
        self.error = error
        told = Failed(status=error.status, code=error.code, detail=error.detail, request_id=request_id)
        self.emit("error", told)

    def emit(self, name: str, data: Any) -> None:
        self._flush()
        self._append(name, data)

    def _flush(self) -> None:
        if self._text:
            text, self._text = "".join(self._text), []
            self._append("delta", Delta(text))

    def _append(self, name: str, data: Any) -> None:
        if self.ended:
            return
        event = TurnEvent(number=len(self.events) + 1, name=name, data=msgspec.json.encode(data))
        self.events.append(event)
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            settle(future, True)

    async def follow(self, after: int, heartbeat: float) -> AsyncIterator[list[TurnEvent]]:
        """The events numbered above `after`, then live ones, those together that are there together; an empty list
        whenever `heartbeat` seconds passed in silence.

        A number that was never given out is answered with the last event, which is enough to know all."""
        at = max(0, after)
        if at > len(self.events):
            at = len(self.events) - 1 if self.ended else len(self.events)
        while True:
            if at < len(self.events):
                ready = self.events[at:]
                at += len(ready)
                yield ready
            elif self.ended:
                return
            elif not await self._wait(heartbeat):
                yield []

    async def finished(self) -> None:
        while not self.ended:
            await self._wait(None)

    async def _wait(self, seconds: float | None) -> bool:
        """Whether an event came within `seconds` (None: however long it takes)."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = loop.create_future()
        self._waiting.append(future)
        timer = loop.call_later(seconds, settle, future, False) if seconds is not None else None
        try:
            return await future
        finally:
            if timer is not None:
                timer.cancel()
            if future in self._waiting:
                self._waiting.remove(future)


def settle(future: asyncio.Future[bool], came: bool) -> None:
    if not future.done():
        future.set_result(came)


class EndedTurn(msgspec.Struct, frozen=True, gc=False):
    """What is kept of a turn for replay. In one piece: as objects its events, task and timer took four times the room,
    and each of them was looked at by every search for garbage."""

    conversation_id: str
    until: float
    """When it goes, by the event loop's clock, in seconds."""
    packed: bytes
    """Its roles and events."""

    @property
    def size(self) -> int:
        """Bytes of memory."""
        return ENTRY_BYTES + sys.getsizeof(self.packed)

    def run(self, turn_id: str) -> TurnRun:
        """To be followed like one that has just ended."""
        roles, events = UNPACK.decode(self.packed)
        run = TurnRun(turn_id, self.conversation_id, roles)
        run.events = events
        return run


PACK = msgspec.msgpack.Encoder()
UNPACK = msgspec.msgpack.Decoder(tuple[Roles, list[TurnEvent]])


def pack(run: TurnRun, until: float) -> EndedTurn:
    """By way of a buffer: what `encode` returns holds on to the room that it took to begin with."""
    room = bytearray()
    PACK.encode_into((run.roles, run.events), room)
    return EndedTurn(run.conversation_id, until, bytes(room))


class TurnRuns:
    """Every running turn of this process, and those that ended within the last ten minutes."""

    def __init__(self) -> None:
        self._runs: dict[str, TurnRun] = {}
        self._ended: dict[str, EndedTurn] = {}
        """In the order in which they ended."""
        self._kept = 0
        """Bytes of memory that the ended ones take."""
        self._timer: asyncio.TimerHandle | None = None
        """For the one that goes first."""
        self.closing = False

    def start(self, run: TurnRun, work: Callable[[TurnRun], Awaitable[None]]) -> TurnRun:
        self._runs[run.turn_id] = run
        run.task = asyncio.create_task(self._own(run, work), name=f"turn {run.turn_id}")
        return run

    async def _own(self, run: TurnRun, work: Callable[[TurnRun], Awaitable[None]]) -> None:
        try:
            await work(run)
        finally:
            if not run.ended:  # whatever went wrong, nobody may wait for ever
                run.fail(run.error or as_request_error(RuntimeError()), "")
            self._keep(run)

    def _keep(self, run: TurnRun) -> None:
        if self._runs.pop(run.turn_id, None) is None:  # forgotten meanwhile
            return
        ended = pack(run, asyncio.get_running_loop().time() + KEEP_SECONDS)
        self._ended[run.turn_id] = ended
        self._kept += ended.size
        while self._kept > KEEP_BYTES:
            self._drop(next(iter(self._ended)))
        self._await_the_first()

    def _await_the_first(self) -> None:
        if self._timer is None and self._ended:
            first = next(iter(self._ended.values()))
            self._timer = asyncio.get_running_loop().call_at(first.until, self._drop_old)

    def _drop_old(self) -> None:
        now, self._timer = asyncio.get_running_loop().time(), None
        while self._ended and next(iter(self._ended.values())).until <= now:
            self._drop(next(iter(self._ended)))
        self._await_the_first()

    def _drop(self, turn_id: str) -> None:
        self._kept -= self._ended.pop(turn_id).size

    def forget(self, conversation_id: str) -> None:
        """The conversation was erased: its events go, and a turn that still runs in it is ended."""
        for run in [run for run in self._runs.values() if run.conversation_id == conversation_id]:
            self.stop(run)
            del self._runs[run.turn_id]
        for turn_id in [id for id, ended in self._ended.items() if ended.conversation_id == conversation_id]:
            self._drop(turn_id)

    def get(self, turn_id: str) -> TurnRun | None:
        ended = self._ended.get(turn_id)
        return ended.run(turn_id) if ended is not None else self._runs.get(turn_id)

    def running(self) -> list[TurnRun]:
        return [run for run in self._runs.values() if run.task is not None and not run.task.done()]

    def stop(self, run: TurnRun, cause: StopCause = "stopped") -> None:
        """Ends the model call at once: cancelling the task closes its connection.

        A task that was cancelled before its first step would never run, so one that has not begun is only told."""
        if run.task is not None and not run.task.done() and run.stop_cause is None and not run.finishing:
            run.stop_cause = cause
            if run.begun:
                run.task.cancel()

    async def close(self, patience: float) -> None:
        """Lets turns finish for `patience` seconds, then ends the rest as interrupted. Nothing is kept after that."""
        self.closing = True
        tasks = [run.task for run in self.running() if run.task]
        if tasks:
            await asyncio.wait(tasks, timeout=patience)
        for run in self.running():
            self.stop(run, "interrupted")
        tasks = [run.task for run in self.running() if run.task]
        if tasks:
            await asyncio.wait(tasks, timeout=5)
        for turn_id in list(self._ended):
            self._drop(turn_id)
        if self._timer is not None:
            self._timer.cancel()
