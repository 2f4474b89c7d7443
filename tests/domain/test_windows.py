"""Moving windows: exact, all or none, and the same after a restart."""

from __future__ import annotations

import pytest

from refdesk.domain import windows as module
from refdesk.domain.windows import Kept, Use, Windows
from traced_memory import traced_memory


def three(key: str) -> Use:
    return Use(key, 3, 60)


def test_the_window_moves_and_says_when_it_opens() -> None:
    windows = Windows()
    assert [windows.take([three("a")], at) for at in (0, 10, 20)] == [0, 0, 0]
    assert [windows.take([three("a")], at) for at in (20, 59, 59.75)] == [40, 1, 0.25]
    assert windows.take([three("a")], 60) == 0
    assert windows.take([three("a")], 60) == 10
    assert windows.take([three("a")], 70) == 0


def test_what_is_refused_does_not_count_and_each_key_counts_alone() -> None:
    windows = Windows()
    assert [windows.take([three("a")], 0) == 0 for _ in range(10)] == [True] * 3 + [False] * 7
    assert windows.take([three("b")], 0) == 0
    assert windows.take([three("a")], 60) == 0


def test_all_count_or_none() -> None:
    windows = Windows()
    for _ in range(3):
        windows.take([three("full")], 0)
    for _ in range(5):
        assert windows.take([three("free"), three("full")], 30) == 30
    assert [windows.take([three("free")], 30) == 0 for _ in range(4)] == [True, True, True, False]


def test_a_use_that_began_nothing_is_given_back() -> None:
    windows = Windows()
    for _ in range(10):
        windows.take([three("a")], 0)
        windows.give_back([three("a"), three("nobody")])
    assert [windows.take([three("a")], 0) == 0 for _ in range(4)] == [True, True, True, False]


def test_a_limit_that_was_lowered_holds_at_once() -> None:
    windows = Windows()
    for at in range(5):
        windows.take([Use("a", 5, 60)], at)
    assert windows.take([Use("a", 2, 60)], 10) == 53


def test_a_flood_of_keys_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_KEYS", 100)
    windows = Windows()
    for number in range(1_000):
        assert windows.take([three(str(number))], number) == 0
        assert windows.take([Use("asked again and again", 10_000, 60)], number) == 0
    assert len(windows) <= 100
    assert len(windows.changed) <= 100
    assert windows.take([Use("asked again and again", 3, 1_000)], 1_000) > 0


def test_a_window_that_is_over_takes_no_memory() -> None:
    windows = Windows()
    for number in range(1_000):
        windows.take([three(f"visitor {number}"), Use("all", 10_000, 60)], number)
        if number % 2:
            windows.give_back([three(f"visitor {number}")])
    assert len(windows) == 61
    assert windows.changed == {"all", *(f"visitor {number}" for number in range(940, 1_000))}


def test_a_window_takes_little_memory() -> None:
    """The bound on keys is one on memory: 16 MB, or 320 bytes a key."""
    windows = Windows()
    with traced_memory() as held:
        for number in range(10_000):
            windows.take([three(f"{number:032}")], float(number) / 1_000)
        windows.changed.clear()
        taken = held()
    assert len(windows) == 10_000
    assert taken / len(windows) <= 320


@pytest.mark.parametrize("wall_after", [1_030.0, 1_010.0, 500.0])
def test_they_outlive_the_process_and_a_clock_that_is_set_back(wall_after: float) -> None:
    before, after = Windows(), Windows()
    for _ in range(3):
        before.take([three("a")], 50)
    after.restore(before.kept(before.changed, 60, 1_010), 7, wall_after)
    wait = after.take([three("a")], 7)
    assert wait == pytest.approx(min(1_060 - wall_after, 60))
    assert after.take([three("a")], 7 + wait) == 0


def test_a_window_without_uses_is_kept_as_empty() -> None:
    windows = Windows()
    windows.take([three("a")], 0)
    windows.give_back([three("a")])
    assert windows.kept(["a", "forgotten"], 5, 1_005) == [Kept("a", [], 1_065), Kept("forgotten", [], 1_005)]
