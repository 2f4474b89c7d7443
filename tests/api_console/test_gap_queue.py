"""The docs-gap queue from outside, on both databases: what gets in, how it is grouped, worked on, checked and told."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest
from gap_parts import ask, eventually, gap_about, gaps, insufficient, refdesk, sync, write
from model_replies import answering, calls, opens, refund_answer, says
from people import signed_in
from refdesk_server import PATIENCE, STAFF_KEY, RefdeskServer

from scripted_api import Answer, ScriptedModel

SECRET = "C-HOOK-5d1b7e3f9a2c4680b1d3f5a7c9e0b2d4"
Make = Callable[..., RefdeskServer]
SERVER_ERROR = Answer((b"{}",), 400, {"content-type": "application/json"})


class Hook:
    """An address that a server tells of events. `refuse`: how many it turns down first."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.refuse = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.got.append(({name.lower(): value for name, value in self.headers.items()}, body))
                outer.refuse -= 1
                self.send_response(302 if outer.refuse >= 0 else 204)
                self.send_header("location", f"http://127.0.0.1:{self.server.server_port}/elsewhere")  # type: ignore[attr-defined]
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def events(self, name: str) -> list[dict[str, Any]]:
        return [event for event in (json.loads(body) for _, body in self.got) if event["event"] == name]


@pytest.fixture
def hook() -> Iterator[Hook]:
    made = Hook()
    yield made
    made.close()


@pytest.fixture(scope="module")
def desk(
    tmp_path_factory: pytest.TempPathFactory, shared_model: ScriptedModel, shared_database: str
) -> Iterator[RefdeskServer]:
    """One server for all tests that only ask and look."""
    folder = tmp_path_factory.mktemp("gaps")
    started = RefdeskServer(folder, shared_model.url, REFDESK_DATABASE_URL=shared_database).start()
    yield started
    assert started.stop() == 0


@pytest.fixture
def staff(desk: RefdeskServer, model: ScriptedModel) -> Iterator[httpx2.Client]:
    with desk.client(STAFF_KEY) as client:
        yield client


# --- what is a gap, and why ---------------------------------------------------------------------


def test_only_real_questions_without_an_answer_are_gaps(
    desk: RefdeskServer, staff: httpx2.Client, model: ScriptedModel, word: str
) -> None:
    asked = f"When are refunds issued under billing, {word}?"
    ask(desk, "hello")
    ask(desk, "What do you have articles about?")
    model.script(refund_answer())
    assert ask(desk, f"{asked} answered")["grounded"]
    model.script(answering("Which one?", outcome="clarify"))
    ask(desk, f"{asked} clarified")
    model.script(SERVER_ERROR)
    assert ask(desk, f"{asked} failing")["model_error"]
    model.script(insufficient())
    ask(desk, f"{asked} tested", token=STAFF_KEY)
    model.script(insufficient())
    assert ask(desk, f"{asked} refused")["status"] == "insufficient"
    model.script(says("I think so."))
    silent = ask(desk, f"{asked} silent")
    assert (silent["status"], silent["sources"]) == ("answered", [])
    gap_about(staff, f"{word}? silent")
    mine = {question["text"] for gap in gaps(staff) for question in gap["questions"] if word in question["text"]}
    assert mine == {f"{asked} refused", f"{asked} silent"}
    everything = {question["text"] for gap in gaps(staff) for question in gap["questions"]}
    assert not everything & {"hello", "What do you have articles about?"}


def test_a_cause_comes_from_what_was_found_read_and_hidden(
    desk: RefdeskServer, staff: httpx2.Client, model: ScriptedModel, word: str
) -> None:
    refused = ask(desk, f"Can I paint {word}?")
    assert (refused["status"], refused["sources"], model.bodies) == ("insufficient", [], [])
    assert gap_about(staff, word)["cause"] == "nothing_found"
    mine = [gap for gap in gaps(staff) if any(word in question["text"] for question in gap["questions"])]
    assert [(gap["count"], [one["text"] for one in gap["questions"]]) for gap in mine] == [(1, [refused["question"]])]
    model.script(opens("refunds"), insufficient("how refunds are taxed"))
    opened = ask(desk, f"When are refunds issued under billing, {word} taxes?")
    assert (opened["status"], opened["sources"], opened["evidence"]) == ("insufficient", [], [])
    checked = staff.get(f"/v1/console/turns/{opened['id']}").json()["documents"]
    assert [(one["id"], one["read"], one["source"]) for one in checked if "full" in one["forms"]] == [
        ("refunds", True, False)
    ]
    silent = gap_about(staff, f"{word} taxes")
    assert (silent["cause"], silent["nearest"][0]["id"]) == ("opened_but_silent", "refunds")
    assert "silent" in silent["nearest"][0]["why"]
    assert silent["missing_information"] == ["how refunds are taxed"]


