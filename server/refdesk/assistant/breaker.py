"""A circuit breaker: while the model's service is down nobody waits for it, until one turn has tried it again.

Only failures of the service itself count (OUTAGES). A reply that is garbage, empty, refused or over budget comes from a
service that is there, and the next question may well be answered.
"""

from __future__ import annotations

from typing import Literal

import structlog

from refdesk.errors import ModelFailure
from refdesk.ports import Clock

log = structlog.get_logger()

OUTAGES = frozenset({"unavailable", "overloaded", "rate_limited", "timeout"})
"""Kinds of ModelFailure."""

State = Literal["closed", "open", "probing"]


class Breaker:
    """`turns` failed in a row open it, and so does a failure that will not pass by itself (a spend limit); after
    `seconds` one turn is the probe, and its end decides. `turns` 0: it never opens."""

    def __init__(self, clock: Clock, *, turns: int, seconds: float) -> None:
        self._clock, self._turns, self._seconds = clock, turns, seconds
        self._failed = 0
        self._cause: str | None = None
        """Why it is open."""
        self._until = 0.0
        self._probing = False

    @property
    def state(self) -> State:
        return "closed" if self._cause is None else "probing" if self._probing else "open"

    def admit(self) -> bool:
        """Whether this turn is the probe; every probe must be ended or abandoned. Raises ModelFailure while the service
        is left alone, of the kind that it last failed with."""
        if self._cause is None:
            return False
        if self._probing or self._clock.monotonic() < self._until:
            raise ModelFailure(self._cause)
        self._probing = True
        return True

    def end(self, failure: ModelFailure | None, *, probe: bool) -> None:
        """How a turn that was admitted has ended. What began before it opened neither opens nor closes it."""
        down = failure is not None and failure.kind in OUTAGES
        if probe:
            self._probing = False
        elif self._cause is not None:
            return
        self._failed = self._failed + 1 if down else 0
        if failure is not None and down:
            if self._turns and (probe or failure.permanent or self._failed >= self._turns):
                self._open(failure)
        elif probe:
            self._cause = None
            log.warning("model breaker closed")

    def abandon(self, *, probe: bool) -> None:
        """The turn was stopped, or failed by itself: it says nothing of the service."""
        if probe:
            self._probing = False

    def _open(self, failure: ModelFailure) -> None:
        if self._cause is None:
            log.error(
                "model breaker opened",
                model_error=failure.kind,
                failed_turns=self._failed,
                seconds=self._seconds,
                hint=failure.hint,
            )
        self._cause, self._until = failure.kind, self._clock.monotonic() + self._seconds
