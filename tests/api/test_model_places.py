"""So many questions may ask the model at once; who finds no place waits briefly and is then sent away unharmed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx2
import pytest
from model_replies import refund_answer
from refdesk_server import SHOP, STAFF_KEY, RefdeskServer
from turn_events import EventReader, asked

from scripted_api import Answer, ScriptedModel, answer_of, opening

QUESTION = "When are refunds issued?"
PLACES = 2


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, shared_model: ScriptedModel) -> Iterator[RefdeskServer]:
    settings = {"REFDESK_MODEL_CALLS": f"{PLACES}", "REFDESK_TURN_SECONDS": "40", "REFDESK_IDLE_SECONDS": "30"}
    started = RefdeskServer(tmp_path_factory.mktemp("places"), shared_model.url, **settings).start()
    yield started
    started.kill()


@pytest.fixture
def held(model: ScriptedModel) -> Iterator[threading.Event]:
    """Answers of the model end when it is set."""
    event = threading.Event()
    whole = answer_of(refund_answer())
    model.script(Answer((*whole.chunks[:-1], event, whole.chunks[-1])))
    yield event
    event.set()


def busy(response: httpx2.Response) -> bool:
    if response.status_code == 200:
        return False
    assert (response.status_code, response.json()["code"]) == (503, "busy")
    assert int(response.headers["retry-after"]) >= 1
    return True


def ask(client: httpx2.Client, **body: str) -> httpx2.Response:
    return client.post("/v1/ask", json={"question": QUESTION, **body})


def begin(server: RefdeskServer, open_: ExitStack) -> tuple[httpx2.Client, EventReader, dict[str, str]]:
    """A question of a new visitor, who follows it."""
    client = open_.enter_context(server.client(server.token()))
    reader = open_.enter_context(asked(client, QUESTION))
    return client, reader, next(iter(reader)).json


def stored(server: RefdeskServer) -> int:
    with server.client(STAFF_KEY) as staff:
        figures = staff.get("/v1/console/stats").json()
    assert figures["spending"] is None
    return int(figures["total"]["turns"])


def test_who_finds_no_place_gets_503_and_nothing_is_stored(server: RefdeskServer, held: threading.Event) -> None:
    before = stored(server)
    with ExitStack() as open_, server.client() as visitor:
        readers = [begin(server, open_)[1] for _ in range(PLACES)]
        assert all(busy(ask(visitor)) for _ in range(5))
        told = visitor.post("/v1/ask", json={"question": QUESTION}, headers={"origin": SHOP})
        assert busy(told)
        assert told.headers["access-control-allow-origin"] == SHOP, "the widget reads when to come back"
        assert "retry-after" in told.headers["access-control-expose-headers"]
        with server.client(STAFF_KEY) as staff:
            assert staff.post("/v1/console/preview", json={"question": QUESTION, "roles": []}).status_code == 503
            assert "refdesk_model_places_taken 2.0" in staff.get("/metrics").text
        assert visitor.get("/v1/search", params={"q": QUESTION}).status_code == 200
        held.set()
        assert [list(reader)[-1].json["status"] for reader in readers] == ["answered"] * PLACES
        assert not busy(ask(visitor))
    assert stored(server) == before + PLACES + 1


def test_a_place_is_free_again_however_a_turn_ends(server: RefdeskServer, model: ScriptedModel) -> None:
    for _ in range(2 * PLACES):
        model.script(Answer((opening(),), ending="pings"))
        with ExitStack() as open_:
            client, reader, begun = begin(server, open_)
            refused = ask(client, conversation_id=begun["conversation_id"])
            assert (refused.status_code, refused.json()["code"]) == (409, "turn_running")
            assert ask(client, conversation_id="c_of_nobody").status_code == 404
            assert client.post(f"/v1/turns/{begun['turn_id']}/stop").json()["status"] == "stopped"
            assert list(reader)[-1].name == "done"
            model.script(Answer((b"{}",), 400, {"content-type": "application/json"}))
            assert ask(client).json()["status"] == "evidence"
            assert ask(client, question="What does the quantum zebra chromodynamics lecture cost?").status_code == 200
    model.script(refund_answer())
    with ExitStack() as open_:
        assert [list(begin(server, open_)[1])[-1].json["status"] for _ in range(PLACES)] == ["answered"] * PLACES


def test_a_conversation_that_is_erased_leaves_its_place(server: RefdeskServer, held: threading.Event) -> None:
    with ExitStack() as open_, server.client() as visitor:
        running = [begin(server, open_) for _ in range(PLACES)]
        assert busy(ask(visitor))
        client, reader, begun = running[0]
        assert client.delete(f"/v1/conversations/{begun['conversation_id']}").status_code == 204
        list(reader)
        with asked(visitor, QUESTION) as next_one:
            assert next(iter(next_one)).name == "accepted"
            held.set()


def test_whoever_may_wait_is_answered_in_turn(
    new_server: Callable[..., RefdeskServer], model: ScriptedModel, held: threading.Event
) -> None:
    server = new_server(
        model.url, REFDESK_MODEL_CALLS="1", REFDESK_MODEL_WAIT_SECONDS="10", REFDESK_TURN_SECONDS="30"
    ).start()
    with ExitStack() as open_, ThreadPoolExecutor(5) as pool, server.client() as visitor:
        reader = begin(server, open_)[1]
        waiting = [pool.submit(ask, visitor) for _ in range(5)]
        with server.client(STAFF_KEY) as staff:
            for _ in range(1_000):
                if "refdesk_model_places_awaited 5.0" in staff.get("/metrics").text:
                    break
            else:
                raise AssertionError("nobody waits")
        held.set()
        assert list(reader)[-1].json["status"] == "answered"
        assert [one.result().json()["status"] for one in waiting] == ["answered"] * 5
