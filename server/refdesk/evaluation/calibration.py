"""What a threshold of the gate trades: answerable questions let through against unanswerable ones refused."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from refdesk.evaluation.figures import refused, share
from refdesk.evaluation.measuring import Asked

AIM = 0.97
"""Of the answerable questions that must pass: a wrong refusal costs more than a spare model call (retrieval.md)."""
ANSWERED = (0.99, AIM, 0.95, 0.90)
"""What is offered besides the threshold in force."""
LOWEST, HIGHEST = 0.001, 0.999
"""Thresholds have three decimals."""
WITHOUT_SCORE = ("no_hits", "context_budget")
BINS, BAR = 20, 30


class Trade(msgspec.Struct, frozen=True):
    threshold: float
    answered: float | None
    refused: dict[str, float | None]
    in_force: bool = False


def trades(asked: Sequence[Asked], in_force: float) -> list[Trade]:
    """Five of them, rising; fewer where two are the same."""
    offered = {best_threshold(asked, least): False for least in ANSWERED}
    offered[round(in_force, 3)] = True
    return [trade(asked, threshold, in_force=mine) for threshold, mine in sorted(offered.items())]


def trade(asked: Sequence[Asked], threshold: float, *, in_force: bool = False) -> Trade:
    at = [msgspec.structs.replace(one, passes=passes(one, threshold)) for one in asked]
    answered = share(one.passes for one in at if one.question.answerable)
    return Trade(threshold, answered, refused([one for one in at if not one.question.answerable]), in_force)


def passes(one: Asked, threshold: float) -> bool:
    """As the gate decides: it judges only where it is competent; where nothing was found or packed no score helps."""
    if not one.judged:
        return True
    return one.reason not in WITHOUT_SCORE and one.score >= threshold


def best_threshold(asked: Sequence[Asked], least: float) -> float:
    """The highest one that lets at least this share of the answerable questions through."""
    right = [one for one in asked if one.question.answerable]
    scores = sorted((1.0 if not one.judged else one.score for one in right), reverse=True)
    needed = math.ceil(least * len(scores) - 1e-9)
    lowest = scores[needed - 1] if needed else HIGHEST
    return round(min(HIGHEST, max(LOWEST, math.floor(lowest / LOWEST) * LOWEST)), 3)


def plot(asked: Sequence[Asked]) -> list[str]:
    """Questions by evidence score, answerable ones to the left; the longest bar of each side is `BAR` wide."""
    sides = [[one.score for one in asked if one.judged and one.question.answerable is side] for side in (True, False)]
    counts = [
        [sum(at == min(BINS - 1, int(score * BINS)) for score in scores) for at in range(BINS)] for scores in sides
    ]
    lines = [f"{'answerable':>{BAR + 5}}  score       unanswerable"]
    for at in reversed(range(BINS)):
        left, right = (_bar(count[at], max(count)) for count in counts)
        low, high = at / BINS, (at + 1) / BINS
        mine, theirs = (str(count[at]) if count[at] else "" for count in counts)
        lines.append(f"{mine:>4} {left:>{BAR}}  {low:.2f}–{high:.2f}  {right:<{BAR}} {theirs}".rstrip())
    return lines


def _bar(count: int, most: int) -> str:
    return "█" * -(-count * BAR // most) if most else ""
