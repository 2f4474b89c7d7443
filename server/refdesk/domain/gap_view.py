"""A gap as writers see it in the queue: how much it weighs, what is asked, what is missing, what came near."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

from refdesk.domain.gap_queue import WEEKS, Answer, Asked, GapRow, GapStatus
from refdesk.domain.gaps import Cause

SAMPLES, MOST_MISSING, MOST_NEAR = 5, 10, 5


class SampleQuestion(msgspec.Struct, frozen=True):
    text: str
    language: str
    count: int
    """How often it was asked in this wording."""


class NearArticle(msgspec.Struct, frozen=True):
    id: str
    title: str
    count: int
    """Questions that came near it."""
    why: str
    """Why it did not answer the newest of them."""


class GapView(msgspec.Struct, frozen=True):
    id: str
    status: GapStatus
    cause: Cause
    title: str | None
    """The wording that most visitors asked; null where too few asked any to show it."""
    count: int
    visitors: int
    """Distinct ones."""
    first_asked: str
    last_asked: str
    trend: list[int]
    """Questions in each of the last eight weeks, the newest week last."""
    languages: dict[str, int]
    causes: dict[str, int]
    """Questions by cause."""
    questions: list[SampleQuestion]
    missing_information: list[str]
    nearest: list[NearArticle]
    hidden: int
    """Questions whose text is not shown, since too few visitors asked it."""
    assignee: str | None
    article: str | None
    answered_by: Answer | None
    closed_at: str | None
    created_at: str


def hide_rare(asked: Iterable[Asked], k: int) -> list[Asked]:
    """Without the text, and what the model said is missing, of questions that fewer than `k` visitors asked."""
    bare = {"question": None}
    return [
        question
        if question.visitors >= k
        else msgspec.structs.replace(question, **bare, body=msgspec.structs.replace(question.body, missing=()))
        for question in asked
    ]


def gap_view(row: GapRow, asked: Sequence[Asked], *, k: int, now: str) -> GapView:
    """`asked`: its questions, the newest first. `now`: RFC 3339."""
    shown = hide_rare(asked, k)
    questions = sample_questions(shown)
    return GapView(
        **{name: getattr(row, name) for name in
           ("id", "status", "cause", "count", "visitors", "first_asked", "last_asked", "assignee", "article",
            "answered_by", "closed_at", "created_at")},
        title=questions[0].text if questions else None,
        trend=trend((question.asked_at for question in asked), now),
        languages=dict(Counter(question.language for question in asked).most_common()),
        causes=dict(Counter(question.cause for question in asked).most_common()),
        questions=questions[:SAMPLES],
        missing_information=missing_information(shown),
        nearest=nearest(asked),
        hidden=sum(question.question is None for question in shown),
    )  # fmt: skip


def sample_questions(shown: Sequence[Asked]) -> list[SampleQuestion]:
    """One for each wording, that of most visitors first, then the newest."""
    wordings: dict[str, list[Asked]] = {}
    for question in shown:
        if question.question is not None:
            wordings.setdefault(question.wording, []).append(question)
    ordered = sorted(wordings.values(), key=lambda same: -same[0].visitors)
    return [SampleQuestion(same[0].question or "", same[0].language, len(same)) for same in ordered]


def missing_information(shown: Sequence[Asked]) -> list[str]:
    """What the model said most often first."""
    counts = Counter(sentence for question in shown for sentence in question.body.missing)
    return [sentence for sentence, _ in counts.most_common(MOST_MISSING)]


def nearest(asked: Sequence[Asked]) -> list[NearArticle]:
    counts = Counter(near.id for question in asked for near in question.body.near)
    newest = {near.id: near for question in reversed(asked) for near in question.body.near}
    return [
        NearArticle(name, newest[name].title, count, newest[name].why) for name, count in counts.most_common(MOST_NEAR)
    ]


def trend(moments: Iterable[str], now: str) -> list[int]:
    end = datetime.fromisoformat(now)
    weeks = [0] * WEEKS
    for moment in moments:
        age = (end - datetime.fromisoformat(moment)) // timedelta(weeks=1)
        if 0 <= age < WEEKS:
            weeks[WEEKS - 1 - age] += 1
    return weeks
