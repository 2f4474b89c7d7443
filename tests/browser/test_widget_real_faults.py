"""Faults between the widget and the real server, and who may see what: nothing is lost, doubled or shown to others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import jwt
import pytest
from help_centre import C_PARTNER
from model_replies import REFUND_CLAIM, answering, opens, refund_answer
from nine_states import ask, kept, settled
from playwright.sync_api import Page, expect
from refdesk_server import IDENTITY_SECRET, RefdeskServer
from relay import Relay

from scripted_api import Answer, ScriptedModel, answer_of, closing, event, opening

QUESTION = "When are refunds issued?"


@pytest.fixture
def relay(server: RefdeskServer) -> Iterator[Relay]:
    made = Relay(server.port)
    yield made
    made.close()


@pytest.fixture
def own_server(tmp_path: Path, model: ScriptedModel) -> Iterator[Callable[..., RefdeskServer]]:
    made: list[RefdeskServer] = []

    def start(**settings: str) -> RefdeskServer:
        made.append(RefdeskServer(tmp_path / "refdesk", model.url, **settings).start())
        return made[0]

    yield start
    for each in made:
        each.kill()


def opened(page: Page, address: str) -> None:
    page.goto(f"{address}/demo")
    page.locator(".launcher").click()
    page.locator(".intro").wait_for()


def in_pieces(text: str, gate: threading.Event) -> Answer:
    """The model's `answer` call, held back in the middle of its text."""
    (whole,) = answering(text, REFUND_CLAIM).blocks
    (given,) = whole.pieces  # type: ignore[union-attr]
    middle = given.index("See also")
    deltas = [
        event({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}})
        for piece in (given[:middle], given[middle:])
    ]
    block = {"type": "tool_use", "id": "toolu_answer", "name": "answer", "input": {}}
    start = event({"type": "content_block_start", "index": 0, "content_block": block})
    stop = event({"type": "content_block_stop", "index": 0})
    return Answer((opening(), start, deltas[0], gate, deltas[1], stop, closing("tool_use")))


def test_a_connection_that_is_cut_in_an_answer_is_resumed_where_it_was(
    page: Page, relay: Relay, model: ScriptedModel
) -> None:
    gate = threading.Event()
    text = "Refunds are issued within 14 days ([Refunds](doc:refunds)).\n\nSee also [Gift cards](doc:gift-cards)."
    model.script(opens("refunds"), in_pieces(text, gate))
    resumed: list[str] = []
    page.on(
        "request",
        lambda request: resumed.append(request.headers["last-event-id"]) if request.url.endswith("/events") else None,
    )
    opened(page, relay.url)
    ask(page, QUESTION)
    page.get_by_text("within 14 days").wait_for()
    assert relay.cut() > 0
    page.get_by_text("Reconnecting").first.wait_for()
    gate.set()
    settled(page)
    expect(page.locator(".text")).to_have_text("Refunds are issued within 14 days (Refunds).See also Gift cards.")
    expect(page.locator(".chip")).to_have_text(["Refunds", "Gift cards"])
    assert resumed
    assert all(int(number) > 0 for number in resumed)
    with_token = page.evaluate("JSON.parse(Object.values(localStorage).find((text) => text.includes('token')))")
    turns = page.evaluate(
        "([id, token]) => fetch(`/v1/conversations/${id}`, {headers: {authorization: `Bearer ${token}`}})"
        ".then((answer) => answer.json())",
        [with_token["conversation"], with_token["token"]],
    )["turns"]
    assert [turn["question"] for turn in turns] == [QUESTION]


def test_a_session_that_the_server_no_longer_knows_starts_anew(
    page: Page, server: RefdeskServer, model: ScriptedModel
) -> None:
    model.script(refund_answer())
    opened(page, server.url)
    ask(page, QUESTION)
    settled(page)
    page.evaluate(
        "for (const [name, text] of Object.entries(localStorage)) localStorage.setItem(name,"
        " JSON.stringify({...JSON.parse(text), token: 'vt_unknown'}))"
    )
    ask(page, QUESTION)
    settled(page)
    expect(page.locator(".asked")).to_have_count(1)
    expect(page.locator(".chip")).to_have_text("Refunds")
    assert kept(page)["token"] != "vt_unknown"


