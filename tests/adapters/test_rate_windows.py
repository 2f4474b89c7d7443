"""RateWindows: one suite for the one process on SQLite and for those that share PostgreSQL."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from refdesk.adapters import rate_windows
from refdesk.adapters.rate_windows import windows_of
from refdesk.adapters.sql_database import Database
from refdesk.adapters.sql_open import open_database
from refdesk.domain.windows import Use
from refdesk.limit_ports import RateWindows


class Clock:
    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()


async def written(database: Database) -> None:
    async with asyncio.timeout(10):
        while not await database.read(rate_windows.remembered):  # noqa: ASYNC110 (what is written behind tells nobody)
            await asyncio.sleep(0.01)


def three(key: str, seconds: int = 60) -> Use:
    return Use(key, 3, seconds)


@pytest.fixture(params=["sqlite", "postgresql"])
async def opened(request: pytest.FixtureRequest, folder: Path):
    """Opens the windows, and opens them anew as after a restart."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    databases: list[Database] = []

    async def open_() -> RateWindows:
        databases.append(await open_database(folder, url))
        windows = windows_of(databases[-1], Clock(), shared=url is not None)
        await windows.open()
        return windows

    async def restarted(windows: RateWindows) -> RateWindows:
        await windows.close()
        await databases[-1].close()
        return await open_()

    yield open_, restarted
    await databases[-1].close()


async def test_a_full_window_says_when_it_opens(opened) -> None:
    windows = await opened[0]()
    assert [await windows.take([three("a")]) for _ in range(3)] == [0, 0, 0]
    assert 59 < await windows.take([three("a")]) <= 60
    assert await windows.take([three("b")]) == 0


async def test_a_window_moves(opened) -> None:
    windows = await opened[0]()
    for _ in range(3):
        await windows.take([three("a", 1)])
    wait = await windows.take([three("a", 1)])
    assert 0 < wait <= 1
    await asyncio.sleep(wait)
    assert await windows.take([three("a", 1)]) == 0


async def test_all_count_or_none(opened) -> None:
    windows = await opened[0]()
    for _ in range(3):
        await windows.take([three("full"), Use("wide", 100, 60)])
    for _ in range(5):
        assert await windows.take([three("free"), three("full"), Use("wide", 100, 60)]) > 0
    assert [await windows.take([three("free")]) == 0 for _ in range(4)] == [True, True, True, False]


async def test_what_is_given_back_can_be_taken_again(opened) -> None:
    windows = await opened[0]()
    for _ in range(5):
        await windows.take([three("a")])
        await windows.give_back([three("a"), three("nobody")])
    assert [await windows.take([three("a")]) == 0 for _ in range(4)] == [True, True, True, False]


async def test_many_at_once_are_counted_exactly(opened) -> None:
    windows = await opened[0]()
    takes = [windows.take([Use("all", 7, 60), Use(f"one {number % 4}", 3, 60)]) for number in range(40)]
    assert sum(wait == 0 for wait in await asyncio.gather(*takes)) == 7


async def test_they_outlive_a_restart(opened) -> None:
    open_, restarted = opened
    windows = await open_()
    for _ in range(3):
        await windows.take([three("a")])
    await windows.take([three("b")])
    await windows.give_back([three("b")])
    windows = await restarted(windows)
    assert 50 < await windows.take([three("a")]) <= 60
    assert [await windows.take([three("b")]) == 0 for _ in range(4)] == [True, True, True, False]


async def test_where_nothing_was_used_but_given_back_nothing_is_kept(opened) -> None:
    """A sign-in that is right gives back what it took, and often nobody else has used anything meanwhile."""
    open_, restarted = opened
    windows = await open_()
    await windows.take([three("a")])
    windows = await restarted(windows)
    await windows.give_back([three("a")])
    windows = await restarted(windows)
    assert [await windows.take([three("a")]) == 0 for _ in range(4)] == [True, True, True, False]


async def test_uses_are_written_behind_without_being_asked(folder: Path) -> None:
    database = await open_database(folder)
    windows = windows_of(database, Clock(), shared=False)
    await windows.take([three("a")])
    await written(database)
    await windows.take([three("a")])
    await windows.close()
    (kept,) = await database.read(rate_windows.remembered)
    assert len(kept.times) == 2
    await database.close()


async def test_windows_that_are_over_leave_the_database_though_nobody_asks(database: Database) -> None:
    windows = windows_of(database, Clock(), shared="sqlite" not in type(database).__name__.lower())
    await windows.take([Use("short", 3, 1), three("long")])
    await written(database)
    await asyncio.sleep(1.01)
    await windows.sweep()
    assert [row.key for row in await database.read(rate_windows.remembered)] == ["long"]
    await windows.close()


async def test_a_database_that_does_not_answer_loses_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On SQLite the limits hold without it, and are written once it answers."""
    monkeypatch.setattr(rate_windows, "BEHIND_S", 0.01)
    monkeypatch.setattr(rate_windows, "AGAIN_S", 0.01)
    database = await open_database(folder)
    windows, write, tries = windows_of(database, Clock(), shared=False), database.write, []

    async def failing(job: Callable[..., object]) -> object:
        tries.append(job)
        if len(tries) < 4:
            raise rate_windows.StorageUnavailable("database: locked")
        return await write(job)

    monkeypatch.setattr(database, "write", failing)
    assert [await windows.take([three("a")]) == 0 for _ in range(4)] == [True, True, True, False]
    await written(database)
    await windows.close()
    await database.close()
