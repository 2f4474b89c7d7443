"""What visitors wrote: masked where it is told so, deleted when it is old, gone when they say so, theirs to take."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import pytest
from model_replies import refund_answer
from people import QUESTION, ask, audit_rows, signed_in
from refdesk_server import PATIENCE, STAFF_KEY, RefdeskServer

from scripted_api import ScriptedModel

ERASED, KEPT = "cerase4471", "ckeep9913"
PERSONAL = {
    "jane.doe@example.org": "[email]",
    "+420 777 123 456": "[phone]",
    "4111 1111 1111 1111": "[card]",
    "DE89 3704 0044 0532 0130 00": "[iban]",
    "sk-ant-api03-abcdefghijklmnop": "[secret]",
}
ORDER = "4111-2222"


def about(personal: str) -> str:
    return f"When are refunds issued under billing within 14 days? {ORDER}, {personal}"


@pytest.fixture
def own_server(new_server: Callable[..., RefdeskServer], shared_model: ScriptedModel) -> Callable[..., RefdeskServer]:
    def start(**settings: str) -> RefdeskServer:
        shared_model.script(refund_answer())
        return new_server(shared_model.url, REFDESK_TURN_SECONDS="30", **settings).start()

    return start


@pytest.fixture
def apart(own_server: Callable[..., RefdeskServer]) -> Iterator[tuple[RefdeskServer, httpx2.Client]]:
    """A server of the test's own, and its admin."""
    server = own_server()
    with server.client(STAFF_KEY) as admin:
        yield server, admin


def everything_stored(server: RefdeskServer) -> bytes:
    """All files of the data folder: database, write-ahead log, index."""
    found = [path for path in server.data.rglob("*") if path.is_file()]
    assert any(path.name.endswith("-wal") for path in found)
    return b"".join(path.read_bytes() for path in found)


# --- masked before the model and before the first write --------------------------------------


def test_personal_data_reaches_neither_model_nor_database(
    own_server: Callable[..., RefdeskServer], shared_model: ScriptedModel
) -> None:
    server = own_server(REFDESK_REDACT="on")
    with server.client(server.token()) as client:
        for personal, placeholder in PERSONAL.items():
            page = {"url": f"/pay?as={personal}", "title": f"Paid by {personal}"}
            turn = ask(client, about(personal), page=page, locale=personal)
            assert (turn["status"], turn["question"]) == ("answered", about(placeholder))
            ask(client, f"And gift cards? {personal}", conversation_id=turn["conversation_id"])
            feedback = {"rating": "down", "comment": about(personal)}
            given = client.put(f"/v1/turns/{turn['id']}/feedback", json=feedback)
            assert given.json()["comment"] == about(placeholder)
            history = client.get(f"/v1/conversations/{turn['conversation_id']}").text
            assert personal not in history
    told, stored = json.dumps(shared_model.bodies, ensure_ascii=False), everything_stored(server)
    for personal, placeholder in PERSONAL.items():
        assert about(placeholder) in told
        assert about(placeholder).encode() in stored
        for written in (personal, personal.replace(" ", ""), personal.lower().replace(" ", "")):
            assert written not in told
            assert written.encode() not in stored
            assert written not in server.log()


def test_what_was_stored_before_masking_was_on_is_masked_for_the_model(
    own_server: Callable[..., RefdeskServer], shared_model: ScriptedModel
) -> None:
    server = own_server()
    token, personal = server.token(), "jane.doe@example.org"
    with server.client(token) as client:
        turn = ask(client, about(personal))
    assert turn["question"] == about(personal)
    assert server.stop() == 0
    server.environment["REFDESK_REDACT"] = "on"
    server.start()
    shared_model.script(refund_answer())
    with server.client(token) as client, server.client(STAFF_KEY) as admin:
        ask(client, "And how are they issued?", conversation_id=turn["conversation_id"])
        admin.post(f"/v1/console/turns/{turn['id']}/replay")
    told = json.dumps(shared_model.bodies, ensure_ascii=False)
    assert told.count(about("[email]")) == 2
    assert personal not in told


# --- retention -------------------------------------------------------------------------------


