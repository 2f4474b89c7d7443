"""RateWindows: in memory and written behind for the one process that SQLite has, in the database for those that share
PostgreSQL; in memory alone for searches. Why: server/decisions/limits.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import structlog
from sqlalchemy import Connection, bindparam, delete, insert, select, text

from refdesk.adapters.sql_database import Database
from refdesk.adapters.sql_tables import rate_windows
from refdesk.domain.windows import Kept, Use, Windows
from refdesk.errors import RefdeskError, StorageUnavailable
from refdesk.limit_ports import RateWindows
from refdesk.ports import Clock

log = structlog.get_logger()

BEHIND_S = 0.25
"""What was used within this time before a crash may be forgotten."""
AGAIN_S = 5.0
"""Where that failed: turns that wait for the same database come first."""

DROP = delete(rate_windows).where(rate_windows.c.key == bindparam("gone"))
TAKE = text("""
WITH asked AS MATERIALIZED (
    SELECT key, count, seconds, clock.now, set_config('synchronous_commit', 'off', true)
    FROM unnest(CAST(:keys AS text[]), CAST(:counts AS integer[]), CAST(:seconds AS integer[]))
            AS uses (key, count, seconds),
        (SELECT CAST(extract(epoch FROM clock_timestamp()) AS double precision) AS now) AS clock
)
INSERT INTO rate_windows AS kept (key, times, ends_at)
SELECT key, ARRAY[now], now + seconds FROM asked ORDER BY key
ON CONFLICT (key) DO UPDATE SET ends_at = excluded.ends_at, times = (
    SELECT coalesce(array_agg(time ORDER BY time), '{}') || excluded.times
    FROM unnest(kept.times) AS time, asked
    WHERE asked.key = excluded.key AND time > asked.now - asked.seconds
)
RETURNING (
    SELECT kept.times[cardinality(kept.times) - asked.count] + asked.seconds - asked.now
    FROM asked WHERE asked.key = kept.key
)
""")
"""Counts each use and says how long to wait where that was one too many; nothing where it was not. A use that is lost
when the database server crashes is no harm, so nobody waits for its disk."""
SWEEP = text("DELETE FROM rate_windows WHERE ends_at < extract(epoch FROM clock_timestamp())")
GIVE_BACK = text("UPDATE rate_windows SET times = times[1:cardinality(times) - 1] WHERE key = ANY(:keys)")


def windows_of(database: Database, clock: Clock, *, shared: bool) -> RateWindows:
    return SharedWindows(database) if shared else LocalWindows(database, clock)


class MemoryWindows:
    """Of one process and as long as it runs: for what costs that process alone. Never waits for a database."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._windows = clock, Windows()

    async def open(self) -> None:
        """There is nothing to read."""

    async def take(self, uses: Sequence[Use]) -> float:
        return self._windows.take(uses, self._clock.monotonic())

    async def give_back(self, uses: Sequence[Use]) -> None:
        self._windows.give_back(uses)

    async def sweep(self) -> None:
        """Nothing is stored."""

    async def close(self) -> None:
        """There is nothing to write."""


class LocalWindows(MemoryWindows):
    """These are written behind."""

    def __init__(self, database: Database, clock: Clock) -> None:
        super().__init__(clock)
        self._database = database
        self._writing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        try:
            kept = await self._database.read(remembered)
        except StorageUnavailable as error:
            log.warning("rate limits begin anew", error=str(error))
        else:
            self._windows.restore(kept, self._clock.monotonic(), self._clock.now())

    async def take(self, uses: Sequence[Use]) -> float:
        wait = await super().take(uses)
        if not wait:
            self._write_soon()
        return wait

    async def give_back(self, uses: Sequence[Use]) -> None:
        await super().give_back(uses)
        self._write_soon()

    async def sweep(self) -> None:
        await self._database.write(partial(remember, kept=(), now=self._clock.now()))

    async def close(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait([self._writing])
        await self._write()

    def _write_soon(self) -> None:
        if self._windows.changed and (self._writing is None or self._writing.done()):
            self._writing = asyncio.create_task(self._write_behind())

    async def _write_behind(self) -> None:
        pause = BEHIND_S
        while self._windows.changed:
            await asyncio.sleep(pause)
            pause = BEHIND_S if await self._write() else AGAIN_S

    async def _write(self) -> bool:
        """Whether the database has them; one that does not answer now is told later."""
        keys, now, wall = set(self._windows.changed), self._clock.monotonic(), self._clock.now()
        self._windows.changed -= keys
        try:
            await self._database.write(partial(remember, kept=self._windows.kept(keys, now, wall), now=wall))
        except StorageUnavailable:
            self._windows.changed |= keys
            return False
        return True


def remembered(connection: Connection) -> list[Kept]:
    return [Kept(*row) for row in connection.execute(select(rate_windows))]


def remember(connection: Connection, kept: Sequence[Kept], now: float) -> None:
    """Also forgets the windows in which nothing is left."""
    connection.execute(delete(rate_windows).where(rate_windows.c.ends_at <= now))
    if kept:
        connection.execute(DROP, [{"gone": row.key} for row in kept])
    if used := [msgspec.structs.asdict(row) for row in kept if row.times]:  # no rows would mean a row of defaults
        connection.execute(insert(rate_windows), used)


class SharedWindows:
    """By the database's clock: the only one that all processes share."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def open(self) -> None:
        """There is nothing to read."""

    async def take(self, uses: Sequence[Use]) -> float:
        try:
            await self._database.write(partial(take, uses=uses))
        except Full as full:
            return full.wait
        return 0.0

    async def give_back(self, uses: Sequence[Use]) -> None:
        await self._database.write(partial(give_back, uses=uses))

    async def sweep(self) -> None:
        await self._database.write(lambda connection: connection.execute(SWEEP))

    async def close(self) -> None:
        """There is nothing to write."""


class Full(RefdeskError):
    """Undoes the transaction, so that nothing was counted."""

    def __init__(self, wait: float) -> None:
        super().__init__("a window is full")
        self.wait = wait


def take(connection: Connection, uses: Sequence[Use]) -> None:
    """Raises Full."""
    asked: dict[str, list[Any]] = {
        "keys": [use.key for use in uses],
        "counts": [use.count for use in uses],
        "seconds": [use.seconds for use in uses],
    }
    waits = [wait for wait in connection.execute(TAKE, asked).scalars() if wait is not None]
    if waits:
        raise Full(max(waits))


def give_back(connection: Connection, uses: Sequence[Use]) -> None:
    connection.execute(GIVE_BACK, {"keys": [use.key for use in uses]})