def test_what_another_role_may_read_is_named_to_staff_and_never_to_the_visitor(
    desk: RefdeskServer, staff: httpx2.Client, model: ScriptedModel
) -> None:
    turn = ask(desk, "Do partners get 20 percent discounts?")
    assert turn["status"] == "insufficient"
    assert "discounts" not in json.dumps({**turn, "question": ""})
    gap = gap_about(staff, "partners get 20 percent")
    assert (gap["cause"], gap["nearest"][0]["id"]) == ("restricted", "discounts")


# --- grouping and order -----------------------------------------------------------------------


def test_a_visitor_counts_once_and_word_order_case_and_slips_do_not_matter(
    desk: RefdeskServer, staff: httpx2.Client, word: str
) -> None:
    same = [
        f"How do I export invoices as {word}?",
        f"export invoices {word}",
        f"EXPORT INVOICES AS {word.upper()}!!",
        f"how do I exprt invoices as {word}?",
    ]
    insistent = desk.token()
    for question in same:
        ask(desk, question, token=insistent)
    ask(desk, same[0])
    gap = gap_about(staff, word, count=5)
    assert (gap["count"], gap["visitors"]) == (5, 2)
    assert gap["trend"] == [0, 0, 0, 0, 0, 0, 0, 5]
    assert gap["languages"] == {"en": 5}
    assert gap["title"] == same[0] or word in gap["title"]


def test_more_visitors_come_before_more_questions(desk: RefdeskServer, staff: httpx2.Client, word: str) -> None:
    one = desk.token()
    for _ in range(4):
        ask(desk, f"Where is the {word} lamp?", token=one)
    for _ in range(2):
        ask(desk, f"Where is the {word} chair?")
    gap_about(staff, f"{word} lamp", count=4)
    gap_about(staff, f"{word} chair", count=2)
    mine = [gap["title"] for gap in gaps(staff) if word in (gap["title"] or "")]
    assert mine == [f"Where is the {word} chair?", f"Where is the {word} lamp?"]


def test_merges_and_splits_by_hand_survive_later_questions(
    desk: RefdeskServer, staff: httpx2.Client, word: str
) -> None:
    for thing in ("lamp", "chair", "table"):
        ask(desk, f"Where is the {word} {thing}?")
    lamp, chair = (gap_about(staff, f"{word} {thing}") for thing in ("lamp", "chair"))
    merged = staff.post("/v1/console/gaps/merge", json={"into": lamp["id"], "gaps": [chair["id"]]}).json()
    assert (merged["id"], merged["count"]) == (lamp["id"], 2)
    assert staff.get(f"/v1/console/gaps/{chair['id']}").json()["id"] == lamp["id"]
    ask(desk, f"Where is the {word} chair?")
    assert gap_about(staff, f"{word} chair", count=3)["id"] == lamp["id"]
    lamp_turn = next(a["turn_id"] for a in merged["asked"] if "lamp" in a["question"])
    split = staff.post("/v1/console/gaps/split", json={"gap": lamp["id"], "turns": [lamp_turn]}).json()
    assert (split["count"], split["id"] != lamp["id"]) == (1, True)
    ask(desk, f"Where is the {word} lamp?")
    assert gap_about(staff, f"{word} lamp", count=2)["id"] == split["id"]
    assert gap_about(staff, f"{word} chair", count=2)["count"] == 2
    nothing = staff.post("/v1/console/gaps/split", json={"gap": split["id"], "turns": [lamp_turn]})
    assert (nothing.status_code, nothing.json()["code"]) == (400, "nothing_to_split")


# --- working on it ------------------------------------------------------------------------------


