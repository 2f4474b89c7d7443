"""A conversation as a page: why each answer said what it said, and what staff put to it."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from html import unescape
from typing import Any

import httpx2
import pytest
from help_centre import REFUND_QUOTE
from markupsafe import escape
from model_replies import REFUND_CLAIM, answering, opens, refund_answer
from people import ask, new_account, session_of, with_cookie
from refdesk_server import PATIENCE, STAFF_KEY, RefdeskServer

from refdesk.console_pages.texts import TEXTS
from scripted_api import ScriptedModel

HOSTILE = "<img src=x onerror=alert(1)>"
INVENTED = {**REFUND_CLAIM, "text": f"Refunds never come {HOSTILE}.", "quote": "Refunds never ever come at all."}


@pytest.fixture(scope="module")
def agent(server: RefdeskServer) -> Iterator[httpx2.Client]:
    with with_cookie(server, session_of(server, new_account(server))) as client:
        yield client


@pytest.fixture
def answered(visitor: httpx2.Client, model: ScriptedModel) -> dict[str, Any]:
    text = "Refunds are issued within 14 days ([Refunds](doc:refunds), [y](https://evil.example/))."
    model.script(opens("refunds", "gift-cards"), answering(text, REFUND_CLAIM, INVENTED))
    turn = ask(visitor)
    assert turn["status"] == "answered"
    return turn


def page_of(agent: httpx2.Client, turn: dict[str, Any], **query: str) -> str:
    answer = agent.get(f"/console/conversations/{turn['conversation_id']}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_the_page_tells_all_that_the_trail_knows(
    agent: httpx2.Client, admin: httpx2.Client, answered: dict[str, Any]
) -> None:
    page = page_of(agent, answered)
    told = unescape(page)
    trail = admin.get(f"/v1/console/turns/{answered['id']}").json()
    assert trail["claims_rejected"]
    assert trail["tools"][0]["by"] == "application"
    for document in trail["documents"]:
        assert document["title"] in told
        assert document["reason"] in told
    for call in trail["tools"]:
        assert f"<td>{call['number']}</td>" in page
        assert all(str(value) in told for value in call["input"].values())
    for claim in trail["claims_rejected"]:
        assert claim["text"] in told
        assert claim["why"] in told
    assert all(link in told for link in trail["links_dropped"])
    assert REFUND_QUOTE in told
    assert trail["permalink"] in page
    assert "<img" not in page


def test_every_article_shows_how_far_it_came(
    agent: httpx2.Client, admin: httpx2.Client, answered: dict[str, Any]
) -> None:
    rows = re.findall(r"<li><a href=[^>]+><bdi>.*?</ol>", page_of(agent, answered), re.S)
    documents = admin.get(f"/v1/console/turns/{answered['id']}").json()["documents"]
    for row, document in zip(rows, documents, strict=True):
        reached = [True, document["read"], document["cited"], document["show"]]
        assert [found == ' class="reached"' for found in re.findall(r"<li( class=\"reached\")?>(?!<a)", row)] == reached


def test_a_refusal_tells_reason_cause_signals_and_threshold(
    agent: httpx2.Client, admin: httpx2.Client, visitor: httpx2.Client
) -> None:
    refused = ask(visitor, "Zyx wvut srqpo jklm refunds bananas?")
    trail = admin.get(f"/v1/console/turns/{refused['id']}").json()
    assert refused["status"] == "insufficient"
    page = page_of(agent, refused)
    assert TEXTS[f"reason.{trail['reason']}"][0] in page
    assert TEXTS[f"cause.{trail['gap_cause']}"][0] in page
    signals = {TEXTS[f"signal_of.{name}"][0]: value for name, value in trail["signals"].items()}
    assert all(f"<dt>{escape(name)}</dt><dd>{value:.3f}</dd>" in page for name, value in signals.items())
    assert TEXTS["threshold"][0] in page


def test_a_quote_opens_the_article_at_its_place(agent: httpx2.Client, answered: dict[str, Any]) -> None:
    link = re.search(r'<blockquote dir="auto"><a href="([^"]+)"', page_of(agent, answered))
    assert link is not None
    address, _, anchor = unescape(link[1]).partition("#")
    opened = agent.get(address).text
    mark = re.search(rf'<mark id="{anchor}">([^<]+)</mark>', opened)
    assert mark is not None
    assert mark[1] == REFUND_QUOTE
    assert TEXTS["same"][0] in opened


def test_an_article_that_has_nothing_to_do_with_the_turn_is_not_opened_there(
    agent: httpx2.Client, answered: dict[str, Any]
) -> None:
    for query in ({"turn": answered["id"], "article": "runbook"}, {"turn": "t_x", "article": "refunds"}):
        assert agent.get(f"/console/conversations/{answered['conversation_id']}", params=query).status_code == 404


def opened(admin: httpx2.Client, turn: dict[str, Any]) -> str:
    """The page with the turn's article beside it."""
    query = {"turn": turn["id"], "article": "refunds"}
    answer = admin.get(f"/console/conversations/{turn['conversation_id']}", params=query)
    assert answer.status_code == 200, answer.text
    return answer.text


