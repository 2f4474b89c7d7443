"""What a page can set, call, hear and style."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from help_stub import TAG, HelpStub
from nine_states import ARABIC_STRINGS, ask, settled
from playwright.sync_api import Page, expect
from sample_turns import INSUFFICIENT
from test_widget_page import STUB, launcher

from widget_types import TYPES, declared

WIDGET = Path(__file__).parents[2] / "widget"
LAYERS = ("server", "tag", "page", "boot")


# --- settings ---


@pytest.mark.parametrize("highest", LAYERS)
def test_later_settings_win(page: Page, stub: HelpStub, highest: str) -> None:
    """Each place over all those below it, in the order of `LAYERS`."""
    assert stub.settings is not None
    given = LAYERS[: LAYERS.index(highest) + 1]
    texts = {place: f"From the {place}" for place in given}
    stub.settings |= {"name": texts["server"], "greeting": texts["server"], "notice": texts["server"]}
    attributes = 'data-title="{0}" data-greeting="{0}" data-notice="{0}"'.format(texts.get("tag", ""))
    tag = TAG.replace("<script", f"<script {attributes}") if "tag" in given else TAG
    value = "{title: %(t)s, greeting: %(t)s, notice: %(t)s}"
    own = "window.refdeskSettings = " + value % {"t": json.dumps(texts["page"])} + ";" if "page" in given else ""
    boot = "Refdesk('boot', " + value % {"t": json.dumps(texts["boot"])} + ");" if "boot" in given else ""
    page.goto(stub.page(head=f"{STUB}<script>{own}{boot}</script>{tag}"))
    launcher(page).click()
    expect(page.locator(".bar h2")).to_have_text(texts[highest])
    expect(page.locator(".intro p[part=greeting]")).to_have_text(texts[highest])
    expect(page.locator(".intro .small")).to_have_text(texts[highest])


def test_each_place_gives_what_the_later_ones_leave_out(page: Page, stub: HelpStub) -> None:
    tag = TAG.replace("<script", '<script data-theme="dark" data-position="start" data-starters="One?|Two?"')
    settings = "<script>window.refdeskSettings = {theme: 'light', disclosure: 'A machine.'}</script>"
    page.goto(stub.page(head=STUB + settings + tag + "<script>Refdesk('boot', {title: 'From boot'})</script>"))
    launcher(page).click()
    expect(page.locator("refdesk-chat")).to_have_attribute("position", "start")
    expect(page.locator("refdesk-chat")).to_have_attribute("theme", "light")
    expect(page.locator(".foot")).to_have_text("A machine.")
    assert page.locator(".starters button").all_inner_texts() == ["One?", "Two?"]
    page.evaluate("Refdesk.update({title: 'Updated', theme: 'dark'})")
    expect(page.locator(".bar h2")).to_have_text("Updated")
    expect(page.locator("refdesk-chat")).to_have_attribute("theme", "dark")
    expect(page.locator("refdesk-chat")).to_have_attribute("position", "start")


def test_another_language_is_an_object_of_texts(page: Page, stub: HelpStub) -> None:
    strings = json.dumps(ARABIC_STRINGS, ensure_ascii=False)
    page.goto(stub.page(lang="ar", head=f"<script>refdeskSettings = {{strings: {strings}}}</script>{TAG}"))
    page.get_by_role("button", name=ARABIC_STRINGS["open"]).click()
    expect(page.get_by_role("textbox")).to_have_attribute("placeholder", ARABIC_STRINGS["placeholder"])
    assert page.locator(".composer").evaluate("(e) => getComputedStyle(e).direction") == "rtl"


# --- calls ---


def test_the_declarations_name_what_there_is(page: Page, stub: HelpStub) -> None:
    page.goto(stub.page())
    launcher(page).wait_for()
    verbs = page.evaluate("Object.keys(Refdesk).filter((name) => typeof Refdesk[name] === 'function')")
    assert sorted(declared("RefdeskApi")) == sorted(verbs)
    element = "document.querySelector('refdesk-chat')"
    inline = re.search(r"Pick<RefdeskApi, (.*?)>", TYPES)
    assert inline
    for verb in re.findall(r'"(\w+)"', inline[1]):
        assert page.evaluate(f"typeof {element}[{verb!r}]") == "function", verb


def test_every_verb(page: Page, stub: HelpStub) -> None:
    stub.streams["slow"] = [("delta", {"text": "Half"}), ("hold", "ever"), ("done", None)]
    page.goto(stub.page())
    page.evaluate("window.early = new Promise((done) => Refdesk.ready(done))")
    page.evaluate("Promise.all([early, Refdesk.ready()])")
    names = (
        "boot update shutdown ready show hide open close toggle ask stop retry reset openArticle identify setContext on"
    ).split()
    assert set(names) <= set(declared("RefdeskApi"))
    page.evaluate("Refdesk.hide()")
    expect(launcher(page)).to_be_hidden()
    page.evaluate("Refdesk.show()")
    expect(launcher(page)).to_be_visible()
    page.evaluate("Refdesk.toggle()")
    expect(page.locator("dialog")).to_be_visible()
    assert page.evaluate("Refdesk.isOpen()") is True
    page.evaluate("Refdesk.open({prefill: 'a draft'})")
    expect(page.get_by_role("textbox")).to_have_value("a draft")
    page.evaluate("Refdesk.setContext({url: 'https://shop.example/cart', title: 'Cart'})")
    answer = page.evaluate("Refdesk.ask('by call')")
    assert answer["status"] == "answered"
    assert stub.asked()[-1]["page"] == {"url": "https://shop.example/cart", "title": "Cart"}
    page.evaluate("Refdesk.retry()")
    assert [body["question"] for body in stub.asked()] == ["by call", "by call"]
    page.evaluate("void Refdesk.ask('slow')")
    page.get_by_text("Half", exact=True).wait_for()
    page.evaluate("Refdesk.stop()")
    expect(page.locator(".answer").last).to_contain_text("You stopped this answer.")
    page.evaluate("Refdesk.openArticle('sso-setup', {quote: 'metadata URL'})")
    page.locator("mark").first.wait_for()
    page.evaluate("Refdesk.reset()")
    expect(page.locator(".asked")).to_have_count(0)
    page.evaluate("Refdesk.open({message: 'with the opening'})")
    settled(page)
    assert stub.asked()[-1]["question"] == "with the opening"
    page.evaluate("Refdesk.close()")
    expect(page.locator("dialog")).to_be_hidden()
    page.evaluate("Refdesk.shutdown()")
    expect(page.locator("refdesk-chat")).to_have_count(0)
    assert page.evaluate("Object.keys(localStorage)") == []
    page.evaluate("Refdesk.boot()")
    expect(launcher(page)).to_be_visible()


def test_an_unknown_command_is_named_and_harms_nothing(page: Page, stub: HelpStub) -> None:
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(stub.page(head=STUB + "<script>Refdesk('opne'); Refdesk('constructor')</script>" + TAG))
    launcher(page).wait_for()
    assert [text for text in said if "no command" in text] == [
        'Refdesk has no command "opne".',
        'Refdesk has no command "constructor".',
    ]


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


# --- events ---

LISTENING = (
    "<script>window.seen = []; window.prevent = '';"
    "for (const name of %s) document.addEventListener('refdesk:' + name, (event) => {"
    " seen.push(name); if (prevent === name) event.preventDefault(); })</script>"
)


def test_the_page_hears_every_event(page: Page, stub: HelpStub) -> None:
    names = declared("RefdeskEvents")
    stub.answers["none"] = INSUFFICIENT
    stub.streams["slow"] = [("delta", {"text": "Half"}), ("hold", "ever"), ("done", None)]
    stub.streams["bad"] = [("error", {"status": 500, "code": "turn_failed", "title": "x", "detail": "x"})]
    page.goto(stub.page(head=STUB + TAG + LISTENING % json.dumps(names)))
    page.evaluate(
        "(all) => { window.heard = new Set(); for (const n of all) Refdesk.on(n, () => heard.add(n)) }", names
    )
    launcher(page).click()
    ask(page, "q")
    settled(page)
    page.locator(".chip").click()
    page.locator("mark").first.wait_for()
    page.keyboard.press("Escape")
    page.locator(".text a").first.click()
    page.locator("mark").first.wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Yes", exact=True).click()
    ask(page, "none")
    settled(page)
    ask(page, "slow")
    page.get_by_text("Half", exact=True).wait_for()
    page.get_by_role("button", name="Stop answering").click()
    settled(page)
    ask(page, "bad")
    settled(page)
    page.get_by_role("button", name="New conversation").click()
    page.get_by_role("button", name="Close help").first.click()
    page.wait_for_function("(names) => names.every((name) => seen.includes(name))", arg=names)
    assert set(names) - set(page.evaluate("[...heard]")) <= {"ready"}, "`ready` may be over before the page listens"


@pytest.mark.parametrize("name", ["question", "source-click", "link-click", "article-open"])
def test_the_page_may_prevent_what_is_about_to_happen(page: Page, stub: HelpStub, name: str) -> None:
    page.goto(stub.page(head=TAG + LISTENING % json.dumps([name])))
    launcher(page).click()
    ask(page, "q")
    settled(page)
    page.evaluate("(name) => { prevent = name; seen.length = 0 }", name)
    if name == "question":
        ask(page, "kept back")
    else:
        page.locator(".text a" if name == "link-click" else ".chip").first.click()
    page.wait_for_function("seen.length === 1")
    expect(page.locator(".cover")).to_have_count(0)
    expect(page.locator(".asked")).to_have_text("You asked: q")
    assert [body["question"] for body in stub.asked()] == ["q"]
    assert stub.paths("GET", "/v1/articles") == []


def test_on_gives_a_way_off_and_a_faulty_handler_harms_nobody(page: Page, stub: HelpStub) -> None:
    page.goto(stub.page())
    launcher(page).wait_for()
    page.evaluate(
        "window.n = 0; window.once = 0; Refdesk.on('open', () => { throw new Error('the page\\'s own') });"
        "window.off = Refdesk.on('open', () => n++); Refdesk.once('open', () => once++); Refdesk.open()"
    )
    page.wait_for_function("n === 1")
    page.evaluate("off(); Refdesk.close(); Refdesk.open()")
    expect(page.locator("dialog")).to_be_visible()
    assert page.evaluate("[n, once]") == [1, 1]


# --- look ---

PROPERTIES = {
    "accent": ("#0a5c36", ".launcher", "backgroundColor", "rgb(10, 92, 54)"),
    "accent-text": ("#fffff0", ".launcher", "color", "rgb(255, 255, 240)"),
    "bg": ("#fffafa", "dialog", "backgroundColor", "rgb(255, 250, 250)"),
    "fg": ("#001122", "dialog", "color", "rgb(0, 17, 34)"),
    "muted": ("#334455", ".foot", "color", "rgb(51, 68, 85)"),
    "surface": ("#f0f0f8", ".answer code", "backgroundColor", "rgb(240, 240, 248)"),
    "border": ("#667788", ".chip", "borderTopColor", "rgb(102, 119, 136)"),
    "radius": ("3px", "dialog", "borderTopLeftRadius", "3px"),
    "font": ("monospace", "dialog", "fontFamily", "monospace"),
    "width": ("350px", "dialog", "width", "350px"),
    "offset-x": ("31px", ".launcher", "right", "31px"),
    "offset-y": ("37px", ".launcher", "bottom", "37px"),
    "z": ("77", "dialog", "zIndex", "77"),
}
PARTS = "launcher panel header log message user assistant sources chip actions composer reader greeting disclosure tip"


def test_every_property_shows(page: Page, stub: HelpStub) -> None:
    css = (WIDGET / "src" / "styles.ts").read_text("utf-8")
    assert set(re.findall(r"--refdesk-([a-z-]+)", css)) == {*PROPERTIES, "height"}
    stub.answers["q"] = {**stub.answers.get("q", {}), "status": "answered", "answer": "Press `Save`.", "sources": [{
        "id": "sso-setup", "title": "SSO setup", "url": "/articles/sso-setup"}]}  # fmt: skip
    given = ";".join(f"--refdesk-{name}:{value[0]}" for name, value in PROPERTIES.items())
    page.goto(stub.page(head=f"<style>:root{{{given}}}</style>{TAG}"))
    launcher(page).click()
    ask(page, "q")
    settled(page)
    read = "(e, name) => getComputedStyle(e)[name]"
    for name, (_, selector, style, wanted) in PROPERTIES.items():
        assert page.locator("refdesk-chat").locator(selector).first.evaluate(read, style) == wanted, name


def test_the_height_of_an_inline_widget(page: Page, stub: HelpStub) -> None:
    head = "<style>refdesk-chat{--refdesk-height:444px}</style>" + TAG.replace(
        "<script", '<script data-autoboot="false"'
    )
    page.goto(stub.page(head=head, body="<refdesk-chat></refdesk-chat>"))
    page.locator(".starters").wait_for()
    assert page.locator("refdesk-chat").evaluate("(e) => e.offsetHeight") == 444


def test_every_part_can_be_styled(page: Page, stub: HelpStub) -> None:
    wanted = PARTS.split()
    rules = "".join(f"refdesk-chat::part({part}){{outline:{n + 1}px solid}}" for n, part in enumerate(wanted))
    page.goto(stub.page(head=f"<style>{rules}</style>{TAG}"))
    seen: set[str] = set()

    def look() -> None:
        found: list[Any] = page.locator("refdesk-chat").evaluate(
            "(e) => [...e.shadowRoot.querySelectorAll('[part]')]"
            ".map((p) => [p.part.value, getComputedStyle(p).outlineStyle])"
        )
        assert {outline for _, outline in found} == {"solid"}
        seen.update(name for names, _ in found for name in names.split())

    launcher(page).click()
    page.locator(".starters").wait_for()
    look()
    ask(page, "q")
    settled(page)
    page.locator(".chip").hover()
    page.get_by_role("tooltip").wait_for()
    look()
    page.locator(".chip").click()
    page.locator("mark").first.wait_for()
    look()
    assert seen == set(wanted)
