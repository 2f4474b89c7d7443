"""A turn belongs to the server: it is stopped, resumed, repeated and left alone without being lost or doubled."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from model_replies import answering, opens, refund_answer
from refdesk_server import PATIENCE, RefdeskServer
from turn_events import Event, all_events, asked, resumed

from fake_model import Reply
from scripted_api import Answer, ScriptedModel, answer_of, event

QUESTION = "When are refunds issued?"


@contextmanager
def held(reply: Reply) -> Iterator[tuple[Answer, threading.Event]]:
    """The reply, held back until the event is set."""
    gate = threading.Event()
    whole = answer_of(reply)
    try:
        yield Answer((gate, *whole.chunks)), gate
    finally:
        gate.set()


def stop_model(client: httpx2.Client, turn_id: str) -> httpx2.Response:
    return client.post(f"/v1/turns/{turn_id}/stop", timeout=1.0 + 2.0)


def test_the_stream_and_the_answer_are_one_turn(visitor: httpx2.Client, model: ScriptedModel) -> None:
    model.script(opens("refunds"), refund_answer())
    events = all_events(visitor, QUESTION)
    assert [event.id for event in events] == [str(n) for n in range(1, len(events) + 1)]
    assert [event.name for event in events if event.name != "delta"] == ["accepted", "step", "step", "done"]
    done = events[-1].json
    turn = visitor.get(f"/v1/turns/{done['id']}").json()
    history = visitor.get(f"/v1/conversations/{done['conversation_id']}").json()
    assert done == turn == history["turns"][0]
    assert "".join(event.json["text"] for event in events if event.name == "delta") == done["answer"]
    assert done["status"] == "answered"
    assert [source["id"] for source in done["sources"]] == ["refunds"]


def test_one_question_at_a_time_in_a_conversation(visitor: httpx2.Client, model: ScriptedModel) -> None:
    first = visitor.post("/v1/ask", json={"question": QUESTION}).json()
    same = {"conversation_id": first["conversation_id"]}
    with held(refund_answer()) as (answer, gate):
        model.script(answer)
        with asked(visitor, QUESTION, **same) as reader:
            events = iter(reader)
            assert next(events).name == "accepted"
            for accept in ("application/json", "text/event-stream"):
                second = visitor.post("/v1/ask", json={"question": "gift cards?", **same}, headers={"accept": accept})
                assert second.status_code == 409
                assert second.json()["code"] == "turn_running"
                assert int(second.headers["retry-after"]) >= 1
            elsewhere = visitor.post("/v1/ask", json={"question": "zzz qqq xxx?"})
            assert elsewhere.status_code == 200
            gate.set()
            assert [event.name for event in events][-1] == "done"
    assert visitor.post("/v1/ask", json={"question": "hello", **same}).status_code == 200
    history = visitor.get(f"/v1/conversations/{first['conversation_id']}").json()
    assert [turn["question"] for turn in history["turns"]] == [QUESTION, QUESTION, "hello"]


def test_a_turn_is_stopped_while_the_model_is_silent(visitor: httpx2.Client, model: ScriptedModel) -> None:
    model.script(Answer(hold_head=True, ending="silence"))
    with asked(visitor, QUESTION) as reader:
        events = iter(reader)
        turn_id = next(events).json["turn_id"]
        stopped = stop_model(visitor, turn_id)
        assert stopped.status_code == 200
        assert stopped.json()["status"] == "stopped"
        assert stopped.elapsed.total_seconds() < 1.0
        rest = list(events)
    assert rest[-1].json == stopped.json() == visitor.get(f"/v1/turns/{turn_id}").json()
    assert not stopped.json()["grounded"]


def test_a_turn_is_stopped_in_the_middle_of_its_answer(visitor: httpx2.Client, model: ScriptedModel) -> None:
    whole = answer_of(answering("x"))
    gate = threading.Event()
    piece = b'{"outcome": "answered", "claims": [], "answer": "Refunds are issued within 14 days. Then [Refu'
    start = Answer((whole.chunks[0], *partial_input(piece), gate), ending="silence")
    gate.set()
    model.script(start)
    with asked(visitor, QUESTION) as reader:
        events = iter(reader)
        turn_id = next(events).json["turn_id"]
        shown = next(event for event in events if event.name == "delta").json["text"]
        stopped = stop_model(visitor, turn_id).json()
        assert list(events)[-1].name == "done"
    assert stopped["status"] == "stopped"
    assert stopped["answer"].startswith(shown)
    assert "[" not in stopped["answer"]


def partial_input(piece: bytes) -> list[bytes]:
    """The beginning of an `answer` call whose input never ends."""
    block = {"type": "tool_use", "id": "toolu_1", "name": "answer", "input": {}}
    start = event({"type": "content_block_start", "index": 0, "content_block": block})
    delta = {"type": "input_json_delta", "partial_json": piece.decode()}
    return [start, event({"type": "content_block_delta", "index": 0, "delta": delta})]


def test_stopping_at_once_and_twice_and_afterwards(visitor: httpx2.Client, model: ScriptedModel) -> None:
    with held(refund_answer()) as (answer, _):
        model.script(answer)
        with asked(visitor, QUESTION) as reader:
            turn_id = next(iter(reader)).json["turn_id"]
            with ThreadPoolExecutor(4) as pool:
                answers = list(pool.map(lambda _: stop_model(visitor, turn_id), range(4)))
    assert {answer.json()["status"] for answer in answers} == {"stopped"}
    assert len({answer.content for answer in answers}) == 1
    assert stop_model(visitor, turn_id).content == answers[0].content


def test_stopping_what_has_ended_changes_nothing(visitor: httpx2.Client, model: ScriptedModel) -> None:
    model.script(refund_answer())
    turn = visitor.post("/v1/ask", json={"question": QUESTION}).json()
    assert turn["status"] == "answered"
    assert stop_model(visitor, turn["id"]).json() == turn


def test_leaving_stops_nothing(visitor: httpx2.Client, model: ScriptedModel) -> None:
    with held(refund_answer()) as (answer, gate):
        model.script(answer)
        with asked(visitor, QUESTION) as reader:
            accepted = next(iter(reader))
        gate.set()
        with resumed(visitor, accepted.json["turn_id"], accepted.id) as reader:
            events = list(reader)
    assert events[-1].name == "done"
    assert events[-1].json["status"] == "answered"
    assert visitor.get(f"/v1/turns/{accepted.json['turn_id']}").json() == events[-1].json
    assert len(model.bodies) == 1


def test_leaving_a_json_question_stops_nothing(
    server: RefdeskServer, visitor: httpx2.Client, model: ScriptedModel
) -> None:
    first = visitor.post("/v1/ask", json={"question": "zzz qqq xxx?"}).json()
    with held(refund_answer()) as (answer, gate):
        model.script(answer)
        body = {"question": QUESTION, "conversation_id": first["conversation_id"]}
        with pytest.raises(httpx2.ReadTimeout):
            visitor.post("/v1/ask", json=body, timeout=0.7)
        history = visitor.get(f"/v1/conversations/{first['conversation_id']}").json()
        turn = history["turns"][1]
        assert turn["status"] == "running"
        gate.set()
        with resumed(visitor, turn["id"]) as reader:
            assert list(reader)[-1].json["status"] == "answered"


def test_a_stream_is_resumed_at_every_cut(visitor: httpx2.Client, model: ScriptedModel) -> None:
    gates = [threading.Event() for _ in range(2)]
    first, last = answer_of(opens("refunds")), answer_of(refund_answer())
    model.script(Answer((gates[0], *first.chunks)), Answer((gates[1], *last.chunks)))
    with asked(visitor, QUESTION) as reader:
        whole: list[Event] = []
        turn_id = ""
        for event in reader:
            whole.append(event)
            turn_id = turn_id or event.json["turn_id"]
            # a second reader that comes back right here gets the same events so far
            with resumed(visitor, turn_id) as second:
                again = iter(second)
                assert [next(again) for _ in whole] == whole
            for gate in gates[: len(whole)]:
                gate.set()
    asked_so_far = len(model.bodies)
    for cut in range(len(whole) + 1):
        last_id = whole[cut - 1].id if cut else None
        with resumed(visitor, turn_id, last_id) as reader:
            assert whole[:cut] + list(reader) == whole
    assert len(model.bodies) == asked_so_far == 2


def test_a_number_that_never_was_gets_the_end(visitor: httpx2.Client, model: ScriptedModel) -> None:
    model.script(refund_answer())
    events = all_events(visitor, QUESTION)
    with resumed(visitor, events[-1].json["id"], "4000") as reader:
        assert list(reader) == [events[-1]]


def test_heartbeats_are_comments_and_change_no_number(visitor: httpx2.Client, model: ScriptedModel) -> None:
    with held(refund_answer()) as (answer, gate):
        model.script(answer)
        with asked(visitor, QUESTION) as reader:
            events: list[Event] = []
            for line in iterate_until(reader, lambda: reader.comments >= 3, gate):
                events.append(line)
    assert reader.comments >= 3
    assert [event.id for event in events] == [str(n) for n in range(1, len(events) + 1)]
    assert events[-1].name == "done"


def iterate_until(reader: Any, enough: Callable[[], bool], gate: threading.Event) -> Iterator[Event]:
    """Opens the gate from another thread once enough was read."""
    opener = threading.Thread(target=lambda: (wait_for(enough), gate.set()))
    opener.start()
    yield from reader
    opener.join(PATIENCE)


def wait_for(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.02)):
        if condition():
            return
        pause.wait(0.02)
    raise AssertionError("it did not happen")


def test_the_same_key_gives_the_same_turn(visitor: httpx2.Client, model: ScriptedModel) -> None:
    model.script(refund_answer())
    headers = {"idempotency-key": "key-1"}
    first = visitor.post("/v1/ask", json={"question": QUESTION}, headers=headers)
    again = visitor.post("/v1/ask", json={"question": QUESTION, "locale": None}, headers=headers)
    assert first.status_code == again.status_code == 200
    assert first.content == again.content
    wanted = {**headers, "accept": "text/event-stream"}
    streamed = visitor.post("/v1/ask", json={"question": QUESTION}, headers=wanted)
    assert streamed.text.count("event: done") == 1
    assert first.content in streamed.content
    other = visitor.post("/v1/ask", json={"question": "gift cards?"}, headers=headers)
    assert other.status_code == 422
    assert other.json()["code"] == "idempotency_mismatch"
    assert len(model.bodies) == 1
    history = visitor.get(f"/v1/conversations/{first.json()['conversation_id']}").json()
    assert len(history["turns"]) == 1


def test_a_key_whose_turn_was_erased_begins_anew(visitor: httpx2.Client, model: ScriptedModel) -> None:
    model.script(refund_answer())
    headers = {"idempotency-key": "key-erased"}
    first = visitor.post("/v1/ask", json={"question": QUESTION}, headers=headers).json()
    assert visitor.delete(f"/v1/conversations/{first['conversation_id']}").status_code == 204
    second = visitor.post("/v1/ask", json={"question": QUESTION}, headers=headers).json()
    assert second["status"] == "answered"
    assert second["id"] != first["id"]


def test_a_key_belongs_to_its_visitor(server: RefdeskServer, visitor: httpx2.Client, model: ScriptedModel) -> None:
    headers = {"idempotency-key": "key-2"}
    first = visitor.post("/v1/ask", json={"question": QUESTION}, headers=headers).json()
    with server.client(server.token()) as other:
        second = other.post("/v1/ask", json={"question": QUESTION}, headers=headers).json()
    assert first["id"] != second["id"]


def test_twenty_at_once_with_one_key_are_one_turn(
    server: RefdeskServer, visitor: httpx2.Client, model: ScriptedModel
) -> None:
    token = server.token()
    with held(refund_answer()) as (answer, gate):
        model.script(answer)

        def once(_: int) -> httpx2.Response:
            with server.client(token, **{"idempotency-key": "key-3"}) as client:
                response = client.post("/v1/ask", json={"question": QUESTION})
                if response.status_code != 200:
                    refused.release()
                return response

        refused = threading.Semaphore(0)
        with ThreadPoolExecutor(20) as pool:
            answers = [pool.submit(once, number) for number in range(20)]
            for _ in range(19):
                assert refused.acquire(timeout=PATIENCE)
            gate.set()
            done = [future.result(PATIENCE) for future in answers]
    assert sorted(answer.status_code for answer in done) == [200] + [409] * 19
    for response in done:
        if response.status_code == 409:
            assert response.json()["code"] == "idempotency_running"
            assert int(response.headers["retry-after"]) >= 1
    assert len(model.bodies) == 1


def test_a_repeated_question_does_not_count_against_the_visitor(new_server: Callable[..., RefdeskServer]) -> None:
    server = new_server(REFDESK_RATE_LIMITS="on").start()
    with server.client(server.token()) as client:
        for _ in range(30):
            headers = {"idempotency-key": "key-4"}
            assert client.post("/v1/ask", json={"question": QUESTION}, headers=headers).status_code == 200


def test_a_reader_that_does_not_read_holds_up_nothing(
    server: RefdeskServer, visitor: httpx2.Client, model: ScriptedModel
) -> None:
    model.script(answering("Refunds. " * 3000))
    token = server.token()
    body = b'{"question": "When are refunds issued?"}'
    head = (
        f"POST /v1/ask HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: text/event-stream\r\n"
        f"authorization: Bearer {token}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        connection.sendall(head.encode() + body)
        start = ""
        while "}" not in start:
            start += connection.recv(400).decode()
        turn_id = start.partition('"turn_id":"')[2].partition('"')[0]
        with server.client(token) as client, resumed(client, turn_id) as reader:
            done = list(reader)[-1].json
    assert done["status"] == "answered"
    assert len(done["answer"]) > 10_000


def test_feedback_may_be_changed_and_is_read_back(visitor: httpx2.Client, model: ScriptedModel) -> None:
    turn = visitor.post("/v1/ask", json={"question": QUESTION}).json()
    assert turn["feedback"] is None
    for given in ({"rating": "up", "comment": "fine"}, {"rating": "down", "comment": ""}):
        answer = visitor.put(f"/v1/turns/{turn['id']}/feedback", json=given)
        assert answer.status_code == 200
        assert answer.json() == given
        assert visitor.get(f"/v1/turns/{turn['id']}").json()["feedback"] == given


def test_erasing_ends_a_running_turn(visitor: httpx2.Client, model: ScriptedModel) -> None:
    with held(refund_answer()) as (answer, _):
        model.script(answer)
        with asked(visitor, QUESTION) as reader:
            events = iter(reader)
            accepted = next(events).json
            erased = visitor.delete(f"/v1/conversations/{accepted['conversation_id']}")
            assert erased.status_code == 204
            assert [event.name for event in events][-1] in ("done", "error")
    assert visitor.get(f"/v1/turns/{accepted['turn_id']}").status_code == 404
    assert visitor.get(f"/v1/turns/{accepted['turn_id']}/events").status_code == 404
