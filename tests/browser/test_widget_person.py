"""The operator's way to a person: nothing of the conversation leaves without the visitor's word."""

from __future__ import annotations

import re

import pytest
from help_stub import HelpStub, Problem
from nine_states import ask, settled
from playwright.sync_api import Page, expect
from sample_turns import INSUFFICIENT


def refused(page: Page, stub: HelpStub, **contact: str) -> None:
    assert stub.settings is not None
    stub.settings["contact"] = {"url": "", "mail": "", "callback": "", **contact}
    stub.answers["q"] = INSUFFICIENT
    page.goto(stub.page())
    page.locator(".launcher").click()
    page.locator(".starters").wait_for()
    ask(page, "q")
    settled(page)


def test_a_callback_gets_the_transcript_only_with_consent(page: Page, stub: HelpStub) -> None:
    refused(page, stub, callback="/v1/session")
    before = len(stub.paths("POST", "/v1/session"))
    page.locator(".person").click()
    expect(page.get_by_text("Send this conversation to the support team?")).to_be_visible()
    assert len(stub.paths("POST", "/v1/session")) == before
    page.get_by_role("button", name="Send conversation").click()
    expect(page.get_by_text("The conversation was sent.")).to_be_visible()
    body = [body for method, path, _, body in stub.requests if path == "/v1/session" and method == "POST"][-1]
    assert body["conversation_id"] == "c_1"
    assert "> q" in body["transcript"]


def test_a_mail_carries_the_transcript_only_with_consent(page: Page, stub: HelpStub) -> None:
    refused(page, stub, mail="help@example.com")
    page.locator(".person").click()
    expect(page.get_by_role("link", name="Without it")).to_have_attribute("href", "mailto:help@example.com")
    expect(page.get_by_role("link", name="Write a mail")).to_have_attribute(
        "href", re.compile("body=.*do%20not%20answer")
    )


def test_who_says_no_sends_nothing(page: Page, stub: HelpStub) -> None:
    refused(page, stub, callback="/v1/session", url="https://example.com/contact")
    before = len(stub.requests)
    page.locator(".person").click()
    expect(page.get_by_role("link", name="Without it")).to_have_attribute("href", "https://example.com/contact")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator(".person")).to_be_visible()
    assert len(stub.requests) == before


def test_a_callback_that_fails_says_so_and_can_be_tried_again(page: Page, stub: HelpStub) -> None:
    refused(page, stub, callback="/v1/session")
    stub.problems.append(("/v1/session", Problem(503, "unavailable")))
    page.locator(".person").click()
    page.get_by_role("button", name="Send conversation").click()
    expect(page.get_by_text("The conversation could not be sent.")).to_be_visible()
    page.locator(".person").click()
    page.get_by_role("button", name="Send conversation").click()
    expect(page.get_by_text("The conversation was sent.")).to_be_visible()


@pytest.mark.parametrize(
    "address", ["javascript:alert(1)", "//evil.example/x", "https://user@evil.example/", "data:,x"]
)
def test_an_address_that_is_not_allowed_is_no_way(page: Page, stub: HelpStub, address: str) -> None:
    refused(page, stub, url=address, callback=address)
    expect(page.locator(".calm")).to_be_visible()
    expect(page.locator(".person")).to_have_count(0)


def test_a_page_may_name_its_own_way(page: Page, stub: HelpStub) -> None:
    stub.answers["q"] = INSUFFICIENT
    page.goto(
        stub.page(head='<script async src="{src}/widget/refdesk.js" data-contact-url="https://own.example/c"></script>')
    )
    page.locator(".launcher").click()
    page.locator(".starters").wait_for()
    ask(page, "q")
    settled(page)
    expect(page.locator(".person")).to_have_attribute("href", "https://own.example/c")
