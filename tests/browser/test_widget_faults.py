"""Faults of network, server, storage and time: the widget goes on, tells the truth, and asks nothing twice."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from help_stub import TAG, HelpStub, Problem
from nine_states import ask, settled
from playwright.sync_api import Page, expect
from sample_turns import CLAIM, SSO, turn

PREVIOUS = Path(__file__).parent / "previous" / "refdesk.js"


def opened(page: Page, stub: HelpStub) -> None:
    page.goto(stub.page())
    page.locator(".launcher").click()
    page.locator(".intro").wait_for()


@pytest.mark.parametrize("after", [1, 2, 3, 5])
def test_a_cut_stream_is_resumed_and_nothing_is_asked_or_shown_twice(page: Page, stub: HelpStub, after: int) -> None:
    script = [
        ("step", {"tool": "search", "input": {"query": "x"}, "articles": []}),
        *[("delta", {"text": word}) for word in ("One ", "two ", "three ", "four.")],
        ("done", None),
    ]
    stub.answers["q"] = turn(answer="One two three four.", sources=[SSO])
    stub.streams["q"] = [*script[:after], ("cut", None), *script[after:]]
    opened(page, stub)
    ask(page, "q")
    settled(page)
    expect(page.locator(".text")).to_have_text("One two three four.")
    assert len(stub.asked()) == 1
    resumed = [
        headers for method, path, headers, _ in stub.requests if path == "/v1/turns/t_1/events" and method == "GET"
    ]
    assert [headers["last-event-id"] for headers in resumed] == [str(after + 1)]


def test_a_question_that_never_arrived_is_repeated_under_the_same_key(page: Page, stub: HelpStub) -> None:
    stub.problems += [("/v1/ask", Problem(503, "storage_unavailable", 0)), ("/v1/ask", Problem(502, "bad_gateway"))]
    opened(page, stub)
    ask(page, "q")
    settled(page)
    keys = [
        headers["idempotency-key"]
        for method, path, headers, _ in stub.requests
        if path == "/v1/ask" and method == "POST"
    ]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    expect(page.locator(".chip")).to_have_text("SSO setup")


def test_a_lost_session_starts_anew_without_a_loop(page: Page, stub: HelpStub) -> None:
    opened(page, stub)
    ask(page, "first")
    settled(page)
    stub.tokens.clear()
    stub.tokens.add("vt_other")
    ask(page, "second")
    settled(page)
    expect(page.locator(".asked")).to_have_text("You asked: second")
    assert stub.asked()[-1]["conversation_id"] is None
    assert len(stub.asked()) == 3


def test_a_session_that_is_refused_again_ends_in_an_error(page: Page, stub: HelpStub) -> None:
    stub.problems += [("/v1/ask", Problem(401, "token_invalid"))] * 5
    opened(page, stub)
    ask(page, "q")
    settled(page)
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    assert len(stub.asked()) == 2


def test_too_many_requests_says_when_and_lets_try_again_then(page: Page, stub: HelpStub) -> None:
    stub.problems.append(("/v1/ask", Problem(429, "rate_limited", 40)))
    page.clock.install()
    opened(page, stub)
    ask(page, "q")
    settled(page)
    expect(page.locator(".answer")).to_contain_text("Too many questions right now. You can try again in")
    button = page.get_by_role("button", name="Try again")
    expect(button).to_be_disabled()
    page.clock.fast_forward(40_000)
    expect(page.locator(".answer")).not_to_contain_text("You can try again in")
    expect(button).to_be_enabled()
    button.click()
    settled(page)
    expect(page.locator(".asked")).to_have_count(1)
    expect(page.locator(".chip")).to_have_text("SSO setup")


def test_a_page_that_may_not_ask_is_told_so_and_not_to_try_again(page: Page, stub: HelpStub) -> None:
    stub.problems.append(("/v1/ask", Problem(403, "origin_not_allowed")))
    opened(page, stub)
    ask(page, "q")
    settled(page)
    expect(page.locator(".answer")).to_contain_text("does not take questions from this page")
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)


def test_a_failed_turn_can_be_tried_again(page: Page, stub: HelpStub) -> None:
    stub.streams["q"] = [("error", {"status": 500, "code": "turn_failed", "title": "x", "detail": "x"})]
    opened(page, stub)
    ask(page, "q")
    settled(page)
    expect(page.locator(".answer")).to_contain_text("Something went wrong on our side.")
    del stub.streams["q"]
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".chip")).to_have_text("SSO setup")
    expect(page.locator(".asked")).to_have_count(1)


def test_an_answer_that_was_replaced_shows_only_what_holds(page: Page, stub: HelpStub) -> None:
    done = turn(id="t_1", answer="It was withdrawn.", sources=[]) | {"replaced": True}
    stub.streams["q"] = [("delta", {"text": "A bold **claim** that"}), ("hold", "x"), ("done", done)]
    opened(page, stub)
    ask(page, "q")
    page.get_by_text("claim").wait_for()
    stub.release("x")
    settled(page)
    expect(page.locator(".text")).to_have_text("It was withdrawn.")


@pytest.mark.parametrize("fault", ["getter", "full", "damaged"])
def test_storage_that_is_blocked_full_or_damaged(page: Page, stub: HelpStub, fault: str) -> None:
    scripts = {
        "getter": "Object.defineProperty(window, 'localStorage',"
        " {get() { throw new DOMException('no', 'SecurityError') }})",
        "full": "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }",
        "damaged": f"localStorage.setItem('refdesk:{stub.url}:', '[1,{{')",
    }
    page.add_init_script(scripts[fault])
    opened(page, stub)
    if fault != "damaged":
        expect(page.locator(".intro")).to_contain_text("keeps nothing")
    ask(page, "q")
    settled(page)
    ask(page, "more")
    settled(page)
    assert [body["conversation_id"] for body in stub.asked()] == [None, "c_1"]


def test_an_answer_that_comes_while_the_panel_is_closed_marks_the_launcher(page: Page, stub: HelpStub) -> None:
    stub.streams["q"] = [("hold", "x"), ("done", None)]
    opened(page, stub)
    ask(page, "q")
    page.locator(".steps").wait_for()
    page.evaluate("Refdesk.close()")
    stub.release("x")
    expect(page.get_by_role("button", name="Open help: New answer")).to_be_visible()
    page.locator(".launcher").click()
    expect(page.locator(".chip")).to_have_text("SSO setup")


def test_offline_says_so_and_goes_on_when_it_is_over(page: Page, stub: HelpStub) -> None:
    opened(page, stub)
    page.context.set_offline(True)
    expect(page.get_by_text("You are offline.")).to_be_visible()
    ask(page, "q")
    page.get_by_text("Connection lost. Reconnecting…").first.wait_for()
    page.context.set_offline(False)
    settled(page)
    expect(page.locator(".chip")).to_have_text("SSO setup")


def test_streaming_never_shrinks_flips_or_shows_a_mark(page: Page, stub: HelpStub) -> None:
    text = (
        "To reset it:\n\n1. Open **Settings → Security**.\n2. Choose *Reset* with the `one-time` code.\n\n"
        "| Plan | Lifetime |\n| --- | ---: |\n| **Team** | 60 min |\n\n```\ncurl -X POST\n```\n\n> **Note:** once.\n"
    )
    pieces = [text[start : start + 3] for start in range(0, len(text), 3)]
    steps = [item for n, piece in enumerate(pieces) for item in (("delta", {"text": piece}), ("hold", f"frame {n}"))]
    stub.answers["q"] = turn(answer=text, sources=[])
    stub.streams["q"] = [*steps, ("done", None)]
    opened(page, stub)
    page.evaluate(
        """() => {
        window.faults = []; window.frames_seen = 0; let height = 0, tags = [];
        const look = () => {
          const box = document.querySelector('refdesk-chat').shadowRoot.querySelector('.text');
          if (box) {
            frames_seen++;
            const now = [...box.children].map((e) => e.tagName);
            if (tags.some((t, i) => now[i] !== t)) faults.push('flip ' + tags + ' -> ' + now);
            if (box.offsetHeight < height - 1) faults.push('shrink ' + height + ' -> ' + box.offsetHeight);
            const copy = box.cloneNode(true); copy.querySelectorAll('code').forEach((c) => c.remove());
            if (/[*`|]|^#/.test(copy.textContent)) faults.push('raw ' + copy.textContent.slice(-40));
            height = box.offsetHeight; tags = now;
          }
          requestAnimationFrame(look);
        };
        look();
      }"""
    )
    ask(page, "q")
    for n in range(len(pieces)):
        page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        stub.release(f"frame {n}")
    settled(page)
    assert page.evaluate("faults") == []
    assert page.evaluate("frames_seen") > len(pieces)


# --- versions apart ---


def test_the_previous_widget_works_with_this_api(page: Page, stub: HelpStub) -> None:
    stub.widget = PREVIOUS
    stub.streams["q"] = [("novelty", {"x": 1}), ("delta", {"text": "Open "}), ("done", None)]
    stub.answers["q"] = turn(answer="Open it ([SSO setup](/articles/sso-setup)).", novelty={"a": 1}, status="answered")
    opened(page, stub)
    ask(page, "q")
    settled(page)
    expect(page.locator(".chip")).to_have_text("SSO setup")
    page.locator(".chip").click()
    page.locator("mark").first.wait_for()


def test_this_widget_works_with_an_older_server(page: Page, stub: HelpStub) -> None:
    """No settings, no steps, few fields, articles without HTML, and no `show`: a missing one is true."""
    stub.settings = None
    source = {"id": "sso-setup", "title": "SSO setup", "url": "/articles/sso-setup"}
    claim = {"text": CLAIM["text"], "source_id": "sso-setup", "quote": CLAIM["quote"]}
    old = {
        "status": "answered",
        "answer": "Open it ([SSO setup](/articles/sso-setup)).",
        "sources": [source],
        "claims": [claim],
    }
    stub.answers["q"] = old
    stub.streams["q"] = [("done", None)]
    stub.articles["sso-setup"] = {"id": "sso-setup", "title": "SSO setup", "body": f"# SSO setup\n\n{CLAIM['quote']}\n"}
    opened(page, stub)
    expect(page.locator(".intro")).to_contain_text("Ask a question")
    ask(page, "q")
    settled(page)
    expect(page.locator(".chip")).to_have_text("SSO setup")
    page.locator(".chip").click()
    page.locator("mark").first.wait_for()


def test_everything_to_chat_is_one_request_under_36_kb(page: Page, stub: HelpStub) -> None:
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))
    page.goto(stub.page(head=TAG))
    page.locator(".launcher").click()
    page.locator(".intro").wait_for()
    scripts = [url for url in loaded if "/v1/" not in url and url != f"{stub.url}/" and "favicon" not in url]
    assert scripts == [f"{stub.url}/widget/refdesk.js"]
    assert len(gzip.compress(stub.widget.read_bytes(), 9)) <= 36 * 1024
