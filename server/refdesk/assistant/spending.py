"""Caps on what model calls cost: the worst case is reserved before a call, and what it really cost is settled after it.

A reservation is in the store before the call begins, so what a crash leaves behind counts as spent: a cap may be
reached early, never passed. Amounts are nanodollars, whole numbers: a cached token of the cheapest model costs ten.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import Any

import msgspec
import structlog

from refdesk.domain.conversation import Usage
from refdesk.domain.prices import Price
from refdesk.errors import ModelFailure, StorageUnavailable
from refdesk.limit_ports import Charge, SpendStore
from refdesk.ports import (
    ChatModel,
    Clock,
    ModelEvent,
    ModelReply,
    ModelRequest,
    ReplyProgress,
    TextDelta,
    ToolInputDelta,
)

log = structlog.get_logger()

NANO = 1_000_000_000
BYTES_PER_TOKEN = 3
"""Of a request, at the least: models read English at four and most other languages at more."""
UNBILLED = frozenset({"unavailable", "overloaded", "rate_limited", "not_configured"})
"""Failures before a word came that mean that nothing was read either."""


class Caps(msgspec.Struct, frozen=True):
    """US dollars; 0: no cap. Days are UTC days."""

    turn: float = 0.0
    visitor: float = 0.0
    """A day."""
    day: float = 0.0
    """Of the whole deployment."""


class Spent(msgspec.Struct, frozen=True):
    """What the deployment has spent today, reservations of running calls included. US dollars."""

    day: str
    usd: float
    cap_usd: float


class Spending:
    def __init__(self, price: Price, caps: Caps, store: SpendStore, clock: Clock) -> None:
        self.price, self.caps, self.store, self._clock = price, caps, store, clock
        self._settling: set[asyncio.Task[None]] = set()

    def today(self) -> str:
        return datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y-%m-%d")

    async def spent(self) -> Spent:
        day = self.today()
        return Spent(day, await self.store.spent(day) / NANO, self.caps.day)

    async def charge(self, day: str, charges: Sequence[Charge]) -> bool:
        """A turn that is stopped meanwhile has reserved nothing."""
        charging = asyncio.ensure_future(self.store.charge(day, charges))
        try:
            return await asyncio.shield(charging)
        except asyncio.CancelledError:
            with suppress(StorageUnavailable):
                if await charging:
                    await self.settle(day, [msgspec.structs.replace(one, amount=-one.amount) for one in charges])
            raise

    async def settle(self, day: str, charges: Sequence[Charge]) -> None:
        """Goes on even where the turn is stopped meanwhile."""
        task = asyncio.create_task(self._settle(day, charges))
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)
        await asyncio.shield(task)

    async def _settle(self, day: str, charges: Sequence[Charge]) -> None:
        try:
            await self.store.settle(day, charges)
        except StorageUnavailable as error:
            log.error("spending not settled", error=str(error))

    def account(self, visitor_id: str | None) -> Account:
        """For one turn. None: nobody's, so that only the caps of the turn and the deployment hold."""
        return Account(self, visitor_id)


class Account:
    def __init__(self, spending: Spending, visitor_id: str | None) -> None:
        self._spending, self._visitor_id = spending, visitor_id
        self._turn = 0
        """What the turn has cost so far."""

    async def metered(
        self, model: ChatModel, request: ModelRequest, *, deadline: float
    ) -> AsyncGenerator[ModelEvent, None]:
        """A call within the caps. Raises ModelFailure `budget` where it might pass one of them."""
        read = len(msgspec.json.encode((request.system, request.tools, request.messages))) // BYTES_PER_TOKEN + 1
        meter = Meter(self._spending.price, read)
        day, held = self._spending.today(), meter.worst(request.max_tokens)
        await self._reserve(day, held)
        try:
            stream: Any = model.stream(request, deadline=deadline)
            async with aclosing(stream) as events:
                async for event in events:
                    meter.see(event)
                    yield event
        except ModelFailure as failure:
            meter.failed(failure)
            raise
        finally:
            await self._settle(day, held, meter.cost())

    async def _reserve(self, day: str, amount: int) -> None:
        caps = self._spending.caps
        if caps.turn and self._turn + amount > caps.turn * NANO:
            raise over_budget("REFDESK_SPEND_PER_TURN", amount)
        charges = self._charges(amount)
        if charges and not await self._spending.charge(day, charges):
            raise over_budget(" or ".join(name for name, cap in self._daily(caps) if cap), amount)
        self._turn += amount

    async def _settle(self, day: str, held: int, cost: int) -> None:
        self._turn += cost - held
        charges = self._charges(cost - held)
        if charges and cost != held:
            await self._spending.settle(day, charges)

    def _charges(self, amount: int) -> Sequence[Charge]:
        """The visitor's first: whoever locks the deployment's row holds up all others."""
        caps = self._spending.caps
        capped = [(self._visitor_id, caps.visitor), ("", caps.day)]
        return [Charge(who, amount, round(cap * NANO)) for who, cap in capped if cap and who is not None]

    @staticmethod
    def _daily(caps: Caps) -> list[tuple[str, float]]:
        return [("REFDESK_SPEND_PER_VISITOR", caps.visitor), ("REFDESK_SPEND_PER_DAY", caps.day)]


def over_budget(setting: str, amount: int) -> ModelFailure:
    hint = f"A call may cost ${amount / NANO:.4f}, for which {setting} leaves no room."
    return ModelFailure("budget", hint, permanent=True)


class Meter:
    """What a call has cost so far. `read`: its input in tokens, estimated, until the model says how much it was."""

    def __init__(self, price: Price, read: int) -> None:
        self._price, self._read = price, read
        self._usage: Usage | None = None
        self._written = 0
        self._ended = self._free = False

    def worst(self, max_tokens: int) -> int:
        """Everything is written to the cache, which is dearer than plain input, and every token is used."""
        return self._nano(Usage(cache_write_tokens=self._read, output_tokens=max_tokens))

    def see(self, event: ModelEvent) -> None:
        if isinstance(event, TextDelta | ToolInputDelta):
            self._written += len(event.text.encode())
        elif isinstance(event, ModelReply | ReplyProgress):
            self._usage, self._ended = event.usage, isinstance(event, ModelReply)

    def failed(self, failure: ModelFailure) -> None:
        self._free = failure.kind in UNBILLED and self._usage is None and not self._written

    def cost(self) -> int:
        """Of a call that was not read to its end, what has come, counted as dearly as it may be."""
        if self._free:
            return 0
        usage = self._usage or Usage(cache_write_tokens=self._read)
        if not self._ended:
            written = self._written // BYTES_PER_TOKEN + 1
            usage = msgspec.structs.replace(usage, output_tokens=max(usage.output_tokens, written))
        return self._nano(usage)

    def _nano(self, usage: Usage) -> int:
        return math.ceil(self._price.cost(usage) * NANO)
