"""The scripts make what `sql_tables` says, on both databases, and a killed one leaves nothing half done."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, NullPool, create_engine, insert, select

from refdesk.adapters import migrations, sql_migrate, sql_stats
from refdesk.adapters.data_folder import DATABASE
from refdesk.adapters.sql_database import Database
from refdesk.adapters.sql_open import open_database
from refdesk.adapters.sql_tables import day_counts, metadata
from refdesk.adapters.sqlite_file import create

FULL_TEXT = ("turn_search", "ix_turn_search_words")


def test_head_and_known_revisions_are_those_of_the_scripts() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    scripts = ScriptDirectory.from_config(config)
    assert scripts.get_current_head() == migrations.HEAD
    assert {script.revision for script in scripts.walk_revisions()} == migrations.KNOWN


async def test_schema_is_that_of_the_tables(database: Database) -> None:
    def differences(connection: Connection) -> Any:
        def ours(name: str | None, kind: str, parents: object) -> bool:
            return not (name or "").startswith(FULL_TEXT)

        context = MigrationContext.configure(connection, opts={"include_name": ours, "compare_type": True})
        return compare_metadata(context, metadata)

    assert await database.write(differences) == []


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_figures_of_turns_from_before_they_were_kept_are_counted(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str
) -> None:
    """The same as if the turns had ended now; what was left of deleted ones stays."""
    url = f"sqlite:///{tmp_path / 'old.db'}"
    if kind == "postgresql":
        url = request.getfixturevalue("empty_postgres_url").replace("postgresql:", "postgresql+psycopg:")
    at, kept = "2026-02-03T12:00:00.000Z", {"day": "2026-02-03", "name": "turns", "value": 5}
    common = {
        "created_at": at,
        "kind": "question",
        "language": "en",
        "model": "m",
        "input_tokens": 7,
        "grounded": False,
    }
    common["grounded"] = False
    ended = [
        {**common, "id": "t_1", "status": "answered", "grounded": True, "rating": "up", "total": "50"},
        {**common, "id": "t_2", "status": "answered", "first_word": "inf"},
        {**common, "id": "t_3", "status": "insufficient", "reason": "no_hits", "model": ""},
        {**common, "id": "t_4", "status": "evidence", "model_error": "timeout", "language": "ru"},
    ]
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        upgrade(connection, "0002")
        connection.execute(insert(metadata.tables["visitors"]), {"id": "v", "created_at": at})
        connection.execute(insert(metadata.tables["conversations"]), {"id": "c", "visitor_id": "v", "created_at": at})
        for turn in (*ended, {**common, "id": "t_5", "status": "running"}):
            connection.execute(insert(metadata.tables["turns"]), {**turn, "conversation_id": "c"})
        connection.execute(insert(day_counts), kept)
        upgrade(connection, "head")
        found = {row.name: row.value for row in connection.execute(select(day_counts)) if row.value}
    expected = Counter({"turns": 5})
    nothing = {column.name: None for column in sql_stats.COUNTED} | dict.fromkeys(sql_stats.TOKENS, 0)
    for turn in ended:
        expected.update(dict(sql_stats.named({**nothing, **turn})))
    assert found == {name: value for name, value in expected.items() if value}


def upgrade(connection: Connection, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def schema(path: Path) -> list[tuple[str, ...]]:
    with sqlite3.connect(path) as database:
        return database.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()


@pytest.mark.parametrize("statement", [0, 5, 20, 34])
def test_killed_migration_is_finished_at_the_next_start(tmp_path: Path, migrated: Path, statement: int) -> None:
    """Killed at the n-th statement."""
    code = f"""
import os, signal, sqlite3
from pathlib import Path
from sqlalchemy import event, Engine
from refdesk.adapters import sqlite_file
seen = 0
@event.listens_for(Engine, "before_cursor_execute")
def count(*_):
    global seen
    seen += 1
    if seen > {statement}: os.kill(os.getpid(), signal.SIGKILL)
sqlite_file.create(Path({str(tmp_path)!r}))
"""
    done = run_python(code)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / DATABASE).exists()
    assert schema(create(tmp_path)) == schema(migrated)


async def test_killed_migration_of_an_existing_database_leaves_it_as_it_was(
    folder: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = folder / DATABASE
    with sqlite3.connect(older) as database:
        database.execute("UPDATE alembic_version SET version_num = '0000'")
    before = schema(older)
    code = f"""
import os, signal
from pathlib import Path
from refdesk.adapters import migrations, sql_migrate, sql_stats, sqlite_database
migrations.KNOWN = migrations.KNOWN | {{"0000"}}
def migrate(connection):
    connection.exec_driver_sql("CREATE TABLE half (id)")
    connection.exec_driver_sql("DROP TABLE tags")
    os.kill(os.getpid(), signal.SIGKILL)
sql_migrate.migrate = migrate
sqlite_database.SqliteDatabase(Path({str(folder)!r}))
"""
    assert run_python(code).returncode == -signal.SIGKILL
    assert schema(older) == before

    def finish(connection: Connection) -> None:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{migrations.HEAD}'")

    monkeypatch.setattr(migrations, "KNOWN", migrations.KNOWN | {"0000"})
    monkeypatch.setattr(sql_migrate, "migrate", finish)
    opened = await open_database(folder)
    await opened.close()
    assert schema(older) == schema(migrated)


def test_up_to_date_start_does_not_load_alembic(folder: Path) -> None:
    code = f"""
import asyncio, sys
from pathlib import Path
from refdesk.adapters.sql_open import open_database
async def main():
    await (await open_database(Path({str(folder)!r}))).close()
asyncio.run(main())
print([name for name in ("alembic", "psycopg", "sqlalchemy.ext.asyncio") if name in sys.modules])
"""
    done = run_python(code)
    assert done.stdout.strip() == "[]"