def test_a_gap_is_worked_on_with_history(desk: RefdeskServer, staff: httpx2.Client, word: str) -> None:
    ask(desk, f"Is {word} supported?")
    gap = gap_about(staff, word)
    path = f"/v1/console/gaps/{gap['id']}"
    changed = staff.patch(path, json={"status": "in_progress", "assignee": "staff-key", "note": "on it"}).json()
    assert (changed["status"], changed["assignee"]) == ("in_progress", "staff-key")
    assert [note["text"] for note in changed["notes"]] == ["on it"]
    assert [event["what"] for event in changed["history"]] == ["created", "note", "status", "assignee"]
    assert changed["asked"][0]["question"] == f"Is {word} supported?"
    assert gap["id"] in {found["id"] for found in gaps(staff, assignee="staff-key")}
    unknown = staff.patch(path, json={"assignee": "nobody-knows"})
    assert (unknown.status_code, unknown.json()["code"]) == (400, "staff_unknown")
    assert staff.patch(path, json={"status": "not_supported"}).json()["status"] == "not_supported"
    assert gap["id"] not in {found["id"] for found in gaps(staff)}
    assert gap["id"] in {found["id"] for found in gaps(staff, status="not_supported")}
    assert staff.patch(path, json={"status": "lost"}).status_code == 400
    assert staff.patch(path, json={"colour": "red"}).status_code == 400


# --- checked after every sync -------------------------------------------------------------------


def test_a_new_article_answers_a_gap_until_it_is_asked_again_in_vain(
    desk: RefdeskServer, staff: httpx2.Client, model: ScriptedModel, word: str
) -> None:
    question = f"How do I connect a {word} printer?"
    ask(desk, question)
    gap = gap_about(staff, word)
    path = f"/v1/console/gaps/{gap['id']}"
    write(desk, word, f"{word} printers", f"Connect a {word} printer by cable, then restart the {word} printer.")
    sync(staff)
    answered = eventually(lambda: staff.get(path).json()["answered_by"])
    assert (answered["article_id"], answered["by"]) == (word, "search")
    assert staff.get(path).json()["status"] == "open", "a person confirms it"
    done = staff.patch(path, json={"status": "done"}).json()
    assert (done["status"], done["article"]) == ("done", word)
    model.script(opens(word), insufficient("which cable"))
    assert ask(desk, question)["status"] == "insufficient"
    again = eventually(lambda: (found := staff.get(path).json())["status"] == "open" and found)
    assert [event["what"] for event in again["history"]][-1] == "reopened"
    assert again["count"] == 2


def test_a_gap_closes_by_itself_where_it_is_so_set(new_server: Make, database_url: str, word: str) -> None:
    server = new_server(REFDESK_DATABASE_URL=database_url, REFDESK_GAPS_CLOSE="on").start()
    with server.client(STAFF_KEY) as staff:
        ask(server, f"How do I connect a {word} printer?")
        gap = gap_about(staff, word)
        write(server, word, f"{word} printers", f"Connect a {word} printer by cable.")
        sync(staff)
        path = f"/v1/console/gaps/{gap['id']}"
        done = eventually(lambda: (found := staff.get(path).json())["status"] == "done" and found)
    assert done["article"] == word


# --- privacy ------------------------------------------------------------------------------------


def test_personal_data_and_rare_questions_are_not_shown(new_server: Make, database_url: str, word: str) -> None:
    server = new_server(REFDESK_DATABASE_URL=database_url, REFDESK_GAPS_K="2").start()
    with server.client(STAFF_KEY) as staff:
        ask(server, f"Where is the {word} of jane.doe@example.org?")
        hidden = eventually(lambda: [gap for gap in gaps(staff) if gap["hidden"]])[0]
        assert (hidden["title"], hidden["questions"], hidden["count"]) == (None, [], 1)
        assert word not in staff.get(f"/v1/console/gaps/{hidden['id']}").text
        assert word not in staff.post(f"/v1/console/gaps/{hidden['id']}/draft").json()["markdown"]
        ask(server, f"Where is the {word} of max@example.org?")
        shown = gap_about(staff, word, count=2)
        assert shown["title"] == f"Where is the {word} of [email]?"
        assert "example.org" not in staff.get(f"/v1/console/gaps/{shown['id']}").text


