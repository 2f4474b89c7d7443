"""The widget and the page it stands on: embedding, the page's interface, isolation in both directions."""

from __future__ import annotations

from typing import Any

import pytest
from help_stub import SSO, TAG, HelpStub, turn
from nine_states import ask, settled
from playwright.sync_api import Page, expect

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
    assert page.context.cookies() == []


def test_the_tag_twice_gives_one_widget(page: Page, stub: HelpStub) -> None:
    page.goto(stub.page(head=TAG + TAG, body=TAG))
    launcher(page).wait_for()
    page.wait_for_load_state("networkidle")
    assert page.locator("refdesk-chat").count() == 1
    assert page.errors == []  # type: ignore[attr-defined]


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


def test_later_settings_win(page: Page, stub: HelpStub) -> None:
    tag = TAG.replace("<script", '<script data-title="From the tag" data-theme="dark" data-position="start"')
    settings = "<script>window.refdeskSettings={title:'From the page', theme:'light'}</script>"
    page.goto(stub.page(head=STUB + settings + tag + "<script>Refdesk('boot',{title:'From boot'})</script>"))
    launcher(page).click()
    expect(page.locator(".bar h2")).to_have_text("From boot")
    expect(page.locator("refdesk-chat")).to_have_attribute("theme", "light")
    expect(page.locator("refdesk-chat")).to_have_attribute("position", "start")
    page.evaluate("Refdesk.update({title: 'Updated', theme: 'dark'})")
    expect(page.locator(".bar h2")).to_have_text("Updated")
    expect(page.locator("refdesk-chat")).to_have_attribute("theme", "dark")


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


# --- the page's interface ---


def test_every_verb(page: Page, stub: HelpStub) -> None:
    page.goto(stub.page())
    launcher(page).wait_for()
    names = (
        "boot update shutdown ready show hide open close toggle ask stop retry reset openArticle identify setContext on"
    ).split()
    assert page.evaluate("(names) => names.filter((n) => typeof Refdesk[n] !== 'function')", names) == []
    page.evaluate("Refdesk.hide()")
    expect(launcher(page)).to_be_hidden()
    page.evaluate("Refdesk.show()")
    expect(launcher(page)).to_be_visible()
    page.evaluate("Refdesk.toggle()")
    expect(page.locator("dialog")).to_be_visible()
    page.evaluate("Refdesk.open({prefill: 'a draft'})")
    expect(page.get_by_role("textbox")).to_have_value("a draft")
    page.evaluate("Refdesk.setContext({url: 'https://shop.example/cart', title: 'Cart'})")
    answer = page.evaluate("Refdesk.ask('by call')")
    assert answer["status"] == "answered"
    assert stub.asked()[-1]["page"] == {"url": "https://shop.example/cart", "title": "Cart"}
    page.evaluate("Refdesk.retry()")
    assert [body["question"] for body in stub.asked()] == ["by call", "by call"]
    page.evaluate("Refdesk.openArticle('sso-setup', {quote: 'metadata URL'})")
    page.locator("mark").first.wait_for()
    page.evaluate("Refdesk.reset()")
    expect(page.locator(".asked")).to_have_count(0)
    page.evaluate("Refdesk.close()")
    expect(page.locator("dialog")).to_be_hidden()
    page.evaluate("Refdesk.shutdown()")
    expect(page.locator("refdesk-chat")).to_have_count(0)
    assert page.evaluate("Object.keys(localStorage)") == []
    page.evaluate("Refdesk.boot()")
    expect(launcher(page)).to_be_visible()


def test_the_page_sees_what_happens_and_may_prevent_it(page: Page, stub: HelpStub) -> None:
    stub.answers["none"] = turn(status="insufficient", sources=[], answer="No.")
    head = STUB + TAG + "<script>window.seen=[];window.prevent='';"
    head += "for (const n of ['ready','open','close','question','step','answer','refusal',"
    head += "'source-click','link-click','article-open','feedback','reset'])"
    head += "document.addEventListener('refdesk:'+n,(e)=>{seen.push(n); if (prevent===n) e.preventDefault()})</script>"
    page.goto(stub.page(head=head))
    launcher(page).click()
    ask(page, "q")
    settled(page)
    page.locator(".chip").click()
    page.locator("mark").first.wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Yes", exact=True).click()
    page.evaluate("window.prevent = 'link-click'")
    page.locator(".text a").first.click()
    expect(page.locator(".cover")).to_have_count(0)
    page.evaluate("window.prevent = 'question'")
    ask(page, "kept back")
    assert [body["question"] for body in stub.asked()] == ["q"]
    page.evaluate("window.prevent = ''")
    ask(page, "none")
    settled(page)
    page.get_by_role("button", name="New conversation").click()
    page.get_by_role("button", name="Close help").first.click()
    wanted = {
        "ready",
        "open",
        "question",
        "step",
        "answer",
        "refusal",
        "source-click",
        "link-click",
        "article-open",
        "feedback",
    }
    page.wait_for_function("window.seen.includes('close')")
    assert wanted | {"close", "reset"} <= set(page.evaluate("seen"))


