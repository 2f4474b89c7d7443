"""The widget and the page it stands on: embedding, the page's interface, isolation in both directions."""

from __future__ import annotations

from typing import Any

import pytest
from help_stub import TAG, HelpStub
from nine_states import ask, settled
from playwright.sync_api import Page, expect
from sample_turns import CONFLICT, EVIDENCE, INSUFFICIENT, SSO, turn

STUB = "<script>window.Refdesk=window.Refdesk||function(){(Refdesk.q=Refdesk.q||[]).push(arguments)}</script>"
HOSTILE_CSS = """<style>
  :root { font-size: 8px } * { letter-spacing: 4px !important; text-transform: uppercase !important }
  body > * { opacity: .5 !important; transform: scale(.5) !important } svg { display: none !important }
  button, dialog, textarea { all: unset !important; display: none !important }
  refdesk-chat { display: none; color: red !important }
  dialog { color: rgb(1, 2, 3) } h2 { font-size: 99px !important }
</style>"""


def launcher(page: Page) -> Any:
    return page.locator("refdesk-chat .launcher")


# --- embedding ---


def test_one_tag_in_the_head_of_any_page(page: Page, stub: HelpStub) -> None:
    page.goto(stub.page())
    launcher(page).click()
    expect(page.get_by_role("textbox")).to_be_focused()


def test_the_tag_twice_gives_one_widget(page: Page, stub: HelpStub) -> None:
    page.goto(stub.page(head=TAG + TAG, body=TAG))
    launcher(page).wait_for()
    page.wait_for_load_state("load")
    assert page.locator("refdesk-chat").count() == 1


def test_a_blocking_tag_before_the_body_exists(page: Page, stub: HelpStub) -> None:
    page.goto(stub.page(head='<script src="{src}/widget/refdesk.js"></script>'))
    launcher(page).click()
    expect(page.get_by_role("textbox")).to_be_visible()


def test_calls_before_the_script_wait_in_the_stub(page: Page, stub: HelpStub) -> None:
    calls = "<script>Refdesk('on','answer',(d)=>{window.got=d}); Refdesk('open'); Refdesk('ask','early');</script>"
    page.goto(stub.page(head=STUB + calls + TAG))
    settled(page)
    assert [body["question"] for body in stub.asked()] == ["early"]
    page.wait_for_function("window.got?.status === 'answered'")


def test_consent_first_then_boot(page: Page, stub: HelpStub) -> None:
    page.goto(stub.page(head=TAG.replace("<script", '<script data-autoboot="false"')))
    page.wait_for_function("window.Refdesk?.version")
    assert page.locator("refdesk-chat").count() == 0
    page.evaluate("Refdesk.boot()")
    launcher(page).click()
    expect(page.get_by_role("textbox")).to_be_visible()


def test_inline_elements_have_each_their_own_state(page: Page, stub: HelpStub) -> None:
    body = '<refdesk-chat id="one"></refdesk-chat><refdesk-chat id="two" title="Second"></refdesk-chat>'
    page.goto(stub.page(head=TAG.replace("<script", '<script data-autoboot="false"'), body=body))
    page.locator("#one").get_by_role("textbox").fill("only here")
    page.keyboard.press("Enter")
    expect(page.locator("#one .chip")).to_have_text("SSO setup")
    expect(page.locator("#two .asked")).to_have_count(0)
    expect(page.locator("#two h2")).to_have_text("Second")
    page.reload()
    expect(page.locator("#one .asked")).to_have_text("You asked: only here")
    expect(page.locator("#two .asked")).to_have_count(0)


# --- isolation ---


