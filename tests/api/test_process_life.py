"""SIGTERM and kill -9: what was acknowledged is there afterwards, once, and every turn has an end."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from model_replies import refund_answer
from refdesk_server import RefdeskServer
from turn_events import EventReader, asked, resumed

from postgres_fixtures import postgres_server, postgres_template, postgres_url
from refdesk.serving import web_address
from scripted_api import Answer, ScriptedModel, answer_of

__all__ = ["postgres_server", "postgres_template", "postgres_url"]

QUESTION = "When are refunds issued?"
ENDED = {"answered", "insufficient", "evidence", "stopped", "interrupted", "failed"}
MODEL_LOADED = 4.0
"""Seconds after which, on most machines, the model's adapter is loaded behind the open port."""
SILENT = Answer(hold_head=True, ending="silence")


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory, shared_model: ScriptedModel) -> Iterator[RefdeskServer]:
    settings = {"REFDESK_TURN_SECONDS": "60", "REFDESK_IDLE_SECONDS": "60"}
    server = RefdeskServer(tmp_path_factory.mktemp("restarted"), shared_model.url, **settings)
    yield server
    server.kill()


@pytest.fixture
def serving(restarted: RefdeskServer) -> RefdeskServer:
    """One data folder for all tests here; each finds a server that serves."""
    return restarted if restarted.runs() else restarted.start()


@pytest.mark.parametrize(
    ("host", "shown"),
    [("127.0.0.1", "localhost"), ("0.0.0.0", "localhost"), ("::1", "localhost"), ("192.0.2.7", "192.0.2.7"),
     ("2001:db8::7", "[2001:db8::7]")],
)  # fmt: skip
def test_an_address_is_shown_as_one_can_type_it(host: str, shown: str) -> None:
    assert web_address(host, 8000) == f"http://{shown}:8000/"


def test_a_start_says_where_it_serves(serving: RefdeskServer) -> None:
    assert {record["address"] for record in serving.log_records("serving")} == {f"http://localhost:{serving.port}/"}


def test_sigterm_ends_what_runs_and_refuses_what_comes(serving: RefdeskServer, shared_model: ScriptedModel) -> None:
    shared_model.script(SILENT)
    with serving.client(serving.token()) as client, asked(client, QUESTION) as reader:
        events = iter(reader)
        turn_id = next(events).json["turn_id"]
        serving.signal(signal.SIGTERM)
        while (refused := client.post("/v1/ask", json={"question": QUESTION})).status_code == 200:
            pass  # the signal is not handled yet
        assert refused.status_code == 503
        assert refused.json()["code"] == "stopping"
        assert int(refused.headers["retry-after"]) >= 1
        assert client.get("/health/ready").status_code == 503
        done = list(events)[-1]
    assert done.name == "done"
    assert done.json["status"] == "interrupted"
    assert serving.wait() == 0
    serving.start()
    assert stored_turns(serving)[turn_id] == ("interrupted", QUESTION)


def test_sigterm_lets_a_turn_finish(serving: RefdeskServer, shared_model: ScriptedModel) -> None:
    gate = threading.Event()
    shared_model.script(Answer((gate, *answer_of(refund_answer()).chunks)))
    with serving.client(serving.token()) as client, asked(client, QUESTION) as reader:
        events = iter(reader)
        next(events)
        serving.signal(signal.SIGTERM)
        gate.set()
        assert list(events)[-1].json["status"] == "answered"
    assert serving.wait() == 0


def test_a_second_signal_and_sigint_end_it_too(serving: RefdeskServer, shared_model: ScriptedModel) -> None:
    serving.signal(signal.SIGINT)
    assert serving.wait() == 0


def test_a_turn_is_interrupted_by_kill_9_and_says_so(serving: RefdeskServer, shared_model: ScriptedModel) -> None:
    shared_model.script(SILENT)
    token = serving.token()
    with serving.client(token) as client:
        with asked(client, QUESTION) as reader:
            accepted = next(iter(reader))
            serving.kill()
        serving.start()
        turn_id = accepted.json["turn_id"]
        with resumed(client, turn_id, accepted.id) as reader:
            rest = list(reader)
        assert [event.name for event in rest] == ["done"]
        assert int(rest[0].id) > int(accepted.id)
        assert rest[0].json["status"] == "interrupted"
        assert rest[0].json["question"] == QUESTION
        assert client.get(f"/v1/turns/{turn_id}").json() == rest[0].json
        following = {"question": "Hello!", "conversation_id": accepted.json["conversation_id"]}
        shared_model.script()
        assert client.post("/v1/ask", json=following).json()["status"] == "answered"


