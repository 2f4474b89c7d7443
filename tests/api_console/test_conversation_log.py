"""The log: finding a conversation, judging it together, playing it again, asking as a role."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from help_centre import C_PARTNER, C_STAFF, REFUND_QUOTE
from model_replies import answering, opens, refund_answer
from people import audit_rows, new_account, new_key, refdesk, signed_in
from refdesk_server import SHOP, STAFF_KEY, RefdeskServer
from turn_events import all_events
from turn_events import asked as asked_for

from scripted_api import Answer, ScriptedModel, opening

LOG = "/v1/console/conversations"


@pytest.fixture
def asked(visitor: httpx2.Client, model: ScriptedModel) -> dict[str, Any]:
    model.script(refund_answer())
    turn: dict[str, Any] = visitor.post(
        "/v1/ask", json={"question": "When are refunds issued?", "locale": "en-GB"}
    ).json()
    assert turn["status"] == "answered"
    return turn


def found(admin: httpx2.Client, **wanted: str) -> list[str]:
    answer = admin.get(LOG, params=wanted)
    assert answer.status_code == 200, answer.text
    return [entry["turn"]["id"] for entry in answer.json()["conversations"]]


def test_filters_and_words_find_a_conversation(
    admin: httpx2.Client, visitor: httpx2.Client, model: ScriptedModel, asked: dict[str, Any]
) -> None:
    refused = visitor.post("/v1/ask", json={"question": "Zyx wvut srqpo jklm?"}).json()
    assert refused["status"] == "insufficient"
    visitor.put(f"/v1/turns/{refused['id']}/feedback", json={"rating": "down", "comment": "no"})
    visitor_id = admin.get(f"{LOG}/{asked['conversation_id']}").json()["visitor_id"]
    mine = {"visitor": visitor_id}
    assert found(admin, **mine) == [refused["id"], asked["id"]]
    for wanted, turn in (
        ({"status": "answered"}, asked), ({"status": "insufficient"}, refused), ({"grounded": "true"}, asked),
        ({"grounded": "false"}, refused), ({"rating": "down"}, refused), ({"q": "issu refund"}, asked),
        ({"q": "wvut"}, refused), ({"kind": "question", "q": "14 days"}, asked), ({"to": refused["created_at"]}, asked),
        ({"from": refused["created_at"]}, refused),
    ):  # fmt: skip
        assert found(admin, **mine, **wanted) == [turn["id"]], wanted
    assert found(admin, **mine, rating="up") == found(admin, **mine, language="cs") == []


@pytest.mark.parametrize(
    "wanted",
    [{"status": "lost"}, {"grounded": "maybe"}, {"rating": "1"}, {"from": "soon"}, {"cursor": "x"}, {"limit": "0"},
     {"limit": "1000"}, {"kind": "joke"}, {"verdict": "good"}, {"q": "a\0b"}],
)  # fmt: skip
def test_a_wrong_filter_is_named(admin: httpx2.Client, wanted: dict[str, str]) -> None:
    answer = admin.get(LOG, params=wanted)
    assert answer.status_code == 400
    assert answer.json()["field"] == next(iter(wanted))


def test_pages_join(admin: httpx2.Client, visitor: httpx2.Client) -> None:
    ids = [visitor.post("/v1/ask", json={"question": f"hello {n}"}).json()["conversation_id"] for n in range(5)]
    visitor_id = admin.get(f"{LOG}/{ids[0]}").json()["visitor_id"]
    seen: list[str] = []
    wanted = {"visitor": visitor_id, "limit": "2"}
    while True:
        page = admin.get(LOG, params=wanted).json()
        seen += [entry["conversation_id"] for entry in page["conversations"]]
        if page["next_cursor"] is None:
            break
        wanted["cursor"] = page["next_cursor"]
    assert seen == ids[::-1]


def test_every_way_of_asking_is_in_the_log(
    admin: httpx2.Client, server: RefdeskServer, visitor: httpx2.Client, model: ScriptedModel
) -> None:
    """With the same sources, whichever way it was."""
    question = "When are refunds issued?"
    model.script(refund_answer())
    turns = [visitor.post("/v1/ask", json={"question": question}).json()["id"]]
    turns.append(all_events(visitor, question)[-1].json["id"])
    turns.append(visitor.post("/v1/ask", json={"question": question}, headers={"origin": SHOP}).json()["id"])
    model.script(Answer((b"{}",), 500))
    turns.append(visitor.post("/v1/ask", json={"question": question}).json()["id"])
    model.script(Answer((opening(),), ending="pings"))
    with asked_for(visitor, question) as reader:
        turns.append(next(iter(reader)).json["turn_id"])
        assert visitor.post(f"/v1/turns/{turns[-1]}/stop").json()["status"] == "stopped"
    rows = [admin.get(f"/v1/console/turns/{turn_id}").json() for turn_id in turns]
    assert [row["channel"] for row in rows] == ["json", "stream", "widget", "json", "stream"]
    assert [row["status"] for row in rows] == ["answered", "answered", "answered", "evidence", "stopped"]
    for row in rows[:3]:
        told = [{name: value for name, value in source.items() if name != "retrieved_at"} for source in row["sources"]]
        assert [(source["id"], source["basis"], source["show"]) for source in told] == [("refunds", "search", True)]
        assert told == [{n: v for n, v in source.items() if n != "retrieved_at"} for source in rows[0]["sources"]]
    exported = [json.loads(line)["turn_id"] for line in admin.get("/v1/console/export.jsonl").text.splitlines()]
    assert [exported.count(turn_id) for turn_id in turns] == [1] * 5


def test_a_permalink_names_one_turn_with_its_trail(admin: httpx2.Client, asked: dict[str, Any]) -> None:
    turn = admin.get(f"/v1/console/turns/{asked['id']}").json()
    assert turn["permalink"].endswith(f"/console/conversations/{asked['conversation_id']}#{asked['id']}")
    shown = {"reason", "documents", "tools", "claims_rejected", "quoted", "usage", "timings", "article_versions"}
    assert shown <= turn.keys()
    assert "carried" not in turn
    assert (turn["locale"], turn["roles"], turn["changed_since"]) == ("en-GB", ["public"], {})
    whole = admin.get(f"{LOG}/{asked['conversation_id']}").json()
    assert whole["turns"] == [{name: value for name, value in turn.items() if name != "permalink"}]


def test_two_agents_overwrite_nothing_of_each_other(
    server: RefdeskServer, admin: httpx2.Client, asked: dict[str, Any]
) -> None:
    place = f"{LOG}/{asked['conversation_id']}"
    keys = {name: new_key(server, name) for name in (new_account(server), new_account(server))}

    def annotate(name: str) -> None:
        with server.client(keys[name]) as agent:
            for n in range(3):
                assert agent.post(f"{place}/notes", json={"text": f"{name} {n}"}).status_code == 201
                change = {"add": [f"{name}-{n}"], "remove": [f"{name}-{n - 1}"]}
                assert agent.patch(f"{place}/tags", json=change).status_code == 200

    with ThreadPoolExecutor() as pool:
        list(pool.map(annotate, keys))
    seen = admin.get(place).json()
    assert sorted(note["text"] for note in seen["notes"]) == sorted(f"{name} {n}" for name in keys for n in range(3))
    assert all(note["author"] == note["text"].split()[0] and note["created_at"] for note in seen["notes"])
    assert seen["tags"] == sorted(f"{name}-2" for name in keys)
    assert found(admin, tag=f"{next(iter(keys))}-2") == [asked["id"]]


def test_a_later_verdict_replaces_an_earlier_one_but_no_words(
    server: RefdeskServer, admin: httpx2.Client, asked: dict[str, Any]
) -> None:
    first, second = new_account(server), new_account(server)
    place = f"/v1/console/turns/{asked['id']}/verdict"
    for name, verdict in ((first, "wrong_source"), (second, "right")):
        with server.client(new_key(server, name)) as agent:
            answer = agent.put(place, json={"verdict": verdict, "note": f"says {name}"})
            assert answer.json()["author"] == name
    seen = admin.get(f"{LOG}/{asked['conversation_id']}").json()
    assert [(verdict["verdict"], verdict["author"]) for verdict in seen["verdicts"]] == [("right", second)]
    assert [note["author"] for note in seen["notes"]] == [first, second]
    rows = [row for row in audit_rows(server, "verdict") if row["target"] == asked["id"]]
    assert [(row["actor"], row["detail"]["verdict"]) for row in rows] == [(second, "right"), (first, "wrong_source")]
    assert found(admin, verdict="right", q="refunds")[0] == asked["id"]


@pytest.mark.parametrize(
    "body", [{"verdict": "good"}, {}, {"verdict": "right", "articles": ["nothing"]}, {"verdict": "right", "x": 1}]
)
def test_a_wrong_verdict_is_refused(admin: httpx2.Client, asked: dict[str, Any], body: dict[str, Any]) -> None:
    assert admin.put(f"/v1/console/turns/{asked['id']}/verdict", json=body).status_code == 400


def test_verdicts_are_cases_for_eval(
    server: RefdeskServer, admin: httpx2.Client, visitor: httpx2.Client, asked: dict[str, Any], tmp_path: Path
) -> None:
    refused = visitor.post("/v1/ask", json={"question": "Qqq wvut srqpo?"}).json()
    missed = visitor.post("/v1/ask", json={"question": "Moneyback zzzz?"}).json()
    for turn, verdict, articles in (
        (asked, "right", []), (refused, "right", []), (missed, "should_have_answered", ["refunds"]),
    ):  # fmt: skip
        body = {"verdict": verdict, "articles": articles}
        assert admin.put(f"/v1/console/turns/{turn['id']}/verdict", json=body).status_code == 200
    answer = admin.get("/v1/console/verdicts.jsonl")
    cases = {case["turn_id"]: case for case in map(json.loads, answer.text.splitlines())}
    assert [cases[turn["id"]]["articles"] for turn in (asked, refused, missed)] == [["refunds"], [], ["refunds"]]
    path = tmp_path / "cases.jsonl"
    path.write_text(answer.text, "utf-8")
    done = refdesk(server, "eval", str(path), "--data", str(tmp_path / "eval"), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["questions"] == len(cases)


def test_a_case_names_only_what_its_asker_can_find_today(
    new_server: Callable[..., RefdeskServer], shared_model: ScriptedModel, tmp_path: Path
) -> None:
    """One that nobody could pass would stop an evaluation; a verdict outlives articles and roles."""
    shared_model.script()
    server = new_server(shared_model.url).start()
    named = (["refunds"], ["refunds", "runbook"], ["runbook"], ["gift-cards"], ["discounts"])
    with server.client(signed_in(server, "judged", "partner")) as client, server.client(STAFF_KEY) as admin:
        turns = [client.post("/v1/ask", json={"question": f"Qqq wvut {n}?"}).json()["id"] for n in range(len(named))]
        for turn_id, articles in zip(turns, named, strict=True):
            body = {"verdict": "should_have_answered", "articles": articles}
            assert admin.put(f"/v1/console/turns/{turn_id}/verdict", json=body).status_code == 200
        (server.corpus / "gift-cards.md").unlink()
        centre = server.corpus / "help-center.toml"
        centre.write_text(centre.read_text("utf-8").replace('"partner", ', ""), "utf-8")
        assert admin.post("/v1/console/sync", json={"wait": True}).status_code == 200
        lines = admin.get("/v1/console/verdicts.jsonl").text
    cases = {case["turn_id"]: case["articles"] for case in map(json.loads, lines.splitlines())}
    assert cases == {turns[0]: ["refunds"], turns[1]: ["refunds"]}
    path = tmp_path / "cases.jsonl"
    path.write_text(lines, "utf-8")
    done = refdesk(server, "eval", str(path), "--data", str(tmp_path / "eval"), "--json")
    assert done.returncode == 0, done.stderr


# --- rehearsals ------------------------------------------------------------------------------


def test_replay_shows_what_differs_and_stores_nothing(
    admin: httpx2.Client, visitor: httpx2.Client, model: ScriptedModel, asked: dict[str, Any]
) -> None:
    before = visitor.get(f"/v1/conversations/{asked['conversation_id']}").text
    listed = len(admin.get("/v1/console/export.jsonl").text.splitlines())
    model.script(opens("gift-cards"), answering("Gift cards are not refunded ([Gift cards](doc:gift-cards))."))
    again = admin.post(f"/v1/console/turns/{asked['id']}/replay", json={}).json()
    assert again["before"]["answer"] == asked["answer"]
    assert again["now"]["status"] == "answered"
    assert again["now"]["documents"]
    diff = again["diff"]
    assert not diff["same"]
    assert diff["sources"] == {"added": ["gift-cards"], "removed": ["refunds"], "kept": []}
    assert "".join(piece["text"] for piece in diff["answer"] if piece["op"] != "insert") == asked["answer"]
    assert "".join(piece["text"] for piece in diff["answer"] if piece["op"] != "delete") == again["now"]["answer"]
    assert visitor.get(f"/v1/conversations/{asked['conversation_id']}").text == before
    assert len(admin.get("/v1/console/export.jsonl").text.splitlines()) == listed
    assert visitor.get(f"/v1/turns/{again['now']['id']}").status_code == 404


def test_replay_of_the_same_is_the_same(admin: httpx2.Client, model: ScriptedModel, asked: dict[str, Any]) -> None:
    model.script(refund_answer())
    diff = admin.post(f"/v1/console/turns/{asked['id']}/replay").json()["diff"]
    assert diff["same"]
    assert diff["answer"] == [{"op": "equal", "text": asked["answer"]}]


def test_replay_has_the_turns_before_it(
    admin: httpx2.Client, visitor: httpx2.Client, model: ScriptedModel, asked: dict[str, Any]
) -> None:
    model.script(refund_answer())
    same = {"conversation_id": asked["conversation_id"]}
    second = visitor.post("/v1/ask", json={"question": "And are gift cards refunded?", **same}).json()
    visitor.post("/v1/ask", json={"question": "Something after it about refunds?", **same})
    first_body = len(model.bodies)
    admin.post(f"/v1/console/turns/{second['id']}/replay")
    told = json.dumps(model.bodies[first_body])
    assert asked["question"] in told
    assert "Something after it" not in told


def test_a_page_that_goes_away_ends_the_replay(
    admin: httpx2.Client, model: ScriptedModel, asked: dict[str, Any]
) -> None:
    gate = threading.Event()
    model.script(Answer((gate,), ending="silence"))
    with pytest.raises(httpx2.TimeoutException):
        admin.post(f"/v1/console/turns/{asked['id']}/replay", timeout=1.0)
    gate.set()
    assert admin.get("/health/live").status_code == 200


def test_preview_sees_what_the_roles_see(admin: httpx2.Client, model: ScriptedModel) -> None:
    question = "What discount do partners get?"
    model.script(opens("discounts"), answering("Partners get 20 percent ([Deal](doc:discounts))."))
    as_partner = admin.post("/v1/console/preview", json={"question": question, "roles": ["partner"]}).json()
    assert [source["id"] for source in as_partner["sources"]] == ["discounts"]
    assert as_partner["roles"] == ["partner", "public"]
    asked_model = len(model.bodies)
    as_public = admin.post("/v1/console/preview", json={"question": question}).text
    assert C_PARTNER not in as_public + json.dumps(model.bodies[asked_model:])
    assert "discounts" not in [document["id"] for document in json.loads(as_public)["documents"]]
    refused = admin.post("/v1/console/preview", json={"question": question, "roles": ["king"]})
    assert (refused.status_code, refused.json()["code"]) == (400, "role_unknown")


def test_search_as_a_role(admin: httpx2.Client) -> None:
    def ids(**wanted: Any) -> list[str]:
        found = admin.get("/v1/console/search", params={"q": "duty desk incident", **wanted}).json()["passages"]
        return [passage["id"] for passage in found]

    assert "runbook" not in ids()
    assert ids(roles=["staff"])[0] == "runbook"
    assert C_STAFF in admin.get("/v1/console/search", params={"q": "duty desk incident", "roles": "staff"}).text


def test_what_became_of_an_article_since(new_server: Callable[..., RefdeskServer], shared_model: ScriptedModel) -> None:
    """Title and quote are those of the day."""
    server = new_server(shared_model.url).start()
    with server.client(server.token()) as client, server.client(STAFF_KEY) as staff:
        shared_model.script(refund_answer())
        turn = client.post("/v1/ask", json={"question": "When are refunds issued?"}).json()
        path = server.corpus / "refunds.md"
        path.write_text("---\ntitle: Money back\n---\n\nNothing is paid back.\n", "utf-8")
        staff.post("/v1/console/sync", json={"wait": True})
        seen = staff.get(f"/v1/console/turns/{turn['id']}").json()
        assert (seen["sources"][0]["title"], seen["claims"][0]["quote"]) == ("Refunds", REFUND_QUOTE)
        assert seen["changed_since"] == {"refunds": "changed"}


def test_a_signed_in_visitor_is_named_to_staff_only(
    server: RefdeskServer, admin: httpx2.Client, model: ScriptedModel
) -> None:
    with server.client(signed_in(server, "log-subject")) as client:
        model.script(refund_answer())
        turn = client.post("/v1/ask", json={"question": "When are refunds issued?"})
        assert "log-subject" not in turn.text
    entry = admin.get(LOG, params={"limit": "1"}).json()["conversations"][0]
    assert entry["subject"] == "log-subject"
    assert entry["turn"]["id"] == turn.json()["id"]
