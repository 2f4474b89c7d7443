"""Every way in which the model can fail, through the whole server: a marked fallback in time, never an answer."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from model_replies import REFUND_CLAIM, answering, calls, opens, refund_answer, says, tool_results
from refdesk_server import MODEL_KEY, RefdeskServer, free_port
from turn_events import all_events

from fake_model import Call, Reply, Say
from refdesk.assistant.prompts import LAST_CALL
from scripted_api import (
    Answer,
    ScriptedModel,
    answer_of,
    closing,
    error_event,
    opening,
    text,
    tool,
)

QUESTION = "When are refunds issued?"
CALLS = 6
JSON = {"content-type": "application/json"}
TURN_SECONDS = 6.0


def failing(status: int, kind: str = "api_error", **headers: str) -> Answer:
    message = f"upstream says no to {MODEL_KEY} for claude-haiku-5-5"
    body = json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
    return Answer((body,), status, {**JSON, **headers})


def said(*chunks: bytes, ending: Any = "end", start: bytes | None = None) -> Answer:
    return Answer((opening() if start is None else start, *chunks), ending=ending)


BEGUN = text(0, "You can refund")
HALF_ANSWER = '{"outcome": "answered", "claims": [], "answer": "You can refund within'


def half_answer() -> bytes:
    """An `answer` call that breaks off in its text."""
    return tool(0, HALF_ANSWER, name="answer").rpartition(b"event: content_block_stop")[0]


FAULTS: dict[str, tuple[Answer, str, tuple[int, int]]] = {
    "500 always": (failing(500), "unavailable", (2, 3)),
    "503 always": (failing(503), "unavailable", (2, 3)),
    "529 always": (failing(529, "overloaded_error"), "overloaded", (2, 3)),
    "429 for an hour": (failing(429, "rate_limit_error", **{"retry-after": "3600"}), "rate_limited", (1, 1)),
    "429 for ages": (failing(429, "rate_limit_error", **{"retry-after": "9" * 30}), "rate_limited", (1, 3)),
    "400": (failing(400, "invalid_request_error"), "not_configured", (1, 1)),
    "401": (failing(401, "authentication_error"), "not_configured", (1, 1)),
    "403": (failing(403, "permission_error"), "not_configured", (1, 1)),
    "404": (failing(404, "not_found_error"), "not_configured", (1, 1)),
    "reset in the text": (said(BEGUN, ending="reset"), "unavailable", (1, 1)),
    "reset in the answer": (said(half_answer(), ending="reset"), "unavailable", (1, 1)),
    "cut in the answer": (said(half_answer(), ending="cut"), "unavailable", (1, 1)),
    "end without message_stop": (said(BEGUN), "invalid_response", (1, 1)),
    "answer without message_stop": (said(half_answer()), "invalid_response", (1, 1)),
    "overloaded in the text": (said(BEGUN, error_event("overloaded_error")), "overloaded", (1, 1)),
    "overloaded in the answer": (said(half_answer(), error_event("overloaded_error")), "overloaded", (1, 1)),
    "overloaded at once": (Answer((error_event("overloaded_error"),)), "overloaded", (2, 3)),
    "200 with HTML": (Answer((b"<html>busy</html>",), 200, {"content-type": "text/html"}), "invalid_response", (1, 3)),
    "200 with JSON": (Answer((b"{}",), 200, JSON), "invalid_response", (1, 3)),
    "garbage": (said(b"event: content_block_delta\ndata: {nope\n\n"), "invalid_response", (1, 3)),
    "no event": (Answer(()), "invalid_response", (1, 3)),
    "nothing said": (said(closing()), "invalid_response", (1, 2)),
    "cut before a word": (said(closing("max_tokens")), "invalid_response", (1, 2)),
    "white space said": (said(text(0, " \n"), closing()), "invalid_response", (1, 2)),
    "refused": (said(closing("refusal")), "refused", (1, 1)),
    "silent from the start": (Answer(hold_head=True, ending="silence"), "timeout", (1, 3)),
    "silent in the answer": (said(half_answer(), ending="silence"), "timeout", (1, 1)),
    "pings for ever": (Answer((opening(),), ending="pings"), "timeout", (1, 3)),
    "an answer that is no JSON": (
        said(tool(0, '{"outcome": bad}', name="answer"), closing("tool_use")), "invalid_response", (1, 3)
    ),
    "an empty answer": (answer_of(answering(" ")), "invalid_response", (1, 2)),
    "claims that never hold": (
        answer_of(answering("Refunds take 90 days.", {**REFUND_CLAIM, "quote": "within 90 days of it"})),
        "unverified", (2, 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_gives_evidence_marked_as_such(visitor: httpx2.Client, model: ScriptedModel, name: str) -> None:
    answer, kind, (least, most) = FAULTS[name]
    model.script(answer)
    response = visitor.post("/v1/ask", json={"question": QUESTION})
    turn = response.json()
    assert response.status_code == 200
    assert (turn["status"], turn["model_error"], turn["grounded"]) == ("evidence", kind, False)
    assert least <= len(model.bodies) <= most
    assert turn["sources"] == turn["claims"] == []
    assert turn["evidence"][0]["source_id"] == "refunds"
    assert turn["answer"]
    assert "](" not in turn["answer"]
    assert "You can refund" not in response.text
    for secret in (MODEL_KEY, "claude", "upstream", "anthropic"):
        assert secret not in response.text
    assert response.elapsed.total_seconds() < TURN_SECONDS + 2


@pytest.mark.parametrize("name", [name for name in FAULTS if name.endswith((" answer", " text", " message_stop"))])
def test_a_fragment_that_was_shown_is_taken_back(visitor: httpx2.Client, model: ScriptedModel, name: str) -> None:
    model.script(FAULTS[name][0])
    events = all_events(visitor, QUESTION)
    shown = "".join(event.json["text"] for event in events if event.name == "delta")
    done = events[-1].json
    assert events[-1].name == "done"
    assert done["status"] == "evidence"
    assert not done["answer"].startswith("You can refund")
    assert done.pop("replaced", False) is bool(shown)
    assert done == visitor.get(f"/v1/turns/{done['id']}").json()


@pytest.mark.parametrize(
    "first", [failing(500), failing(529), failing(429, **{"retry-after": "1"}), Answer((), ending="reset")]
)
def test_one_passing_fault_is_no_fault(visitor: httpx2.Client, model: ScriptedModel, first: Answer) -> None:
    model.script(first, answer_of(refund_answer()))
    turn = visitor.post("/v1/ask", json={"question": QUESTION}).json()
    assert turn["status"] == "answered"
    assert turn["verification"] == "full"
    assert len(model.bodies) == 2


def test_a_fault_is_no_refusal_and_a_refusal_is_no_fault(visitor: httpx2.Client, model: ScriptedModel) -> None:
    model.script(failing(529))
    turn = visitor.post("/v1/ask", json={"question": "Do zebras like quantum chromodynamics lectures?"}).json()
    assert (turn["status"], turn["model_error"]) == ("insufficient", None)
    assert not model.bodies
    assert turn["sources"] == []


@pytest.mark.parametrize("question", ["Сколько стоит доставка зебры?", "and that?"])
def test_a_question_that_the_gate_cannot_judge_is_no_refusal_while_the_model_is_down(
    visitor: httpx2.Client, model: ScriptedModel, question: str
) -> None:
    model.script(refund_answer())
    first = visitor.post("/v1/ask", json={"question": QUESTION}).json()
    model.script(failing(529))
    body = {"question": question, "conversation_id": first["conversation_id"]}
    turn = visitor.post("/v1/ask", json=body).json()
    assert (turn["status"], turn["model_error"], turn["grounded"], turn["sources"]) == (
        "evidence", "overloaded", False, [],
    )  # fmt: skip
    assert turn["answer"]
    assert model.bodies


@pytest.mark.parametrize("words", ["I am sorry, I could not find it. [[NO_ANSWER]] #handoff", "Refunds take 14 days."])
@pytest.mark.parametrize(
    ("outcome", "status", "kind"),
    [("answered", "answered", "question"), ("insufficient", "insufficient", "question"),
     ("clarify", "answered", "clarification")],
)  # fmt: skip
def test_the_outcome_is_a_field_whatever_the_words_are(
    visitor: httpx2.Client, model: ScriptedModel, words: str, outcome: str, status: str, kind: str
) -> None:
    model.script(answering(words, outcome=outcome))
    turn = visitor.post("/v1/ask", json={"question": QUESTION}).json()
    assert (turn["status"], turn["kind"], turn["grounded"]) == (status, kind, False)
    assert turn["model_error"] is None


@pytest.mark.parametrize("pieces", [('{"id": bad}',), ('{"id": "refu',), ("[]",), ('"refunds"',), ("nul",), ("{}{}",)])
def test_tool_input_that_is_no_object_fetches_nothing(
    visitor: httpx2.Client, model: ScriptedModel, pieces: tuple[str, ...]
) -> None:
    model.script(Reply((Call("toolu_1", "get_document", pieces),), "tool_use"), refund_answer())
    turn = visitor.post("/v1/ask", json={"question": QUESTION}).json()
    assert turn["status"] == "answered"
    assert tool_results(model.bodies[1])[0]["is_error"] is True
    assert [source["basis"] for source in turn["sources"]] == ["search"]


def test_a_cut_tool_call_is_not_run(visitor: httpx2.Client, model: ScriptedModel) -> None:
    model.script(Reply((Call("toolu_1", "get_document", ('{"id": "refu',)),), "max_tokens"), refund_answer())
    turn = visitor.post("/v1/ask", json={"question": QUESTION}).json()
    assert turn["status"] in ("answered", "evidence")
    for body in model.bodies[1:]:
        assert tool_results(body)[0]["is_error"] is True


def test_a_model_that_only_calls_tools_is_ended(visitor: httpx2.Client, model: ScriptedModel) -> None:
    model.script(calls(("search", {"query": "refunds"})))
    turn = visitor.post("/v1/ask", json={"question": QUESTION}).json()
    assert (turn["status"], turn["model_error"], turn["truncated"]) == ("evidence", "budget", "tool_rounds")
    assert len(model.bodies) == CALLS
    *_, before, last = [json.dumps(body["messages"][-1]) for body in model.bodies]
    assert LAST_CALL in last
    assert LAST_CALL not in before


def test_parallel_calls_come_back_in_order(visitor: httpx2.Client, model: ScriptedModel) -> None:
    wanted = [
        ("get_document", {"id": "gift-cards"}),
        ("search", {"query": "refunds"}),
        ("get_document", {"id": "setup"}),
    ]
    model.script(calls(*wanted), refund_answer())
    turn = visitor.post("/v1/ask", json={"question": QUESTION}).json()
    results = tool_results(model.bodies[1])
    assert [result["tool_use_id"] for result in results] == ["toolu_1", "toolu_2", "toolu_3"]
    assert "Gift cards are not refunded" in json.dumps(results[0])
    assert [(source["id"], source["basis"]) for source in turn["sources"]] == [
        ("gift-cards", "opened"), ("setup", "opened"), ("refunds", "search"),
    ]  # fmt: skip


def test_more_tool_calls_than_allowed_are_refused_one_by_one(visitor: httpx2.Client, model: ScriptedModel) -> None:
    model.script(calls(*[("get_document", {"id": f"filler-{n % 6:02}"}) for n in range(20)]), refund_answer())
    turn = visitor.post("/v1/ask", json={"question": QUESTION}).json()
    results = tool_results(model.bodies[1])
    assert len(results) == 20
    assert sum(bool(result.get("is_error")) for result in results) == 8
    assert turn["status"] == "answered"


def test_a_cut_answer_says_so_and_ends_without_half_a_link(visitor: httpx2.Client, model: ScriptedModel) -> None:
    cut = '{"outcome": "answered", "claims": [], "answer": "Refunds are issued within 14 days. See [Refunds](doc:ref'
    model.script(Reply((Call("toolu_1", "answer", (cut,)),), "max_tokens"))
    turn = visitor.post("/v1/ask", json={"question": QUESTION}).json()
    assert (turn["status"], turn["truncated"]) == ("answered", "length")
    assert "](" not in turn["answer"]
    assert turn["sources"] == []
    assert turn["grounded"] is False


def test_plain_text_cut_for_length_says_so(visitor: httpx2.Client, model: ScriptedModel) -> None:
    model.script(Reply((Say(("Refunds take 14 days. See [Refunds](doc:refu",)),), "max_tokens"))
    turn = visitor.post("/v1/ask", json={"question": QUESTION}).json()
    assert (turn["status"], turn["truncated"]) == ("answered", "length")
    assert "](" not in turn["answer"]


def test_a_lone_surrogate_and_a_nul_in_an_answer_are_survived(visitor: httpx2.Client, model: ScriptedModel) -> None:
    for raw in ('"Refunds \\ud800 within 14 days"', '"Refunds \\u0000 within 14 days"', '"Refunds \\ud83d"'):
        model.script(
            Reply(
                (Call("toolu_1", "answer", ('{"outcome":"answered","claims":[],"answer":' + raw + "}",)),), "tool_use"
            )
        )
        events = all_events(visitor, QUESTION)
        assert events[-1].name == "done"
        assert events[-1].json["status"] in ("answered", "evidence")
        assert visitor.get(f"/v1/turns/{events[-1].json['id']}").json()["status"] == events[-1].json["status"]
        model.script(said(text_raw(raw), closing()))
        assert all_events(visitor, QUESTION)[-1].name == "done"


def text_raw(json_string: str) -> bytes:
    """A text block whose one delta is written as given."""
    marked = text(0, "MARK").decode()
    return marked.replace('"MARK"', json_string).encode()


def test_a_redirect_is_not_followed(visitor: httpx2.Client, model: ScriptedModel) -> None:
    with socket.create_server(("127.0.0.1", 0)) as canary:
        canary.settimeout(0.2)
        place = f"http://127.0.0.1:{canary.getsockname()[1]}/v1/messages"
        model.script(Answer((b"",), 307, {"location": place}))
        turn = visitor.post("/v1/ask", json={"question": QUESTION}).json()
        assert turn["status"] == "evidence"
        with pytest.raises(TimeoutError):
            canary.accept()


@pytest.mark.parametrize("url", ["http://127.0.0.1:{port}", "http://no-such-host.invalid", "https://127.0.0.1:{model}"])
def test_a_model_that_cannot_be_reached(
    new_server: Callable[..., RefdeskServer], shared_model: ScriptedModel, url: str
) -> None:
    shared_model.script()
    place = url.format(port=free_port(), model=shared_model.url.rpartition(":")[2])
    server = new_server(place, REFDESK_TURN_SECONDS="20").start()
    with server.client(server.token()) as client:
        client.post("/v1/ask", json={"question": QUESTION})  # loads the adapter
        response = client.post("/v1/ask", json={"question": QUESTION})
    assert response.json()["status"] == "evidence"
    assert response.json()["model_error"] == "unavailable"
    assert response.elapsed.total_seconds() < 10
    hints = list(server.log_records("model failed"))
    assert hints
    assert all(record["hint"] for record in hints)


def test_without_a_key_everything_still_works(new_server: Callable[..., RefdeskServer]) -> None:
    server = new_server().start()
    with server.client(server.token()) as client:
        turn = client.post("/v1/ask", json={"question": QUESTION}).json()
        assert (turn["status"], turn["model_error"]) == ("evidence", "not_configured")
        hello = client.post("/v1/ask", json={"question": "Hello!"}).json()
        assert (hello["status"], hello["kind"], hello["sources"]) == ("answered", "smalltalk", [])
        listed = client.post("/v1/ask", json={"question": "What do you have articles about?"}).json()
        assert (listed["status"], listed["kind"]) == ("answered", "catalogue")
        assert {source["id"] for source in listed["sources"]} >= {"refunds", "gift-cards", "setup"}
        assert not {source["id"] for source in listed["sources"]} & {"sla", "runbook", "discounts"}
        assert not any(source["show"] for source in listed["sources"])
        for source in listed["sources"]:
            assert client.get(source["url"]).status_code == 200


def test_smalltalk_and_catalogue_survive_a_dead_model(visitor: httpx2.Client, model: ScriptedModel) -> None:
    model.script(failing(401))
    hello = visitor.post("/v1/ask", json={"question": "Hello!"}).json()
    assert (hello["status"], hello["kind"], hello["grounded"]) == ("answered", "smalltalk", False)
    listed = visitor.post("/v1/ask", json={"question": "What do you have articles about?"}).json()
    assert (listed["status"], listed["kind"], listed["grounded"]) == ("answered", "catalogue", True)
    assert "Incident runbook" not in json.dumps(listed)


def test_opened_then_lost(visitor: httpx2.Client, model: ScriptedModel) -> None:
    """What was opened before the model died is no source: nothing was answered."""
    model.script(opens("refunds"), failing(500))
    turn = visitor.post("/v1/ask", json={"question": QUESTION}).json()
    assert (turn["status"], turn["sources"]) == ("evidence", [])


def test_plain_text_is_an_answer_without_claims(visitor: httpx2.Client, model: ScriptedModel) -> None:
    model.script(says("Refunds take 14 days ([Refunds](doc:refunds))."))
    turn = visitor.post("/v1/ask", json={"question": QUESTION}).json()
    assert (turn["status"], turn["verification"], turn["grounded"]) == ("answered", "none", True)
