"""Articles as pages: figures, one article as a role sees it, what a question would find."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from html import unescape

import httpx2
import pytest
from help_centre import ARTICLES, C_PARTNER, C_STAFF, REFUND_QUOTE
from model_replies import refund_answer
from people import ask, new_account, session_of, with_cookie
from refdesk_server import PATIENCE, RefdeskServer

from refdesk.console_pages.texts import TEXTS
from scripted_api import ScriptedModel


@pytest.fixture(scope="module")
def agent(server: RefdeskServer) -> Iterator[httpx2.Client]:
    with with_cookie(server, session_of(server, new_account(server))) as client:
        yield client


def test_the_figures_are_those_of_the_api_and_every_article_is_there(
    agent: httpx2.Client, admin: httpx2.Client, visitor: httpx2.Client, model: ScriptedModel
) -> None:
    model.script(refund_answer())
    ask(visitor)
    for _ in range(int(PATIENCE / 0.05)):
        figures = admin.get("/v1/console/articles").json()["articles"]
        if any(figure["id"] == "refunds" and figure["cited"] for figure in figures):
            break
        time.sleep(0.05)
    page = agent.get("/console/articles").text
    rows = {}
    for row in re.findall(r"<tr><th scope=.row. class=.question.>.*?</tr>", page, re.S):
        link = re.search(r"/console/articles/([^\"]+)", row)
        rows[link[1] if link else ""] = [int(number) for number in re.findall(r'class="number">(\d+)<', row)]
    for figure in admin.get("/v1/console/articles").json()["articles"]:
        names = ("found", "read", "opened", "cited", "listed", "shown", "failed")
        assert rows[figure["id"]] == [figure[name] for name in names]
        assert all(TEXTS[f"signal.{name}"][0] in page for name in figure["signals"])
    linked = set(re.findall(r'href="/console/articles/([^"]+)"', page))
    assert linked == {name.removesuffix(".md") for name in ARTICLES}


def test_an_article_is_shown_as_a_role_sees_it(agent: httpx2.Client) -> None:
    place = "/console/articles/discounts"
    assert C_PARTNER in agent.get(place).text, "staff see its passages"
    for role, readable in (("public", False), ("signed-in", False), ("partner", True)):
        page = agent.get(place, params={"role": role}).text
        assert (TEXTS["not_for_role"][0] in page) is not readable
        assert ('<article class="seen"' in page) is readable
    assert agent.get(place, params={"role": "king"}).status_code == 400
    assert agent.get("/console/articles/none").status_code == 404


def test_a_question_finds_what_the_role_may_read_with_the_figures_behind_it(
    agent: httpx2.Client, admin: httpx2.Client
) -> None:
    found = admin.get("/v1/console/search", params={"q": "When are refunds issued?"}).json()["passages"]
    page = unescape(agent.get("/console/search", params={"q": "When are refunds issued?"}).text)
    titles = re.findall(r'<th scope="row" class="question"><a href="/console/articles/([^"]+)"', page)
    assert titles[: len(found)] == [passage["id"] for passage in found]
    assert REFUND_QUOTE in page
    assert f"{found[0]['signals']['evidence_score']:.3f}" in page
    assert TEXTS["gate_passes"][0].partition(":")[0] in page
    for role, readable in (("", False), ("partner", False), ("staff", True)):
        page = agent.get("/console/search", params={"q": "incident runbook duty desk", "role": role}).text
        assert (C_STAFF in page) is readable


def test_a_question_that_finds_nothing_is_refused_by_the_gate(agent: httpx2.Client) -> None:
    page = agent.get("/console/search", params={"q": "<img src=x> zyx wvut srqpo"}).text
    assert TEXTS["gate_refuses"][0].partition(":")[0] in page
    assert "<img" not in page


@pytest.mark.parametrize("query", [{"q": "x" * 501}, {"q": "a\0b"}, {"q": "x", "role": "king"}])
def test_a_wrong_search_is_told_in_a_page(agent: httpx2.Client, query: dict[str, str]) -> None:
    assert agent.get("/console/search", params=query).status_code == 400
    assert agent.get("/console/search", params={"q": " "}).status_code == 200
