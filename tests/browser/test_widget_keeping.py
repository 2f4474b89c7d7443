"""A conversation outlives the page: reload, back and forth, another body, another conversation in between."""

from __future__ import annotations

import pytest
from help_stub import TAG, HelpStub
from nine_states import ask, settled
from playwright.sync_api import Page, expect
from sample_turns import turn
from test_widget_faults import opened


@pytest.mark.parametrize("early", [True, False], ids=["before the server has said so", "after it"])
def test_a_conversation_that_is_gone_is_forgotten_on_reload(page: Page, stub: HelpStub, early: bool) -> None:
    opened(page, stub)
    ask(page, "first")
    settled(page)
    stub.turns.clear()
    stub.waits["/v1/conversations"] = "restored"
    page.reload()
    expect(page.get_by_text("Hello from Example!")).to_be_visible()
    if not early:
        with page.expect_response("**/v1/conversations/*"):
            stub.release("restored")
    ask(page, "second")
    page.locator(".asked").wait_for()
    stub.release("restored")
    settled(page)
    assert stub.asked()[-1]["conversation_id"] is None


def test_a_conversation_that_is_gone_takes_no_other_with_it(page: Page, stub: HelpStub) -> None:
    opened(page, stub)
    ask(page, "first")
    settled(page)
    page.get_by_role("button", name="New conversation").click()
    ask(page, "second")
    settled(page)
    del stub.turns["t_2"]
    ask(page, "third")
    settled(page)
    expect(page.locator(".asked")).to_have_text("You asked: third")
    assert len(stub.tokens) == 2, "the session is as good as it was"
    page.get_by_role("button", name="Earlier conversations").click()
    expect(page.locator(".pick span:first-child")).to_have_text(["third", "first"])


def test_a_question_asked_at_once_after_a_reload_goes_on_below(page: Page, stub: HelpStub) -> None:
    opened(page, stub)
    ask(page, "first")
    settled(page)
    stub.waits["/v1/conversations"] = "restored"
    page.reload()
    page.locator(".starters").wait_for()
    ask(page, "second")
    page.locator(".asked", has_text="second").wait_for()
    assert len(stub.asked()) == 1
    stub.release("restored")
    settled(page)
    expect(page.locator(".asked")).to_have_text(["You asked: first", "You asked: second"])
    assert stub.asked()[-1]["conversation_id"] == "c_1"


def test_an_earlier_conversation_is_opened_while_an_answer_runs_and_back(page: Page, stub: HelpStub) -> None:
    stub.streams["slow"] = [("delta", {"text": "Half "}), ("hold", "x"), ("done", None)]
    stub.answers["slow"] = turn(status="running")
    opened(page, stub)
    ask(page, "first")
    settled(page)
    page.get_by_role("button", name="New conversation").click()
    ask(page, "slow")
    page.get_by_text("Half", exact=True).wait_for()
    page.get_by_role("button", name="Earlier conversations").click()
    page.locator(".pick", has_text="first").click()
    expect(page.locator(".asked")).to_have_text("You asked: first")
    settled(page)
    page.get_by_role("button", name="Earlier conversations").click()
    page.locator(".pick", has_text="slow").click()
    page.get_by_text("Half", exact=True).wait_for()
    stub.turns["t_2"]["status"] = "answered"
    stub.release("x")
    expect(page.locator(".chip")).to_have_text("SSO setup")
    assert stub.paths("POST", "/v1/turns") == [], "nothing was stopped"
    assert len(stub.asked()) == 2


def test_reload_keeps_conversation_sources_and_open_panel(page: Page, stub: HelpStub) -> None:
    opened(page, stub)
    ask(page, "q")
    settled(page)
    before = page.locator(".log").inner_text()
    page.reload()
    expect(page.locator("dialog")).to_be_visible()
    expect(page.locator(".chip")).to_have_text("SSO setup")
    assert page.locator(".log").inner_text() == before
    assert page.evaluate("document.activeElement === document.body"), "a page that loads keeps its own focus"
    ask(page, "more")
    settled(page)
    assert stub.asked()[-1]["conversation_id"] == "c_1"


def test_a_small_screen_is_not_covered_by_a_page_that_loads(page: Page, stub: HelpStub) -> None:
    page.set_viewport_size({"width": 360, "height": 640})
    opened(page, stub)
    ask(page, "q")
    settled(page)
    with page.expect_response("**/v1/conversations/*"):
        page.reload()
    expect(page.locator(".chip")).to_be_attached()
    expect(page.locator("dialog")).to_be_hidden()
    page.locator(".launcher").click()
    expect(page.locator(".chip")).to_have_text("SSO setup")