def test_on_gives_a_way_off_and_a_faulty_handler_harms_nobody(page: Page, stub: HelpStub) -> None:
    page.goto(stub.page())
    launcher(page).wait_for()
    page.evaluate(
        "window.n = 0; Refdesk.on('open', () => { throw new Error('the page\\'s own') });"
        "window.off = Refdesk.on('open', () => n++); Refdesk.open()"
    )
    page.wait_for_function("n === 1")
    page.evaluate("off(); Refdesk.close(); Refdesk.open()")
    expect(page.locator("dialog")).to_be_visible()
    assert page.evaluate("n") == 1


def test_signing_in_changes_the_session_and_signing_out_forgets_it(page: Page, stub: HelpStub) -> None:
    page.goto(stub.page())
    launcher(page).click()
    ask(page, "anonymous")
    settled(page)
    page.evaluate("Refdesk.identify('e30.eyJzdWIiOiJ1MSIsInJvbGVzIjpbInBhcnRuZXIiXX0.sig')")
    expect(page.locator(".asked")).to_have_count(0)
    ask(page, "as somebody")
    settled(page)
    sessions = [body for method, path, _, body in stub.requests if path == "/v1/session" and method == "POST"]
    assert sessions == [{}, {"identity": "e30.eyJzdWIiOiJ1MSIsInJvbGVzIjpbInBhcnRuZXIiXX0.sig"}]
    assert stub.asked()[-1]["conversation_id"] is None
    page.evaluate("Refdesk.identify(null)")
    expect(page.locator(".asked")).to_have_text("You asked: anonymous")
    assert "as somebody" not in page.evaluate("JSON.stringify(localStorage)")
    assert all("vt_" not in path and "token" not in path for _, path, _, _ in stub.requests)


def test_colours_come_from_custom_properties_and_parts(page: Page, stub: HelpStub) -> None:
    style = (
        "<style>:root{--refdesk-accent:#0a5c36;--refdesk-z:77} refdesk-chat::part(header){padding-left:33px}</style>"
    )
    page.goto(stub.page(head=style + TAG))
    launcher(page).click()
    assert launcher(page).evaluate("(e) => getComputedStyle(e).backgroundColor") == "rgb(10, 92, 54)"
    assert page.locator("dialog").evaluate("(e) => getComputedStyle(e).zIndex") == "77"
    assert page.locator(".bar").evaluate("(e) => getComputedStyle(e).paddingLeft") == "33px"


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
    assert page.evaluate("violations") == []
    assert all(url.startswith(stub.url) for url in requests)
    assert page.context.cookies() == []
    assert page.errors == []  # type: ignore[attr-defined]


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
    box = page.locator("dialog").bounding_box()
    assert box
    assert (
        page.evaluate("([x, y]) => document.elementFromPoint(x, y).tagName", [box["x"] + 20, box["y"] + 20])
        == "REFDESK-CHAT"
    )


def test_focus_returns_to_where_it_was(page: Page, stub: HelpStub) -> None:
    page.goto(stub.page(body='<button id="mine" onclick="Refdesk.open()">Help me</button>'))
    launcher(page).wait_for()
    page.locator("#mine").click()
    expect(page.get_by_role("textbox")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#mine")).to_be_focused()


def test_a_small_screen_gets_a_modal_dialog_without_zoom_or_overflow(page: Page, stub: HelpStub) -> None:
    page.set_viewport_size({"width": 320, "height": 480})
    stub.answers["q"] = turn(
        answer="A" * 300 + "\n\n| a | b | c | d | e | f |\n|-|-|-|-|-|-|\n" + "| wide cell text |" * 6, sources=[SSO]
    )
    page.goto(stub.page())
    launcher(page).click()
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


def test_two_or_three_announcements_per_answer_and_never_a_piece(page: Page, stub: HelpStub) -> None:
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
    page.wait_for_function("said.length >= 2")
    said = page.evaluate("said")
    assert len(said) in (2, 3)
    assert said[0] == "Looking for an answer…"
    assert "paste the metadata URL (SSO setup)" in said[-1]
    assert said[-1].endswith("1 source")
    expect(page.get_by_role("log")).to_have_attribute("aria-live", "off")
