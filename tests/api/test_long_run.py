"""What grows: a conversation, the number of those who write at once, the number of turns."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import psutil
import pytest
from model_replies import refund_answer
from refdesk_server import STAFF_KEY, RefdeskServer

from scripted_api import ScriptedModel, answer_of

QUESTION = "When are refunds issued?"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, shared_model: ScriptedModel) -> Iterator[RefdeskServer]:
    server = RefdeskServer(tmp_path_factory.mktemp("running"), shared_model.url, REFDESK_TURNS_AT_ONCE="0")
    server.start()
    yield server
    assert server.stop() == 0
    assert "locked" not in server.log()


def test_a_long_conversation_asks_for_no_more_than_a_short_one(
    running: RefdeskServer, shared_model: ScriptedModel
) -> None:
    shared_model.choose(lambda _: answer_of(refund_answer()))
    sizes, turns, conversation = list[int](), list[str](), None
    with running.client(running.token()) as client:
        for _ in range(200):
            answer = client.post("/v1/ask", json={"question": QUESTION, "conversation_id": conversation}).json()
            conversation = answer["conversation_id"]
            turns.append(answer["id"])
            sizes.append(len(json.dumps(shared_model.bodies[-1])))
        assert len(shared_model.bodies) == 200
        history = client.get(f"/v1/conversations/{conversation}").json()
    assert max(sizes[20:]) <= 1.2 * sizes[19]
    assert [turn["id"] for turn in history["turns"]] == turns


def test_a_follow_up_is_searched_for_with_its_topic(running: RefdeskServer, shared_model: ScriptedModel) -> None:
    shared_model.choose(lambda _: answer_of(refund_answer()))
    with running.client(running.token()) as client, running.client(STAFF_KEY) as staff:
        first = client.post("/v1/ask", json={"question": "How long does a refund take?"}).json()
        body = {"question": "And for gift cards?", "conversation_id": first["conversation_id"]}
        second = client.post("/v1/ask", json=body).json()
        tools: list[dict[str, Any]] = staff.get(f"/v1/console/turns/{second['id']}").json()["tools"]
    asked = json.dumps([call["input"] for call in tools if call["by"] == "application"])
    assert "refund" in asked
    assert "gift card" in asked


def storm(server: RefdeskServer, clients: int, asks: int) -> list[int]:
    """Small talk: two durable writes each, and no model."""
    tokens = [server.token() for _ in range(clients)]

    def write(token: str) -> list[int]:
        with server.client(token) as client:
            return [client.post("/v1/ask", json={"question": "hello"}).status_code for _ in range(asks)]

    with ThreadPoolExecutor(clients) as pool:
        return [status for done in pool.map(write, tokens) for status in done]


def test_fifty_who_write_at_once_are_all_served(running: RefdeskServer, shared_model: ScriptedModel) -> None:
    assert set(storm(running, 50, 4)) == {200}


@pytest.mark.long
def test_a_storm_of_writers_is_served(running: RefdeskServer, shared_model: ScriptedModel) -> None:
    assert set(storm(running, 50, 300)) == {200}


@pytest.mark.long
def test_ten_thousand_turns_leave_nothing_behind(
    new_server: Callable[..., RefdeskServer], shared_model: ScriptedModel
) -> None:
    """Measured after the first thousand, when caches are full and some events of ended turns are kept."""
    server = new_server(shared_model.url, REFDESK_TURNS_AT_ONCE="0").start()
    shared_model.choose(lambda _: answer_of(refund_answer()))
    process = psutil.Process(server.pid)
    turns(server, 1_000, shared_model)
    before = (process.memory_info().rss, process.num_fds(), process.num_threads())
    turns(server, 9_000, shared_model)
    after = (process.memory_info().rss, process.num_fds(), process.num_threads())
    print(before, after)
    assert after[0] <= 1.1 * before[0]
    assert after[1] <= before[1] + 8
    assert after[2] <= before[2] + 2
    assert (server.data / "refdesk.db-wal").stat().st_size < 64 * 2**20


def turns(server: RefdeskServer, number: int, model: ScriptedModel) -> None:
    left, lock = [number], threading.Lock()

    def ask(token: str) -> None:
        with server.client(token) as client:
            while True:
                with lock:
                    if left[0] <= 0:
                        return
                    left[0] -= 1
                assert answered(client)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ask, [server.token() for _ in range(4)]))
    model.choose(lambda _: answer_of(refund_answer()))  # forgets what it was asked


def answered(client: httpx2.Client) -> bool:
    return bool(client.post("/v1/ask", json={"question": QUESTION}).json()["status"] == "answered")