def test_reload_in_the_middle_of_an_answer_follows_it_to_its_end(page: Page, stub: HelpStub) -> None:
    stub.streams["q"] = [("delta", {"text": "Open "}), ("hold", "x"), ("done", None)]
    stub.answers["q"] = turn(status="running")
    opened(page, stub)
    ask(page, "q")
    page.get_by_text("Open", exact=True).wait_for()
    page.reload()
    page.get_by_text("Open", exact=True).wait_for()
    stub.turns["t_1"]["status"] = "answered"
    stub.release("x")
    expect(page.locator(".chip")).to_have_text("SSO setup")
    assert len(stub.asked()) == 1


def test_another_page_of_the_site_goes_on_with_the_conversation(page: Page, stub: HelpStub) -> None:
    stub.page(path="/other")
    opened(page, stub)
    ask(page, "q")
    settled(page)
    page.goto(f"{stub.url}/other")
    expect(page.locator(".chip")).to_have_text("SSO setup")
    expect(page.locator("dialog")).to_be_visible()


@pytest.mark.parametrize("elsewhere", ["goes on", "begins anew", "is left alone"])
def test_back_from_the_cache_shows_the_conversation_as_it_is_now(page: Page, stub: HelpStub, elsewhere: str) -> None:
    for path in ("/", "/other"):
        stub.page(path=path)
        stub.pages[path] = (stub.pages[path][0], {"Cache-Control": "max-age=60"})
    page.goto(stub.url + "/")
    page.evaluate("addEventListener('pageshow', (event) => { window.cached = event.persisted })")
    page.locator(".launcher").click()
    page.locator(".intro").wait_for()
    ask(page, "first")
    settled(page)
    page.goto(f"{stub.url}/other")
    page.locator(".chip").wait_for()
    if elsewhere == "begins anew":
        page.get_by_role("button", name="New conversation").click()
    if elsewhere != "is left alone":
        ask(page, "second")
        settled(page)
    page.go_back(wait_until="commit")
    page.wait_for_function("window.cached === true")
    wanted = {"goes on": ["first", "second"], "begins anew": ["second"], "is left alone": ["first"]}[elsewhere]
    expect(page.locator(".asked")).to_have_text([f"You asked: {question}" for question in wanted])
    expect(page.locator("dialog")).to_be_visible()
    ask(page, "third")
    settled(page)
    assert stub.asked()[-1]["conversation_id"] == ("c_2" if elsewhere == "begins anew" else "c_1")


def test_back_from_the_cache_in_the_middle_of_an_answer_follows_it(page: Page, stub: HelpStub) -> None:
    stub.streams["q"] = [("delta", {"text": "Half "}), ("hold", "x"), ("delta", {"text": "whole"}), ("done", None)]
    stub.answers["q"] = turn(status="running")
    for path in ("/", "/other"):
        stub.page(path=path, head=TAG if path == "/" else "")
        stub.pages[path] = (stub.pages[path][0], {"Cache-Control": "max-age=60"})
    page.goto(stub.url + "/")
    page.locator(".launcher").click()
    page.locator(".intro").wait_for()
    ask(page, "q")
    page.get_by_text("Half", exact=True).wait_for()
    page.goto(f"{stub.url}/other")
    page.go_back(wait_until="commit")
    page.get_by_text("Half", exact=True).wait_for()
    stub.turns["t_1"]["status"] = "answered"
    stub.release("x")
    settled(page)
    expect(page.locator(".chip")).to_have_text("SSO setup")
    assert len(stub.asked()) == 1


def test_a_new_body_and_a_new_address_keep_conversation_and_dialog(page: Page, stub: HelpStub) -> None:
    stub.streams["slow"] = [("delta", {"text": "Half "}), ("hold", "x"), ("done", None)]
    opened(page, stub)
    ask(page, "slow")
    page.get_by_text("Half", exact=True).wait_for()
    page.evaluate("history.pushState({}, '', '/elsewhere')")
    page.evaluate(
        "const b = document.createElement('body'); b.innerHTML = '<main>New</main>'; document.body.replaceWith(b)"
    )
    stub.release("x")
    settled(page)
    expect(page.locator("dialog")).to_be_visible()
    expect(page.locator(".chip")).to_have_text("SSO setup")
    assert page.locator("refdesk-chat").count() == 1
    page.set_viewport_size({"width": 400, "height": 600})
    modal = "document.querySelector('refdesk-chat')?.shadowRoot.querySelector('dialog').matches(':modal')"
    page.wait_for_function(modal)
    page.evaluate("document.body.replaceChildren()")
    page.wait_for_function(modal)
