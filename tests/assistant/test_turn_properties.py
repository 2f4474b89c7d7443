"""Whatever a model does, the turn stays true: sources were found, links lead only to sources or links that were read,
and stream, JSON and store say the same."""

from __future__ import annotations

import asyncio
import re

import msgspec
import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answer_links import links
from fake_model import FakeChatModel, Reply, Say, call
from fakes import MemoryStore
from refdesk.app import SystemClock
from refdesk.assistant.asking import Assistant
from refdesk.assistant.runs import TurnRuns
from refdesk.assistant.turn import Limits
from refdesk.assistant.work import Ask
from refdesk.corpus.sync import read_corpus
from refdesk.domain.conversation import Turn, Visitor
from refdesk.retrieval.generation import GenerationStore

VISITOR = Visitor(id="v_1", roles=("public",))
READ_LINK = "https://status.acme.test/now"
FILES = {
    "help-center.toml": 'name = "Acme Help"\nlanguages = ["en"]\nroles = ["staff"]\n',
    "refund-window.md": "# Refund window\n\nRefunds are possible within 30 days of purchase. Gift cards are not.\n",
    "refund-old.md": "---\ntitle: Refund policy (2023)\n---\nRefunds are possible within 14 days of purchase.\n",
    "export.md": '---\ntitle: "[Beta] Export (CSV | JSON) *fast*"\n---\nUse the export menu above any table.\n',
    "status.md": f"# Status page\n\nRefunds and outages are announced at {READ_LINK} within an hour.\n",
    "runbook.md": "---\naudience: [staff]\ntitle: Incident runbook\n---\nRefunds CANARY are paged by duty.\n",
}
IDS = ["refund-window", "refund-old", "export", "status", "runbook", "nowhere"]
QUOTES = [
    "Refunds are possible within 30 days of purchase.",
    "Refunds are possible within 14 days of purchase.",
    "Refunds are possible within 90 days of purchase.",
    "Use the export menu above any table.",
    "30",
    "",
]
PIECES = [
    *(f"[here](doc:{name})" for name in IDS),
    *(f"[here](/articles/{name})" for name in IDS),
    "[Refund window]",
    "[Refund window › Steps]",
    "[[Beta] Export (CSV | JSON) *fast*]",
    "[Incident runbook]",
    f"[status]({READ_LINK})",
    "[evil](https://evil.test/a)",
    "![x](https://evil.test/p.png)",
    "<https://evil.test>",
    "<img src=x>",
    "[r]: https://evil.test/x\n",
    "`[Refund window]`",
    "```\n[x](doc:refund-window)\n```\n",
    "30 days",
    " ",
    "\n\n",
    "[",
    "](",
    ")",
    "**",
    "- ",
    "> ",
    "<!--",
    "-->",
    "\\",
    "`",
]

markdown = st.lists(st.sampled_from(PIECES), min_size=1, max_size=12).map("".join)
claim = st.fixed_dictionaries(
    {"text": st.sampled_from(["Refunds take 30 days.", "x"]), "kind": st.sampled_from(["fact", "inference", "guess"])},
    optional={
        "source_id": st.sampled_from(IDS),
        "quote": st.sampled_from(QUOTES),
        "premises": st.lists(st.integers(-1, 3), max_size=2),
    },
)
position = st.fixed_dictionaries({"source_id": st.sampled_from(IDS), "quote": st.sampled_from(QUOTES)})
conflict = st.fixed_dictionaries(
    {"topic": st.just("days"), "positions": st.lists(position, max_size=3), "criterion": st.just("date")}
)
answer = st.fixed_dictionaries(
    {
        "outcome": st.sampled_from(["answered", "answered", "answered", "insufficient", "clarify", "smalltalk", "odd"]),
        "claims": st.lists(claim, max_size=3),
        "conflicts": st.lists(conflict, max_size=2),
        "missing_information": st.lists(st.just("a page on it"), max_size=1),
        "answer": markdown,
    }
).map(lambda value: call("answer", value))
tool = st.one_of(
    st.sampled_from(IDS).map(lambda name: call("get_document", {"id": name})),
    st.sampled_from(["refund", "export menu", "runbook CANARY"]).map(lambda query: call("search", {"query": query})),
    st.just(call("list_articles", {})),
    st.just(call("run_shell", {"cmd": "id"})),
)
plain = markdown.map(lambda text: Reply((Say(tuple(re.findall(r".{1,7}", text, re.S)) or (" ",)),)))
script = st.tuples(st.lists(tool, max_size=3), st.one_of(answer, plain)).map(lambda parts: [*parts[0], parts[1]])
question = st.sampled_from(["How many days after purchase are refunds possible?", "Which articles do you have?"])


