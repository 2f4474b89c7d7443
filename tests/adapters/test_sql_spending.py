"""Caps on what model calls cost, on both databases: reserved before a call, settled after it, never passed."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from fake_model import Call, FakeChatModel, Reply, Say, say
from refdesk.adapters.sql_database import Database
from refdesk.adapters.sql_spending import SqlSpending
from refdesk.assistant.spending import NANO, Account, Caps, Spending
from refdesk.domain.prices import Price
from refdesk.errors import ModelFailure, StorageUnavailable
from refdesk.limit_ports import Charge
from refdesk.ports import ModelEvent, ModelRequest

DAY, NEXT = 1_796_083_200.0, 86_400.0
"""The beginning of 2026-12-01."""
PRICE = Price(input=1_000.0, output=2_000.0)
"""A thousandth of a dollar for a token read, two for one written."""
REQUEST = ModelRequest("Be exact.", (), ({"role": "user", "content": "How long?"},), 100)
READ = 1.25 * 19
"""Thousandths of a dollar that the request may cost, with its tokens counted as a third of its bytes."""
WORST = READ + 200


class Clock:
    at = DAY

    def now(self) -> float:
        return self.at

    def monotonic(self) -> float:
        raise AssertionError("a day is one of the wall clock")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(database: Database) -> SqlSpending:
    return SqlSpending(database)


def spending_of(store: Any, clock: Clock, **caps: float) -> Spending:
    """Caps in thousandths of a dollar."""
    return Spending(PRICE, Caps(**{name: cap / 1000 for name, cap in caps.items()}), store, clock)


async def called(account: Account, model: FakeChatModel, request: ModelRequest = REQUEST) -> list[ModelEvent] | str:
    """The events of a call, or the kind of its failure."""
    deadline = asyncio.get_running_loop().time() + 20
    try:
        async with aclosing(account.metered(model, request, deadline=deadline)) as events:
            return [event async for event in events]
    except ModelFailure as failure:
        return failure.kind


async def spent(spending: Spending, who: str = "") -> float:
    """Today, in thousandths of a dollar."""
    return await spending.store.spent(spending.today(), who) / NANO * 1000


async def test_all_is_charged_or_nothing(store: SqlSpending) -> None:
    assert await store.charge("2026-12-01", [Charge("v", 60, 100), Charge("", 60, 100)])
    assert not await store.charge("2026-12-01", [Charge("w", 60, 100), Charge("", 60, 100)])
    assert await store.charge("2026-12-01", [Charge("w", 40, 100), Charge("", 40, 100)])
    assert not await store.charge("2026-12-01", [Charge("new", 101, 100)])
    assert [await store.spent("2026-12-01", who) for who in ("v", "w", "", "new")] == [60, 40, 100, 0]
    await store.settle("2026-12-01", [Charge("", -100, 100)])
    assert await store.spent("2026-12-01") == 0


async def test_many_at_once_never_pass_the_cap(store: SqlSpending) -> None:
    charges = [store.charge("2026-12-01", [Charge(f"v{n % 3}", 7, 60), Charge("", 7, 100)]) for n in range(40)]
    assert sum(await asyncio.gather(*charges)) == 14
    assert await store.spent("2026-12-01") == 98


async def test_days_long_past_are_forgotten(store: SqlSpending) -> None:
    for day in ("2026-11-28", "2026-11-30", "2026-12-01"):
        await store.charge(day, [Charge("", 1, 10)])
    assert [await store.spent(day) for day in ("2026-11-28", "2026-11-30", "2026-12-01")] == [0, 1, 1]


async def test_a_call_is_reserved_as_dear_as_it_may_be_and_settled_as_it_was(store: SqlSpending, clock: Clock) -> None:
    spending = spending_of(store, clock, day=WORST, visitor=WORST)
    model = FakeChatModel([say("About thirty days.")])
    account = spending.account("v")
    held = []
    async with aclosing(account.metered(model, REQUEST, deadline=asyncio.get_running_loop().time() + 20)) as events:
        async for _ in events:
            held.append(await spent(spending))
    assert set(held) == {WORST}
    assert await spent(spending) == await spent(spending, "v") == 10 + 2 * 5
    assert (await spending.spent()).usd == pytest.approx(0.02)


async def test_without_room_for_the_worst_the_model_is_not_asked(store: SqlSpending, clock: Clock) -> None:
    model = FakeChatModel([say("Yes.")])
    for caps in ({"day": WORST - 1}, {"visitor": WORST - 1}, {"turn": WORST - 1}):
        spending = spending_of(store, clock, **caps)
        assert await called(spending.account("v"), model) == "budget"
        assert (await spent(spending), await spent(spending, "v")) == (0, 0)
    assert model.requests == []


async def test_each_cap_is_of_its_own(store: SqlSpending, clock: Clock) -> None:
    model = FakeChatModel([say("Yes.")])
    visitor = spending_of(store, clock, visitor=WORST + 19)
    assert isinstance(await called(visitor.account("v"), model), list)
    assert await called(visitor.account("v"), model) == "budget"
    assert isinstance(await called(visitor.account("w"), model), list)
    assert isinstance(await called(visitor.account(None), model), list)
    day = spending_of(store, clock, day=WORST + 19)
    assert isinstance(await called(day.account("v"), model), list)
    assert await called(day.account(None), model) == "budget"
    turn = spending_of(store, clock, turn=WORST + 39)
    account = turn.account("v")
    assert [isinstance(await called(account, model), list) for _ in range(3)] == [True, True, False]
    assert isinstance(await called(turn.account("v"), model), list)


async def test_the_next_day_works_again(store: SqlSpending, clock: Clock) -> None:
    spending, model = spending_of(store, clock, day=WORST), FakeChatModel([say("Yes.")])
    assert isinstance(await called(spending.account("v"), model), list)
    clock.at = DAY + NEXT - 0.001
    assert await called(spending.account("v"), model) == "budget"
    clock.at = DAY + NEXT
    assert isinstance(await called(spending.account("v"), model), list)
    assert (spending.today(), await spent(spending)) == ("2026-12-02", 20)


async def test_a_call_over_midnight_belongs_to_the_day_it_began(store: SqlSpending, clock: Clock) -> None:
    spending, model = spending_of(store, clock, day=WORST), FakeChatModel([say("Yes, it is.")])
    clock.at = DAY + NEXT - 1
    async with aclosing(
        spending.account("v").metered(model, REQUEST, deadline=asyncio.get_running_loop().time() + 20)
    ) as events:
        async for _ in events:
            clock.at = DAY + NEXT
    assert await spent(spending) == 0
    assert await store.spent("2026-12-01") == 20 * NANO // 1000


class Failing(FakeChatModel):
    """Fails before a word."""

    def __init__(self, kind: str) -> None:
        super().__init__([])
        self._kind = kind

    async def stream(self, request: ModelRequest, *, deadline: float):
        raise ModelFailure(self._kind)
        yield


@pytest.mark.parametrize("kind", ["unavailable", "overloaded", "rate_limited", "not_configured"])
async def test_what_was_refused_costs_nothing(store: SqlSpending, clock: Clock, kind: str) -> None:
    spending = spending_of(store, clock, day=WORST)
    assert await called(spending.account("v"), Failing(kind)) == kind
    assert await spent(spending) == 0


@pytest.mark.parametrize("kind", ["timeout", "invalid_response", "refused"])
async def test_what_was_read_and_not_answered_costs_its_input(store: SqlSpending, clock: Clock, kind: str) -> None:
    spending = spending_of(store, clock, day=WORST)
    assert await called(spending.account("v"), Failing(kind)) == kind
    assert READ <= await spent(spending) <= READ + 2


async def test_an_answer_that_breaks_off_costs_what_was_written(store: SqlSpending, clock: Clock) -> None:
    spending = spending_of(store, clock, day=WORST)
    broken = FakeChatModel([Reply((Say(("x" * 90,)),), breaks="overloaded")])
    assert await called(spending.account("v"), broken) == "overloaded"
    assert READ + 2 * 30 <= await spent(spending) <= READ + 2 * 31


async def test_a_call_that_is_stopped_costs_what_had_come(store: SqlSpending, clock: Clock) -> None:
    spending = spending_of(store, clock, day=WORST)
    silent = FakeChatModel([Reply((Call("t", "answer", ('{"a": "' + "x" * 53,)),), breaks="silence")])
    begun = asyncio.Event()

    async def turn() -> None:
        account = spending.account("v")
        async with aclosing(
            account.metered(silent, REQUEST, deadline=asyncio.get_running_loop().time() + 20)
        ) as events:
            async for _ in events:
                begun.set()

    task = asyncio.create_task(turn())
    await begun.wait()
    for _ in range(20):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert 10 + 2 * 20 <= await spent(spending) <= 10 + 2 * 22


@pytest.mark.parametrize("what", ["charge", "settle"])
async def test_a_turn_that_is_stopped_while_the_store_answers_leaves_nothing_reserved(
    store: SqlSpending, clock: Clock, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    reached, going_on, answered = asyncio.Event(), asyncio.Event(), getattr(store, what)

    async def slow(day: str, charges: Any) -> Any:
        reached.set()
        await going_on.wait()
        return await answered(day, charges)

    monkeypatch.setattr(store, what, slow)
    spending, model = spending_of(store, clock, day=WORST), FakeChatModel([say("Yes.")])
    turn = asyncio.create_task(called(spending.account("v"), model))
    await reached.wait()
    turn.cancel()
    await asyncio.sleep(0)
    going_on.set()
    await asyncio.wait([turn])
    assert turn.cancelled()
    while spending._settling:
        await asyncio.wait(spending._settling)
    assert await spent(spending) == (0 if what == "charge" else 20)
    assert len(model.requests) == (0 if what == "charge" else 1)


async def test_what_cannot_be_settled_stays_reserved(
    store: SqlSpending, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(day: str, charges: Any) -> None:
        raise StorageUnavailable("database: locked")

    monkeypatch.setattr(store, "settle", down)
    spending, model = spending_of(store, clock, day=WORST), FakeChatModel([say("Yes.")])
    assert isinstance(await called(spending.account("v"), model), list)
    assert await spent(spending) == WORST


async def test_without_a_cap_of_the_day_nothing_is_written(clock: Clock) -> None:
    class NoStore:
        def __getattr__(self, name: str) -> Any:
            raise AssertionError(f"{name} of the store")

    spending = spending_of(NoStore(), clock, turn=10 * WORST)
    assert isinstance(await called(spending.account("v"), FakeChatModel([say("Yes.")])), list)
