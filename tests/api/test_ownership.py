"""Ids are no credentials: to a stranger, whatever the verb, a conversation or a turn does not exist."""

from __future__ import annotations

import itertools
import re
from typing import Any

import httpx2
import pytest
from model_replies import refund_answer
from refdesk_server import STAFF_KEY, RefdeskServer

from scripted_api import ScriptedModel

NOBODYS = {"conversation": "c_AAAAAAAAAAAAAAAAAAAAAA", "turn": "t_AAAAAAAAAAAAAAAAAAAAAA"}
VERBS: dict[str, tuple[str, str, dict[str, Any] | None]] = {
    "history": ("GET", "/v1/conversations/{conversation}", None),
    "turn": ("GET", "/v1/turns/{turn}", None),
    "events": ("GET", "/v1/turns/{turn}/events", None),
    "stop": ("POST", "/v1/turns/{turn}/stop", None),
    "feedback": ("PUT", "/v1/turns/{turn}/feedback", {"rating": "up"}),
    "erase": ("DELETE", "/v1/conversations/{conversation}", None),
    "continue": ("POST", "/v1/ask", {"question": "refunds?", "conversation_id": "{conversation}"}),
}


def use(client: httpx2.Client, verb: str, ids: dict[str, str], **headers: str) -> httpx2.Response:
    method, path, body = VERBS[verb]
    if body is not None and "conversation_id" in body:
        body = {**body, "conversation_id": ids["conversation"]}
    return client.request(method, path.format(**ids), json=body, headers=headers)


def seen(answer: httpx2.Response) -> tuple[int, bytes, list[str]]:
    """Everything a caller sees but the id of the request itself."""
    body = re.sub(rb'"request_id":"r_[0-9a-f]{16}"', b"", answer.content)
    headers = {name: value for name, value in answer.headers.items() if name not in ("date", "x-request-id")}
    return answer.status_code, body, sorted(f"{name}: {value}" for name, value in headers.items())


@pytest.fixture
def owned(visitor: httpx2.Client, model: ScriptedModel) -> dict[str, str]:
    model.script(refund_answer())
    turn = visitor.post("/v1/ask", json={"question": "When are refunds issued?"}).json()
    assert turn["status"] == "answered"
    return {"conversation": turn["conversation_id"], "turn": turn["id"]}


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_stranger_gets_what_a_random_id_gets(
    server: RefdeskServer, visitor: httpx2.Client, model: ScriptedModel, owned: dict[str, str], verb: str, accept: str
) -> None:
    before = visitor.get(f"/v1/conversations/{owned['conversation']}").content
    asked = len(model.bodies)
    for token in (server.token(), STAFF_KEY):
        with server.client(token) as stranger:
            answer = use(stranger, verb, owned, accept=accept)
            assert answer.status_code == 404
            assert seen(answer) == seen(use(stranger, verb, NOBODYS, accept=accept))
    assert visitor.get(f"/v1/conversations/{owned['conversation']}").content == before
    assert len(model.bodies) == asked


@pytest.mark.parametrize("verb", VERBS)
def test_an_id_without_a_token_opens_nothing(anonymous: httpx2.Client, owned: dict[str, str], verb: str) -> None:
    answer = use(anonymous, verb, owned)
    assert answer.status_code in (401, 404)
    assert seen(answer) == seen(use(anonymous, verb, NOBODYS))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    "header",
    ["Bearer", "Bearer nope", "Basic dXNlcjpwYXNz", "Bearer vt_" + "A" * 43, "Bearer a b", "x", "", "Bearer \xff",
     "Bearer " + "a" * 20_000, "bearer null", f"Basic {STAFF_KEY}", f"Bearer {STAFF_KEY[:-1]}", f"Bearer {STAFF_KEY}x"],
    ids=lambda header: header[:16],
)  # fmt: skip
def test_a_token_that_means_nothing_is_not_anonymous(
    anonymous: httpx2.Client, model: ScriptedModel, verb: str, header: str
) -> None:
    answer = use(anonymous, verb, NOBODYS, authorization=header.encode("latin-1"))
    assert answer.status_code == 401
    assert answer.json()["code"] == "token_invalid"


def test_a_bad_token_asks_nothing(anonymous: httpx2.Client, model: ScriptedModel) -> None:
    answer = anonymous.post("/v1/ask", json={"question": "refunds?"}, headers={"authorization": "Bearer nope"})
    assert answer.status_code == 401
    for path in ("/v1/articles", "/v1/articles/refunds", "/v1/search?q=refunds"):
        assert anonymous.get(path, headers={"authorization": "Bearer nope"}).status_code == 401
    assert not model.bodies


def test_what_a_client_calls_itself_is_never_taken_over(anonymous: httpx2.Client) -> None:
    """Fixation: neither a cookie nor an id of the client's own becomes a session."""
    headers = {"cookie": "session=chosen; visitor=v_chosen; token=vt_chosen", "x-visitor-id": "v_chosen"}
    answer = anonymous.post("/v1/ask", json={"question": "refunds?"}, headers=headers)
    assert answer.status_code == 200
    assert "chosen" not in answer.text
    assert "set-cookie" not in answer.headers
    answer = anonymous.get("/v1/turns/t_1", headers={"authorization": "Bearer vt_chosen"})
    assert answer.status_code == 401


def test_tokens_and_ids_are_random(server: RefdeskServer, visitor: httpx2.Client) -> None:
    """128 bits at least, and no time, counter or fixed part among them."""
    tokens = [server.token() for _ in range(100)]
    turns = [visitor.post("/v1/ask", json={"question": "hello"}).json() for _ in range(100)]
    kinds = {"vt_": tokens, "c_": [turn["conversation_id"] for turn in turns], "t_": [turn["id"] for turn in turns]}
    for tag, made in kinds.items():
        secrets = [text.removeprefix(tag) for text in made]
        assert len(set(secrets)) == 100
        assert all(text.startswith(tag) and re.fullmatch(r"[A-Za-z0-9_-]{22,64}", text[len(tag) :]) for text in made)
        for place in range(21):  # the last of 22 characters carries two bits only
            assert len({secret[place] for secret in secrets}) > 32, "a part that hardly changes is no random part"
        rising = sum(one < other for one, other in itertools.pairwise(secrets))
        assert 30 < rising < 70, "they come in no order"


def test_an_erased_conversation_is_gone_from_memory_too(
    visitor: httpx2.Client, model: ScriptedModel, owned: dict[str, str]
) -> None:
    assert use(visitor, "events", owned).status_code == 200
    assert use(visitor, "erase", owned).status_code == 204
    for verb in VERBS:
        answer = use(visitor, verb, owned)
        assert answer.status_code == 404, verb
        assert seen(answer) == seen(use(visitor, verb, NOBODYS))


def test_the_token_is_told_once(anonymous: httpx2.Client, server: RefdeskServer) -> None:
    turn = anonymous.post("/v1/ask", json={"question": "refunds?"}).json()
    with server.client(turn["token"]) as owner:
        again = owner.get(f"/v1/turns/{turn['id']}")
        assert again.status_code == 200
        replay = owner.get(f"/v1/turns/{turn['id']}/events")
        history = owner.get(f"/v1/conversations/{turn['conversation_id']}")
        following = owner.post("/v1/ask", json={"question": "gift cards?", "conversation_id": turn["conversation_id"]})
    for answer in (again, replay, history, following):
        assert turn["token"] not in answer.text
        assert '"token"' not in answer.text