@pytest.fixture(autouse=True)
def quiet():
    """Thousands of turns need no log."""
    with structlog.testing.capture_logs():
        yield


@pytest.fixture(scope="module")
def retriever(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    reading = read_corpus(folder)
    generations = GenerationStore(tmp_path_factory.mktemp("data"))
    generations.publish(reading.centre, reading.articles)
    return generations


async def ask_all(retriever, scripts, asked):
    """The turns of one conversation, each with its events and what is stored of it."""
    store, runs, seen = MemoryStore(), TurnRuns(), []
    await store.add_visitor(VISITOR, b"token", "2026-01-01T00:00:00.000Z")
    conversation = None
    for replies in scripts:
        assistant = Assistant(
            retriever=retriever,
            store=store,
            model=FakeChatModel(replies),
            runs=runs,
            clock=SystemClock(),
            limits=Limits(),
        )
        run = await assistant.start(Ask(question=asked, visitor=VISITOR, conversation_id=conversation))
        await run.finished()
        assert run.error is None
        conversation = run.conversation_id
        stored = await store.turn(run.turn_id, VISITOR.id)
        seen.append((run, stored))
    return seen


def check(run, stored, earlier):
    turn = run.turn
    events = [(event.name, msgspec.json.decode(event.data)) for event in run.events]
    done = {key: value for key, value in events[-1][1].items() if key != "replaced"}
    assert events[-1][0] == "done"
    assert msgspec.convert(done, Turn) == turn == stored.turn
    assert msgspec.json.decode(msgspec.json.encode(turn), type=Turn) == turn
    sent = "".join(data["text"] for name, data in events if name == "delta")
    assert turn.answer == sent or turn.status != "answered" or events[-1][1].get("replaced")

    found = {item.id for item in stored.trail.documents}
    urls = {source.url for source in turn.sources}
    assert {source.id for source in turn.sources} <= found | earlier
    assert set(links(turn.answer)) <= urls | {READ_LINK}
    assert set(links(sent)) <= {f"/articles/{name}" for name in found | earlier} | {READ_LINK}
    shown = [source for source in turn.sources if source.show]
    assert all(item.read for item in stored.trail.documents if item.id in {source.id for source in shown})
    assert not (shown and (turn.status == "insufficient" or turn.kind in ("smalltalk", "clarification")))
    assert not turn.grounded or (turn.status == "answered" and (shown or turn.kind == "catalogue"))
    assert bool(turn.evidence) <= (turn.status == "evidence")
    for quoted in turn.claims:
        assert quoted.quote is None or any(quoted.quote in text for text in FILES.values())
    whole = msgspec.json.encode(turn).decode() + sent
    assert "CANARY" not in whole
    assert "Incident runbook](" not in whole
    return earlier | {source.id for source in turn.sources}


def holds(retriever, scripts, asked):
    earlier: set[str] = set()
    for run, stored in asyncio.run(ask_all(retriever, scripts, asked)):
        earlier = check(run, stored, earlier)


@given(st.lists(script, min_size=1, max_size=2), question)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_turn_is_true_whatever_the_model_does(retriever, scripts, asked):
    holds(retriever, scripts, asked)


@pytest.mark.long
@given(st.lists(script, min_size=1, max_size=2), question)
@settings(max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_ten_thousand_turns_are_true(retriever, scripts, asked):
    holds(retriever, scripts, asked)
