"""The console's pages in a browser: accessible in light and dark, inert over hostile data, whole without script."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from people import ask, new_account
from playwright.sync_api import Browser, Page, expect
from refdesk_server import STAFF_KEY, RefdeskServer
from seeded import annotate, first_gap, hostile, seed
from signing_in import Canary, sign_in

from scripted_api import ScriptedModel

PAGES = (
    "/console/conversations",
    "/console/conversations?q=refunds&status=answered&grounded=true",
    "/console/none",
    "/console",
    "/console/articles",
    "/console/articles/hostile?role=public",
    "/console/search?q=hostile+onfocus",
    "/console/search?q=When+are+refunds+issued",
    "/console/account",
    "/console/staff",
    "/console/audit",
    "/console/settings",
    "/console/privacy?who={visitor}",
    "/console/gaps",
    "/console/gaps?cause={cause}&gap={gap}",
    "/console/gaps/{gap}",
    "/console/conversations/{talk}",
    "/console/conversations/{talk}?turn={turn}&article=refunds",
    "/console/turns/{turn}/receipt",
    "/console/turns/{refused}/receipt",
    "/console/conversations/c_0",
    "/console/conversations/c_0?turn=t_0&article={old}",
    "/console/gaps?gap=g_3",
    "/console/articles/refunds",
    "/",
    "/articles",
    "/articles/hostile",
    "/articles/none",
)


@pytest.fixture(scope="module")
def turns(server: RefdeskServer, model: ScriptedModel, canary: Canary) -> list[dict[str, Any]]:
    made = seed(server, model, canary.url)
    with server.client(STAFF_KEY) as admin:
        annotate(admin, made, hostile(canary.url))
        made[0]["gap"] = first_gap(admin)
        talk = admin.get(f"/v1/console/conversations/{made[0]['conversation_id']}").json()
        made[0]["visitor_id"] = talk["visitor_id"]
        made[0]["found_long_ago"] = admin.get("/v1/console/turns/t_0").json()["documents"][0]["id"]
    return made


def address(server: RefdeskServer, path: str, turns: list[dict[str, Any]]) -> str:
    gap = turns[0]["gap"]
    ids = {"talk": turns[0]["conversation_id"], "turn": turns[0]["id"], "refused": turns[2]["id"],
           "visitor": turns[0]["visitor_id"]}  # fmt: skip
    return server.url + path.format(gap=gap["id"], cause=gap["cause"], old=turns[0]["found_long_ago"], **ids)


def test_the_sign_in_page_is_accessible(page: Page, server: RefdeskServer, check: Callable[[], None]) -> None:
    page.goto(f"{server.url}/console")
    check()
    page.get_by_role("textbox", name="Name").fill("nobody")
    page.locator("#password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    check()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_accessible_and_inert(
    signed_in: Page, server: RefdeskServer, turns: list[dict[str, Any]], check: Callable[[], None], path: str
) -> None:
    answer = signed_in.goto(address(server, path, turns))
    assert answer is not None
    assert answer.status == (404 if path.endswith("none") else 200)
    check()
    signed_in.set_viewport_size({"width": 360, "height": 740})
    assert signed_in.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"), (
        "it scrolls sideways"
    )


def test_the_session_is_a_host_cookie_that_no_script_can_read(signed_in: Page) -> None:
    cookies = {cookie["name"]: cookie for cookie in signed_in.context.cookies()}
    session = cookies["__Host-refdesk"]
    assert (session["httpOnly"], session["secure"], session["sameSite"]) == (True, True, "Strict")
    assert signed_in.evaluate("document.cookie") == ""


def test_it_is_read_and_filtered_without_javascript(
    browser: Browser, server: RefdeskServer, boss: str, turns: list[dict[str, Any]]
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    sign_in(page, server.url, boss)
    page.goto(f"{server.url}/console/conversations")
    page.get_by_label("Outcome").select_option("insufficient")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_role("link", name="Zyx wvut")).to_be_visible()
    assert "status=insufficient" in page.url
    page.get_by_label("Language", exact=True).select_option("cs")
    page.get_by_role("button", name="Choose").click()
    expect(page.get_by_role("heading", name="Konverzace")).to_be_visible()
    assert "status=insufficient" in page.url
    context.close()


def test_new_conversations_are_announced_without_moving_rows(
    signed_in: Page, server: RefdeskServer, turns: list[dict[str, Any]]
) -> None:
    signed_in.clock.install()
    signed_in.goto(f"{server.url}/console/conversations")
    first = signed_in.locator("tbody tr").first.inner_text()
    with server.client(server.token()) as visitor:
        ask(visitor, "hello")
    signed_in.clock.run_for(21_000)
    expect(signed_in.locator("#news")).to_contain_text("1")
    assert signed_in.locator("tbody tr").first.inner_text() == first
    signed_in.locator("#news a").click()
    expect(signed_in.locator("tbody tr").first).to_contain_text("hello")


def test_a_link_from_a_ticket_system_opens_for_whoever_is_signed_in(
    signed_in: Page, server: RefdeskServer, turns: list[dict[str, Any]]
) -> None:
    """A link on another site: the strict cookie does not come with the first request."""
    other = server.url.replace("127.0.0.1", "localhost")
    signed_in.goto(f"{other}/articles")
    link = f"{server.url}/console/conversations?status=insufficient"
    signed_in.evaluate(
        "(href) => { const a = document.createElement('a'); a.href = href; document.body.append(a); a.click() }", link
    )
    expect(signed_in.get_by_role("link", name="Zyx wvut")).to_be_visible()
    assert signed_in.url == link


def test_an_agent_is_not_shown_what_only_admins_may_do(
    page: Page, server: RefdeskServer, turns: list[dict[str, Any]]
) -> None:
    sign_in(page, server.url, new_account(server))
    page.goto(f"{server.url}/console/conversations")
    expect(page.get_by_role("link", name="Export as CSV")).to_have_count(0)
