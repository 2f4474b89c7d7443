"""A model service that is down is left alone for a while, and tried again by one question."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest
from model_replies import refund_answer
from refdesk_server import STAFF_KEY, RefdeskServer
from turn_events import asked

from scripted_api import Answer, ScriptedModel, answer_of, opening

QUESTION = "When are refunds issued?"
COOL_DOWN = 2.0
JSON = {"content-type": "application/json", "x-should-retry": "false"}


def failing(status: int, kind: str = "api_error", **details: Any) -> Answer:
    """A fault that is not tried again, so that one question is one request."""
    error = {"type": kind, "message": "no", **({"details": details} if details else {})}
    return Answer((json.dumps({"type": "error", "error": error}).encode(),), status, JSON)


DOWN = failing(500)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, shared_model: ScriptedModel) -> Iterator[RefdeskServer]:
    settings = {"REFDESK_BREAKER_TURNS": "5", "REFDESK_BREAKER_SECONDS": f"{COOL_DOWN}", "REFDESK_TURN_SECONDS": "20"}
    started = RefdeskServer(tmp_path_factory.mktemp("breaker"), shared_model.url, **settings).start()
    yield started
    started.kill()


@pytest.fixture
def closed(server: RefdeskServer, model: ScriptedModel) -> Iterator[httpx2.Client]:
    """A visitor of a server whose breaker is closed."""
    with server.client() as client:
        model.script(refund_answer())
        for _ in range(100):
            if ask(client)["status"] == "answered":
                break
            time.sleep(COOL_DOWN / 10)
        assert state(client) == "ok"
        model.script()
        yield client


def ask(client: httpx2.Client) -> Any:
    response = client.post("/v1/ask", json={"question": QUESTION})
    assert response.status_code == 200
    return response.json()


def state(client: httpx2.Client) -> str:
    ready = client.get("/health/ready")
    assert ready.status_code == 200
    return str(ready.json()["model"])


def await_probe(client: httpx2.Client) -> None:
    for _ in range(2_000):
        if state(client) == "probing":
            return
        time.sleep(0.01)
    raise AssertionError("no turn tries the model")


def open_it(client: httpx2.Client, model: ScriptedModel, answer: Answer = DOWN, turns: int = 5) -> None:
    model.script(answer)
    assert {ask(client)["status"] for _ in range(turns)} == {"evidence"}
    assert state(client) == "unavailable"
    model.script(answer)


def test_five_failed_turns_open_it_and_one_probe_closes_it(
    closed: httpx2.Client, model: ScriptedModel, server: RefdeskServer
) -> None:
    opened_before = len(list(server.log_records("model breaker opened")))
    open_it(closed, model, failing(529, "overloaded_error"))
    turns = [ask(closed) for _ in range(3)]
    assert [(turn["status"], turn["model_error"]) for turn in turns] == [("evidence", "overloaded")] * 3
    assert turns[0]["evidence"][0]["source_id"] == "refunds"
    with server.client(STAFF_KEY) as staff:
        assert "does not answer; it is tried again shortly" in staff.get("/console").text
        assert 'refdesk_model_breaker{state="open"} 1.0' in staff.get("/metrics").text
    assert model.bodies == []
    ended = threading.Event()
    whole = answer_of(refund_answer())
    model.script(Answer((*whole.chunks[:-1], ended, whole.chunks[-1])))
    time.sleep(COOL_DOWN)
    with ThreadPoolExecutor(8) as pool:
        probe = pool.submit(ask, closed)
        await_probe(closed)
        others = [pool.submit(ask, closed) for _ in range(6)]
        assert {other.result()["status"] for other in others} == {"evidence"}
        ended.set()
        assert probe.result()["status"] == "answered"
    assert len(model.bodies) == 1
    assert state(closed) == "ok"
    assert ask(closed)["status"] == "answered"
    opened = list(server.log_records("model breaker opened"))[opened_before:]
    assert [(line["model_error"], line["failed_turns"]) for line in opened] == [("overloaded", 5)]
    assert next(server.log_records("model breaker closed"))


def test_a_probe_that_fails_is_one_request_and_leaves_it_open(closed: httpx2.Client, model: ScriptedModel) -> None:
    open_it(closed, model)
    model.script(Answer((b"{}",), 503, {"content-type": "application/json"}))  # a fault that is tried again otherwise
    time.sleep(COOL_DOWN)
    assert ask(closed)["model_error"] == "unavailable"
    assert len(model.bodies) == 1
    assert [ask(closed)["status"] for _ in range(3)] == ["evidence"] * 3
    assert len(model.bodies) == 1


def test_a_probe_that_a_visitor_stops_leaves_it_to_the_next(
    server: RefdeskServer, closed: httpx2.Client, model: ScriptedModel
) -> None:
    open_it(closed, model)
    model.script(Answer((opening(),), ending="pings"))
    time.sleep(COOL_DOWN)
    with server.client(server.token()) as visitor:
        with asked(visitor, QUESTION) as reader:
            turn_id = next(iter(reader)).json["turn_id"]
            await_probe(closed)
            assert visitor.post(f"/v1/turns/{turn_id}/stop").json()["status"] == "stopped"
            assert list(reader)[-1].name == "done"
        model.script(refund_answer())
        assert ask(visitor)["status"] == "answered"
    assert state(closed) == "ok"


def test_a_spend_limit_opens_it_at_once_and_tells_the_operator(
    server: RefdeskServer, closed: httpx2.Client, model: ScriptedModel
) -> None:
    limit = failing(429, "rate_limit_error", error_code="enforced_spend_limit_reached")
    open_it(closed, model, limit, turns=1)
    assert (ask(closed)["model_error"], model.bodies) == ("rate_limited", [])
    opened = list(server.log_records("model breaker opened"))[-1]
    assert opened["failed_turns"] == 1
    assert "spend limit" in opened["hint"]


@pytest.mark.parametrize(
    "answer",
    [
        Answer((b"<html>",), 200, {"content-type": "text/html"}),
        Answer((opening(), b"event: x\ndata: {nope\n\n")),
        Answer((opening(),)),
        failing(400, "invalid_request_error"),
    ],
    ids=["html", "garbage", "cut", "400"],
)
def test_replies_that_are_no_answer_do_not_open_it(closed: httpx2.Client, model: ScriptedModel, answer: Answer) -> None:
    model.script(answer)
    for _ in range(7):
        assert ask(closed)["status"] == "evidence"
    assert state(closed) == "ok"
    model.script(refund_answer())
    assert ask(closed)["status"] == "answered"


def test_what_an_operator_must_change_is_told_once(
    server: RefdeskServer, closed: httpx2.Client, model: ScriptedModel
) -> None:
    def told() -> list[str]:
        return [line["hint"] for line in server.log_records("model cannot be used")]

    before, failed = len(told()), len(list(server.log_records("model failed")))
    for status in (401, 401, 401, 403, 403):
        model.script(failing(status, "authentication_error"))
        assert ask(closed)["model_error"] == "not_configured"
    assert ["401" in hint for hint in told()[before:]] == [True, False]
    model.script(refund_answer())
    assert ask(closed)["status"] == "answered"
    model.script(failing(403, "permission_error"))
    assert ask(closed)["status"] == "evidence"
    assert len(told()) == before + 3
    assert len(list(server.log_records("model failed"))) == failed


def test_a_greeting_is_answered_while_it_is_open(closed: httpx2.Client, model: ScriptedModel) -> None:
    open_it(closed, model)
    greeting = closed.post("/v1/ask", json={"question": "Hello!"}).json()
    assert (greeting["status"], greeting["kind"], model.bodies) == ("answered", "smalltalk", [])


def test_it_is_known_whether_a_model_is_configured(new_server: Callable[..., RefdeskServer]) -> None:
    with new_server().start().client() as client:
        assert state(client) == "not_configured"
