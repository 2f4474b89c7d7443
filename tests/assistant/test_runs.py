"""Running turns: their events are kept for a while and within bounds, and none stays without an end."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from refdesk.assistant import runs as module
from refdesk.assistant.runs import TurnRun, TurnRuns
from refdesk.domain.conversation import Turn
from refdesk.domain.events import Accepted
from refdesk.errors import RequestError
from traced_memory import traced_memory

HEARTBEAT = 30.0


def turn(number: int, answer: str = "", conversation: str = "c_1") -> Turn:
    made = Turn(id=f"t_{number}", conversation_id=conversation, created_at="", question="?")
    return msgspec.structs.replace(made, status="answered", answer=answer)


def new_run(number: int, conversation: str = "c_1") -> TurnRun:
    return TurnRun(f"t_{number}", conversation)


async def ended(runs: TurnRuns, number: int, answer: str = "", conversation: str = "c_1") -> TurnRun:
    async def work(run: TurnRun) -> None:
        run.emit_done(turn(number, answer, conversation))

    run = runs.start(new_run(number, conversation), work)
    assert run.task is not None
    await run.task
    return run


async def names(run: TurnRun, after: int = 0) -> list[str]:
    return [event.name async for some in run.follow(after, HEARTBEAT) for event in some]


async def test_those_that_ended_first_go_first_once_the_room_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEEP_BYTES", 5_000)
    runs = TurnRuns()
    for number in range(10):
        await ended(runs, number, "x" * 1_000)
    kept = [number for number in range(10) if runs.get(f"t_{number}") is not None]
    assert kept
    assert kept == list(range(kept[0], 10))
    assert kept[0] > 0


@pytest.mark.parametrize("length", [0, 300, 3_000])
async def test_what_is_kept_takes_no_more_memory_than_it_may(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    budget, runs = 1_000_000, TurnRuns()
    monkeypatch.setattr(module, "KEEP_BYTES", budget)
    await ended(runs, 0)
    with traced_memory() as held:
        for number in range(1, 3_000):
            await ended(runs, number, f"{number:{length}}", f"c_{number:022}")
        taken = held()
    assert runs.get("t_2999") is not None
    assert runs.get("t_1") is None
    assert 0.7 * budget < taken <= 1.05 * budget


async def test_an_ended_turn_is_followed_as_while_it_ran() -> None:
    runs = TurnRuns()

    async def work(run: TurnRun) -> None:
        run.emit("accepted", Accepted("t_1", "c_1"))
        run.delta("schön")
        run.emit_done(turn(1, "schön"))

    roles = frozenset({"public", "partner"})
    run = runs.start(TurnRun("t_1", "c_1", roles), work)
    live = [event async for some in run.follow(0, HEARTBEAT) for event in some]
    assert run.task is not None
    await run.task
    kept = runs.get("t_1")
    assert kept is not None
    assert (kept.turn_id, kept.conversation_id, kept.roles, kept.ended) == ("t_1", "c_1", roles, True)
    assert [event async for some in kept.follow(0, HEARTBEAT) for event in some] == live
    assert await names(kept, 2) == ["done"]
    await kept.finished()
    runs.stop(kept)  # there is nothing left to stop
    assert kept.stop_cause is None


async def test_nothing_is_kept_once_all_is_closed() -> None:
    runs = TurnRuns()
    await ended(runs, 1)
    await runs.close(patience=0.0)
    assert runs.get("t_1") is None


async def test_a_turn_that_runs_is_never_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEEP_BYTES", 0)
    runs, gate = TurnRuns(), asyncio.Event()

    async def work(run: TurnRun) -> None:
        await gate.wait()
        run.emit_done(turn(1))

    run = runs.start(new_run(1), work)
    await ended(runs, 2)
    assert (runs.get("t_1"), runs.get("t_2")) == (run, None)
    gate.set()
    assert await names(run) == ["done"]


async def test_after_a_while_an_ended_turn_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEEP_SECONDS", 0)
    runs = TurnRuns()
    run = await ended(runs, 1)
    for _ in range(3):  # passes of the event loop
        await asyncio.sleep(0)
    assert runs.get("t_1") is None
    assert await names(run) == ["done"]  # who follows it still gets its end


async def test_an_erased_conversation_is_forgotten_and_its_turn_ended() -> None:
    runs, begun, never = TurnRuns(), asyncio.Event(), asyncio.Event()

    async def work(run: TurnRun) -> None:
        run.begun = True
        begun.set()
        try:
            await never.wait()
        except asyncio.CancelledError:
            run.emit_done(turn(1))

    run = runs.start(new_run(1), work)
    await ended(runs, 2, conversation="c_2")
    await ended(runs, 3, conversation="c_1")
    await begun.wait()
    runs.forget("c_1")
    assert [runs.get(f"t_{number}") is not None for number in (1, 2, 3)] == [False, True, False]
    assert await names(run) == ["done"]


@pytest.mark.parametrize("fault", [RuntimeError("unforeseen"), asyncio.CancelledError(), None])
async def test_whatever_happens_nobody_waits_for_ever(fault: BaseException | None) -> None:
    async def work(run: TurnRun) -> None:
        run.emit("accepted", Accepted("t_1", "c_1"))
        if fault is not None:
            raise fault

    run = TurnRuns().start(new_run(1), work)
    assert await names(run) == ["accepted", "error"]
    assert run.error is not None
    assert run.error.status == 500
    assert run.task is not None
    await asyncio.wait([run.task])
    if isinstance(fault, RuntimeError):
        assert run.task.exception() is fault


async def test_nothing_follows_the_end() -> None:
    run = new_run(1)
    run.delta("text")
    run.emit_done(turn(1, "text"))
    run.delta("late")
    run.fail(RequestError(503, "late", "late"), "")
    await asyncio.sleep(0.2)  # longer than text is ever gathered for
    assert [event.name for event in run.events] == ["delta", "done"]


@pytest.mark.parametrize(("answer", "replaced"), [("Hello there", False), ("Hello", False), ("Bye", True), ("", True)])
async def test_the_end_tells_whether_it_continues_what_was_shown(answer: str, replaced: bool) -> None:
    run = new_run(1)
    run.delta("Hel")
    run.delta("lo")
    run.emit_done(turn(1, answer))
    assert msgspec.json.decode(run.events[-1].data).get("replaced", False) is replaced


async def test_each_follower_gets_every_event_from_where_it_is() -> None:
    run = new_run(1)
    run.emit("accepted", Accepted("t_1", "c_1"))
    early = asyncio.create_task(names(run))
    await asyncio.sleep(0)
    run.delta("a")
    run.emit_done(turn(1, "a"))
    assert await early == ["accepted", "delta", "done"]
    assert [await names(run, after) for after in (-5, 0, 1, 2, 3, 99)] == [
        ["accepted", "delta", "done"], ["accepted", "delta", "done"], ["delta", "done"], ["done"], [], ["done"],
    ]  # fmt: skip


async def test_silence_is_told_at_every_heartbeat_and_changes_no_number() -> None:
    run, heard = new_run(1), []
    async for some in run.follow(0, 0.001):
        heard.append(len(some))
        if heard == [0, 0, 0]:
            run.emit_done(turn(1))
    assert heard[:3] == [0, 0, 0]
    assert heard[-1] == 1
    assert run.events[0].number == 1


async def test_closing_lets_turns_finish_then_interrupts_them() -> None:
    runs, never = TurnRuns(), asyncio.Event()

    async def quick(run: TurnRun) -> None:
        await asyncio.sleep(0)
        run.emit_done(turn(1))

    async def slow(run: TurnRun) -> None:
        run.begun = True
        try:
            await never.wait()
        except asyncio.CancelledError:
            run.emit_done(msgspec.structs.replace(turn(2), status=run.stop_cause or "answered"))

    first, second = runs.start(new_run(1), quick), runs.start(new_run(2), slow)
    await runs.close(patience=0.05)
    assert runs.closing
    told = [msgspec.json.decode(run.events[-1].data)["status"] for run in (first, second)]
    assert told == ["answered", "interrupted"]
    assert runs.running() == []
