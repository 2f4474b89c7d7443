"""What the model may cost: a cap that no question passes, not after a crash and not through another server."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx2
import msgspec
import pytest
from model_replies import refund_answer
from refdesk_server import STAFF_KEY, RefdeskServer
from turn_events import all_events, asked

from postgres_fixtures import empty_postgres_url, postgres_server, postgres_template, postgres_url
from scripted_api import Answer, ScriptedModel, answer_of

__all__ = ["empty_postgres_url", "postgres_server", "postgres_template", "postgres_url"]

QUESTION = "When are refunds issued?"
DEAR = msgspec.structs.replace(refund_answer(), input_tokens=1_000, output_tokens=4_000)
COST = 0.021
"""Of such a reply, in US dollars; what it might have cost is somewhat more."""
DOWN = Answer((b"{}",), 529, {"content-type": "application/json", "x-should-retry": "false"})
CAPPED = {"REFDESK_PRICES": "claude-haiku-5-5=1/5", "REFDESK_SPEND_PER_DAY": "0.05"}


def ask(client: httpx2.Client, question: str = QUESTION) -> tuple[str, str | None]:
    response = client.post("/v1/ask", json={"question": question})
    assert response.status_code == 200, response.text
    return response.json()["status"], response.json()["model_error"]


def spent(server: RefdeskServer) -> Any:
    with server.client(STAFF_KEY) as staff:
        return staff.get("/v1/console/stats").json()["spending"]


@pytest.fixture(params=["sqlite", "postgresql"])
def capped(
    request: pytest.FixtureRequest, new_server: Callable[..., RefdeskServer], model: ScriptedModel
) -> Callable[..., RefdeskServer]:
    """Starts servers with a cap; those on PostgreSQL share one database."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else ""

    def make(**settings: str) -> RefdeskServer:
        model.script(DEAR)
        return new_server(model.url, **{**CAPPED, "REFDESK_DATABASE_URL": url, **settings}).start()

    return make


BUDGET = ("evidence", "budget")
ANSWERED = ("answered", None)


def test_a_cap_is_never_passed_and_a_crash_opens_nothing(
    capped: Callable[..., RefdeskServer], model: ScriptedModel
) -> None:
    server = capped(REFDESK_TURN_SECONDS="30", REFDESK_IDLE_SECONDS="20")
    with server.client(server.token()) as visitor:
        model.script(DOWN)
        assert [ask(visitor) for _ in range(3)] == [("evidence", "overloaded")] * 3
        assert spent(server)["usd"] == 0
        model.script(DEAR)
        assert ask(visitor) == ANSWERED
        assert (spent(server)["usd"], spent(server)["cap_usd"]) == (pytest.approx(COST), 0.05)
        crash_in_a_call(server, visitor, model)
    left = spent(server)["usd"]
    assert 2 * COST < left <= 0.05
    model.script(DEAR)
    with server.client(server.token()) as visitor, server.client(STAFF_KEY) as staff:
        assert ask(visitor) == BUDGET
        done = all_events(visitor, QUESTION)[-1].json
        assert (done["status"], done["model_error"], done["evidence"][0]["source_id"]) == (*BUDGET, "refunds")
        assert ask(visitor, "Hello!") == ANSWERED
        assert f"${left:.2f} of $0.05" in staff.get("/console").text
        turns = staff.get(f"/v1/console/conversations/{done['conversation_id']}").json()["turns"]
    assert turns[0]["usage"]["calls"] == 0
    assert model.bodies == []
    assert spent(server)["usd"] == left
    (told,) = server.log_records("model cannot be used")
    assert "REFDESK_SPEND_PER_DAY" in told["hint"]


def crash_in_a_call(server: RefdeskServer, visitor: httpx2.Client, model: ScriptedModel) -> None:
    held, whole = threading.Event(), answer_of(DEAR)
    model.script(Answer((*whole.chunks[:-1], held, whole.chunks[-1])))
    with asked(visitor, QUESTION) as reader:
        assert any(event.name == "delta" for event in reader)
        server.kill()
        held.set()
    server.start()


def test_servers_on_one_database_have_one_cap(
    new_server: Callable[..., RefdeskServer], model: ScriptedModel, postgres_url: str
) -> None:
    settings = {**CAPPED, "REFDESK_SPEND_PER_VISITOR": "0.04"}
    one, other = (new_server(model.url, REFDESK_DATABASE_URL=postgres_url, **settings).start() for _ in range(2))
    model.script(DEAR)
    tokens = [one.token() for _ in range(2)]
    with one.client(tokens[0]) as first, other.client(tokens[0]) as again:
        assert [ask(first), ask(again)] == [ANSWERED, BUDGET]
    with one.client(tokens[1]) as second, other.client(tokens[1]) as again:
        assert [ask(second), ask(again)] == [ANSWERED, BUDGET]
    assert len(model.bodies) == 2
    assert spent(one) == spent(other)


def test_the_command_line_is_the_operators_own_call(
    new_server: Callable[..., RefdeskServer], model: ScriptedModel
) -> None:
    """As the articles say: no cap stops it."""
    server = new_server(model.url, **{**CAPPED, "REFDESK_SPEND_PER_DAY": "0.000001"})
    model.script(DEAR)
    run = [sys.executable, "-m", "refdesk.cli", "ask", "--words", "--json", QUESTION]
    done = subprocess.run(run, env=server.environment, cwd=server.folder, capture_output=True, text=True, check=False)
    assert (json.loads(done.stdout)["status"], len(model.bodies)) == ("answered", 1)


def test_a_probe_that_may_spend_nothing_tells_nothing_of_the_service(
    new_server: Callable[..., RefdeskServer], model: ScriptedModel
) -> None:
    settings = {"REFDESK_SPEND_PER_VISITOR": "0.03", "REFDESK_BREAKER_TURNS": "1", "REFDESK_BREAKER_SECONDS": "0.2"}
    server = new_server(model.url, **CAPPED, **settings).start()
    with server.client(server.token()) as poor, server.client(server.token()) as rich:
        model.script(DEAR)
        assert ask(poor) == ANSWERED
        model.script(DOWN)
        assert ask(rich) == ("evidence", "overloaded")
        time.sleep(0.2)
        model.script(DEAR)
        assert ask(poor) == BUDGET
        assert rich.get("/health/ready").json()["model"] == "unavailable"
        assert ask(rich) == ANSWERED
        assert rich.get("/health/ready").json()["model"] == "ok"