def test_what_a_visitor_erases_leaves_the_queue(desk: RefdeskServer, staff: httpx2.Client, word: str) -> None:
    token = signed_in(desk, f"{word}@x")
    ask(desk, f"Where is the {word} door?", token=token)
    gap = gap_about(staff, word)
    with desk.client(token) as visitor:
        assert visitor.delete("/v1/me").status_code == 204
    assert gap["id"] not in {found["id"] for found in gaps(staff)}
    assert word not in staff.get("/v1/console/export.jsonl", params={"what": "gaps"}).text


# --- articles -----------------------------------------------------------------------------------


def test_articles_are_counted_by_how_far_they_came(
    new_server: Make, shared_model: ScriptedModel, database_url: str
) -> None:
    server = new_server(shared_model.url, REFDESK_DATABASE_URL=database_url).start()
    with server.client(STAFF_KEY) as staff:
        shared_model.script(refund_answer())
        assert ask(server, "When are refunds issued?")["status"] == "answered"
        for _ in range(5):
            shared_model.script(opens("gift-cards"), insufficient())
            ask(server, "How long is a gift card valid for?")

        def counted() -> dict[str, dict[str, Any]] | None:
            now = figures(staff)
            return now if now.get("gift-cards", {}).get("opened", 0) >= 5 else None

        after = eventually(counted)
        assert [after["refunds"][name] for name in ("cited", "shown", "failed")] == [1, 1, 0]
        assert "opened_never_cited" in after["gift-cards"]["signals"]
        assert after["gift-cards"]["failed"] >= 5
        assert "addresses_model" in after["poisoned"]["signals"]
        days = staff.get("/v1/console/articles/gift-cards/days").json()["days"]
        assert sum(day["opened"] for day in days) == after["gift-cards"]["opened"]


def figures(staff: httpx2.Client) -> dict[str, dict[str, Any]]:
    answer = staff.get("/v1/console/articles")
    assert answer.status_code == 200, answer.text
    return {article["id"]: article for article in answer.json()["articles"]}


# --- drafts -------------------------------------------------------------------------------------


def test_a_draft_is_an_article_to_be(
    desk: RefdeskServer, staff: httpx2.Client, model: ScriptedModel, word: str
) -> None:
    question = f'When are "refunds" [issued](https://evil.test) under billing, {word} taxes?'
    model.script(opens("refunds"), insufficient("how refunds are taxed"))
    ask(desk, question)
    gap = gap_about(staff, f"{word} taxes")
    path = f"/v1/console/gaps/{gap['id']}/draft"
    outline = staff.post(path).json()
    assert (outline["by"], outline["model_error"]) == ("outline", None)
    markdown = outline["markdown"]
    assert markdown.startswith("---\ntitle: ")
    assert "\nstatus: draft\n" in markdown
    body = markdown.split("---\n")[2]
    assert "\\[issued\\](https://evil.test)" in body, "no link, but the characters that were written"
    assert "- TODO: how refunds are taxed" in markdown
    assert "[Refunds](/articles/refunds)" in markdown
    write(desk, f"draft-{word}", "x", "x")
    (desk.corpus / f"draft-{word}.md").write_text(markdown, "utf-8")
    report = staff.post("/v1/console/sync", json={"wait": True}).json()
    assert [notice for notice in report["withheld"] if word in notice["path"]] == []


def test_a_model_drafts_in_the_words_of_articles_only(
    desk: RefdeskServer, staff: httpx2.Client, model: ScriptedModel, word: str
) -> None:
    model.script(opens("refunds"), insufficient())
    ask(desk, f"When are refunds issued under billing, {word} fees?")
    gap = gap_about(staff, f"{word} fees")
    path = f"/v1/console/gaps/{gap['id']}/draft"
    quotes = [
        {"source_id": "refunds", "quote": "Refunds are issued within 14 days."},
        {"source_id": "refunds", "quote": "Refunds are issued within 90 days."},
        {"source_id": "invented", "quote": "Refunds are issued within 14 days."},
    ]
    part = {"question": 0, "quotes": quotes, "to_fill": ["Who pays the fee?"]}
    model.script(calls(("draft", {"parts": [part, {"question": "x"}, 7]})))
    draft = staff.post(path, json={"model": True}).json()
    assert (draft["by"], draft["model_error"]) == ("model", None)
    assert "Refunds are issued within 14 days. ([Refunds](/articles/refunds))" in draft["markdown"]
    assert "TODO: Who pays the fee?" in draft["markdown"]
    assert "90 days" not in draft["markdown"]
    assert "invented" not in draft["markdown"]
    model.script(SERVER_ERROR)
    failed = staff.post(path, json={"model": True}).json()
    assert failed["by"] == "outline"
    assert failed["model_error"]


