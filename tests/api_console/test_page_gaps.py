"""The docs-gap queue as pages: the queue, one gap beside it, and everything that is done to it with forms."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Iterator
from html import unescape
from typing import Any

import httpx2
import pytest
from people import ask, new_account, session_of, with_cookie
from refdesk_server import PATIENCE, RefdeskServer

from refdesk.console_pages.texts import TEXTS

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def writer(server: RefdeskServer) -> str:
    return new_account(server)


@pytest.fixture(scope="module")
def agent(server: RefdeskServer, writer: str) -> Iterator[httpx2.Client]:
    with with_cookie(server, session_of(server, writer)) as client:
        yield client


def new_word() -> str:
    return "zq" + "".join(chr(ord("a") + int(digit, 16)) for digit in uuid.uuid4().hex[:8])


def gap_of(admin: httpx2.Client, word: str) -> dict[str, Any]:
    """The gap that holds the question with this word, once turns were looked at."""
    for _ in range(int(PATIENCE / 0.1)):
        for cause in ("", "out_of_scope"):
            listed = admin.get(
                "/v1/console/gaps", params={"limit": "200", **({"cause": cause} if cause else {})}
            ).json()
            for gap in listed["gaps"]:
                if any(word in question["text"] for question in gap["questions"]):
                    return dict(admin.get(f"/v1/console/gaps/{gap['id']}").json())
        time.sleep(0.1)
    raise AssertionError(f"{word} never came into the queue")


@pytest.fixture
def gap(server: RefdeskServer, admin: httpx2.Client) -> dict[str, Any]:
    word = new_word()
    with server.client(server.token()) as visitor:
        assert ask(visitor, f"How do I {word} the {word}er {HOSTILE}?")["status"] == "insufficient"
    return gap_of(admin, word)


def test_the_queue_tells_what_the_api_tells(agent: httpx2.Client, admin: httpx2.Client, gap: dict[str, Any]) -> None:
    view = {"cause": gap["cause"]}
    listed = admin.get("/v1/console/gaps", params={**view, "limit": "25"}).json()["gaps"]
    page = agent.get("/console/gaps", params={**view, "status": "", "assignee": ""}).text
    ids = [unescape(link) for link in re.findall(r'href="/console/gaps\?[^"]*gap=([^"#]+)#gap"', page)]
    assert ids == [row["id"] for row in listed]
    row = next(row for row in listed if row["id"] == gap["id"])
    told = TEXTS["trend_is"][0].format(numbers=", ".join(map(str, row["trend"])))
    assert told in page
    assert "<img" not in page


def test_a_gap_opens_beside_the_queue_and_on_a_page_of_its_own(agent: httpx2.Client, gap: dict[str, Any]) -> None:
    beside = agent.get("/console/gaps", params={"cause": gap["cause"], "gap": gap["id"]}).text
    alone = agent.get(f"/console/gaps/{gap['id']}").text
    for page in (beside, alone):
        told = unescape(page)
        assert gap["asked"][0]["question"] in told
        assert f"/console/conversations/{gap['asked'][0]['conversation_id']}#{gap['asked'][0]['turn_id']}" in page
        assert all(near["why"] in told for near in gap["nearest"])
        assert "<img" not in page
    assert agent.get("/console/gaps?gap=g_none").status_code == 404


def test_a_form_changes_what_it_says_otherwise(
    agent: httpx2.Client, admin: httpx2.Client, writer: str, gap: dict[str, Any]
) -> None:
    place = f"/console/gaps/{gap['id']}"
    form = {"status": "in_progress", "cause": gap["cause"], "assignee": "", "article": "new-article", "mine": "on",
            "note": f"on it {HOSTILE}", "next": f"/console/gaps?status=in_progress&gap={gap['id']}"}  # fmt: skip
    answer = agent.post(place, data=form)
    assert (answer.status_code, answer.headers["location"]) == (303, form["next"])
    now = admin.get(f"/v1{place}").json()
    assert (now["status"], now["assignee"], now["article"]) == ("in_progress", writer, "new-article")
    assert [note["text"] for note in now["notes"]] == [form["note"]]
    assert {event["what"] for event in now["history"]} >= {"status", "assignee", "article", "note"}
    assert "<img" not in agent.get(form["next"]).text
    agent.post(place, data={"status": "not_supported", "assignee": "", "article": "new-article"})
    after = admin.get(f"/v1{place}").json()
    assert (after["status"], after["assignee"], after["article"]) == ("not_supported", None, "new-article")
    assert len(after["notes"]) == 1
    agent.post(place, data={"status": "dismissed"})
    last = admin.get(f"/v1{place}").json()
    assert (last["status"], last["article"]) == ("dismissed", "new-article"), "what a form does not have stays"


@pytest.mark.parametrize(
    "form", [{"status": "lost"}, {"cause": "none"}, {"assignee": "no-such-person"}, {"note": "a\0b"}]
)
def test_a_wrong_form_changes_nothing(
    agent: httpx2.Client, admin: httpx2.Client, gap: dict[str, Any], form: dict[str, str]
) -> None:
    before = admin.get(f"/v1/console/gaps/{gap['id']}").json()
    assert agent.post(f"/console/gaps/{gap['id']}", data=form).status_code == 400
    assert admin.get(f"/v1/console/gaps/{gap['id']}").json() == before


def test_gaps_are_merged_and_split_with_forms(
    server: RefdeskServer, agent: httpx2.Client, admin: httpx2.Client, gap: dict[str, Any]
) -> None:
    word = new_word()
    with server.client(server.token()) as visitor:
        ask(visitor, f"Where is the {word} of my {word}ing?")
    other = gap_of(admin, word)
    place = f"/console/gaps/{gap['id']}"
    assert agent.post(f"{place}/merge", data={"gaps": f" {other['id']} "}).headers["location"] == place
    merged = admin.get(f"/v1{place}").json()
    assert merged["count"] == 2
    turn = other["asked"][0]["turn_id"]
    made = agent.post(f"{place}/split", data={"turns": turn}).headers["location"]
    assert made != place
    assert [item["turn_id"] for item in admin.get(f"/v1{made}").json()["asked"]] == [turn]
    assert agent.post(f"{place}/split", data={}).status_code == 400


def test_checking_again_and_a_draft(agent: httpx2.Client, gap: dict[str, Any]) -> None:
    place = f"/console/gaps/{gap['id']}"
    answer = agent.post(f"{place}/check", data={"next": "https://evil.example"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/console")
    draft = agent.post(f"{place}/draft", data={})
    assert draft.status_code == 200
    assert "title:" in draft.text
    assert "<img" not in draft.text


def test_the_overview_names_the_top_gaps(agent: httpx2.Client, admin: httpx2.Client, gap: dict[str, Any]) -> None:
    top = admin.get("/v1/console/gaps", params={"limit": "5"}).json()["gaps"]
    page = agent.get("/console").text
    assert re.findall(r'<li><a href="/console/gaps/([^"]+)">', page) == [row["id"] for row in top]
