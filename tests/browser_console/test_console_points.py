"""Each part of the console as people work with it, on a full log: what a click leads to, and every page that only a
form leads to, accessible in light and dark. The page's own checks (`conftest.page`) see to the rest: nothing of the
hostile data is fetched or run."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from model_replies import calls, refund_answer
from people import PASSWORD, ask, identity
from playwright.sync_api import BrowserContext, Page, expect
from refdesk_server import STAFF_KEY, RefdeskServer

from refdesk.console_pages.texts import TEXTS
from scripted_api import ScriptedModel

Check = Callable[[], None]


def text(name: str, **values: object) -> str:
    return TEXTS[name][0].format(**values)


def rows(page: Page) -> int:
    return page.locator("tbody th.question").count()


def whole(page: Page) -> None:
    """A page with its head and navigation, not a piece of one."""
    expect(page.get_by_role("navigation", name=text("sections"))).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    assert page.evaluate("document.doctype !== null && document.title.endsWith('Refdesk')")


def back(page: Page) -> None:
    """A page that was kept in memory sends no event of having loaded."""
    page.go_back(wait_until="commit")


# --- 1: overview -----------------------------------------------------------------------------


def test_a_figure_of_the_overview_leads_to_its_conversations(signed_in: Page, server: RefdeskServer) -> None:
    signed_in.goto(f"{server.url}/console")
    expect(signed_in.get_by_role("img", name="Turns per day")).to_be_visible()
    card = signed_in.get_by_role("link", name=re.compile(r"\d+ ?refused"))
    assert int(re.sub(r"\D", "", card.inner_text())) > 1000
    card.click()
    assert "status=insufficient" in signed_in.url
    assert rows(signed_in) == 25
    outcomes = signed_in.locator("tbody .outcome").all_inner_texts()
    assert set(outcomes) == {text("status.insufficient")}
    back(signed_in)
    signed_in.get_by_role("heading", name=text("top_gaps")).locator("xpath=..").get_by_role("link").first.click()
    expect(signed_in.get_by_role("heading", level=1, name=text("gap"))).to_be_visible()


def test_a_sync_is_followed_on_the_overview(signed_in: Page, server: RefdeskServer) -> None:
    signed_in.goto(f"{server.url}/console")
    signed_in.get_by_role("button", name=text("sync_now")).click()
    expect(signed_in.locator("#sync-state progress")).to_have_count(0)
    expect(signed_in.locator("#sync-state")).to_contain_text(text("last_sync"))


# --- 2: conversations ------------------------------------------------------------------------


def test_words_filters_and_pages_of_the_list_are_addresses(signed_in: Page, server: RefdeskServer) -> None:
    signed_in.goto(f"{server.url}/console/conversations")
    signed_in.get_by_label(text("q"), exact=True).fill("refund")
    signed_in.get_by_label(text("rating")).select_option("down")
    signed_in.get_by_role("button", name=text("show"), exact=True).click()
    first = signed_in.url
    assert "q=refund" in first
    assert "rating=down" in first
    newest = signed_in.locator("tbody th.question").first.inner_text()
    signed_in.get_by_role("link", name=text("older")).click()
    assert rows(signed_in) == 25
    signed_in.reload()
    assert rows(signed_in) == 25
    whole(signed_in)
    back(signed_in)
    assert signed_in.url == first
    assert signed_in.locator("tbody th.question").first.inner_text() == newest
    export = signed_in.get_by_role("link", name=text("export_csv")).get_attribute("href") or ""
    assert "q=refund" in export


@pytest.mark.parametrize("path", ["/console", "/console/conversations?q=refund", "/console/gaps?gap=g_3",
                                  "/console/conversations/c_0", "/console/articles"])  # fmt: skip
def test_back_reload_and_a_new_tab_give_whole_pages(
    signed_in: Page, server: RefdeskServer, context: BrowserContext, path: str
) -> None:
    signed_in.goto(f"{server.url}{path}")
    whole(signed_in)
    link = signed_in.locator("main a[href^='/console']").first
    with context.expect_page() as opened:
        link.click(modifiers=["ControlOrMeta"])
    opened.value.wait_for_load_state()
    whole(opened.value)
    opened.value.close()
    signed_in.get_by_role("navigation", name=text("sections")).get_by_role("link").last.click()
    back(signed_in)
    whole(signed_in)
    signed_in.reload()
    whole(signed_in)
    assert signed_in.url == f"{server.url}{path}"


# --- 3: a conversation -----------------------------------------------------------------------


def test_a_quote_opens_the_article_of_the_day_at_its_place(signed_in: Page, server: RefdeskServer) -> None:
    signed_in.goto(f"{server.url}/console/conversations/c_0")
    turn = signed_in.locator("#t_0")
    expect(turn.locator(".ladder .reached").filter(has_text=text("shown")).first).to_be_visible()
    expect(turn.get_by_role("region", name=text("calls"))).to_contain_text(text("tool.get_document"))
    turn.locator("blockquote a").first.click()
    expect(signed_in.locator("#article")).to_be_visible()
    mark = signed_in.locator("#article mark:target, #article blockquote:target")
    expect(mark).to_be_in_viewport()
    signed_in.get_by_role("link", name=text("close_article")).click()
    expect(signed_in.locator("#article")).to_have_count(0)


def test_then_and_now_stand_side_by_side(
    signed_in: Page, server: RefdeskServer, model: ScriptedModel, check: Check
) -> None:
    model.script(refund_answer())
    signed_in.goto(f"{server.url}/console/conversations/c_0")
    signed_in.locator("#t_0").get_by_role("button", name=text("replay")).click()
    then, now = (signed_in.get_by_role("region", name=text(name)).bounding_box() for name in ("then", "now"))
    assert then is not None
    assert now is not None
    assert abs(then["y"] - now["y"]) < 2
    assert then["x"] + then["width"] <= now["x"]
    check()
    whole(signed_in)


def test_a_note_and_a_verdict_stay_with_the_conversation(signed_in: Page, server: RefdeskServer) -> None:
    signed_in.goto(f"{server.url}/console/conversations/c_2")
    signed_in.get_by_label(text("add_note")).fill("looked at")
    signed_in.locator("#notes").get_by_role("button", name=text("save")).first.click()
    expect(signed_in.locator("#notes")).to_contain_text("looked at")
    turn = signed_in.locator("section.turn").first
    turn.get_by_text(text("verdict"), exact=True).first.click()
    turn.get_by_label(text("verdict")).select_option("wrong_answer")
    turn.get_by_role("button", name=text("save")).click()
    expect(turn.locator("summary").filter(has_text=text("verdict.wrong_answer"))).to_be_visible()


# --- 4: gaps ---------------------------------------------------------------------------------


def test_a_gap_is_worked_beside_the_queue(signed_in: Page, server: RefdeskServer, check: Check) -> None:
    signed_in.goto(f"{server.url}/console/gaps")
    assert rows(signed_in) == 25
    signed_in.get_by_role("link", name=text("more")).click()
    signed_in.locator("tbody th.question a").first.click()
    pane = signed_in.locator("#gap")
    expect(pane).to_be_visible()
    pane.get_by_label(text("gap_status")).select_option("in_progress")
    pane.get_by_label(text("mine")).check()
    pane.get_by_role("button", name=text("save")).click()
    expect(pane).to_contain_text(f"{text('gap_status')}\n{text('gap_status.in_progress')}", use_inner_text=True)
    expect(pane.locator("li").filter(has_text=text("happened.status"))).to_contain_text(text("gap_status.open"))
    check()
    pane.get_by_role("button", name=text("recheck")).click()
    expect(pane).to_be_visible()


def test_drafts_without_and_with_the_model(
    signed_in: Page, server: RefdeskServer, model: ScriptedModel, check: Check
) -> None:
    for with_model in (False, True):
        signed_in.goto(f"{server.url}/console/gaps/g_5")
        if with_model:
            quote = {"source_id": "refunds", "quote": "Refunds are issued within 14 days."}
            part = {"question": 0, "quotes": [quote], "to_fill": ["Who pays the fee?"]}
            model.script(calls(("draft", {"parts": [part]})))
            signed_in.get_by_label(text("draft_model")).check()
        signed_in.get_by_role("button", name=text("draft")).click()
        expect(signed_in.locator("pre")).to_contain_text("status: draft")
        check()
        whole(signed_in)


def test_gaps_are_merged_and_split(signed_in: Page, server: RefdeskServer) -> None:
    signed_in.goto(f"{server.url}/console/gaps/g_8")
    signed_in.get_by_label(text("merge")).fill("g_9")
    signed_in.get_by_role("button", name=text("do_merge"), exact=True).click()
    expect(signed_in.locator("main")).to_contain_text(text("happened.merged"))
    signed_in.goto(f"{server.url}/console/gaps/g_9")
    expect(signed_in.locator("dl.facts a").first).to_have_text("g_8")
    signed_in.locator("input[name=turns]").first.check()
    signed_in.get_by_role("button", name=text("do_split")).click()
    expect(signed_in.locator("main")).to_contain_text(text("happened.split"))
    assert not signed_in.url.endswith(("g_8", "g_9"))


# --- 5: articles -----------------------------------------------------------------------------


def test_an_article_as_a_role_sees_it_and_what_a_question_finds(signed_in: Page, server: RefdeskServer) -> None:
    signed_in.goto(f"{server.url}/console/articles")
    signed_in.get_by_role("link", name="Partner discounts").click()
    for role, seen in (("public", False), ("partner", True)):
        signed_in.get_by_label(text("role")).select_option(role)
        signed_in.get_by_role("button", name=text("show"), exact=True).click()
        expect(signed_in.locator("article.seen")).to_have_count(int(seen))
    expect(signed_in.locator("article.seen")).to_contain_text("Partners get 20 percent")
    expect(signed_in.get_by_role("heading", name=text("passages"))).to_be_visible()
    signed_in.get_by_role("link", name=text("articles")).last.click()
    signed_in.get_by_role("link", name=text("what_finds")).click()
    signed_in.get_by_role("searchbox", name=text("question")).fill("When are refunds issued?")
    signed_in.get_by_role("button", name=text("find")).click()
    expect(signed_in.locator("tbody th.question").first).to_contain_text("Refunds")
    expect(signed_in.get_by_role("status")).to_contain_text("The gate lets this question pass")


# --- 6: admin --------------------------------------------------------------------------------


def test_a_key_is_shown_once_and_disabled(signed_in: Page, server: RefdeskServer, check: Check) -> None:
    signed_in.goto(f"{server.url}/console/account")
    signed_in.get_by_label(text("label")).fill("ticket system")
    signed_in.get_by_role("button", name=text("add_key")).click()
    key = signed_in.locator("pre").inner_text()
    check()
    with server.client(key) as client:
        assert client.get("/v1/console/me").status_code == 200
        signed_in.get_by_role("link", name=text("account")).last.click()
        assert key not in signed_in.content()
        row = signed_in.locator("tbody tr").filter(has_text="ticket system").last
        row.get_by_role("button", name=text("disable")).click()
        expect(signed_in.locator("tbody tr").filter(has_text="ticket system").last).to_contain_text(text("disabled"))
        assert client.get("/v1/console/me").status_code == 401


def test_an_account_is_added_and_the_audit_log_says_so(signed_in: Page, server: RefdeskServer, check: Check) -> None:
    signed_in.goto(f"{server.url}/console/staff")
    form = signed_in.locator("form.stacked")
    form.get_by_label(text("name")).fill("vera")
    form.get_by_label(text("password")).fill(PASSWORD)
    form.get_by_role("button", name=text("save")).click()
    expect(signed_in.locator("tbody th").filter(has_text="vera")).to_be_visible()
    check()
    signed_in.get_by_role("link", name=text("audit")).click()
    expect(signed_in.locator("tbody tr").first).to_contain_text(text("action.staff_added"))
    signed_in.get_by_role("link", name=text("settings")).click()
    expect(signed_in.locator("body")).to_contain_text("REFDESK_STAFF_KEY")
    assert STAFF_KEY not in signed_in.content()


def test_a_visitor_is_found_and_erased(signed_in: Page, server: RefdeskServer, check: Check) -> None:
    with server.client() as client:
        token = client.post("/v1/session", json={"identity": identity("vera@x")}).json()["token"]
    with server.client(token) as visitor:
        ask(visitor, "hello")
    signed_in.goto(f"{server.url}/console/privacy")
    signed_in.get_by_label(text("who_is")).fill("vera@x")
    signed_in.get_by_role("button", name=text("find")).click()
    expect(signed_in.get_by_role("link", name=f"{text('conversations')}: 1")).to_be_visible()
    signed_in.get_by_label(text("erase_sure")).check()
    signed_in.get_by_role("button", name=re.compile(text("erase"))).click()
    expect(signed_in.get_by_role("status")).to_have_text(text("erased"))
    check()
    signed_in.get_by_role("button", name=text("retention_now")).click()
    expect(signed_in.get_by_role("status")).to_contain_text("Deleted 0 of 0")
    check()
