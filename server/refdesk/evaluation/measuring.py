"""Asks a question as the first of a conversation, up to the gate: retrieval and gate of a real turn, no model call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from refdesk.assistant.gathering import begin, gather
from refdesk.assistant.turn import Limits
from refdesk.assistant.work import Ask
from refdesk.domain.conversation import Turn, Visitor
from refdesk.domain.gate import GateDecision, competent
from refdesk.domain.gate import Question as GateQuestion
from refdesk.evaluation.questions import Question
from refdesk.ports import Snapshot

DEPTH = 10
"""Distinct articles that are looked at."""
WARMING = "Is anybody here today?"
PASSAGES = 30
"""That many passages hold `DEPTH` articles, for a search gives at most three of each."""


class Asked(msgspec.Struct, frozen=True):
    question: Question
    found: tuple[str, ...]
    """Distinct articles, best first, at most `DEPTH`."""
    passes: bool
    """The model would be asked."""
    judged: bool
    """The gate may refuse it: not small talk, the catalogue, or a language that the corpus is not written in."""
    score: float
    signals: dict[str, float]
    reason: str | None = None
    ms: float | None = None
    """From the question to the gate's word; None where nothing is searched."""
    degraded: bool = False
    """Vectors exist but did not answer."""

    @property
    def rank(self) -> int | None:
        """Of the first right article, from 1; None: not among those found."""
        right = (place for place, article in enumerate(self.found, 1) if article in self.question.articles)
        return next(right, None)


class Opened(msgspec.Struct, frozen=True):
    """`ms` None: nothing is searched for such a turn, and the gate is not asked."""

    decision: GateDecision
    judged: bool
    ms: float | None


async def opened(question: Question, snapshot: Snapshot) -> Opened:
    visitor = Visitor(id="v_evaluation", roles=tuple(sorted(question.roles)))
    turn = Turn(id="t_evaluation", conversation_id="c_evaluation", created_at="", question=question.text)
    ask = Ask(question=question.text, visitor=visitor, locale=question.language)
    work, recognised = begin(ask, turn, snapshot, [], Limits())
    if work.kind != "question":
        return Opened(GateDecision(True), False, None)
    decision = await gather(work, recognised)
    shape = GateQuestion(kind=work.kind, words=0, follow_up=False, language=recognised)
    return Opened(decision, competent(shape, snapshot.centre.languages), work.record.timings["retrieval_ms"])


async def measured(question: Question, snapshot: Snapshot) -> Asked:
    start = await opened(question, snapshot)
    # the same search again, deeper: a turn stops at fewer articles than the figures look at
    ranking = await snapshot.search(question.text, question.roles, limit=PASSAGES)
    found = tuple(dict.fromkeys(hit.article.id for hit in ranking.hits))[:DEPTH]
    decision = start.decision
    return Asked(
        question=question,
        found=found,
        passes=decision.passes,
        judged=start.judged,
        score=decision.score,
        signals=decision.signals,
        reason=decision.reason,
        ms=start.ms,
        degraded=ranking.degraded,
    )


async def measure(
    questions: Sequence[Question], snapshot: Snapshot, progress: Callable[[int, int, str], None]
) -> list[Asked]:
    """One after the other, so that times are those of a question alone. A first one that does not count pays for what a
    server that runs has loaded long ago."""
    await opened(Question(WARMING), snapshot)
    asked = []
    for question in questions:
        asked.append(await measured(question, snapshot))
        progress(len(asked), len(questions), "asking questions")
    return asked
