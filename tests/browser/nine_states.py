"""The nine states that a visitor can see, one after the other on one page."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from help_stub import TAG, HelpStub, Problem
from playwright.sync_api import Page
from sample_turns import ARTICLE, CONFLICT, EVIDENCE, INSUFFICIENT, turn

ARABIC = turn(
    language="ar",
    answer="افتح **الإعدادات** والصق عنوان البيانات ([SSO setup](/articles/sso-setup)). ثم اضغط `Save`.\n\n"
    "1. أولاً\n2. ثانياً",
)
RICH = turn(
    answer="Open **Settings** and paste the metadata URL ([SSO setup](/articles/sso-setup)).\n\n"
    "## Steps\n\n1. Open `Settings`\n2. Choose *Sign-in*\n\n| Plan | SSO |\n|---|---|\n| Scale | yes |\n\n"
    "```\nhttps://idp.example.com/metadata\n```\n\n> Which plan you need is in [Plans](/articles/plans).",
)


ARABIC_STRINGS = {
    "open": "افتح المساعدة",
    "close": "أغلق المساعدة",
    "ai": "أنت تتحدث مع مساعد آلي يجيب من مقالات المساعدة وقد يخطئ.",
    "placeholder": "اطرح سؤالاً…",
    "question": "سؤالك",
    "send": "أرسل",
    "sources": "المصادر",
    "inLanguage": "اللغة: {0}",
    "solved": "هل حلّ هذا المشكلة؟",
    "back": "رجوع",
}


def arabic_head(stub: HelpStub) -> str:
    """The texts of a language that is not built in, as a page gives them; no inline script, so any policy will do."""
    text = f"window.refdeskSettings = {json.dumps({'strings': ARABIC_STRINGS})};"
    stub.scripts["/settings.js"] = text
    return '<script src="{src}/settings.js"></script>' + TAG


def ask(page: Page, question: str) -> None:
    page.get_by_role("textbox").last.fill(question)
    page.keyboard.press("Enter")


def settled(page: Page) -> None:
    """Waits until what was just asked is on the page and no answer is running any more."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    page.locator('.answer[aria-busy="false"]').last.wait_for()
    page.wait_for_function(
        "() => [...document.querySelector('refdesk-chat').shadowRoot.querySelectorAll('.answer')]"
        ".every((a) => a.getAttribute('aria-busy') === 'false')"
    )


def kept(page: Page) -> dict[str, Any]:
    """What the widget keeps in the browser."""
    entries = page.evaluate("Object.entries(localStorage)")
    (value,) = [value for name, value in entries if name.startswith("refdesk:")]
    result: dict[str, Any] = json.loads(value)
    return result


QUESTIONS = {
    "running": "How do I set up single sign-on?",
    "answered": "How do I set up SSO?",
    "insufficient": "Which countries do you deliver to?",
    "evidence": "Where do I paste the metadata URL?",
    "conflict": "How long can I ask for a refund?",
    "error": "Is there a limit on questions?",
}


def walk(page: Page, stub: HelpStub, *, rtl: bool = False) -> Iterator[str]:
    """Yields the name of each state while the page is in it."""
    questions = QUESTIONS | ({"answered": "كيف أُعدّ تسجيل الدخول الموحد؟"} if rtl else {})
    turns = {
        "answered": ARABIC if rtl else RICH,
        "insufficient": INSUFFICIENT,
        "evidence": EVIDENCE,
        "conflict": CONFLICT,
    }
    stub.answers |= {questions[name]: each for name, each in turns.items()}
    stub.articles["sso-setup"] = ARTICLE
    assert stub.settings is not None
    stub.settings["contact"] = {"url": "https://example.com/contact", "mail": "help@example.com", "callback": ""}
    step = {
        "tool": "get_document",
        "input": {},
        "articles": [{"id": "sso-setup", "title": "SSO setup", "form": "full"}],
    }
    search = {"tool": "search", "input": {"query": "single sign-on"}, "articles": []}
    stub.streams[questions["running"]] = [
        ("step", search),
        ("step", step),
        ("delta", {"text": "Open **Settings** and paste"}),
        ("hold", "run"),
        ("done", None),
    ]
    page.locator(".launcher").wait_for()
    yield "closed"
    page.locator(".launcher").click()
    page.locator(".starters button").wait_for()
    yield "greeting"
    ask(page, questions["running"])
    page.get_by_text("paste").wait_for()
    yield "running"
    stub.release("run")
    settled(page)
    for name in turns:
        page.locator(".bar button").nth(1).click()
        page.locator(".intro").wait_for()
        ask(page, questions[name])
        settled(page)
        yield name
        if name == "answered":
            page.locator(".chip").first.click()
            page.locator("mark").first.wait_for()
            yield "reader"
            page.keyboard.press("Escape")
            page.locator(".cover").wait_for(state="detached")
    page.locator(".bar button").nth(1).click()
    stub.problems.append(("/v1/ask", Problem(429, "rate_limited", 40)))
    ask(page, questions["error"])
    settled(page)
    yield "error"
