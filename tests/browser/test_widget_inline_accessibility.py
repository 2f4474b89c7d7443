"""No accessibility finding in what the nine states leave out: inline, earlier conversations, consent, comment."""

from __future__ import annotations

from collections.abc import Callable

from help_stub import TAG, HelpStub
from nine_states import ask, settled
from playwright.sync_api import Page
from sample_turns import INSUFFICIENT


def test_an_inline_widget(page: Page, stub: HelpStub, check: Callable[[], None]) -> None:
    head = TAG.replace("<script", '<script data-autoboot="false"')
    page.goto(stub.page(head=head, body='<refdesk-chat title="Ask us"></refdesk-chat>', csp=True))
    page.locator(".starters").wait_for()
    check()
    ask(page, "q")
    settled(page)
    check()


def test_forms_and_lists_that_open_on_demand(page: Page, stub: HelpStub, check: Callable[[], None]) -> None:
    assert stub.settings is not None
    stub.settings["contact"] = {"url": "https://example.com", "mail": "a@example.com", "callback": "/v1/x"}
    stub.answers["q"] = INSUFFICIENT
    page.goto(stub.page(csp=True))
    page.locator(".launcher").click()
    page.locator(".starters").wait_for()
    ask(page, "q")
    settled(page)
    page.locator(".person").click()
    page.get_by_text("Send this conversation").wait_for()
    check()
    page.get_by_role("button", name="No", exact=True).click()
    page.get_by_label("What was missing?").wait_for()
    check()
    page.get_by_role("button", name="Earlier conversations").click()
    page.locator(".list").wait_for()
    check()