def test_too_many_questions_say_when(
    page: Page, own_server: Callable[..., RefdeskServer], model: ScriptedModel
) -> None:
    allowed = 3
    server = own_server(REFDESK_RATE_LIMITS="on", REFDESK_TURNS_PER_VISITOR=str(allowed))
    model.script()
    opened(page, server.url)
    page.evaluate(
        """async ([server, count]) => {
        const json = {'content-type': 'application/json'};
        const open = await fetch('/v1/session', {method: 'POST', headers: json, body: '{}'});
        const {token} = await open.json();
        localStorage.setItem(`refdesk:${server}:`, JSON.stringify({token, open: true, at: Date.now()}));
        const headers = {...json, authorization: `Bearer ${token}`};
        for (let n = 0; n < count; n++)
          await fetch('/v1/ask', {method: 'POST', headers, body: JSON.stringify({question: 'hello'})});
      }""",
        [server.url, allowed],
    )
    ask(page, QUESTION)
    settled(page)
    expect(page.locator(".answer")).to_contain_text("Too many questions right now. You can try again in")
    expect(page.get_by_role("button", name="Try again")).to_be_disabled()


def test_a_signed_visitor_reads_what_is_theirs_and_leaves_nothing(
    page: Page, server: RefdeskServer, model: ScriptedModel
) -> None:
    now = int(time.time())
    claims = {"sub": "customer-7", "aud": "Acme Help", "iat": now, "exp": now + 300, "roles": ["partner"]}
    identity = jwt.encode(claims, IDENTITY_SECRET, "HS256", {"kid": "default"})
    quote = "Partners get 20 percent."
    claim = {"text": quote, "kind": "fact", "source_id": "discounts", "quote": quote}
    model.script(opens("discounts"), answering(f"{quote[:-1]} ([Partner discounts](doc:discounts)).", claim))
    opened(page, server.url)
    page.evaluate("Refdesk.openArticle('discounts')")
    expect(page.locator(".cover h2")).to_have_text("This article cannot be shown.")
    page.evaluate("(identity) => Refdesk.identify(identity)", identity)
    ask(page, "Which discount do partners get?")
    settled(page)
    page.locator(".chip", has_text="Partner discounts").click()
    expect(page.locator(".cover")).to_contain_text(C_PARTNER)
    page.evaluate("Refdesk.shutdown()")
    assert page.evaluate("Object.keys(localStorage)") == []
    page.evaluate("Refdesk.boot()")
    forged = "(identity) => Refdesk.identify(identity).then(() => 'accepted', (error) => error.status)"
    assert page.evaluate(forged, identity[:-3] + "xyz") == 401


def test_a_conflict_of_two_articles_shows_both(page: Page, server: RefdeskServer, model: ScriptedModel) -> None:
    positions = [
        {"source_id": "refunds", "quote": "Refunds are issued within 14 days."},
        {"source_id": "gift-cards", "quote": "Gift cards are not refunded."},
    ]
    conflict = {"topic": "Refunds of gift cards", "positions": positions, "criterion": "what was bought"}
    text = "The articles disagree ([Refunds](doc:refunds), [Gift cards](doc:gift-cards))."
    model.script(opens("refunds", "gift-cards"), answering(text, REFUND_CLAIM, conflicts=[conflict]))
    opened(page, server.url)
    ask(page, "Are gift cards refunded and when are refunds issued?")
    settled(page)
    expect(page.locator(".conflict blockquote")).to_have_text([each["quote"] for each in positions])
    page.locator(".conflict a").last.click()
    expect(page.locator("mark").first).to_have_text("Gift cards are not refunded.")


def test_a_refusal_offers_topics_and_the_articles_open(page: Page, server: RefdeskServer, model: ScriptedModel) -> None:
    model.script(answering("", outcome="insufficient", missing_information=["How refunds of taxes work."]))
    opened(page, server.url)
    ask(page, "When are refunds of taxes issued?")
    settled(page)
    expect(page.locator(".calm")).to_be_visible()
    expect(page.locator(".sources")).to_have_count(0)
    topic = page.locator(".topics a").first
    title = topic.inner_text()
    topic.click()
    expect(page.locator(".cover h2")).to_have_text(title)


def test_steps_show_what_is_searched_and_read(page: Page, server: RefdeskServer, model: ScriptedModel) -> None:
    gate = threading.Event()
    reply = answer_of(refund_answer())
    model.script(opens("refunds"), Answer((gate, *reply.chunks)))
    opened(page, server.url)
    ask(page, QUESTION)
    expect(page.locator(".steps li").last).to_have_text("Reading Refunds")
    gate.set()
    settled(page)
    expect(page.locator(".steps")).to_have_count(0)
    expect(page.locator(".chip")).to_have_text("Refunds")
