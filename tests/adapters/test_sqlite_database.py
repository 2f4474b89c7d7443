"""SQLite in the data folder: locks, damage, crashes, and text that must be gone."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from test_conversation_store import ANNA, NOON, TRAIL, answer, ask, row

from refdesk.adapters import sqlite_file
from refdesk.adapters.data_folder import DATABASE
from refdesk.adapters.sql_console import SqlConsole
from refdesk.adapters.sql_store import SqlStore
from refdesk.adapters.sqlite_database import SqliteDatabase
from refdesk.domain.console import Note
from refdesk.domain.conversation import Feedback
from refdesk.errors import DataFolderError, RequestError, StorageUnavailable


@pytest.fixture
async def store(folder: Path) -> AsyncIterator[SqlStore]:
    opened = SqlStore(SqliteDatabase(folder))
    await opened.add_visitor(ANNA, b"a" * 32, NOON)
    yield opened
    await opened.close()


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


def outside(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / DATABASE, isolation_level=None, timeout=0)


async def test_writing_is_as_safe_as_sqlite_can_be(store: SqlStore) -> None:
    def pragmas(connection: object) -> list[object]:
        names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete")
        return [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]  # type: ignore[attr-defined]

    assert await store.database.write(pragmas) == ["wal", 2, 1, 1]


async def test_second_process_is_refused(store: SqlStore, folder: Path) -> None:
    done = run_python(f"""
from pathlib import Path
from refdesk.adapters.sqlite_database import SqliteDatabase
SqliteDatabase(Path({str(folder)!r}))
""")
    assert "FolderInUse" in done.stderr
    assert "another Refdesk process is using it" in done.stderr


async def test_folder_is_free_after_closing(store: SqlStore, folder: Path) -> None:
    await ask(store, "t_1", new=True)
    await store.close()
    with pytest.raises(StorageUnavailable):
        await store.ping()
    again = SqlStore(SqliteDatabase(folder))
    assert (await again.turn("t_1", ANNA.id)).turn == answer("t_1")  # type: ignore[union-attr]
    await again.close()


async def test_crash_leaves_interrupted_turns(store: SqlStore, folder: Path) -> None:
    await ask(store, "t_1", new=True)
    await store.begin_turn(row("t_2"))
    assert await store.interrupt_running() == 1
    assert await store.interrupt_running() == 0
    stored = await store.turn("t_2", ANNA.id)
    assert stored is not None
    assert (stored.turn.status, stored.turn.question) == ("interrupted", "How do I set up SSO?")
    await store.begin_turn(row("t_3"))


async def test_killed_process_loses_nothing_it_was_told_is_stored(folder: Path) -> None:
    done = run_python(f"""
import asyncio, os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r}); sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
from pathlib import Path
from test_conversation_store import *
from refdesk.adapters.sql_store import SqlStore
from refdesk.adapters.sqlite_database import SqliteDatabase
async def main():
    store = SqlStore(SqliteDatabase(Path({str(folder)!r})))
    await store.add_visitor(ANNA, b"a" * 32, NOON)
    await ask(store, "t_1", new=True)
    await store.begin_turn(row("t_2"))
    os.kill(os.getpid(), signal.SIGKILL)
