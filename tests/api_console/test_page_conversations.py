"""The list of conversations as a page: every view an address, pages that join, hostile text as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import httpx2
import pytest
from model_replies import refund_answer
from people import ask, new_account, session_of, with_cookie
from refdesk_server import RefdeskServer

from scripted_api import ScriptedModel

LIST = "/console/conversations"
HOSTILE = "<img src=//evil.example/x onerror=alert(1)>\"'{{7*7}}</script> refunds"


@pytest.fixture(scope="module")
def agent(server: RefdeskServer) -> Iterator[httpx2.Client]:
    with with_cookie(server, session_of(server, new_account(server))) as client:
        yield client


@pytest.fixture(scope="module")
def boss(server: RefdeskServer) -> Iterator[httpx2.Client]:
    with with_cookie(server, session_of(server, new_account(server, "admin"))) as client:
        yield client


def visitor_of(admin: httpx2.Client, turn: dict[str, Any]) -> str:
    return str(admin.get(f"/v1/console/conversations/{turn['conversation_id']}").json()["visitor_id"])


def shown(page: httpx2.Response) -> list[str]:
    """Ids of the turns that the rows lead to."""
    assert page.status_code == 200, page.text
    return re.findall(r'<th scope="row"[^>]*><a href="/console/conversations/[^#"]+#([^"]+)"', page.text)


def test_a_view_is_an_address(
    agent: httpx2.Client, admin: httpx2.Client, visitor: httpx2.Client, model: ScriptedModel
) -> None:
    model.script(refund_answer())
    answered = ask(visitor)
    refused = ask(visitor, "Zyx wvut srqpo jklm?")
    visitor.put(f"/v1/turns/{refused['id']}/feedback", json={"rating": "down"})
    mine = {"visitor": visitor_of(admin, answered)}
    for wanted, turn in (
        ({"status": "answered"}, answered), ({"grounded": "false"}, refused),
        ({"rating": "down"}, refused), ({"to": refused["created_at"]}, answered),
        ({"q": "issu refund"}, answered), ({"kind": "question", "q": "wvut"}, refused),
    ):  # fmt: skip
        empty = dict.fromkeys(("q", "status", "rating", "from", "tag"), "")
        page = agent.get(LIST, params={**empty, **mine, **wanted})
        assert shown(page) == [turn["id"]], wanted
        for name, value in wanted.items():  # the rail shows what the view is
            assert {f'<option value="{value}" selected>', f'id="{name}" name="{name}" value="{value}"'} & {
                found.replace(' type="search"', "")
                for found in re.findall(r'<option value="[^"]*" selected>|id="[^>]* value="[^"]*"', page.text)
            }, name
    assert shown(agent.get(LIST, params={**mine, "rating": "up"})) == []
    assert "Refunds" in agent.get(LIST, params={**mine, "status": "answered"}).text


@pytest.mark.parametrize(
    "wanted",
    [{"status": "lost"}, {"grounded": "maybe"}, {"from": "soon"}, {"cursor": "x"}, {"q": "a\0b"}, {"q": "a" * 501}],
)
def test_a_wrong_view_is_told_in_a_page(agent: httpx2.Client, wanted: dict[str, str]) -> None:
    page = agent.get(LIST, params=wanted)
    assert page.status_code == 400
    assert page.headers["content-type"].startswith("text/html")


def test_pages_join_and_keep_the_view(agent: httpx2.Client, admin: httpx2.Client, visitor: httpx2.Client) -> None:
    turns = [ask(visitor, f"hello {n}") for n in range(27)]
    first = agent.get(LIST, params={"visitor": visitor_of(admin, turns[0])})
    older = re.search(r'<a rel="next" href="([^"]+)"', first.text)
    assert older is not None
    assert "visitor=v_" in older[1]
    second = agent.get(unescape(older[1]))
    assert shown(first) + shown(second) == [turn["id"] for turn in reversed(turns)]
    assert 'rel="next"' not in second.text


def test_what_is_new_is_announced_and_moves_nothing(
    agent: httpx2.Client, admin: httpx2.Client, visitor: httpx2.Client
) -> None:
    view = {"visitor": visitor_of(admin, ask(visitor, "hello"))}
    page = agent.get(LIST, params=view)
    news = re.search(r'hx-get="([^"]+)"', page.text)
    assert news is not None
    assert agent.get(unescape(news[1])).text.strip() == ""
    ask(visitor, "hello once more")
    told = agent.get(unescape(news[1])).text
    assert "1" in told
    assert f"{LIST}?visitor={view['visitor']}" in told
    assert "<html" not in told


def test_hostile_text_is_text(agent: httpx2.Client, admin: httpx2.Client, visitor: httpx2.Client) -> None:
    turn = ask(visitor, HOSTILE)
    admin.patch(f"/v1/console/conversations/{turn['conversation_id']}/tags", json={"add": ["<i>tag</i>"]})
    page = agent.get(LIST, params={"visitor": visitor_of(admin, turn), "q": ""}).text
    assert "<img" not in page
    assert "<i>" not in page
    assert "evil.example" in page
    assert "&lt;i&gt;tag&lt;/i&gt;" in page
    assert "{{7*7}}" in page


def test_only_an_admin_is_offered_the_export_of_the_view(agent: httpx2.Client, boss: httpx2.Client) -> None:
    view = {"status": "answered", "q": "refunds"}
    assert "export.csv" not in agent.get(LIST, params=view).text
    page = boss.get(LIST, params=view).text
    link = re.search(r'href="(/v1/console/export\.csv[^"]+)"', page)
    assert link is not None
    table = boss.get(unescape(link[1]))
    assert table.status_code == 200
    assert table.headers["content-type"].startswith("text/csv")
