"""PostgreSQL, shared by any number of server processes.

Who is alive: each process beats once in BEAT_S into `servers`; a running turn whose process has not beaten for DEAD_S
is interrupted by whichever process sees it first. After an outage of the database all look dead, so a process that
could not beat itself waits one round before it judges the others.
"""

from __future__ import annotations

import asyncio
import uuid
from contextlib import suppress

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import Connection, Float, cast, delete, exc, extract, func, make_url, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from refdesk.adapters import migrations, sql_turns
from refdesk.adapters.sql_database import Job, T, first_line, mapped
from refdesk.adapters.sql_migrate import migrate
from refdesk.adapters.sql_tables import servers, turns
from refdesk.errors import DataFolderError, SettingError, StorageUnavailable

CONNECTIONS = 8
CONNECT_S = 4
ANSWER_S = 8.0
"""Longer than this no job waits: a server that hangs is as good as none."""
BEAT_S, DEAD_S = 2.0, 6.0
MIGRATION_LOCK = 0x52464453
"""Advisory lock: of processes that start together one migrates, the others wait."""


class PostgresDatabase:
    def __init__(self, url: str) -> None:
        """Connects and migrates at the first use. `url` is `postgresql+psycopg://…`. Raises SettingError: not a URL."""
        self.server_id = uuid.uuid4().hex
        self._engine = make_engine(url)
        self._reading = self._engine.execution_options(isolation_level="AUTOCOMMIT")
        self._preparing: asyncio.Task[None] | None = None
        self._beating: asyncio.Task[None] | None = None

    async def write(self, job: Job[T]) -> T:
        return await self._run(self._engine, job)

    async def read(self, job: Job[T]) -> T:
        return await self._run(self._reading, job)

    async def interrupt_running(self) -> int:
        """Those of dead processes; from the first use on this also happens every BEAT_S."""
        return await self.write(self._beat_and_bury)

    def forget_deleted(self) -> None:
        """Vacuum frees the space in its own time; the README says what is left until then."""

    async def close(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.wait([self._beating])
            with suppress(StorageUnavailable):
                await self.write(self._leave)
        await self._engine.dispose()

    # --- jobs ---

    async def _run(self, engine: AsyncEngine, job: Job[T]) -> T:
        with mapped():
            async with asyncio.timeout(ANSWER_S):
                await self._prepared()
                try:
                    return await run(engine, job)
                except exc.DBAPIError as error:
                    if not error.connection_invalidated:
                        raise
                # The pool held connections from before a restart of the server; it has dropped them all now.
                return await run(engine, job)

    async def _prepared(self) -> None:
        """Once there is an answer from the database: the schema is up to date and this process counts as alive.

        A task of its own, because a long migration must outlive the patience of whoever asked first."""
        if self._preparing is None or (self._preparing.done() and self._preparing.exception() is not None):
            self._preparing = asyncio.get_running_loop().create_task(self._prepare())
        if not self._preparing.done():
            await asyncio.shield(self._preparing)
        self._preparing.result()

    async def _prepare(self) -> None:
        try:
            async with self._engine.begin() as connection:
                await connection.run_sync(upgrade)
            async with self._engine.begin() as connection:
                await connection.run_sync(self._beat)
        except exc.ProgrammingError as error:  # rights are missing: the next use tries again, they may be given by then
            raise StorageUnavailable(f"database: {first_line(error.orig)}") from error
        self._beating = asyncio.get_running_loop().create_task(self._beat_for_ever())

    # --- who is alive ---

    async def _beat_for_ever(self) -> None:
        judging = True
        while True:
            await asyncio.sleep(BEAT_S)
            try:
                await self.write(self._beat_and_bury if judging else self._beat)
                judging = True
            except StorageUnavailable:
                judging = False

    def _beat(self, connection: Connection) -> None:
        beat = insert(servers).values(id=self.server_id, beat_at=NOW)
        connection.execute(beat.on_conflict_do_update(index_elements=["id"], set_={"beat_at": NOW}))

    def _beat_and_bury(self, connection: Connection) -> int:
        self._beat(connection)
        connection.execute(delete(servers).where(servers.c.beat_at < NOW - DEAD_S))
        alive = select(servers.c.id)
        return sql_turns.interrupt(connection, turns.c.server_id.not_in(alive))

    def _leave(self, connection: Connection) -> None:
        connection.execute(delete(servers).where(servers.c.id == self.server_id))


NOW = cast(extract("epoch", func.clock_timestamp()), Float)
"""The database's clock: the only one that all processes share."""


def make_engine(url: str) -> AsyncEngine:
    """Raises SettingError, whose message repeats nothing of the URL: it holds a password."""
    try:
        conninfo_to_dict(make_url(url).set(drivername="postgresql").render_as_string(hide_password=False))
        return create_async_engine(
            url,
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=CONNECT_S,
            hide_parameters=True,
            connect_args={"connect_timeout": CONNECT_S, "application_name": "refdesk"},
        )
    except (exc.ArgumentError, ValueError):
        raise SettingError("REFDESK_DATABASE_URL", "not a URL like postgresql://user:password@host/database") from None
    except ProgrammingError:
        raise SettingError("REFDESK_DATABASE_URL", "has an option after the ? that PostgreSQL does not know") from None


async def run(engine: AsyncEngine, job: Job[T]) -> T:
    async with engine.connect() as connection:
        transaction = await connection.begin()
        result = await connection.run_sync(job)
        try:
            await transaction.commit()
        except exc.DBAPIError as error:  # it may be stored or not: never to be tried again
            raise StorageUnavailable(f"database: {first_line(error.orig)}") from error
        return result


def upgrade(connection: Connection) -> None:
    connection.execute(select(func.pg_advisory_xact_lock(MIGRATION_LOCK)))
    made = connection.execute(text("SELECT to_regclass('alembic_version')")).scalar()
    revision = connection.execute(text("SELECT version_num FROM alembic_version")).scalar() if made else None
    if revision == migrations.HEAD:
        return
    if revision is not None and revision not in migrations.KNOWN:
        raise DataFolderError(f"the database was made by a newer version of Refdesk (schema {revision})")
    migrate(connection)
