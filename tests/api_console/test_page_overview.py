"""The overview: figures as the API has them, each with the list behind it; charts; the sync."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html import unescape

import httpx2
import pytest
from model_replies import refund_answer, says
from people import ask
from refdesk_server import PATIENCE, STAFF_KEY, RefdeskServer

from refdesk.console_pages.charts import HEIGHT, WIDTH, line, stacked
from refdesk.console_pages.texts import TEXTS
from scripted_api import Answer, ScriptedModel


@pytest.fixture(scope="module")
def lively(
    tmp_path_factory: pytest.TempPathFactory, shared_model: ScriptedModel
) -> Iterator[tuple[RefdeskServer, httpx2.Client]]:
    """A server on which some of everything has happened, one conversation a turn."""
    server = RefdeskServer(tmp_path_factory.mktemp("lively"), shared_model.url, REFDESK_TURN_SECONDS="30").start()
    with server.client(server.token()) as visitor, server.client(STAFF_KEY) as admin:
        shared_model.script(refund_answer())
        turns = [ask(visitor), ask(visitor)]
        shared_model.script(says("They are issued."))
        ask(visitor)
        shared_model.script(Answer((b"{}",), 529))
        ask(visitor)
        shared_model.script()
        ask(visitor, "Zyx wvut srqpo jklm?")
        ask(visitor, "hello")
        visitor.put(f"/v1/turns/{turns[0]['id']}/feedback", json={"rating": "up"})
        visitor.put(f"/v1/turns/{turns[1]['id']}/feedback", json={"rating": "down"})
        yield server, admin
    assert server.stop() == 0


def cards(page: str) -> dict[str, tuple[int, str]]:
    """By its words: the figure and the address it leads to."""
    found = re.findall(r'<li><a href="([^"]+)"><b>(\d+)</b>([^<]+)</a>', page)
    return {name: (int(count), unescape(address)) for address, count, name in found}


def rows(page: str) -> int:
    return len(re.findall(r'<th scope="row" class="question">', page))


def test_every_figure_is_the_apis_and_leads_to_as_many_conversations(
    lively: tuple[RefdeskServer, httpx2.Client],
) -> None:
    _, admin = lively
    total = admin.get("/v1/console/stats").json()["total"]
    shown = cards(admin.get("/console").text)
    expected = {
        "all_turns": total["turns"], "f.answered": total["answered"], "f.no_source": total["no_source"],
        "f.insufficient": total["by_status"]["insufficient"], "f.evidence": total["by_status"]["evidence"],
        "f.up": 1, "f.down": 1,
    }  # fmt: skip
    assert min(expected.values()) > 0
    assert {name: shown[TEXTS[name][0]][0] for name in expected} == expected
    for count, address in shown.values():
        assert rows(admin.get(address).text) == count, address


def test_reasons_errors_and_days_lead_to_their_conversations(lively: tuple[RefdeskServer, httpx2.Client]) -> None:
    _, admin = lively
    page = admin.get("/console").text
    total = admin.get("/v1/console/stats").json()["total"]
    for figure, field in (("insufficient", "reason"), ("evidence", "model_error")):
        for name, count in total[figure].items():
            link = re.search(rf'<li><a href="([^"]*{field}={name}[^"]*)">[^<]*</a> {count}</li>', page)
            assert link is not None
            assert rows(admin.get(unescape(link[1])).text) == count
    days = re.findall(r'<td class="number"><a href="([^"]+)">(\d+)</a>', page)
    assert len(days) == 7
    for address, count in days:
        assert rows(admin.get(unescape(address)).text) == int(count), address


def test_the_chart_has_a_summary_and_no_style(lively: tuple[RefdeskServer, httpx2.Client]) -> None:
    _, admin = lively
    page = admin.get("/console").text
    summary = TEXTS["chart"][0].format(most=admin.get("/v1/console/stats").json()["total"]["turns"])
    assert page.count(summary) == 2
    assert "style=" not in page


def test_a_period_without_turns_and_a_wrong_one(lively: tuple[RefdeskServer, httpx2.Client]) -> None:
    _, admin = lively
    assert TEXTS["no_turns"][0] in admin.get("/console?from=2001-01-01&to=2001-01-31").text
    assert admin.get("/console?from=2026-02-02&to=2026-02-01").status_code == 200
    assert admin.get("/console?from=0001-01-01&to=9999-12-31").status_code == 200
    assert admin.get("/console?from=soon").status_code == 400


def test_the_period_that_is_shown_is_marked(lively: tuple[RefdeskServer, httpx2.Client]) -> None:
    _, admin = lively
    links = re.findall(r'<a href="(/console(?:\?[^"]+)?)"', admin.get("/console").text.partition("<h1>")[2])[:3]
    for link in map(unescape, links):
        shown = admin.get(link).text.partition("<h1>")[2]
        assert [unescape(each) for each in re.findall(r'<a href="([^"]+)" aria-current="page"', shown)] == [link]


def test_without_a_model_no_price_is_missing(lively: tuple[RefdeskServer, httpx2.Client]) -> None:
    _, admin = lively
    unused = admin.get("/console?from=2001-01-01&to=2001-01-31").text
    assert f"<b>–</b>{TEXTS['cost'][0]}</li>" in unused
    assert TEXTS["cost_without"][0].partition("{")[0] + "fake" not in unused


def test_a_model_without_a_list_price_is_named_beside_the_cost(lively: tuple[RefdeskServer, httpx2.Client]) -> None:
    _, admin = lively
    (used,) = admin.get("/v1/console/stats").json()["total"]["models"]
    assert used["cost_usd"] is None
    assert TEXTS["cost_without"][0].format(models=used["model"]) in admin.get("/console").text


def test_an_article_that_is_opened_often_and_never_cited_is_named(
    lively: tuple[RefdeskServer, httpx2.Client],
) -> None:
    _, admin = lively
    figures = admin.get("/v1/console/articles").json()["articles"]
    page = admin.get("/console").text
    section = page[page.index(TEXTS["never_cited"][0]) : page.index('id="days"')]
    named = {figure["title"] for figure in figures if "opened_never_cited" in figure["signals"]}
    assert named == set(re.findall(r"<bdi>([^<]+)</bdi>", section))


def test_a_sync_is_started_with_a_form_and_names_withheld_files(new_server: Callable[..., RefdeskServer]) -> None:
    server = new_server().start()
    (server.corpus / "broken<b>.md").write_text("---\ntitle: [\n---\n\ntext\n", "utf-8")
    (server.corpus / "new.md").write_text("---\ntitle: New\n---\n\nA new article.\n", "utf-8")
    with server.client(STAFF_KEY) as admin:
        before = admin.get("/v1/console/sync").json()["generation"]
        answer = admin.post("/console/sync", data={})
        assert (answer.status_code, answer.headers["location"]) == (303, "/console#sync")
        for _ in range(int(PATIENCE / 0.05)):
            if admin.get("/v1/console/sync").json()["generation"] != before:
                break
        state = admin.get("/console/sync").text
        assert "broken&lt;b&gt;.md" in state
        assert "Added 1" in state
        assert state in admin.get("/console").text


# --- geometry --------------------------------------------------------------------------------


def test_columns_fill_the_chart_and_stand_on_the_base_line() -> None:
    segments = stacked([{"a": 1, "b": 1}, {"a": 0, "b": 4}, {"a": 0, "b": 0}])
    assert [(part.kind, part.height) for part in segments] == [("a", 40.0), ("b", 40.0), ("b", 160.0)]
    assert {part.y + part.height for part in segments if part.kind == "a" or part.x} == {HEIGHT}
    assert max(part.x + part.width for part in segments) <= WIDTH
    assert stacked([{"a": 0}]) == stacked([]) == []


def test_a_line_goes_from_edge_to_edge_and_zero_lies_below() -> None:
    assert line([0, 5]) == "0.0,21.0 90.0,1.0"
    assert line([0, 0]) == "0.0,21.0 90.0,21.0"
    assert line([]) == ""