def test_the_pages_css_does_not_come_in(page: Page, stub: HelpStub) -> None:
    read = (
        "(e) => { const s = getComputedStyle(e); return [s.letterSpacing, s.textTransform, s.opacity, s.transform,"
        " s.display, s.fontSize, s.color, s.width] }"
    )
    looks = []
    page.emulate_media(reduced_motion="reduce")
    for path, head in (("/plain", TAG), ("/hostile", HOSTILE_CSS + TAG)):
        page.goto(stub.page(path=path, head=head))
        page.locator(".launcher").wait_for(state="attached")
        page.evaluate("Refdesk.open()")
        page.locator(".starters").wait_for()
        parts = ["dialog", ".bar h2", ".composer textarea", ".launcher", ".starters button", ".launcher svg"]
        looks.append([page.locator("refdesk-chat").locator(part).first.evaluate(read) for part in parts])
    assert looks[0] == looks[1]


def test_nothing_of_the_widget_goes_out(page: Page, stub: HelpStub) -> None:
    body = "<button>b</button><input><p>p</p><h2>h</h2><dialog open>d</dialog>"
    page.goto(stub.page(body=body, head=""))
    snapshot = (
        "() => ({styles: ['button','input','p','h2','dialog']"
        ".map((name) => getComputedStyle(document.querySelector('main ' + name)))"
        ".map((style) => [...style].map((key) => style.getPropertyValue(key)).join()),"
        " sheets: document.styleSheets.length + document.adoptedStyleSheets.length,"
        " globals: Object.keys(window).sort()})"
    )
    before = page.evaluate(snapshot)
    page.add_script_tag(url=f"{stub.url}/widget/refdesk.js")
    launcher(page).click()
    page.locator(".starters").wait_for()
    after = page.evaluate(snapshot)
    assert after["styles"] == before["styles"]
    assert after["sheets"] == before["sheets"]
    assert set(after["globals"]) - set(before["globals"]) == {"Refdesk"}


def test_typed_keys_do_not_reach_the_page(page: Page, stub: HelpStub) -> None:
    page.goto(stub.page())
    launcher(page).click()
    expect(page.get_by_role("textbox")).to_be_focused()
    page.evaluate(
        "window.heard = []; for (const n of ['keydown','keyup','keypress','input','beforeinput','paste'])"
        "document.addEventListener(n, (e) => heard.push(n + (e.key ?? '')))"
    )
    page.keyboard.type("/k?")
    page.keyboard.press("Control+v")
    page.keyboard.press("Escape")
    assert page.evaluate("heard") == []
    expect(page.locator("dialog")).to_be_hidden()


def test_the_strictest_policy_sees_no_violation(page: Page, stub: HelpStub) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(stub.page(csp=True))
    launcher(page).click()
    ask(page, "q")
    settled(page)
    page.locator(".chip").hover()
    page.get_by_role("tooltip").wait_for()
    page.locator(".chip").click()
    page.locator("mark").first.wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="No", exact=True).click()
    page.get_by_role("button", name="Copy answer").click()
    assert all(url.startswith(stub.url) for url in requests)


def test_an_isolated_page_loads_it(page: Page, stub: HelpStub) -> None:
    stub.page(path="/coep")
    text, _ = stub.pages["/coep"]
    headers = {
        "Cross-Origin-Embedder-Policy": "require-corp",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "clipboard-write=()",
    }
    stub.pages["/coep"] = (text, headers)
    page.goto(f"{stub.url.replace('127.0.0.1', 'localhost')}/coep")
    launcher(page).click()
    ask(page, "q")
    settled(page)


def test_over_a_transformed_page_with_high_layers(page: Page, stub: HelpStub) -> None:
    body = '<header style="position:fixed;inset:0 0 auto;z-index:9999;height:60px;background:red">H</header>'
    page.goto(stub.page(body=f'<div style="transform:translateX(5px)">{body}</div>'))
    launcher(page).click()
    expect(page.locator("dialog")).to_be_visible()
    box = page.locator("dialog").bounding_box()
    assert box
    assert (
        page.evaluate("([x, y]) => document.elementFromPoint(x, y).tagName", [box["x"] + 20, box["y"] + 20])
        == "REFDESK-CHAT"
    )


