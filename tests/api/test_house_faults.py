"""Faults of the house under a real server: a locked database, a full disk, folders that go, a clock that jumps. What
cannot be done is refused with a time to come back, what can be done goes on, and nothing needs a restart.

Killed processes: test_process_life. PostgreSQL that is down at the start, or goes down: test_database_down.
"""

from __future__ import annotations

import resource
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from help_centre import PUBLIC, article
from model_replies import refund_answer
from refdesk_server import PATIENCE, STAFF_KEY, RefdeskServer
from turn_events import Event, asked

from postgres_fixtures import PostgresServer, postgres_server, postgres_template, postgres_url
from scripted_api import Answer, ScriptedModel, answer_of

__all__ = ["postgres_server", "postgres_template", "postgres_url"]

QUESTION = "When are refunds issued?"
Maker = Callable[..., RefdeskServer]


@pytest.fixture(scope="module")
def housed(tmp_path_factory: pytest.TempPathFactory, shared_model: ScriptedModel) -> Iterator[RefdeskServer]:
    server = RefdeskServer(tmp_path_factory.mktemp("housed"), shared_model.url, REFDESK_TURN_SECONDS="30")
    server.start()
    pid = server.pid
    yield server
    assert server.pid == pid
    assert server.stop() == 0
    with closing(sqlite3.connect(server.data / "refdesk.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("SELECT count(*) FROM turns WHERE status = 'running'").fetchone() == (0,)
    assert not [record for record in server.log_records() if "exception" in record]


@pytest.fixture
def client(housed: RefdeskServer, shared_model: ScriptedModel) -> Iterator[httpx2.Client]:
    shared_model.script(refund_answer())
    with housed.client(housed.token()) as opened:
        yield opened


@contextmanager
def held_turn(client: httpx2.Client, model: ScriptedModel) -> Iterator[tuple[str, Iterator[Event], threading.Event]]:
    """A turn that runs: its id, the events that are to come, and what lets the model answer."""
    gate = threading.Event()
    model.script(Answer((gate, *answer_of(refund_answer()).chunks)))
    with asked(client, QUESTION) as reader:
        events = iter(reader)
        yield next(events).json["turn_id"], events, gate


def ask(client: httpx2.Client) -> httpx2.Response:
    return client.post("/v1/ask", json={"question": QUESTION})


def check_refused(answer: httpx2.Response) -> None:
    assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable"), answer.text
    assert int(answer.headers["retry-after"]) > 0


def until(good: Callable[[], bool], patience: float = PATIENCE) -> None:
    end = time.monotonic() + patience
    while not good():
        assert time.monotonic() < end
        time.sleep(0.05)


# --- the database is locked ---


@contextmanager
def locked(server: RefdeskServer) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(server.data / "refdesk.db", isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield other
        if other.in_transaction:
            other.rollback()


def test_a_short_lock_of_another_program_is_waited_for(housed: RefdeskServer, client: httpx2.Client) -> None:
    with locked(housed) as other, ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask, client)
        threading.Timer(3.0, other.rollback).start()
        assert asking.result(PATIENCE).json()["status"] == "answered"


def test_a_long_lock_is_told_and_reading_goes_on(
    housed: RefdeskServer, client: httpx2.Client, shared_model: ScriptedModel
) -> None:
    turn = ask(client).json()
    shared_model.script()
    with locked(housed):
        check_refused(ask(client))
        assert shared_model.bodies == []
        assert client.get(f"/v1/turns/{turn['id']}").json() == turn
        assert client.get("/v1/articles/refunds").status_code == 200
    shared_model.script(refund_answer())
    assert ask(client).json()["status"] == "answered"


def test_a_turn_that_ends_while_the_database_is_locked_is_not_lost(
    housed: RefdeskServer, client: httpx2.Client, shared_model: ScriptedModel
) -> None:
    with held_turn(client, shared_model) as (turn_id, events, gate), locked(housed) as other:
        gate.set()
        threading.Timer(1.0, other.rollback).start()
        done = list(events)[-1]
    assert done.name == "done"
    assert client.get(f"/v1/turns/{turn_id}").json() == done.json


# --- the disk is full ---


@contextmanager
def full_disk(server: RefdeskServer) -> Iterator[None]:
    """No file of the process can grow, the log among them."""
    before = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_told_and_reading_goes_on(
    housed: RefdeskServer, client: httpx2.Client, shared_model: ScriptedModel
) -> None:
    turn = ask(client).json()
    shared_model.script()
    with full_disk(housed), housed.client(STAFF_KEY) as staff:
        check_refused(ask(client))
        assert shared_model.bodies == []
        assert client.get(f"/v1/turns/{turn['id']}").json() == turn
        assert client.get("/v1/search", params={"q": "refunds"}).json()["passages"]
        (housed.corpus / "fresh.md").write_text(article("Fresh", "A fresh article of no weight."), "utf-8")
        check_refused(staff.post("/v1/console/sync", json={"wait": True}))
        assert client.get("/v1/articles/fresh").status_code == 404
        assert client.get("/v1/articles/refunds").status_code == 200
        assert client.get("/health/live").status_code == 200
    shared_model.script(refund_answer())
    assert ask(client).json()["status"] == "answered"
    with housed.client(STAFF_KEY) as staff:
        assert staff.post("/v1/console/sync", json={"wait": True}).status_code == 200
        assert client.get("/v1/articles/fresh").status_code == 200
        (housed.corpus / "fresh.md").unlink()
        assert staff.post("/v1/console/sync", json={"wait": True}).json()["removed"] == ["fresh"]


def test_a_turn_that_ends_on_a_full_disk_is_stored_once_there_is_room(
    housed: RefdeskServer, client: httpx2.Client, shared_model: ScriptedModel
) -> None:
    with held_turn(client, shared_model) as (turn_id, events, gate):
        with full_disk(housed):
            gate.set()
            last = list(events)[-1]
        assert (last.name, last.json["code"]) == ("error", "storage_unavailable")
    until(lambda: bool(client.get(f"/v1/turns/{turn_id}").json()["status"] == "answered"))


# --- folders go ---


def test_a_folder_of_articles_that_comes_and_goes_takes_no_article_with_it(housed: RefdeskServer) -> None:
    """As a network drive does; the articles before are served throughout."""
    away, stop = housed.corpus.with_name("away"), threading.Event()

    def come_and_go() -> None:
        while not stop.is_set():
            housed.corpus.rename(away)
            stop.wait(0.004)
            away.rename(housed.corpus)
            stop.wait(0.004)

    moving = threading.Thread(target=come_and_go)
    with housed.client(STAFF_KEY) as staff, housed.client() as anybody:
        moving.start()
        try:
            answers = []
            for _ in range(25):
                answers.append(staff.post("/v1/console/sync", json={"wait": True}))
                assert len(anybody.get("/v1/articles").json()["articles"]) == PUBLIC
        finally:
            stop.set()
            moving.join()
        for answer in answers:
            if answer.status_code == 200:
                assert (answer.json()["removed"], answer.json()["withheld"]) == ([], [])
            else:
                assert (answer.status_code, answer.json()["code"]) == (409, "corpus_unreadable")
        assert staff.post("/v1/console/sync", json={"wait": True}).status_code == 200


def test_an_emptied_folder_is_not_an_empty_help_centre(housed: RefdeskServer) -> None:
    away = housed.corpus.with_name("away")
    with housed.client(STAFF_KEY) as staff, housed.client() as anybody:
        housed.corpus.rename(away)
        housed.corpus.mkdir()
        for left, code in (((), "corpus_unreadable"), (("refunds.md",), "mass_deletion")):
            for name in left:
                shutil.copy(away / name, housed.corpus / name)
            answer = staff.post("/v1/console/sync", json={"wait": True})
            assert (answer.status_code, answer.json()["code"]) == (409, code)
            assert len(anybody.get("/v1/articles").json()["articles"]) == PUBLIC
        shutil.rmtree(housed.corpus)
        away.rename(housed.corpus)
        assert staff.post("/v1/console/sync", json={"wait": True}).json()["removed"] == []


@pytest.mark.long
def test_vectors_that_go_or_rot_are_made_again(new_server: Maker, shared_model: ScriptedModel) -> None:
    server = new_server(shared_model.url, REFDESK_DENSE="on", REFDESK_TURN_SECONDS="30").start()
    server.await_vectors()
    shared_model.choose(lambda _: answer_of(refund_answer()))
    vectors = server.data / "vectors"
    with server.client(server.token()) as client, server.client(STAFF_KEY) as staff:
        shutil.rmtree(vectors)
        for _ in range(2):
            assert ask(client).json()["status"] == "answered"
        (server.corpus / "fresh.md").write_text(article("Fresh", "A fresh article of no weight."), "utf-8")
        assert staff.post("/v1/console/sync", json={"wait": True}).status_code == 200
        until(lambda: vectors.exists() and any(vectors.glob("*/vectors.json")))
        server.await_vectors()
        assert ask(client).json()["status"] == "answered"
    assert server.stop() == 0
    for file in vectors.rglob("*"):
        if file.is_file():
            file.write_bytes(b"\xff" * file.stat().st_size)
    server.start()
    with server.client(server.token()) as client:
        assert ask(client).json()["status"] in ("answered", "evidence")  # the model's adapter may still be loading
        server.await_vectors()
        assert client.get("/v1/search", params={"q": "refunds"}).json()["passages"][0]["id"] == "refunds"
    assert list(server.log_records("vectors are built anew"))


# --- the clock jumps ---

CLOCK = """
import os, time
_real = time.time
def _jumped():
    try:
        with open(os.environ["CLOCK_OFFSET_FILE"]) as file:
            return _real() + float(file.read() or 0)
    except FileNotFoundError:
        return _real()
time.time = _jumped
"""
DAY = 86_400


@pytest.fixture
def clock(tmp_path: Path) -> Callable[[float], None]:
    """Sets the server's clock, seconds from now."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(CLOCK, "utf-8")

    def set_to(offset: float) -> None:
        unfinished = tmp_path / "offset.new"
        unfinished.write_text(str(offset), "utf-8")
        unfinished.rename(tmp_path / "offset")

    set_to(0)
    return set_to


def test_a_clock_that_jumps_loses_and_locks_out_nobody(
    new_server: Maker, shared_model: ScriptedModel, tmp_path: Path, clock: Callable[[float], None]
) -> None:
    """Back and forth by days, with limits on; what one asked comes back in the order in which it was asked."""
    settings = {"PYTHONPATH": str(tmp_path / "site"), "CLOCK_OFFSET_FILE": str(tmp_path / "offset")}
    server = new_server(shared_model.url, REFDESK_RATE_LIMITS="on", REFDESK_TURN_SECONDS="30", **settings).start()
    shared_model.choose(lambda _: answer_of(refund_answer()))
    given: list[dict[str, Any]] = []
    with server.client(server.token()) as client:
        conversation: str | None = None
        for days in (0, 2, -2, 40, -40, 0):
            clock(days * DAY)
            body = {"question": QUESTION, "conversation_id": conversation}
            answer = client.post("/v1/ask", json=body)
            assert answer.status_code == 200, (days, answer.text)
            given.append(answer.json())
            conversation = given[0]["conversation_id"]
            said = datetime.fromisoformat(given[-1]["created_at"]).timestamp()
            assert abs(said - datetime.now(UTC).timestamp() - days * DAY) < DAY / 2
        told = client.get(f"/v1/conversations/{conversation}").json()["turns"]
        assert [turn["id"] for turn in told] == [turn["id"] for turn in given]
    with server.client(server.token()) as client:
        assert ask(client).status_code == 200
    assert server.stop() == 0


# --- PostgreSQL is restarted ---


def test_turns_outlive_a_restart_of_postgresql(
    new_server: Maker, shared_model: ScriptedModel, postgres_server: PostgresServer, postgres_url: str
) -> None:
    """While the model answers: the turn ends where it began, and is stored as it was told, or a little later."""
    server = new_server(shared_model.url, REFDESK_DATABASE_URL=postgres_url, REFDESK_TURN_SECONDS="30").start()
    with server.client(server.token()) as client:
        with held_turn(client, shared_model) as (turn_id, events, gate):
            until(lambda: bool(shared_model.bodies))
            postgres_server.stop()
            try:
                gate.set()
                check_refused(ask(client))
            finally:
                postgres_server.ensure_postgres_running()
            last = list(events)[-1]
        until(lambda: turn_status(client, turn_id) not in ("running", None))
        assert turn_status(client, turn_id) == "answered"
        if last.name == "done":
            assert client.get(f"/v1/turns/{turn_id}").json() == last.json
        else:
            assert last.json["code"] == "storage_unavailable"
        shared_model.script(refund_answer())
        assert ask(client).json()["status"] == "answered"
    assert server.stop() == 0


def turn_status(client: httpx2.Client, turn_id: str) -> str | None:
    answer = client.get(f"/v1/turns/{turn_id}")
    return str(answer.json()["status"]) if answer.status_code == 200 else None
