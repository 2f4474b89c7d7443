"""What stands between turns and the model: a place among those that ask at once, the circuit breaker, and what is left
to be spent. Without any of them (the command line, tests) it lets everything through."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import msgspec
import structlog

from refdesk.assistant.breaker import Breaker
from refdesk.assistant.slots import Slots
from refdesk.assistant.spending import Account, Spending
from refdesk.errors import ModelFailure, RequestError
from refdesk.ports import ChatModel, ModelEvent, ModelRequest

log = structlog.get_logger()


class ModelGuard:
    def __init__(
        self, *, slots: Slots | None = None, breaker: Breaker | None = None, spending: Spending | None = None
    ) -> None:
        self.slots, self.breaker, self.spending = slots or Slots(0, 0.0), breaker, spending
        self._told: tuple[str, int | None] | None = None
        """What the operator was told last that lasts until somebody changes something."""

    async def enter(self) -> Callable[[], None]:
        """See Slots.take; before a turn is stored, so that whoever is sent away has begun nothing."""
        return await self.slots.take()

    @contextmanager
    def turn(self, model: ChatModel, visitor_id: str | None) -> Iterator[GuardedTurn]:
        """The model for one turn; None: of no visitor. Raises ModelFailure while the service is left alone."""
        probe = self.breaker.admit() if self.breaker is not None else False
        account = self.spending.account(visitor_id) if self.spending is not None else None
        turn = GuardedTurn(model, account, probe=probe)
        try:
            yield turn
        finally:
            self._tell(turn)
            if self.breaker is not None and turn.asked:
                self.breaker.end(turn.failure, probe=probe)
            elif self.breaker is not None:
                self.breaker.abandon(probe=probe)

    def _tell(self, turn: GuardedTurn) -> None:
        """The operator, of a failure; of one that does not pass by itself once, not with every question."""
        failure = turn.failure
        if failure is None:
            self._told = None if turn.asked else self._told
        elif not failure.permanent:
            log.warning("model failed", model_error=failure.kind, hint=failure.hint)
        elif (cause := (failure.kind, failure.status)) != self._told:
            self._told = cause
            log.error("model cannot be used", model_error=failure.kind, hint=failure.hint)


class GuardedTurn:
    """ChatModel for one turn, which says how it ended, and with what failure."""

    def __init__(self, model: ChatModel, account: Account | None, *, probe: bool) -> None:
        self._model, self._account, self._probe = model, account, probe
        self.asked = False
        """That the model was asked, and how that ended is known."""
        self.failure: ModelFailure | None = None

    def stream(self, request: ModelRequest, *, deadline: float) -> AsyncIterator[ModelEvent]:
        """No generator of its own: it would cost every event something."""
        if self._probe:
            request = msgspec.structs.replace(request, retried=False)
        if self._account is None:
            return self._model.stream(request, deadline=deadline)
        return self._account.metered(self._model, request, deadline=deadline)

    def end(self, failure: ModelFailure | None, *, asked: bool = True) -> None:
        """`asked` False: nothing was left to be spent, which says nothing of the service."""
        self.asked, self.failure = asked, failure

    async def close(self) -> None:
        """The model is not the turn's."""


class GuardedModel:
    """ChatModel whose calls are each guarded like a turn: for what asks the model on nobody's behalf."""

    def __init__(self, model: ChatModel, guard: ModelGuard) -> None:
        self._model, self._guard = model, guard

    async def stream(self, request: ModelRequest, *, deadline: float) -> AsyncGenerator[ModelEvent, None]:
        try:
            leave = await self._guard.enter()
        except RequestError as error:
            raise ModelFailure("overloaded", error.detail) from error
        try:
            with self._guard.turn(self._model, None) as turn:
                try:
                    stream: Any = turn.stream(request, deadline=deadline)
                    async with aclosing(stream) as events:
                        async for event in events:
                            yield event
                except ModelFailure as failure:
                    turn.end(failure)
                    raise
                turn.end(None)
        finally:
            leave()

    async def close(self) -> None:
        """The model is closed by whoever opened it."""
