"""The keyboard's way through the widget: the focus is always somewhere, and always to be seen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from help_stub import HelpStub, Problem
from nine_states import ask, settled
from playwright.sync_api import Browser, Locator, Page, expect
from sample_turns import INSUFFICIENT

INSIDE = "document.querySelector('refdesk-chat').shadowRoot.activeElement !== null"


def opened(page: Page, stub: HelpStub) -> None:
    assert stub.settings is not None
    stub.settings["contact"] = {"url": "https://example.com/contact", "mail": "", "callback": "/v1/session"}
    stub.answers["none"] = INSUFFICIENT
    page.goto(stub.page(body='<button id="mine" onclick="Refdesk.open()">Help me</button>'))
    page.locator("#mine").click()
    page.locator(".starters").wait_for()


def press(button: Locator) -> None:
    button.focus()
    button.press("Enter")


def test_focus_returns_to_where_it_was(page: Page, stub: HelpStub) -> None:
    opened(page, stub)
    expect(page.get_by_role("textbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#mine")).to_be_focused()


def starter(page: Page, stub: HelpStub) -> None:
    press(page.locator(".starters button"))
    settled(page)


def comment(page: Page, stub: HelpStub) -> None:
    ask(page, "q")
    settled(page)
    press(page.get_by_role("button", name="No", exact=True))
    page.get_by_label("What was missing?").fill("all")
    press(page.get_by_role("button", name="Send feedback"))
    page.get_by_text("Thank you for the feedback.").wait_for()


def consent(page: Page, stub: HelpStub) -> None:
    ask(page, "none")
    settled(page)
    press(page.get_by_role("button", name="Ask a person"))
    expect(page.get_by_role("button", name="Send conversation")).to_be_focused()
    press(page.get_by_role("button", name="Cancel"))
    expect(page.get_by_role("button", name="Ask a person")).to_be_focused()
    page.keyboard.press("Enter")
    press(page.get_by_role("button", name="Send conversation"))
    page.get_by_text("The conversation was sent.").wait_for()


def try_again(page: Page, stub: HelpStub) -> None:
    stub.problems.append(("/v1/ask", Problem(400, "bad_request")))
    ask(page, "q")
    settled(page)
    press(page.get_by_role("button", name="Try again"))
    page.locator(".chip").wait_for()


def erased(page: Page, stub: HelpStub) -> None:
    for question in ("one", "two"):
        ask(page, question)
        settled(page)
        press(page.get_by_role("button", name="New conversation"))
        expect(page.get_by_role("textbox")).to_be_focused()
    press(page.get_by_role("button", name="Earlier conversations"))
    press(page.get_by_role("button", name="Delete “two”"))
    expect(page.get_by_text("two")).to_have_count(0)
    page.wait_for_function(INSIDE)
    press(page.locator(".list .pick"))
    page.locator(".chip").wait_for()


def back(page: Page, stub: HelpStub) -> None:
    ask(page, "q")
    settled(page)
    press(page.get_by_role("button", name="Earlier conversations"))
    expect(page.get_by_role("button", name="Back")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Earlier conversations")).to_be_focused()


@pytest.mark.parametrize("action", [starter, comment, consent, try_again, erased, back], ids=lambda each: each.__name__)
def test_a_button_that_goes_away_leaves_the_focus_in_the_panel(
    page: Page, stub: HelpStub, action: Callable[[Page, HelpStub], None]
) -> None:
    opened(page, stub)
    action(page, stub)
    page.wait_for_function(INSIDE)


def test_what_changes_takes_no_focus_from_the_page(page: Page, stub: HelpStub) -> None:
    stub.streams["slow"] = [("hold", "x"), ("done", None)]
    opened(page, stub)
    ask(page, "slow")
    page.locator(".steps").wait_for()
    page.locator("#mine").focus()
    stub.release("x")
    settled(page)
    expect(page.locator("#mine")).to_be_focused()


@pytest.mark.parametrize("cover", ["reader", "earlier"])
def test_what_lies_under_a_cover_is_out_of_reach(page: Page, stub: HelpStub, cover: str) -> None:
    opened(page, stub)
    ask(page, "q")
    settled(page)
    press(page.locator(".chip") if cover == "reader" else page.get_by_role("button", name="Earlier conversations"))
    page.locator(".cover").wait_for()
    under = (
        "(() => { const at = document.querySelector('refdesk-chat').shadowRoot.activeElement;"
        " return Boolean(at?.closest('.panel') && !at.closest('.cover')) })()"
    )
    for key in ["Tab"] * 8 + ["Shift+Tab"] * 12:
        page.keyboard.press(key)
        assert not page.evaluate(under), key
    page.locator(".cover button").first.click()
    expect(page.locator(".cover")).to_have_count(0)
    page.get_by_role("textbox").focus()
    expect(page.get_by_role("textbox")).to_be_focused()


def test_every_control_of_an_answer_is_reached_by_tab(page: Page, stub: HelpStub) -> None:
    opened(page, stub)
    ask(page, "q")
    settled(page)
    page.locator(".log").focus()
    reached = []
    name = "(() => { const e = document.querySelector('refdesk-chat').shadowRoot.activeElement;"
    name += " return e?.getAttribute('aria-label') || e?.innerText || '' })()"
    for _ in range(8):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(name))
    assert reached[:7] == ["SSO setup", "Plans", "SSO setup", "Yes", "No", "Copy answer", "Ask again"]


def test_a_finger_that_presses_a_button_gets_no_keyboard(browser: Browser, stub: HelpStub) -> None:
    context = browser.new_context(has_touch=True, is_mobile=True, viewport={"width": 390, "height": 800})
    page = context.new_page()
    page.goto(stub.page())
    page.locator(".launcher").tap()
    page.locator(".starters button").tap()
    settled(page)
    page.wait_for_function(INSIDE)
    expect(page.locator(".log")).to_be_focused()
    context.close()
