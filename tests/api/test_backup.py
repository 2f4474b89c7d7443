"""Backup while visitors ask, restore, upgrade and the way back, on SQLite by commands and on PostgreSQL by its own."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from model_replies import refund_answer
from refdesk_server import STAFF_KEY, RefdeskServer
from sqlalchemy import create_engine

from postgres_fixtures import PostgresServer, postgres_server, postgres_template, postgres_url
from refdesk.adapters import migrations
from refdesk.adapters.sqlite_backup import restore
from refdesk.errors import DataFolderError
from scripted_api import ScriptedModel, answer_of

__all__ = ["postgres_server", "postgres_template", "postgres_url"]

OLDEST = "0001"
QUESTION = "When are refunds issued?"
Maker = Callable[..., RefdeskServer]


def refdesk(server: RefdeskServer, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    run = [sys.executable, "-m", "refdesk.cli", *map(str, arguments)]
    return subprocess.run(run, env=server.environment, capture_output=True, text=True, check=False)


def ask(server: RefdeskServer, token: str) -> dict[str, Any]:
    with server.client(token) as client:
        answer = client.post("/v1/ask", json={"question": QUESTION})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def turn(server: RefdeskServer, token: str, turn_id: str) -> Any:
    with server.client(token) as client:
        return client.get(f"/v1/turns/{turn_id}").json()


def number_of_turns(server: RefdeskServer) -> int:
    """As staff count them."""
    with server.client(STAFF_KEY) as staff:
        return int(staff.get("/v1/console/stats").json()["total"]["turns"])


@contextmanager
def busy(server: RefdeskServer, model: ScriptedModel) -> Iterator[list[str]]:
    """Two visitors ask all the time; gives the ids of the turns that have ended so far."""
    model.choose(lambda _: answer_of(refund_answer()))
    ended, stop, tokens = list[str](), threading.Event(), [server.token(), server.token()]

    def go_on(token: str) -> None:
        while not stop.is_set():
            ended.append(ask(server, token)["id"])

    threads = [threading.Thread(target=go_on, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    try:
        while len(ended) < 4:
            stop.wait(0.05)
        yield ended
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def sound_turns(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        return {turn_id for (turn_id,) in database.execute("SELECT id FROM turns")}


def test_a_backup_while_visitors_ask_is_one_moment(
    new_server: Maker, shared_model: ScriptedModel, tmp_path: Path
) -> None:
    server, saved = new_server(shared_model.url).start(), tmp_path / "saved.db"
    shared_model.choose(lambda _: answer_of(refund_answer()))
    token = server.token()
    first = ask(server, token)
    with busy(server, shared_model) as ended:
        before = set(ended)
        done = refdesk(server, "backup", saved)
        after = len(ended) + 2  # those that run may be in it
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    kept = sound_turns(saved)
    assert before | {first["id"]} <= kept
    assert len(kept) <= after + 1
    assert list(tmp_path.glob("saved.db?*")) == []

    other = new_server(shared_model.url)
    assert refdesk(other, "restore", saved).returncode == 0
    other.start()
    assert turn(other, token, first["id"]) == first
    assert ask(other, token)["status"] == "answered"
    assert other.stop() == 0
    assert kept < sound_turns(other.data / "refdesk.db")


def test_a_restore_changes_nothing_where_it_must_not(
    new_server: Maker, shared_model: ScriptedModel, tmp_path: Path
) -> None:
    server, saved = new_server(shared_model.url).start(), tmp_path / "saved.db"
    shared_model.choose(lambda _: answer_of(refund_answer()))
    ask(server, server.token())
    assert refdesk(server, "backup", saved).returncode == 0
    assert refdesk(server, "backup", saved).returncode == 3  # never over another one
    assert refdesk(server, "restore", saved, "--replace").returncode == 3  # in use
    lost = ask(server, server.token())
    assert server.stop() == 0
    damaged, foreign, newer = tmp_path / "damaged.db", tmp_path / "foreign.db", tmp_path / "newer.db"
    content = bytearray(saved.read_bytes())
    content[4096:8192] = b"\xff" * 4096
    damaged.write_bytes(content)
    with closing(sqlite3.connect(foreign)) as database:
        database.execute("CREATE TABLE notes (text)")
    newer.write_bytes(saved.read_bytes())
    with closing(sqlite3.connect(newer)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    for bad in (damaged, foreign, newer, tmp_path / "nothing.db"):
        with pytest.raises(DataFolderError):
            restore(server.data, bad, replace=True)
    assert refdesk(server, "restore", saved).returncode == 3  # there is one
    assert lost["id"] in sound_turns(server.data / "refdesk.db")
    assert refdesk(server, "restore", saved, "--replace").returncode == 0
    assert sound_turns(server.data / "refdesk.db") == sound_turns(saved)


def test_the_log_of_the_one_before_is_not_read_into_a_restored_database(
    new_server: Maker, shared_model: ScriptedModel, tmp_path: Path
) -> None:
    """After a kill the last commits are in the log only."""
    server, saved = new_server(shared_model.url).start(), tmp_path / "saved.db"
    shared_model.choose(lambda _: answer_of(refund_answer()))
    ask(server, server.token())
    assert refdesk(server, "backup", saved).returncode == 0
    ask(server, server.token())
    server.kill()
    assert (server.data / "refdesk.db-wal").stat().st_size > 0
    assert refdesk(server, "restore", saved, "--replace").returncode == 0
    assert sound_turns(server.data / "refdesk.db") == sound_turns(saved)
    server.start()


def at_revision(path: Path, revision: str) -> None:
    """An empty database as an earlier version made it."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA application_id = 0x52464453")
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


