"""Running turns: each has a task that the application owns, and a bounded record of its events.

A client only follows. Closing a connection stops nothing; a client that comes back reads on from the event it saw last.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal

import msgspec

from refdesk.domain.conversation import Turn
from refdesk.domain.events import TurnEvent
from refdesk.errors import RefdeskError

KEEP_SECONDS = 600
"""How long the events of a finished turn are kept for replay; afterwards the stored turn answers."""

TERMINAL = ("done", "error")
StopCause = Literal["stopped", "interrupted"]


class TurnRun:
    """The events of one turn, in memory; any number of followers read them at their own pace."""

    def __init__(self, turn_id: str, conversation_id: str, visitor_id: str) -> None:
        self.turn_id, self.conversation_id, self.visitor_id = turn_id, conversation_id, visitor_id
        self.events: list[TurnEvent] = []
        self.task: asyncio.Task[None] | None = None
        self.stop_cause: StopCause | None = None
        self.turn: Turn | None = None
        self.error: RefdeskError | None = None
        self.begun = False
        self.finishing = False
        """The outcome is decided and being stored; it cannot be stopped any more."""
        self._waiting: list[asyncio.Future[None]] = []
        self._text: list[str] = []
        self.sent = ""
        """Everything that went out in deltas."""

    @property
    def ended(self) -> bool:
        return bool(self.events) and self.events[-1].name in TERMINAL

    def delta(self, text: str) -> None:
        """Text that arrives in one go leaves in one event: it waits for the next pass of the event loop."""
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

    def emit(self, name: str, data: Any) -> None:
        self._flush()
        self._append(name, data)

    def _flush(self) -> None:
        if self._text:
            text, self._text = "".join(self._text), []
            self._append("delta", {"text": text})

    def _append(self, name: str, data: Any) -> None:
        if self.ended:
            return
        self.events.append(TurnEvent(number=len(self.events) + 1, name=name, data=msgspec.json.encode(data)))
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def follow(self, after: int, heartbeat: float) -> AsyncIterator[TurnEvent | None]:
        """The events numbered above `after`, then live ones; None whenever `heartbeat` seconds passed in silence."""
        at = max(0, after)
        while True:
            while at < len(self.events):
                event = self.events[at]
                at += 1
                yield event
                if event.name in TERMINAL:
                    return
            if self.ended:
                return
            if not await self._wait(heartbeat):
                yield None

    async def finished(self) -> None:
        while not self.ended:
            await self._wait(None)

    async def _wait(self, seconds: float | None) -> bool:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await asyncio.wait_for(future, seconds)
        except TimeoutError:
            return False
        return True


class TurnRuns:
    """Every running turn of this process, and those that ended within the last ten minutes."""

    def __init__(self) -> None:
        self._runs: dict[str, TurnRun] = {}
        self.closing = False

    def start(self, run: TurnRun, work: Callable[[TurnRun], Awaitable[None]]) -> TurnRun:
        self._runs[run.turn_id] = run
        run.task = asyncio.create_task(self._own(run, work), name=f"turn {run.turn_id}")
        return run

    async def _own(self, run: TurnRun, work: Callable[[TurnRun], Awaitable[None]]) -> None:
        try:
            await work(run)
        finally:
            asyncio.get_running_loop().call_later(KEEP_SECONDS, self._runs.pop, run.turn_id, None)

    def get(self, turn_id: str) -> TurnRun | None:
        return self._runs.get(turn_id)

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
        """Lets turns finish for `patience` seconds, then ends the rest as interrupted."""
        self.closing = True
        tasks = [run.task for run in self.running() if run.task]
        if tasks:
            await asyncio.wait(tasks, timeout=patience)
        for run in self.running():
            self.stop(run, "interrupted")
        tasks = [run.task for run in self.running() if run.task]
        if tasks:
            await asyncio.wait(tasks, timeout=5)
