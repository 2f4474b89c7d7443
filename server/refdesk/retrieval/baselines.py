"""The yardstick of the gate, measured from the help centre itself at every sync (decisions/dense-retrieval.md).

Similarities mean something else for each encoder, corpus and pair of languages. Two things can be measured anywhere:
what general questions reach, which nothing here answers, and what the help centre's own titles reach in the articles of
others. A question's nearness is its place between the two, and one threshold does for every help centre.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

Value = TypeVar("Value", float, NDArray[np.float32])
OffTopic: TypeAlias = Mapping[str, Sequence[str]]
"""Questions by language."""

RECIPE = 1
"""Rises with whatever a yardstick is made of: one of another recipe is measured anew."""
OUTLIER = 4.0
"""Times 1.5 median deviations: a cooking school's yardstick is not lifted by the six questions on cooking."""
LEAST_SPREAD = 0.012
USUAL_REACH, LEAST_REACH, MOST_REACH = 5.0, 4.0, 8.0
"""Spreads that own titles stand above off-topic questions: where there are too few of them to tell, and the bounds."""
FEWEST_TITLES = 10
WEIGHTS = {"near": 7.0, "selfscore": 2.0, "unknown": -3.0, "strange": -2.0, "bias": -0.95}
"""For gate.evidence_score()."""


class Spread(msgspec.Struct, frozen=True):
    """Mean and standard deviation, without outliers."""

    middle: float
    spread: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        middle = statistics.median(values)
        usual = 1.5 * statistics.median(abs(value - middle) for value in values)
        kept = [value for value in values if value <= middle + OUTLIER * max(usual, LEAST_SPREAD)]
        return cls(statistics.fmean(kept), max(statistics.pstdev(kept), LEAST_SPREAD))

    def above(self, value: Value) -> Value:
        """In spreads; numbers or arrays of them."""
        above: Value = (value - self.middle) / self.spread
        return above


class Baseline(msgspec.Struct, frozen=True):
    """Of one pair of languages."""

    off_topic: Spread
    """Of the best similarity that an off-topic question reaches."""
    reach: float = USUAL_REACH
    """Spreads above that which the help centre's own titles reach."""

    def near(self, similarity: Value) -> Value:
        """0: as near as off-topic questions; 1: as near as the help centre's own titles come to other articles."""
        return self.off_topic.above(similarity) / self.reach


def reach_of(spreads: Sequence[float]) -> float:
    """From the spreads that own titles reach."""
    if len(spreads) < FEWEST_TITLES:
        return USUAL_REACH
    return min(MOST_REACH, max(LEAST_REACH, statistics.median(spreads)))


class Baselines(msgspec.Struct, frozen=True):
    pairs: dict[str, Baseline]
    axes: tuple[tuple[float, ...], ...] = ()
    """Orthonormal directions in which languages differ, of the multilingual encoder."""
    recipe: int = RECIPE

    @staticmethod
    def key(asked_in: str, spoken: str) -> str:
        return f"{asked_in} {spoken}"

    def of(self, asked_in: str, spoken: str) -> Baseline | None:
        """For a question in a language that has no bank: the highest that any bank's language reaches. Questions in the
        text's own language come nearer than all of them."""
        if (exact := self.pairs.get(self.key(asked_in, spoken))) is not None:
            return exact
        others = [pair for name, pair in self.pairs.items() if name.endswith(f" {spoken}") and name != "en en"]
        return max(others, key=lambda pair: pair.off_topic.middle, default=None)


@lru_cache(maxsize=1)
def off_topic() -> dict[str, list[str]]:
    """A hundred everyday and general questions in each of English, Russian and Czech, none about a product."""
    text = files("refdesk.retrieval").joinpath("data/offtopic.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, list[str]])