def days_ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def grow_old(server: RefdeskServer, turns: list[dict[str, Any]], days: float) -> None:
    """As if they had been asked so many days ago."""
    with closing(sqlite3.connect(server.data / "refdesk.db", timeout=PATIENCE)) as database, database:
        for turn in turns:
            at = days_ago(days)
            database.execute("UPDATE turns SET created_at = ? WHERE id = ?", [at, turn["id"]])
            database.execute("UPDATE conversations SET created_at = ? WHERE id = ?", [at, turn["conversation_id"]])


def figures(admin: httpx2.Client) -> dict[str, Any]:
    total: dict[str, Any] = admin.get("/v1/console/stats", params={"from": days_ago(200)[:10]}).json()["total"]
    return total


def test_old_turns_go_and_their_counts_stay(apart: tuple[RefdeskServer, httpx2.Client]) -> None:
    server, admin = apart
    with server.client(server.token()) as client:
        turns = [ask(client, f"{QUESTION} {(ERASED, KEPT)[n > 0]}") for n in range(6)]
        client.put(f"/v1/turns/{turns[0]['id']}/feedback", json={"rating": "down", "comment": ERASED})
        grow_old(server, turns[:1], 91)
        grow_old(server, turns[1:2], 89)
        before = figures(admin)
        done = admin.post("/v1/console/retention").json()
        assert done == {"deleted": 1, "due": 1, "total": 6, "stopped": False, "days": 90}
        assert client.get(f"/v1/turns/{turns[0]['id']}").status_code == 404
        assert client.get(f"/v1/conversations/{turns[0]['conversation_id']}").status_code == 404
        for turn in turns[1:]:
            assert client.get(f"/v1/turns/{turn['id']}").json() == {k: v for k, v in turn.items() if k != "token"}
    assert figures(admin) == before
    assert before["feedback"] == {"down": 1}
    rows = audit_rows(server, "retention")
    assert [row["detail"] for row in rows] == [{"deleted": 1, "due": 1, "total": 6, "forced": False}]
    gone_from_files(server, ERASED)
    assert admin.post("/v1/console/retention").json()["deleted"] == 0
    assert len(audit_rows(server, "retention")) == 1, "a run that deletes nothing leaves no row"


def test_a_run_that_would_delete_more_than_a_fifth_stops(apart: tuple[RefdeskServer, httpx2.Client]) -> None:
    server, admin = apart
    with server.client(server.token()) as client:
        turns = [ask(client) for _ in range(5)]
        grow_old(server, turns[:2], 400)
        stopped = admin.post("/v1/console/retention", json={}).json()
        assert (stopped["stopped"], stopped["deleted"], stopped["due"]) == (True, 0, 2)
        assert client.get(f"/v1/turns/{turns[0]['id']}").status_code == 200
        forced = admin.post("/v1/console/retention", json={"force": True}).json()
        assert (forced["stopped"], forced["deleted"]) == (False, 2)
        assert client.get(f"/v1/turns/{turns[0]['id']}").status_code == 404
    assert audit_rows(server, "retention")[0]["detail"]["forced"] is True


def test_it_runs_by_itself_with_the_days_of_the_settings(own_server: Callable[..., RefdeskServer]) -> None:
    server = own_server(REFDESK_RETENTION_DAYS="7")
    with server.client(server.token()) as client:
        turns = [ask(client) for _ in range(6)]
        grow_old(server, turns[:1], 8)
        assert server.stop() == 0
        server.start()
        until(lambda: client.get(f"/v1/turns/{turns[0]['id']}").status_code == 404)
        assert client.get(f"/v1/turns/{turns[1]['id']}").status_code == 200
    row = audit_rows(server, "retention")[0]
    assert (row["actor"], row["ip"], row["detail"]) == ("refdesk", "", {"deleted": 1, "due": 1, "total": 6})


# --- erasure and export ----------------------------------------------------------------------


