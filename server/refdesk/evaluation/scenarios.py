"""What a grounded assistant must do, played on a help centre made for it: `refdesk eval --builtin`.

A stated value, a fact that is not there, two articles that contradict each other, a number that changes. Without a
model the gate and the evidence are checked, with one the whole turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import msgspec

from refdesk.app import Parts, assistant_of
from refdesk.assistant.work import Ask
from refdesk.domain.articles import PUBLIC
from refdesk.domain.conversation import Turn, Visitor
from refdesk.evaluation.preparing import vectors
from refdesk.terminal import Terminal

CENTRE = 'name = "Fernleaf Help"\nlanguages = ["en"]\n'
LIMIT, NEW_LIMIT = "200 MB", "350 MB"
UPLOADS = """---
id: uploads
title: Uploading pictures
updated: 2026-01-10
---

Choose **Pictures › Upload** and drop the files into the window. A single picture may have up to {limit}. Larger
ones are refused with a message that names the file. Progress is shown until the last picture is stored.
"""
ARTICLES = {
    "exports.md": """---
id: exports
title: Downloading an export
updated: 2026-02-03
---

An export of your albums is prepared in the background, and a mail tells you when it is ready. The finished export is
kept for 45 days; after that it is deleted and has to be requested again.

## What an export holds

All pictures in their original size, the captions as a text file, and the list of albums.
""",
    "refunds.md": """---
id: refunds
title: Refunds
updated: 2026-03-01
---

A refund can be requested within 14 days after the purchase. Write to billing and name the number of the invoice; the
money returns to the card that was charged.
""",
    "orders.md": """---
id: orders
title: Orders and invoices
updated: 2025-06-15
---

Every order has an invoice, found under **Account › Invoices**. A refund can be requested within 30 days after the
purchase. Invoices are sent by mail on the day of the order.
""",
    "sharing.md": """---
id: sharing
title: Sharing an album
updated: 2026-01-20
---

Open the album and choose **Share**. Whoever has the link may look at the pictures; only people you invite by mail may
add their own. A link is withdrawn by choosing **Stop sharing**.
""",
    "password.md": """---
id: password
title: Changing your password
updated: 2025-11-02
---

Go to **Account › Security** and choose **New password**. All other devices are signed out, and a mail confirms
the change.
""",
}
VISITOR = Visitor(id="v_scenarios", roles=(PUBLIC,))

Check: TypeAlias = Callable[[Turn], bool]


class Outcome(msgspec.Struct, frozen=True):
    scenario: str
    passed: bool
    expected: str
    got: str


class Scenario(msgspec.Struct, frozen=True):
    name: str
    question: str
    expected: str
    """As a sentence."""
    without_model: Check
    with_model: Check
    before: Mapping[str, str] = {}
    """Files that are written, and synced, before the question."""


def said(turn: Turn) -> str:
    """Everything verbatim that backs the turn."""
    quotes = [item.quote for item in turn.evidence] + [claim.quote or "" for claim in turn.claims]
    return " ".join(quotes)


def states(article_id: str, value: str, not_value: str = "") -> tuple[Check, Check]:
    def evidence(turn: Turn) -> bool:
        quotes = [item.quote for item in turn.evidence if item.source_id == article_id]
        return turn.status == "evidence" and any(value in quote for quote in quotes) and is_clean(turn)

    def answer(turn: Turn) -> bool:
        shown = {source.id for source in turn.sources if source.show}
        quoted = any(value in (c.quote or "") for c in turn.claims if c.source_id == article_id)
        return turn.status == "answered" and turn.grounded and article_id in shown and quoted and is_clean(turn)

    def is_clean(turn: Turn) -> bool:
        return not not_value or not_value not in f"{turn.answer} {said(turn)}"

    return evidence, answer


def refuses(turn: Turn) -> bool:
    return turn.status == "insufficient" and not any(source.show for source in turn.sources) and not turn.claims


def shows_both(one: tuple[str, str], other: tuple[str, str]) -> tuple[Check, Check]:
    sides = (one, other)

    def evidence(turn: Turn) -> bool:
        return all(any(item.source_id == i and value in item.quote for item in turn.evidence) for i, value in sides)

    def answer(turn: Turn) -> bool:
        positions = [position for conflict in turn.conflicts for position in conflict.positions]
        return all(any(p.source_id == i and value in p.quote for p in positions) for i, value in sides)

    return evidence, answer


SCENARIOS = (
    Scenario(
        "a stated value",
        "How long is a finished export kept?",
        "“45 days”, quoted from the article that states it",
        *states("exports", "45 days"),
    ),
    Scenario(
        "an absent fact",
        "Which vaccinations does a puppy need before it travels abroad?",
        "no answer and no sources",
        refuses,
        refuses,
    ),
    Scenario(
        "two articles that contradict each other",
        "Within how many days can a refund be requested after the purchase?",
        "both sides: 14 days and 30 days, each from its article",
        *shows_both(("refunds", "14 days"), ("orders", "30 days")),
    ),
    Scenario(
        "a number before it changes",
        "How large may a single picture be?",
        f"“{LIMIT}”",
        *states("uploads", LIMIT, NEW_LIMIT),
    ),
    Scenario(
        "the number after it has changed",
        "How large may a single picture be?",
        f"“{NEW_LIMIT}” and nowhere “{LIMIT}”",
        *states("uploads", NEW_LIMIT, LIMIT),
        before={"uploads.md": UPLOADS.format(limit=NEW_LIMIT)},
    ),
)


def write_corpus(folder: Path) -> None:
    folder.mkdir(parents=True)
    files = {"help-center.toml": CENTRE, "uploads.md": UPLOADS.format(limit=LIMIT), **ARTICLES}
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")


async def play(parts: Parts, terminal: Terminal) -> list[Outcome]:
    """`parts` hold a corpus of `write_corpus`, which is changed on the way."""
    await parts.store.add_visitor(VISITOR, b"scenarios", "1970-01-01T00:00:00.000Z")
    outcomes = []
    for number, scenario in enumerate(SCENARIOS):
        terminal.progress(number, len(SCENARIOS), "playing scenarios")
        await _change(parts, scenario.before, terminal)
        outcomes.append(await _played(parts, scenario))
    terminal.progress(len(SCENARIOS), len(SCENARIOS), "playing scenarios")
    return outcomes


async def _change(parts: Parts, files: Mapping[str, str], terminal: Terminal) -> None:
    if not files:
        return
    for name, text in files.items():
        (parts.settings.corpus / name).write_text(text, "utf-8")
    await parts.library.sync()
    await vectors(parts.library, terminal)


async def _played(parts: Parts, scenario: Scenario) -> Outcome:
    run = await assistant_of(parts).start(Ask(question=scenario.question, visitor=VISITOR))
    await run.finished()
    stored = await parts.store.turn(run.turn_id, None)
    assert stored is not None
    turn = stored.turn
    check = scenario.with_model if parts.model is not None else scenario.without_model
    return Outcome(scenario.name, check(turn), scenario.expected, _in_short(turn))


def _in_short(turn: Turn) -> str:
    positions = [p.quote for conflict in turn.conflicts for p in conflict.positions]
    quotes = [item.quote for item in turn.evidence] + [claim.quote or "" for claim in turn.claims] + positions
    shown = "; ".join(f"“{' '.join(quote.split())}”" for quote in quotes if quote)
    return turn.status + (f" ({turn.model_error})" if turn.model_error else "") + (f": {shown}" if shown else "")