asyncio.run(main())
""")
    assert done.returncode == -signal.SIGKILL, done.stderr
    store = SqlStore(SqliteDatabase(folder))
    assert await store.interrupt_running() == 1
    assert [kept.turn.status for kept in await store.turns("c_1")] == ["answered", "interrupted"]
    await store.close()


async def test_short_lock_of_another_program_is_waited_for(store: SqlStore, folder: Path) -> None:
    holder = outside(folder)
    holder.execute("BEGIN EXCLUSIVE")
    begun = store.database.write(lambda connection: connection.exec_driver_sql("SELECT 1").scalar())
    holder.execute("COMMIT")
    assert await begun == 1


async def test_long_lock_is_a_503_and_ends_by_itself(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_MS", 50)
    store = SqlStore(SqliteDatabase(folder))
    await store.add_visitor(ANNA, b"a" * 32, NOON)
    holder = outside(folder)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StorageUnavailable, match="locked"):
        await store.begin_turn(row("t_1", new=True))
    assert await store.visitor_by_token(b"a" * 32, now=NOON) == ANNA
    holder.execute("ROLLBACK")
    assert await store.begin_turn(row("t_1", new=True)) is None
    await store.close()


async def test_full_disk_is_a_503_and_ends_by_itself(store: SqlStore) -> None:
    await ask(store, "t_1", new=True)
    pages = await store.database.write(lambda c: c.exec_driver_sql("PRAGMA page_count").scalar())
    await store.database.write(lambda c: c.exec_driver_sql(f"PRAGMA max_page_count = {pages}").scalar())
    with pytest.raises(StorageUnavailable, match="full"):
        await store.begin_turn(row("t_2", "c_2", new=True, question="x" * 50_000))
    assert await store.turn("t_1", ANNA.id) is not None
    await store.database.write(lambda c: c.exec_driver_sql("PRAGMA max_page_count = 1000000").scalar())
    assert await store.begin_turn(row("t_2", "c_2", new=True, question="x" * 50_000)) is None


async def test_refusal_undoes_only_its_own_part_of_a_shared_commit(store: SqlStore, folder: Path) -> None:
    holder = outside(folder)
    holder.execute("BEGIN EXCLUSIVE")  # so that all of them wait and share one transaction
    turns = [store.begin_turn(row(f"t_{n}", f"c_{n % 3}", new=n < 3)) for n in range(6)]
    tasks = [store.database.write(lambda c: None), *turns]
    gathered = asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0)
    holder.execute("COMMIT")
    outcomes = (await gathered)[1:]
    assert outcomes[:3] == [None, None, None]
    assert [refusal.code for refusal in outcomes[3:] if isinstance(refusal, RequestError)] == ["turn_running"] * 3


@pytest.mark.parametrize("deleted", [1, 40])
async def test_deleted_text_is_gone_from_the_files(store: SqlStore, folder: Path, deleted: int) -> None:
    for number in range(80):
        word = "cerase" if number < deleted else "ckept"
        await store.begin_turn(row(f"t_{number}", f"c_{number}", new=True, question=f"{word}{number}x"))
        finished = answer(f"t_{number}", f"c_{number}", question=f"{word}{number}x", answer=f"{word} " * 2000)
        await store.finish_turn(finished, TRAIL)
    for number in range(deleted):
        assert await store.delete_conversation(f"c_{number}", ANNA.id)
    await store.database.purged()  # type: ignore[attr-defined]
    assert b"cerase" not in all_bytes(folder)
    assert b"ckept79x" in all_bytes(folder)


async def test_erased_visitor_is_gone_from_the_files(store: SqlStore, folder: Path) -> None:
    console = SqlConsole(store.database)
    await store.begin_turn(row("t_1", new=True, question="cerase"))
    await store.finish_turn(answer("t_1", question="cerase", answer="cerase"), TRAIL)
    await store.set_feedback("t_1", ANNA.id, Feedback("down", "cerase"))
    await console.add_note("c_1", Note("kim", NOON, "cerase"))
    assert b"cerase" in all_bytes(folder)
    await console.erase_visitor(ANNA.id)
    await store.database.purged()  # type: ignore[attr-defined]
    assert b"cerase" not in all_bytes(folder)


async def test_purge_that_a_crash_cut_off_is_made_up_for(store: SqlStore, folder: Path) -> None:
    await store.begin_turn(row("t_1", new=True, question="cerase"))
    await store.finish_turn(answer("t_1", question="cerase", answer="cerase"), TRAIL)
    await store.delete_conversation("c_1", ANNA.id)
    await store.close()  # at once: the purge is cut off
    again = SqlStore(SqliteDatabase(folder))
    await again.interrupt_running()
    await again.database.purged()  # type: ignore[attr-defined]
    assert b"cerase" not in all_bytes(folder)
    await again.close()


# --- what lies in the folder -----------------------------------------------------------------


def open_and_close(folder: Path) -> None:
    database = SqliteDatabase(folder)
    asyncio.run(database.close())


def test_folder_is_made(tmp_path: Path) -> None:
    open_and_close(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b" / DATABASE).is_file()


@pytest.mark.parametrize("content", [b"", b"hello", b"\0" * 8192, b"SQLite format 3\0", b"SQLite format 3\0" * 1000])
def test_what_is_no_database_is_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / DATABASE).write_bytes(content)
    with pytest.raises(DataFolderError, match=DATABASE):
        open_and_close(tmp_path)
    assert (tmp_path / DATABASE).read_bytes() == content


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / DATABASE) as foreign:
        foreign.execute("CREATE TABLE turns (id)")
    with pytest.raises(DataFolderError, match="another program"):
        open_and_close(tmp_path)


@pytest.mark.parametrize("where", [0, 40, 100, 4096, 20_000, 60_000])
def test_overwritten_bytes_are_noticed(folder: Path, where: int) -> None:
    with open(folder / DATABASE, "r+b") as file:
        file.seek(where)
        file.write(os.urandom(2000))
    with pytest.raises(DataFolderError):
        open_and_close(folder)


def test_file_that_was_cut_is_noticed(folder: Path) -> None:
    os.truncate(folder / DATABASE, (folder / DATABASE).stat().st_size // 2)
    with pytest.raises(DataFolderError, match="cut short"):
        open_and_close(folder)


def test_log_without_its_database_is_noticed(folder: Path) -> None:
    (folder / DATABASE).rename(folder / f"{DATABASE}-wal")
    with pytest.raises(DataFolderError, match="backup"):
        open_and_close(folder)
    assert not (folder / DATABASE).exists()


def test_newer_schema_is_left_alone(folder: Path) -> None:
    with sqlite3.connect(folder / DATABASE) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(DataFolderError, match="newer version"):
        open_and_close(folder)


def test_path_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("x")
    with pytest.raises(DataFolderError):
        open_and_close(tmp_path / "data")
    with pytest.raises(DataFolderError):
        open_and_close(tmp_path / "data" / "below")


def test_database_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / DATABASE).mkdir()
    with pytest.raises(DataFolderError, match="not a file"):
        open_and_close(tmp_path)


def test_first_start_that_was_killed_is_begun_anew(tmp_path: Path) -> None:
    (tmp_path / f"{DATABASE}.new").write_bytes(b"half")
    (tmp_path / f"{DATABASE}.new-journal").write_bytes(b"half")
    open_and_close(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [DATABASE, "refdesk.lock"]


def test_refused_folder_can_be_opened_once_it_is_repaired(folder: Path) -> None:
    good = (folder / DATABASE).read_bytes()
    (folder / DATABASE).write_bytes(b"damaged")
    with pytest.raises(DataFolderError):
        open_and_close(folder)
    (folder / DATABASE).write_bytes(good)
    open_and_close(folder)
