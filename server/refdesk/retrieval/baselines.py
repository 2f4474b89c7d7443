"""How near off-topic questions come to a help centre's texts: the yardstick of the gate (decisions/dense-retrieval.md).

Cosines mean something else for each encoder, corpus and pair of languages; what general questions reach there does not.
So a question's nearness is counted in spreads above those, and one threshold does for every help centre.
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

OUTLIER = 4.0
"""Times 1.5 median deviations: a cooking school's yardstick is not lifted by the six questions on cooking."""
LEAST_SPREAD = 0.012
WEIGHTS = {"near": 1.0, "title_near": 0.4, "selfscore": 5.0, "unknown": -4.0, "strange": -8.0, "bias": -0.3}
"""For gate.evidence_score(): 0.5 is the threshold."""


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
    text: Spread
    title: Spread
    similarity: Spread
    """Of what ranks, so that passages of different languages can be ranked together."""


class Baselines(msgspec.Struct, frozen=True):
    pairs: dict[str, Baseline]

    @staticmethod
    def key(asked_in: str, spoken: str) -> str:
        return f"{asked_in} {spoken}"

    def of(self, asked_in: str, spoken: str) -> Baseline | None:
        """For a question in a language that has no bank: the lowest that any bank's language reaches, since too low a
        baseline costs a model call and too high a one an answer."""
        if (exact := self.pairs.get(self.key(asked_in, spoken))) is not None:
            return exact
        others = [pair for name, pair in self.pairs.items() if name.endswith(f" {spoken}") and name != "en en"]
        return min(others, key=lambda pair: pair.text.middle, default=None)


@lru_cache(maxsize=1)
def off_topic() -> dict[str, list[str]]:
    """A hundred everyday and general questions in each of English, Russian and Czech, none about a product."""
    text = files("refdesk.retrieval").joinpath("data/offtopic.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, list[str]])