def synced(server: RefdeskServer, admin: httpx2.Client, text: str | None) -> None:
    """With that text of the refunds article; None: without the article."""
    file = server.corpus / "refunds.md"
    if text is None:
        file.unlink()
    else:
        file.write_text(text, "utf-8")
    assert admin.post("/v1/console/sync", json={"wait": True}).status_code == 200


def test_the_whole_article_of_the_day_stays_when_it_changes_and_goes(
    new_server: Callable[..., RefdeskServer], shared_model: ScriptedModel
) -> None:
    server = new_server(shared_model.url).start()
    before = (server.corpus / "refunds.md").read_text("utf-8")
    shared_model.script(opens("refunds"), refund_answer())
    with server.client(server.token()) as visitor:
        turn = ask(visitor)
    with server.client(STAFF_KEY) as admin:
        synced(server, admin, before.replace("14 days", f"30 days {HOSTILE}"))
        page = opened(admin, turn)
        assert re.findall(r'<mark id="quote-\d+">([^<]+)</mark>', page)[0] == REFUND_QUOTE
        body = page[page.index('aria-labelledby="whole"') : page.index('aria-labelledby="changes"')]
        assert "30 days" not in body, "the article is that of the day"
        assert TEXTS["that_day"][0] in page
        assert TEXTS["gone"][0] in page
        since = page[page.index('aria-labelledby="changes"') :]
        assert "<del>14</del><ins>30</ins>" in since
        assert "<img" not in page
        synced(server, admin, before)
        assert TEXTS["changes_since"][0] not in opened(admin, turn), "it is as it was"
        synced(server, admin, before.replace("category: billing", "category: money"))
        assert TEXTS["only_metadata"][0] in opened(admin, turn)
        synced(server, admin, None)
        page = opened(admin, turn)
        assert REFUND_QUOTE in page[page.index('aria-labelledby="whole"') :]
        assert TEXTS["deleted"][0] in page


def test_the_articles_of_a_day_outlive_a_restart_with_another_corpus(
    new_server: Callable[..., RefdeskServer], shared_model: ScriptedModel
) -> None:
    server = new_server(shared_model.url).start()
    shared_model.script(opens("refunds"), refund_answer())
    with server.client(STAFF_KEY) as admin, server.client(server.token()) as visitor:
        turn = ask(visitor)
        admin.post("/v1/console/sync", json={"wait": True})
    assert server.stop() == 0
    file = server.corpus / "refunds.md"
    file.write_text(file.read_text("utf-8").replace("14 days", "30 days"), "utf-8")
    server.start()
    with server.client(STAFF_KEY) as admin:
        page = opened(admin, turn)
    assert TEXTS["that_day"][0] in page
    assert "<del>14</del><ins>30</ins>" in page