def stored_turns(server: RefdeskServer) -> dict[str, tuple[str, str]]:
    """Status and question of every turn, as the database has them."""
    if url := server.environment.get("REFDESK_DATABASE_URL"):
        return stored_in_postgres(url)
    with closing(sqlite3.connect(server.data / "refdesk.db")) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {
            row[0]: (row[1], question_of(database, row[0])) for row in database.execute("SELECT id, status FROM turns")
        }


def stored_in_postgres(url: str) -> dict[str, tuple[str, str]]:
    statement = "SELECT t.id, t.status, b.turn::json ->> 'question' FROM turns t JOIN turn_bodies b ON b.seq = t.seq"
    with psycopg.connect(url) as database:
        return {turn_id: (status, question) for turn_id, status, question in database.execute(statement)}


def question_of(database: sqlite3.Connection, turn_id: str) -> str:
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE name = 'turn_bodies'")]
    join = "JOIN turn_bodies b ON b.seq = t.seq" if tables else ""
    column = "b.turn" if tables else "t.turn"
    found = database.execute(
        f"SELECT json_extract({column}, '$.question') FROM turns t {join} WHERE t.id = ?", [turn_id]
    )
    return str(found.fetchone()[0])


def unique_question(number: int) -> str:
    """The number is in the punctuation: another word could be one that no article has, and the gate would refuse."""
    return "When are refunds issued" + "".join("?!"[bit == "1"] for bit in f"{number:024b}")


class Client:
    """Asks one question after another until the server is gone, and the one that was cut off again with its key; keeps
    what it was told."""

    def __init__(self, server: RefdeskServer, number: int) -> None:
        self.token = server.token()
        self._server, self._number = server, number
        self._open = ""
        self._later: list[str] = []
        """Questions whose turn still counts as running: on PostgreSQL a dead server is known for dead after a while."""
        self.accepted: dict[str, str] = {}
        """Turn by question; a question is its own Idempotency-Key."""
        self.done: dict[str, dict[str, Any]] = {}
        self.repeated = 0
        self.refused: list[int] = []

    def ask_until_it_dies(self, cycle: int) -> None:
        with self._server.client(self.token) as client:
            for number in range(10_000):
                again = self._open or (self._later.pop(0) if self._later and number % 4 == 3 else "")
                self.repeated += bool(again)
                self._open = again or unique_question(1_000_000 * self._number + 1_000 * cycle + number)
                try:
                    self._ask(client, self._open)
                except httpx2.TransportError:
                    return
                self._open = ""

    def ask_what_is_left(self) -> None:
        with self._server.client(self.token) as client:
            while left := [*self._later, *([self._open] if self._open else [])]:
                self._later, self._open = [], ""
                for question in left:
                    self._ask(client, question)
                time.sleep(0.2)

    def _ask(self, client: httpx2.Client, question: str) -> None:
        headers = {"accept": "text/event-stream", "idempotency-key": question}
        with client.stream("POST", "/v1/ask", json={"question": question}, headers=headers) as response:
            if response.status_code == 409 and json.loads(response.read())["code"] == "idempotency_running":
                self._later.append(question)
                return
            if response.status_code != 200:
                self.refused.append(response.status_code)
                return
            for event in EventReader(response):
                if event.name == "accepted":
                    known = self.accepted.setdefault(question, event.json["turn_id"])
                    assert known == event.json["turn_id"], "one key, two turns"
                elif event.name == "done":
                    self.done[event.json["id"]] = event.json