def revision_of(path: Path) -> str:
    with closing(sqlite3.connect(path)) as database:
        return str(database.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def test_an_upgrade_and_the_way_back(new_server: Maker, shared_model: ScriptedModel, tmp_path: Path) -> None:
    """What was there before the upgrade is there after it, and again after the backup was brought back."""
    server, saved = new_server(shared_model.url), tmp_path / "before.db"
    path = server.data / "refdesk.db"
    server.data.mkdir()
    at_revision(path, OLDEST)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(
            "INSERT INTO audit (created_at, actor, ip, action, target, detail)"
            " VALUES ('2026-01-01T00:00:00.000Z', 'olga', '', 'long_ago', '', '{}')"
        )
    assert refdesk(server, "backup", saved).returncode == 0
    shared_model.choose(lambda _: answer_of(refund_answer()))
    server.start()
    assert ask(server, server.token())["status"] == "answered"
    assert server.stop() == 0
    assert revision_of(path) == migrations.HEAD
    assert has_old_entry(path)
    assert refdesk(server, "restore", saved, "--replace").returncode == 0
    assert revision_of(path) == OLDEST
    assert has_old_entry(path)


def has_old_entry(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as database:
        return database.execute("SELECT count(*) FROM audit WHERE action = 'long_ago'").fetchone() == (1,)


def test_postgresql_is_backed_up_by_its_own_tools(
    new_server: Maker, shared_model: ScriptedModel, tmp_path: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    server, saved = new_server(shared_model.url, REFDESK_DATABASE_URL=postgres_url).start(), tmp_path / "saved.dump"
    shared_model.choose(lambda _: answer_of(refund_answer()))
    token = server.token()
    first = ask(server, token)
    with busy(server, shared_model) as ended:
        before = len(ended)
        postgres(postgres_server, "pg_dump", "--format=custom", f"--file={saved}", f"--dbname={postgres_url}")
    assert refdesk(server, "backup", tmp_path / "none.db").returncode == 2  # and says what does it
    postgres_server.psql("CREATE DATABASE restored")
    other_url = postgres_server.get_uri(database="restored")
    postgres(postgres_server, "pg_restore", "--exit-on-error", f"--dbname={other_url}", str(saved))
    other = new_server(shared_model.url, REFDESK_DATABASE_URL=other_url).start()
    assert turn(other, token, first["id"]) == first
    assert number_of_turns(other) > before
    assert ask(other, token)["status"] == "answered"
    with other.client(STAFF_KEY) as staff:  # what only the database enforces came along
        assert staff.get("/v1/console/conversations", params={"q": "refunds"}).json()["conversations"]
    other.kill()
    postgres_server.psql("DROP DATABASE restored WITH (FORCE)")


def postgres(server: PostgresServer, program: str, *arguments: str) -> None:
    run = [server.bin_path / program, *arguments]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
