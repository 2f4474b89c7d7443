"""The widget with the real server and the scripted model: the demo pages, other origins, and one truth everywhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from help_stub import TAG, HelpStub
from nine_states import ask, kept, settled
from playwright.sync_api import Page, expect

from scripted_api import Answer, ScriptedModel

sys.path.append(str(Path(__file__).parents[1] / "api"))

from help_centre import REFUND_QUOTE
from model_replies import opens, refund_answer
from refdesk_server import RefdeskServer

PREVIOUS = Path(__file__).parent / "previous" / "refdesk.js"
"""The file of the last release, as pages may still have it cached; a release replaces it by its own."""
OVERLOADED = Answer(
    (b'{"type":"error","error":{"type":"overloaded_error","message":"x"}}',), 529, {"content-type": "application/json"}
)


def answered(page: Page, model: ScriptedModel, address: str) -> None:
    model.script(opens("refunds"), refund_answer())
    page.goto(address)
    page.locator(".launcher").click()
    page.locator(".intro").wait_for()
    ask(page, "When are refunds issued?")
    settled(page)
    expect(page.locator(".chip")).to_have_text("Refunds")


@pytest.mark.parametrize(("language", "heading"), [("en", "Plants that stay"), ("ru", "Растения"), ("cs", "Rostliny")])
def test_the_demo_in_three_languages(
    page: Page, server: RefdeskServer, model: ScriptedModel, language: str, heading: str
) -> None:
    answered(page, model, f"{server.url}/demo?language={language}")
    expect(page.locator("h1")).to_contain_text(heading)
    page.locator(".text a").first.click()
    assert page.locator("mark").first.inner_text() == REFUND_QUOTE


def test_the_strict_demo_sees_no_violation(page: Page, server: RefdeskServer, model: ScriptedModel) -> None:
    answered(page, model, f"{server.url}/demo/csp")
    page.locator(".chip").click()
    page.locator("mark").first.wait_for()
    expect(page.locator("#violations")).to_have_text("0")


@pytest.mark.parametrize("path", ["/demo", "/demo/csp", "/demo/check"])
def test_the_demo_pages_have_no_accessibility_finding(
    page: Page, server: RefdeskServer, check: Callable[[], None], path: str
) -> None:
    page.goto(server.url + path)
    page.locator(".launcher").wait_for()
    check()


def test_another_origin_that_is_allowed(
    page: Page, server: RefdeskServer, model: ScriptedModel, host: HelpStub
) -> None:
    answered(page, model, host.page(path="/allowed", head=TAG.replace("{src}", server.url)))
    page.locator(".chip").click()
    page.locator("mark").first.wait_for()


def test_a_foreign_origin_gets_the_script_and_a_plain_word(page: Page, server: RefdeskServer, host: HelpStub) -> None:
    address = host.page(path="/foreign", head=TAG.replace("{src}", server.url))
    page.goto(address.replace("127.0.0.1", "localhost"))
    page.locator(".launcher").click()
    expect(page.get_by_role("textbox")).to_be_focused()
    assert host.asked() == []


def test_the_same_sources_in_stream_reload_and_history(page: Page, server: RefdeskServer, model: ScriptedModel) -> None:
    """And the token of the session is in no address, nor in the page."""
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    answered(page, model, f"{server.url}/demo")
    before = page.locator(".log").inner_text()
    state = kept(page)
    with server.client(state["token"]) as client:
        turn = client.get(f"/v1/conversations/{state['conversation']}").json()["turns"][-1]
    assert [source["title"] for source in turn["sources"] if source.get("show", True)] == ["Refunds"]
    page.reload()
    expect(page.locator(".chip")).to_have_text("Refunds")
    assert page.locator(".log").inner_text() == before
    assert state["token"] not in page.content() + server.log()
    assert [address for address in addresses if "/v1/" in address]
    assert not [address for address in addresses if state["token"] in address or "token" in address]


def test_code_on_the_page_of_an_article_stays_left_to_right(page: Page, server: RefdeskServer) -> None:
    page.goto(f"{server.url}/articles/refunds")
    read = """() => {
      document.documentElement.dir = 'rtl';
      document.querySelector('main').innerHTML = '<p>افتح <code>cp [-r] src</code></p><pre><code>cp -r</code></pre>';
      return ['p', 'p code', 'pre', 'pre code'].map((name) => getComputedStyle(document.querySelector(name)).direction);
    }"""
    assert page.evaluate(read) == ["rtl", "ltr", "ltr", "ltr"]


def test_feedback_reaches_the_turn(page: Page, server: RefdeskServer, model: ScriptedModel) -> None:
    answered(page, model, f"{server.url}/demo")
    page.get_by_role("button", name="No", exact=True).click()
    page.get_by_label("What was missing?").fill("How to ask for one")
    page.get_by_role("button", name="Send feedback").click()
    expect(page.get_by_text("Thank you for the feedback.")).to_be_visible()
    state = kept(page)
    with server.client(state["token"]) as client:
        turn = client.get(f"/v1/conversations/{state['conversation']}").json()["turns"][-1]
    assert turn["feedback"] == {"rating": "down", "comment": "How to ask for one"}


def test_a_refusal_makes_no_model_call_and_shows_no_source(
    page: Page, server: RefdeskServer, model: ScriptedModel
) -> None:
    model.script()
    page.goto(f"{server.url}/demo")
    page.locator(".launcher").click()
    page.locator(".intro").wait_for()
    ask(page, "Which submarine engine fits a nuclear icebreaker?")
    settled(page)
    expect(page.locator(".calm")).to_be_visible()
    expect(page.locator(".sources")).to_have_count(0)
    assert model.bodies == []


def test_without_the_model_there_are_excerpts(page: Page, server: RefdeskServer, model: ScriptedModel) -> None:
    model.choose(lambda body: OVERLOADED)
    page.goto(f"{server.url}/demo")
    page.locator(".launcher").click()
    page.locator(".intro").wait_for()
    ask(page, "When are refunds issued?")
    page.locator(".excerpts").wait_for(timeout=25_000)
    expect(page.locator(".excerpts")).to_contain_text("Not an answer")
    expect(page.locator(".excerpts")).to_contain_text(REFUND_QUOTE)


def test_stop_stops_the_turn_on_the_server(page: Page, server: RefdeskServer, model: ScriptedModel) -> None:
    model.choose(lambda body: Answer((), ending="silence"))
    page.goto(f"{server.url}/demo")
    page.locator(".launcher").click()
    page.locator(".intro").wait_for()
    ask(page, "When are refunds issued?")
    page.wait_for_function("() => Object.values(localStorage).some((text) => text.includes('conversation\":'))")
    page.get_by_role("button", name="Stop answering").click()
    settled(page)
    expect(page.locator(".answer")).to_contain_text("You stopped this answer.")
    state = kept(page)
    with server.client(state["token"]) as client:
        turns = client.get(f"/v1/conversations/{state['conversation']}").json()["turns"]
    assert [turn["status"] for turn in turns] == ["stopped"]


def test_the_previous_widget_works_with_this_server(page: Page, server: RefdeskServer, model: ScriptedModel) -> None:
    page.route("**/widget/refdesk.js", lambda route: route.fulfill(path=PREVIOUS, content_type="text/javascript"))
    answered(page, model, f"{server.url}/demo")
    page.locator(".chip").click()
    page.locator("mark").first.wait_for()


def test_the_script_is_cached_briefly_and_revalidated(server: RefdeskServer) -> None:
    with server.client(origin="https://any.example") as client:
        first = client.get("/widget/refdesk.js")
        again = client.get("/widget/refdesk.js", headers={"if-none-match": first.headers["etag"]})
    assert first.headers["content-type"] == "text/javascript; charset=utf-8"
    assert first.headers["cross-origin-resource-policy"] == "cross-origin"
    assert first.headers["access-control-allow-origin"] in ("*", "https://any.example")
    assert first.headers["cache-control"].startswith("public, max-age=300")
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])


def test_settings_come_in_the_pages_language_or_the_centres_own(server: RefdeskServer) -> None:
    with server.client() as client:
        wanted = {tag: client.get("/v1/widget/settings", params={"language": tag}).json() for tag in ("cs-CZ", "xx")}
    assert {tag: settings["language"] for tag, settings in wanted.items()} == {"cs-CZ": "cs", "xx": "en"}
    assert wanted["xx"]["name"] == "Acme Help"
    assert set(wanted["xx"]["contact"]) == {"url", "mail", "callback"}
