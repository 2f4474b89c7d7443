from __future__ import annotations

from pathlib import Path

import msgspec
import structlog

from fake_model import FakeChatModel, say
from fakes import MemoryStore
from refdesk.app import SystemClock
from refdesk.assistant.asking import Assistant
from refdesk.assistant.runs import TurnRuns
from refdesk.assistant.turn import Limits
from refdesk.assistant.work import Ask
from refdesk.corpus.sync import read_corpus
from refdesk.domain.conversation import Turn, TurnTrail, Visitor
from refdesk.retrieval.generation import GenerationStore

VISITOR = Visitor(id="v_1", roles=("public",))


class Choosy(MemoryStore):
    """Takes no answered turn, as a database does with a number that fits into no column."""

    refused = 0

    async def finish_turn(self, turn: Turn, trail: TurnTrail) -> None:
        if turn.status == "answered":
            self.refused += 1
            raise OverflowError("too large")
        await super().finish_turn(turn, trail)


async def test_a_turn_that_cannot_be_stored_as_it_is_ends_as_failed(tmp_path: Path) -> None:
    (tmp_path / "refunds.md").write_text("# Refunds\n\nRefunds are possible within 30 days of purchase.\n")
    reading = read_corpus(tmp_path)
    retriever = GenerationStore(tmp_path / "data")
    retriever.publish(reading.centre, reading.articles)
    store = Choosy()
    await store.add_visitor(VISITOR, b"token", "2026-01-01T00:00:00.000Z")
    assistant = Assistant(
        retriever=retriever,
        store=store,
        model=FakeChatModel([say("Within 30 days, see [Refunds].")]),
        runs=TurnRuns(),
        clock=SystemClock(),
        limits=Limits(),
    )
    with structlog.testing.capture_logs() as lines:
        run = await assistant.start(Ask(question="When are refunds possible?", visitor=VISITOR))
        await run.finished()
    assert "turn failed" in [line["event"] for line in lines]
    assert store.refused == 1
    last = run.events[-1]
    assert (last.name, msgspec.json.decode(last.data)["code"]) == ("error", "internal_error")
    stored = await store.turn(run.turn_id, VISITOR.id)
    assert stored is not None
    assert (stored.turn.status, stored.turn.answer, stored.turn.sources) == ("failed", "", ())