# --- out of it ----------------------------------------------------------------------------------


def test_the_queue_leaves_as_csv_and_json_lines(desk: RefdeskServer, staff: httpx2.Client, word: str) -> None:
    ask(desk, f"=cmd() {word}")
    gap = gap_about(staff, word)
    lines = staff.get("/v1/console/export.jsonl", params={"what": "gaps"}).text.splitlines()
    assert gap["id"] in {json.loads(line)["id"] for line in lines}
    answer = staff.get("/v1/console/export.csv", params={"what": "gaps"})
    assert answer.headers["content-disposition"] == 'attachment; filename="gaps.csv"'
    row = next(line for line in answer.text.splitlines() if gap["id"] in line)
    assert f'"\'=cmd() {word}"' in row


def test_a_webhook_is_told_signed_and_again_until_it_takes_it(
    new_server: Make, shared_model: ScriptedModel, database_url: str, hook: Hook, word: str
) -> None:
    settings = {"REFDESK_GAPS_WEBHOOK_URL": hook.url, "REFDESK_GAPS_WEBHOOK_SECRET": SECRET}
    server = new_server(shared_model.url, REFDESK_DATABASE_URL=database_url, **settings).start()
    hook.refuse = 1
    token = server.token()
    turn = ask(server, f"Where is the {word} gate?", token=token)
    with server.client(token) as visitor:
        for _ in range(2):
            visitor.put(f"/v1/turns/{turn['id']}/feedback", json={"rating": "down", "comment": word})

    def new() -> dict[str, Any] | None:
        told = [event for event in hook.events("gap.new") if event["gap"]["title"] == turn["question"]]
        return told[-1] if told and hook.events("feedback.down") and hook.refuse < -1 else None

    event = eventually(new)
    assert event["gap"]["visitors"] == 1
    assert event["link"].endswith(f"/console/gaps/{event['gap']['id']}")
    down = hook.events("feedback.down")[-1]
    assert (down["turn_id"], word in json.dumps(down)) == (turn["id"], False)
    assert "/elsewhere" not in server.log(), "a redirect is not followed"
    for headers, body in hook.got:
        at, given = re.fullmatch(r"t=(\d+),v1=([0-9a-f]{64})", headers["refdesk-signature"]).groups()  # type: ignore[union-attr]
        wanted = hmac.new(SECRET.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
        assert hmac.compare_digest(given, wanted)
        assert abs(time.time() - int(at)) < PATIENCE * 3
        assert headers["refdesk-event"] == json.loads(body)["id"]
    ids = [headers["refdesk-event"] for headers, _ in hook.got]
    assert len(ids) == len(set(ids)) + 1, "what was refused came once more, and nothing else"


def test_the_command_line_shows_the_queue_while_a_server_runs(
    desk: RefdeskServer, staff: httpx2.Client, word: str
) -> None:
    ask(desk, f"Where is the {word} roof?")
    gap = gap_about(staff, word)
    shown = refdesk(desk, "gaps", "--limit", "1000", "--json")
    assert gap["id"] in {json.loads(line)["id"] for line in shown.splitlines()}
    assert f"Where is the {word} roof?" in refdesk(desk, "gaps", "--limit", "1000")
    assert refdesk(desk, "gaps", "--status", "dismissed", "--cause", "missed", "--json") == ""


def test_turns_of_a_server_that_was_killed_are_looked_at_after_its_start(
    new_server: Make, database_url: str, word: str
) -> None:
    server = new_server(REFDESK_DATABASE_URL=database_url).start()
    ask(server, f"Where is the {word} cellar?")
    server.kill()
    server.start()
    with server.client(STAFF_KEY) as staff:
        assert gap_about(staff, word)["count"] == 1
