"""What questions that were asked add up to. A share of nothing is None."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

import msgspec

from refdesk.evaluation.measuring import DEPTH, Asked
from refdesk.evaluation.questions import ALL

DEPTHS = (1, 3, 5, 10)


class Latency(msgspec.Struct, frozen=True):
    p50: float | None
    p95: float | None


class Miss(msgspec.Struct, frozen=True):
    """None of the articles that answer the question is among the first ten."""

    question: str
    wanted: tuple[str, ...]
    found: tuple[str, ...]
    signals: dict[str, float]


class Figures(msgspec.Struct, frozen=True):
    """The JSON of `refdesk eval`: exactly these keys."""

    questions: int
    recall: dict[str, float | None]
    """Share of answerable questions with a right article among the first N distinct ones."""
    mrr10: float | None
    ndcg10: float | None
    answered: float | None
    """Share of answerable questions that pass the gate."""
    refused: dict[str, float | None]
    """Share of unanswerable ones that the gate refuses: all, and by tag."""
    latency_ms: Latency
    misses: tuple[Miss, ...]


def figures(asked: Sequence[Asked]) -> Figures:
    right = [one for one in asked if one.question.answerable]
    wrong = [one for one in asked if not one.question.answerable]
    return Figures(
        questions=len(asked),
        recall={str(depth): share(one.rank is not None and one.rank <= depth for one in right) for depth in DEPTHS},
        mrr10=mean(1 / one.rank if one.rank else 0.0 for one in right),
        ndcg10=mean(map(ndcg, right)),
        answered=share(one.passes for one in right),
        refused=refused(wrong),
        latency_ms=latency([one.ms for one in asked if one.ms is not None]),
        misses=tuple(miss(one) for one in right if one.rank is None),
    )


def refused(unanswerable: Sequence[Asked]) -> dict[str, float | None]:
    shares = {ALL: share(not one.passes for one in unanswerable)}
    for tag in dict.fromkeys(one.question.tag for one in unanswerable if one.question.tag):
        shares[tag] = share(not one.passes for one in unanswerable if one.question.tag == tag)
    return shares


def ndcg(one: Asked) -> float:
    """Every right article is worth the same; 1 where as many as fit stand in front."""
    gains = [1 / math.log2(place + 1) for place in range(1, DEPTH + 1)]
    gained = sum(gain for gain, article in zip(gains, one.found, strict=False) if article in one.question.articles)
    return gained / sum(gains[: len(one.question.articles)])


def miss(one: Asked) -> Miss:
    signals = {name: round(value, 4) for name, value in one.signals.items()}
    return Miss(one.question.text, one.question.articles, one.found, {**signals, "evidence_score": round(one.score, 4)})


def latency(ms: Sequence[float]) -> Latency:
    return Latency(percentile(ms, 0.5), percentile(ms, 0.95))


def percentile(values: Sequence[float], share: float) -> float | None:
    """The smallest value that at least this share of them does not exceed."""
    ordered = sorted(values)
    return round(ordered[math.ceil(share * len(ordered)) - 1], 2) if ordered else None


def share(good: Iterable[bool]) -> float | None:
    return mean(map(float, good))


def mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return round(statistics.fmean(listed), 4) if listed else None