def kill_loop(server: RefdeskServer, model: ScriptedModel, *, cycles: int, clients: int, seed: int) -> list[Client]:
    print(f"seed {seed}")
    chance, pause = random.Random(seed), threading.Event()
    model.choose(lambda _: answer_of(refund_answer()))
    askers = [Client(server, number) for number in range(clients)]
    with ThreadPoolExecutor(clients) as pool:
        for cycle in range(cycles):
            runs: list[Future[None]] = [pool.submit(asker.ask_until_it_dies, cycle) for asker in askers]
            pause.wait(chance.uniform(0.02, 1.5) + (MODEL_LOADED if cycle % 3 == 0 else 0))
            server.kill()
            for run in runs:
                run.result(60)
            server.start(model_loaded=False)
            check(server, askers, last=3)
        for run in [pool.submit(asker.ask_what_is_left) for asker in askers]:
            run.result(60)
    check(server, askers, last=None)
    assert {status for status, _ in stored_turns(server).values()} <= ENDED
    assert not [status for asker in askers for status in asker.refused]
    return askers


def check(server: RefdeskServer, askers: list[Client], *, last: int | None) -> None:
    """`last`: how many of each client's finished turns are compared."""
    stored = stored_turns(server)
    if "REFDESK_DATABASE_URL" not in server.environment:  # elsewhere the dead are buried some seconds later
        assert {status for status, _ in stored.values()} <= ENDED
    for asker in askers:
        with server.client(asker.token) as client:
            for question, turn_id in asker.accepted.items():
                assert stored[turn_id][1] == question, "an acknowledged turn was lost or changed"
            for turn_id, done in list(asker.done.items())[-last if last else None :]:
                assert client.get(f"/v1/turns/{turn_id}").json() == done
    questions = [question for _, question in stored.values() if question != QUESTION]
    assert len(questions) == len(set(questions)), "a question was stored twice"


def told(askers: list[Client], server: RefdeskServer) -> dict[str, int]:
    statuses = Counter(status for status, _ in stored_turns(server).values())
    kept = {"accepted": sum(len(asker.accepted) for asker in askers), "done": sum(len(asker.done) for asker in askers)}
    return {**kept, "repeated": sum(asker.repeated for asker in askers), **statuses}


def test_no_acknowledged_turn_is_lost_to_kill_9(serving: RefdeskServer, shared_model: ScriptedModel) -> None:
    seed = int(os.environ.get("REFDESK_TEST_SEED", random.randrange(10**6)))
    askers = kill_loop(serving, shared_model, cycles=3, clients=3, seed=seed)
    assert told(askers, serving)["accepted"] > 0


@pytest.mark.long
def test_no_acknowledged_turn_is_lost_to_two_hundred_kills(serving: RefdeskServer, shared_model: ScriptedModel) -> None:
    seed = int(os.environ.get("REFDESK_TEST_SEED", random.randrange(10**6)))
    counts = told(kill_loop(serving, shared_model, cycles=200, clients=8, seed=seed), serving)
    print(counts)
    assert counts["accepted"] > 200
    assert counts["repeated"] > 200


@pytest.fixture
def on_postgres(tmp_path: Path, shared_model: ScriptedModel, postgres_url: str) -> Iterator[RefdeskServer]:
    settings = {"REFDESK_TURN_SECONDS": "60", "REFDESK_IDLE_SECONDS": "60", "REFDESK_DATABASE_URL": postgres_url}
    server = RefdeskServer(tmp_path / "server", shared_model.url, **settings).start()
    yield server
    server.kill()


def test_no_acknowledged_turn_is_lost_on_postgresql(on_postgres: RefdeskServer, shared_model: ScriptedModel) -> None:
    seed = int(os.environ.get("REFDESK_TEST_SEED", random.randrange(10**6)))
    askers = kill_loop(on_postgres, shared_model, cycles=2, clients=3, seed=seed)
    assert told(askers, on_postgres)["accepted"] > 0


@pytest.mark.long
def test_no_acknowledged_turn_is_lost_to_a_hundred_kills_on_postgresql(
    on_postgres: RefdeskServer, shared_model: ScriptedModel
) -> None:
    seed = int(os.environ.get("REFDESK_TEST_SEED", random.randrange(10**6)))
    counts = told(kill_loop(on_postgres, shared_model, cycles=100, clients=8, seed=seed), on_postgres)
    print(counts)
    assert counts["accepted"] > 100
    assert counts["repeated"] > 100
