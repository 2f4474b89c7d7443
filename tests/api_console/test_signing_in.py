"""Visitors who sign in keep what they had, and see no more of it than their roles allow now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from help_centre import C_PARTNER, REFUND_QUOTE
from model_replies import answering, opens, refund_answer
from people import ask, identity, signed_in
from refdesk_server import IDENTITY_SECRET, STAFF_KEY, RefdeskServer
from turn_events import all_events, resumed

from scripted_api import ScriptedModel

WITHHELD = "This earlier answer rested on an article that is no longer available to you."
PARTNER_QUOTE = f"Partners get 20 percent. {C_PARTNER}"
PARTNER_CLAIM = {
    "text": "Partners get 20 percent.", "kind": "fact", "source_id": "discounts", "quote": "Partners get 20 percent.",
}  # fmt: skip


def test_signing_in_keeps_the_conversations_of_this_browser(server: RefdeskServer, model: ScriptedModel) -> None:
    token = server.token()
    with server.client(token) as client:
        model.script(refund_answer())
        turn = ask(client)
    with server.client(server.token()) as stranger:
        model.script(refund_answer())
        others = ask(stranger)
    with server.client(signed_in(server, "keeps-1", token=token)) as client:
        history = client.get(f"/v1/conversations/{turn['conversation_id']}")
        assert [kept["id"] for kept in history.json()["turns"]] == [turn["id"]]
        assert client.get(f"/v1/turns/{turn['id']}/events").status_code == 200
        assert client.get(f"/v1/conversations/{others['conversation_id']}").status_code == 404
        model.script(refund_answer())
        assert ask(client, conversation_id=turn["conversation_id"])["status"] == "answered"
    with server.client(token) as before:
        assert before.get(f"/v1/conversations/{turn['conversation_id']}").status_code == 404, "they have moved"
        assert before.get(f"/v1/turns/{turn['id']}/events").status_code == 404


def test_one_person_is_one_visitor_in_every_session(server: RefdeskServer, model: ScriptedModel) -> None:
    with server.client(signed_in(server, "one-person")) as first:
        model.script(refund_answer())
        turn = ask(first)
    with server.client(signed_in(server, "one-person")) as second:
        assert second.get(f"/v1/turns/{turn['id']}").status_code == 200
    with server.client(signed_in(server, "another-person")) as other:
        assert other.get(f"/v1/turns/{turn['id']}").status_code == 404


def test_another_persons_token_or_a_staff_key_brings_nothing_along(server: RefdeskServer, model: ScriptedModel) -> None:
    victim = signed_in(server, "victim")
    model.script(refund_answer())
    with server.client(victim) as client:
        turn = ask(client)
    model.script(refund_answer())
    with server.client(STAFF_KEY) as staff:
        tried = ask(staff)
    for earlier in (victim, STAFF_KEY, "vt_nothing"):
        with server.client(signed_in(server, "thief", token=earlier)) as thief:
            assert thief.get(f"/v1/turns/{turn['id']}").status_code == 404
            assert thief.get(f"/v1/turns/{tried['id']}").status_code == 404
    with server.client(victim) as client:
        assert client.get(f"/v1/turns/{turn['id']}").status_code == 200


def test_two_secrets_while_one_is_rotated_out(new_server: Callable[..., RefdeskServer]) -> None:
    new = "n" + IDENTITY_SECRET[::-1]
    server = new_server(REFDESK_IDENTITY_SECRET=f"new:{new},old:{IDENTITY_SECRET}").start()
    with server.client() as client:
        for kid, key, expected in (
            ("new", new, 201), ("old", IDENTITY_SECRET, 201), ("new", IDENTITY_SECRET, 401), ("old", new, 401),
            ("default", new, 401),
        ):  # fmt: skip
            answer = client.post("/v1/session", json={"identity": identity("a", kid=kid, key=key)})
            assert answer.status_code == expected, (kid, answer.text)


def test_roles_that_are_not_granted_are_logged_by_id(server: RefdeskServer) -> None:
    signed_in(server, "secret-subject", "partner", "staff", "no-such-role")
    record = list(server.log_records("roles not granted"))[-1]
    assert record["roles"] == ["no-such-role", "staff"]
    assert record["visitor_id"].startswith("v_")
    assert "secret-subject" not in server.log()


# --- what the role may not see now -----------------------------------------------------------


@pytest.fixture
def partners_turn(server: RefdeskServer, model: ScriptedModel) -> dict[str, Any]:
    with server.client(signed_in(server, "partner-7", "partner")) as partner:
        model.script(
            opens("discounts"),
            answering(f"Partners get 20 percent ([Deal](doc:discounts)). {C_PARTNER}", PARTNER_CLAIM),
        )
        turn = ask(partner, "What discount do partners get?")
        assert turn["status"] == "answered"
        assert C_PARTNER in partner.get(f"/v1/turns/{turn['id']}").text
        events = "".join(str(event) for event in all_events(partner, "hello"))
        assert events
    return turn


def test_what_the_role_may_not_see_now_is_not_replayed(server: RefdeskServer, partners_turn: dict[str, Any]) -> None:
    turn_id, conversation_id = partners_turn["id"], partners_turn["conversation_id"]
    with server.client(signed_in(server, "partner-7")) as same_person:
        turn = same_person.get(f"/v1/turns/{turn_id}").json()
        assert (turn["answer"], turn["grounded"], turn["sources"], turn["claims"]) == (WITHHELD, False, [], [])
        assert turn["question"] == partners_turn["question"]
        with resumed(same_person, turn_id) as reader:
            told = list(reader)
        assert [event.name for event in told] == ["done"]
        assert told[0].json == turn
        everything = [
            same_person.get(f"/v1/conversations/{conversation_id}").text,
            same_person.get("/v1/me/export").text,
            same_person.post(f"/v1/turns/{turn_id}/stop").text,
            str(told),
        ]
        for text in everything:
            assert WITHHELD in text
            for hidden in (C_PARTNER, "20 percent", "discounts", "Partner discounts"):
                assert hidden not in text
    with server.client(signed_in(server, "partner-7", "partner")) as partner:
        assert partner.get(f"/v1/turns/{turn_id}").json() == partners_turn
    with server.client(STAFF_KEY) as staff:
        assert C_PARTNER in staff.get(f"/v1/console/turns/{turn_id}").text


def test_a_repeated_key_replays_no_more_than_that(server: RefdeskServer, model: ScriptedModel) -> None:
    body, headers = {"question": "What discount do partners get?"}, {"idempotency-key": "partner-key"}
    with server.client(signed_in(server, "partner-8", "partner")) as partner:
        model.script(opens("discounts"), answering("Partners get 20 percent ([Deal](doc:discounts)).", PARTNER_CLAIM))
        first = partner.post("/v1/ask", json=body, headers=headers).json()
        assert first["status"] == "answered"
    with server.client(signed_in(server, "partner-8")) as same_person:
        again = same_person.post("/v1/ask", json=body, headers=headers).json()
    assert (again["id"], again["answer"]) == (first["id"], WITHHELD)


def test_an_article_that_changed_its_audience_is_withheld_too(
    new_server: Callable[..., RefdeskServer], shared_model: ScriptedModel
) -> None:
    server = new_server(shared_model.url).start()
    with server.client(server.token()) as client, server.client(STAFF_KEY) as staff:
        shared_model.script(refund_answer())
        turn = ask(client)
        assert turn["status"] == "answered"
        path = server.corpus / "refunds.md"
        path.write_text(path.read_text("utf-8").replace("title: Refunds", "title: Refunds\naudience: [staff]"), "utf-8")
        assert staff.post("/v1/console/sync", json={"wait": True}).status_code == 200
        for address in (f"/v1/turns/{turn['id']}", f"/v1/turns/{turn['id']}/events"):
            seen = client.get(address).text
            assert WITHHELD in seen
            assert REFUND_QUOTE not in seen
        kept = staff.get(f"/v1/console/turns/{turn['id']}").json()
        assert kept["sources"][0]["title"] == "Refunds"
        assert kept["changed_since"] == {"refunds": "changed"}
        path.unlink()
        staff.post("/v1/console/sync", json={"wait": True})
        assert staff.get(f"/v1/console/turns/{turn['id']}").json()["changed_since"] == {"refunds": "deleted"}