def test_where_the_text_of_the_day_was_never_kept_the_page_says_so(
    new_server: Callable[..., RefdeskServer], shared_model: ScriptedModel
) -> None:
    server = new_server(shared_model.url).start()
    shared_model.script(opens("refunds"), refund_answer())
    with server.client(STAFF_KEY) as admin, server.client(server.token()) as visitor:
        turn = ask(visitor)
        synced(server, admin, (server.corpus / "refunds.md").read_text("utf-8").replace("14 days", "30 days"))
        with closing(sqlite3.connect(server.data / "refdesk.db", timeout=PATIENCE)) as database, database:
            database.execute("DELETE FROM article_bodies")
        page = opened(admin, turn)
    assert TEXTS["body_not_kept"][0] in page
    assert REFUND_QUOTE in page
    assert "<del>14</del><ins>30</ins>" in page, "the quote is compared with the passage of today"


# --- what staff put to it --------------------------------------------------------------------


def test_notes_tags_and_a_verdict_are_written_with_forms(
    agent: httpx2.Client, admin: httpx2.Client, answered: dict[str, Any]
) -> None:
    place = f"/console/conversations/{answered['conversation_id']}"
    for path, form, anchor in (
        (f"{place}/notes", {"text": f"seen {HOSTILE}"}, "#notes"),
        (f"{place}/tags", {"add": "billing <b>"}, "#notes"),
        (f"{place}/tags", {"add": "second"}, "#notes"),
        (f"{place}/tags", {"remove": "second"}, "#notes"),
        (f"/console/turns/{answered['id']}/verdict",
         {"verdict": "wrong_source", "articles": "gift-cards sla", "note": ""}, f"#{answered['id']}"),
    ):  # fmt: skip
        answer = agent.post(path, data=form)
        assert (answer.status_code, answer.headers["location"]) == (303, place + anchor), answer.text
    kept = admin.get(f"/v1/console/conversations/{answered['conversation_id']}").json()
    assert [note["text"] for note in kept["notes"]] == [f"seen {HOSTILE}"]
    assert kept["tags"] == ["billing <b>"]
    assert (kept["verdicts"][0]["verdict"], kept["verdicts"][0]["articles"]) == ("wrong_source", ["gift-cards", "sla"])
    page = page_of(agent, answered)
    assert "<img" not in page
    assert "billing &lt;b&gt;" in page
    assert TEXTS["verdict.wrong_source"][0] in page


@pytest.mark.parametrize("form", [{"verdict": "good"}, {"verdict": "right", "articles": "no-such"}, {}])
def test_a_wrong_verdict_changes_nothing(
    agent: httpx2.Client, admin: httpx2.Client, answered: dict[str, Any], form: dict[str, str]
) -> None:
    assert agent.post(f"/console/turns/{answered['id']}/verdict", data=form).status_code == 400
    assert admin.get(f"/v1/console/conversations/{answered['conversation_id']}").json()["verdicts"] == []


def test_asking_once_more_shows_both_answers_and_keeps_nothing(
    agent: httpx2.Client, admin: httpx2.Client, answered: dict[str, Any], model: ScriptedModel
) -> None:
    model.script(refund_answer("Refunds are issued within two weeks ([Refunds](doc:refunds))."))
    page = agent.post(f"/console/turns/{answered['id']}/replay", data={})
    assert page.status_code == 200
    assert "<ins>two</ins>" in page.text or "<ins>two weeks" in page.text
    assert "<del>14" in page.text
    kept = admin.get(f"/v1/console/conversations/{answered['conversation_id']}").json()
    assert [turn["id"] for turn in kept["turns"]] == [answered["id"]]


def test_a_receipt_proves_which_text_supported_which_sentence(agent: httpx2.Client, answered: dict[str, Any]) -> None:
    page = agent.get(f"/console/turns/{answered['id']}/receipt").text
    assert REFUND_QUOTE in page
    made = agent.get(f"/console/turns/{answered['id']}/receipt.json").json()
    assert [(item["sentence"], item["quote"], item["article"]) for item in made["statements"]] == [
        ("Refunds are issued within 14 days.", REFUND_QUOTE, "refunds")
    ]
    told = made.pop("sha256")
    assert told in page
    canonical = json.dumps(made, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hashlib.sha256(canonical.encode()).hexdigest() == told, "anybody can check it"