def until(holds: Callable[[], bool], seconds: float = 60.0) -> None:
    """Within a minute: what erasure promises."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "not within a minute"
        time.sleep(0.05)


def gone_from_files(server: RefdeskServer, word: str) -> None:
    until(lambda: word.encode() not in everything_stored(server))


def filled(server: RefdeskServer, admin: httpx2.Client, client: httpx2.Client, word: str) -> list[dict[str, Any]]:
    """Five turns in three conversations, a comment, a note, a tag and a verdict, all with the word."""
    turns = [ask(client, f"{QUESTION} {word}")]
    turns += [ask(client, f"{word} refunds {n}?", conversation_id=turns[0]["conversation_id"]) for n in range(2)]
    turns += [ask(client, f"Qqq {word} wvut {n}?") for n in range(2)]
    client.put(f"/v1/turns/{turns[0]['id']}/feedback", json={"rating": "down", "comment": f"{word}!"})
    place = f"/v1/console/conversations/{turns[0]['conversation_id']}"
    assert admin.post(f"{place}/notes", json={"text": f"says {word}"}).status_code == 201
    assert admin.patch(f"{place}/tags", json={"add": [word]}).status_code == 200
    verdict = {"verdict": "wrong_answer", "note": word, "articles": ["refunds"]}
    assert admin.put(f"/v1/console/turns/{turns[0]['id']}/verdict", json=verdict).status_code == 200
    return turns


def seen_by_staff(admin: httpx2.Client, word: str) -> list[str]:
    """Where staff still find the word."""
    paths = ("conversations", f"conversations?q={word}", "export.csv", "export.jsonl", "verdicts.jsonl", "audit")
    return [path for path in paths if word in admin.get(f"/v1/console/{path}").text]


@pytest.mark.parametrize("way", ["oneself", "by id", "by subject", "one conversation after the other"])
def test_what_is_erased_is_nowhere_within_a_minute(apart: tuple[RefdeskServer, httpx2.Client], way: str) -> None:
    server, admin = apart
    with server.client(signed_in(server, "stays")) as other:
        kept = filled(server, admin, other, KEPT)
    with server.client(signed_in(server, "leaves")) as client:
        turns = filled(server, admin, client, ERASED)
        visitor_id = client.get("/v1/me/export").json()["visitor_id"]
        assert "export.csv" in seen_by_staff(admin, ERASED)
        assert ERASED.encode() in everything_stored(server)
        erase(client, admin, way, turns, visitor_id)
        own = client.get("/v1/me/export")
    assert own.status_code == (200 if way.startswith("one c") else 401)
    assert ERASED not in own.text
    assert seen_by_staff(admin, ERASED) == []
    for turn in turns:
        assert admin.get(f"/v1/console/turns/{turn['id']}").status_code == 404
    gone_from_files(server, ERASED)
    assert ERASED not in server.log()
    assert len(seen_by_staff(admin, KEPT)) >= 4
    assert KEPT.encode() in everything_stored(server)
    assert admin.get(f"/v1/console/turns/{kept[0]['id']}").json()["feedback"]["comment"] == f"{KEPT}!"


def erase(client: httpx2.Client, admin: httpx2.Client, way: str, turns: list[dict[str, Any]], visitor_id: str) -> None:
    if way == "oneself":
        assert client.delete("/v1/me").status_code == 204
        assert client.delete("/v1/me").status_code == 401
    elif way.startswith("by"):
        body = {"visitor_id": visitor_id} if way == "by id" else {"subject": "leaves"}
        assert admin.post("/v1/console/erase", json=body).json() == {"erased": True}
        assert admin.post("/v1/console/erase", json=body).status_code == 404
    else:
        for conversation_id in {turn["conversation_id"] for turn in turns}:
            assert client.delete(f"/v1/conversations/{conversation_id}").status_code == 204
            assert client.delete(f"/v1/conversations/{conversation_id}").status_code == 404


def test_what_is_erased_is_gone_from_the_gaps_that_people_put_together(
    apart: tuple[RefdeskServer, httpx2.Client],
) -> None:
    """Where a question belongs is remembered even when it is gone; its words are not."""
    server, admin = apart

    def gaps() -> list[str]:
        return [gap["id"] for gap in admin.get("/v1/console/gaps").json()["gaps"]]

    with server.client(server.token()) as client:
        for question in (f"Where do I park a {ERASED} bicycle?", "Which lamp bulbs fit the desk lights?"):
            assert ask(client, question)["status"] == "insufficient"
        until(lambda: len(gaps()) == 2)
        into, other = gaps()
        merged = admin.post("/v1/console/gaps/merge", json={"into": into, "gaps": [other]})
        assert merged.status_code == 200
        assert ERASED in merged.text
        assert client.delete("/v1/me").status_code == 204
    assert ERASED not in admin.get("/v1/console/gaps").text
    gone_from_files(server, ERASED)


def test_the_audit_log_of_an_erasure_holds_no_content(server: RefdeskServer, admin: httpx2.Client) -> None:
    tokens = [signed_in(server, "audited-subject"), server.token()]
    for token in tokens:
        with server.client(token) as client:
            ask(client, f"hello {ERASED}")
    with server.client(tokens[0]) as client:
        visitor_id = client.get("/v1/me/export").json()["visitor_id"]
    admin.post("/v1/console/erase", json={"subject": "audited-subject"})
    with server.client(tokens[1]) as client:
        own_id = client.get("/v1/me/export").json()["visitor_id"]
        client.delete("/v1/me")
    rows = audit_rows(server, "erase")[:2]
    assert [(row["actor"], row["target"], row["ip"], row["detail"]) for row in rows] == [
        ("visitor", own_id, "", {}), ("staff-key", visitor_id, "127.0.0.1", {}),
    ]  # fmt: skip
    told = admin.get("/v1/console/audit").text
    assert ERASED not in told
    assert "audited-subject" not in told


def test_everybody_takes_out_exactly_their_own(server: RefdeskServer, admin: httpx2.Client) -> None:
    with server.client(signed_in(server, "exports")) as client, server.client(server.token()) as other:
        turns = [ask(client, f"hello {KEPT}"), ask(client, f"hello again {KEPT}")]
        ask(other, f"hello {ERASED}")
        client.put(f"/v1/turns/{turns[0]['id']}/feedback", json={"rating": "up", "comment": "thanks"})
        own = client.get("/v1/me/export").json()
    found = [turn for conversation in own["conversations"] for turn in conversation["turns"]]
    assert [turn["id"] for turn in found] == [turn["id"] for turn in turns]
    assert found[0]["feedback"] == {"rating": "up", "comment": "thanks"}
    assert ERASED not in json.dumps(own)
    assert admin.get("/v1/console/visitors", params={"subject": "exports"}).json()["visitors"] == [own["visitor_id"]]
    assert admin.get(f"/v1/console/visitors/{own['visitor_id']}/export").json() == own
    assert audit_rows(server, "export")[0]["target"] == own["visitor_id"]
    assert admin.get("/v1/console/visitors/none/export").json()["conversations"] == []


def test_a_staff_key_is_no_visitor_to_be_erased(server: RefdeskServer, admin: httpx2.Client) -> None:
    turn = ask(admin, "hello")
    visitor_id = admin.get(f"/v1/console/conversations/{turn['conversation_id']}").json()["visitor_id"]
    assert admin.delete("/v1/me").status_code == 403
    assert admin.post("/v1/console/erase", json={"visitor_id": visitor_id}).status_code == 404
    assert admin.get(f"/v1/console/turns/{turn['id']}").status_code == 200
    for body in ({}, {"visitor_id": visitor_id, "subject": "x"}):
        assert admin.post("/v1/console/erase", json=body).status_code == 400


# --- feedback --------------------------------------------------------------------------------


def test_feedback_is_of_the_exact_turn_and_may_change(apart: tuple[RefdeskServer, httpx2.Client]) -> None:
    server, admin = apart
    with server.client(server.token()) as client:
        first = ask(client)
        second = ask(client, "And gift cards?", conversation_id=first["conversation_id"])
        place = f"/v1/turns/{first['id']}/feedback"
        given = [{"rating": "up", "comment": "thanks"}, {"rating": "down", "comment": ""}, {"rating": "down"}]
        for feedback in given:
            answer = client.put(place, json=feedback)
            assert (answer.status_code, answer.json()) == (200, {"comment": "", **feedback})
            turns = client.get(f"/v1/conversations/{first['conversation_id']}").json()["turns"]
            assert [turn["feedback"] for turn in turns] == [{"comment": "", **feedback}, None]
        for wrong in ({"rating": "sideways"}, {"comment": "x"}, {"rating": "up", "comment": "x" * 2001}):
            assert client.put(place, json=wrong).status_code == 400
    seen = admin.get(f"/v1/console/turns/{first['id']}").json()
    assert seen["feedback"] == {"rating": "down", "comment": ""}
    assert admin.get(f"/v1/console/turns/{second['id']}").json()["feedback"] is None
    assert figures(admin)["feedback"] == {"down": 1}
    found = admin.get("/v1/console/conversations", params={"rating": "down"}).json()["conversations"]
    assert [entry["turn"]["id"] for entry in found] == [first["id"]]