def test_a_small_screen_gets_a_modal_dialog_without_zoom_or_overflow(page: Page, stub: HelpStub) -> None:
    page.set_viewport_size({"width": 320, "height": 480})
    stub.answers["q"] = turn(
        answer="A" * 300 + "\n\n| a | b | c | d | e | f |\n|-|-|-|-|-|-|\n" + "| wide cell text |" * 6, sources=[SSO]
    )
    page.goto(stub.page())
    launcher(page).click()
    expect(page.get_by_role("textbox")).to_be_focused()
    assert page.locator("dialog").evaluate("(e) => e.matches(':modal')")
    ask(page, "q")
    settled(page)
    assert page.locator(".composer textarea").evaluate("(e) => parseFloat(getComputedStyle(e).fontSize)") >= 16
    assert page.locator(".log").evaluate("(e) => e.scrollWidth <= e.clientWidth")
    box = page.locator(".composer").bounding_box()
    assert box
    assert box["y"] + box["height"] <= 480
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()
    expect(launcher(page)).to_be_focused()


def test_reduced_motion_moves_nothing(page: Page, stub: HelpStub) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(stub.page())
    launcher(page).click()
    expect(page.locator("dialog")).to_be_visible()
    assert page.locator("dialog").evaluate("(e) => getComputedStyle(e).animationName") == "none"


@pytest.mark.parametrize("keyboard_method", [True, False])
def test_enter_in_an_input_method_does_not_send(page: Page, stub: HelpStub, keyboard_method: bool) -> None:
    page.goto(stub.page())
    launcher(page).click()
    page.get_by_role("textbox").fill("に")
    page.get_by_role("textbox").evaluate(
        "(e, composing) => e.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', keyCode: composing ? 13 : 229,"
        " isComposing: composing, bubbles: true, cancelable: true}))",
        keyboard_method,
    )
    expect(page.get_by_role("textbox")).to_have_value("に")
    assert stub.asked() == []


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (turn(), ["paste the metadata URL (SSO setup)", "1 source"]),
        (INSUFFICIENT, ["do not answer that"]),
        (EVIDENCE, ["Not an answer: excerpts", "cannot answer right now"]),
        (CONFLICT, ["The articles disagree", "2 sources"]),
    ],
    ids=lambda each: each["status"] if isinstance(each, dict) else "",
)
def test_two_or_three_announcements_per_answer_and_never_a_piece(
    page: Page, stub: HelpStub, answer: dict[str, Any], told: list[str]
) -> None:
    stub.answers["q"] = answer
    page.goto(stub.page())
    launcher(page).click()
    page.locator(".starters").wait_for()
    page.evaluate(
        "window.said = []; const s = document.querySelector('refdesk-chat').shadowRoot.querySelector('[role=status]');"
        "new MutationObserver(() => s.textContent && said.at(-1) !== s.textContent && said.push(s.textContent))"
        ".observe(s, {childList: true, characterData: true, subtree: true})"
    )
    ask(page, "q")
    settled(page)
    page.wait_for_function("(words) => said.length > 1 && words.every((word) => said.at(-1).includes(word))", arg=told)
    said = page.evaluate("said")
    assert len(said) in (2, 3)
    assert said[0] == "Looking for an answer…"
    log = page.get_by_role("log")
    expect(log).to_have_attribute("aria-live", "off")
    assert log.locator("[aria-live]:not([aria-live=off]), [role=status], [role=alert]").count() == 0


def test_nothing_is_asked_of_the_server_before_the_first_opening(page: Page, stub: HelpStub) -> None:
    page.goto(stub.page(), wait_until="load")
    launcher(page).wait_for()
    assert page.locator("refdesk-chat").evaluate("(e) => e.shadowRoot.querySelector('.panel')") is None
    assert stub.paths("GET", "/v1") == []
    launcher(page).click()
    page.locator(".starters").wait_for()
    assert stub.paths("GET", "/v1") == ["/v1/widget/settings"]
