"""The same question in two languages: pairs that are each other's nearest, how sure each is, and how sure is enough.

That two questions are each other's nearest says nothing where neither has a counterpart: somebody is always nearest. So
a pair must be sure, and how sure is read off the pile itself. With its counterpart out of the way a question's nearest
is certainly a wrong one; such wrong pairs show how sure wrong pairs look in this pile (target and decoy, Elias and Gygi
2007), and the least sure of the real pairs show how many questions have no counterpart (Storey 2002).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from refdesk.domain.gap_nearness import ALIKE, Matrix, against_surroundings, spread, usual
from refdesk.domain.gap_wordings import Wording, asks_another_thing

LEAST_NEAR, LEAST_COSINE = 0.1, 0.2
"""What every pair of counterparts must reach: against its surroundings, and by itself."""
LEAD, MOST_LEAD = 0.5, 0.4
"""Weight of how far the nearest is ahead of the next, and up to which lead more of it counts."""
UNLIKE, LONGER = 0.3, 0.4
"""What makes a pair less sure: numbers that are not the same, or that one of them alone asks when, where, who, how
many; and twice as many words, about."""
LEAST_SURE, USUALLY_SURE, SUREST = 0.0, 0.5, 0.8
"""How sure is enough at least, where the pile tells nothing, and at most."""
UNSURE = (0.2, 0.3, 0.4)
"""Below these most pairs are wrong."""
WRONG = 0.025
"""Share of wrong pairs that is borne, as far as it can be told: really it is two to three times as large."""
POPULAR, MOST_POPULAR = 0.05, 0.15
"""How much less near a pair is where one is asked by e times as many visitors, and at most: what many ask in one
language, many ask in the other."""
FEW = 25
"""So many wrong pairs must have been seen for the pile to tell."""
SHARES = np.linspace(0, 1, 101)
RATES = np.linspace(0, 6, 601)


class Side(NamedTuple):
    """The questions of one language: their vectors, without what all have in common, and those beside."""

    wordings: Sequence[Wording]
    vectors: Matrix
    beside: Matrix
    visitors: Sequence[int]
    """How many asked each."""


class Pairs(NamedTuple):
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    sure: NDArray[np.float32]
    weight: NDArray[np.float32]
    """The visitors of the one that fewer asked, damped: a misspelt question has no counterpart and says little."""

    def below(self, sure: float) -> float:
        """The share of pairs that are less sure."""
        return float(self.weight[self.sure < sure].sum() / self.weight.sum())


class Facing:
    """Two languages' questions, one by one: rows are `one`'s."""

    def __init__(self, one: Side, other: Side, *, popular: bool = True) -> None:
        """`popular`: whether it tells something how many visitors asked each."""
        self._one, self._other = one, other
        self.near = np.asarray(one.vectors @ other.vectors.T, np.float32)
        self.scaled = against_surroundings(
            self.near,
            usual(self.near[:, spread(other.vectors)], np.asarray(one.vectors @ other.beside.T, np.float32)),
            usual(self.near.T[:, spread(one.vectors)], np.asarray(other.vectors @ one.beside.T, np.float32)),
        )
        if popular:
            ours, theirs = (np.log(np.array(side.visitors, np.float32)) for side in (one, other))
            self.scaled -= np.minimum(POPULAR * np.abs(ours[:, None] - theirs), MOST_POPULAR)

    def counterparts(self, barred: NDArray[np.bool_]) -> list[tuple[float, int, int]]:
        """(sureness, row, column) of those that are sure enough. `barred` (rows, columns): those that are one question
        already, or cannot be one."""
        enough = self.enough()
        found = self._pairs(np.where(barred, -np.inf, self.scaled), self.scaled)
        return [
            (float(sure), int(row), int(column))
            for row, column, sure in zip(found.rows, found.columns, found.sure, strict=True)
            if sure >= enough and self.scaled[row, column] >= LEAST_NEAR and self.near[row, column] >= LEAST_COSINE
        ]

    def enough(self) -> float:
        """From which sureness on few enough pairs are wrong."""
        real = self._pairs(self.scaled)
        wrong = self._pairs(self._without(real))
        return sure_enough(real, wrong)

    def _without(self, pairs: Pairs) -> Matrix:
        """Scaled nearness with each row's counterpart, and what is like it, out of the way."""
        left = self.scaled.copy()
        like_row = self._one.vectors @ self._one.vectors[pairs.rows].T >= ALIKE
        like_column = self._other.vectors @ self._other.vectors[pairs.columns].T >= ALIKE
        for place, (row, column) in enumerate(zip(pairs.rows, pairs.columns, strict=True)):
            left[row, like_column[:, place]] = -np.inf
            left[like_row[:, place], column] = -np.inf
            left[row, column] = -np.inf
        return left

    def _pairs(self, scaled: Matrix, against: Matrix | None = None) -> Pairs:
        """Each other's nearest, and how sure each is `against` all others."""
        if 0 in scaled.shape:
            nobody = np.empty(0, np.intp)
            return Pairs(nobody, nobody, *np.empty((2, 0), np.float32))
        best, back = scaled.argmax(axis=1), scaled.argmax(axis=0)
        rows = np.nonzero(back[best] == np.arange(len(best)))[0]
        rows = rows[np.isfinite(scaled[rows, best[rows]])]
        columns = best[rows]
        rivals = scaled if against is None else against
        lead = scaled[rows, columns] - np.maximum(
            next_best(rivals[rows], columns, self._other.vectors),
            next_best(rivals.T[columns], rows, self._one.vectors),
        )
        unlike = [self._unlike(row, column) for row, column in zip(rows, columns, strict=True)]
        sure = scaled[rows, columns] + LEAD * np.minimum(lead, MOST_LEAD) - np.array(unlike, np.float32)
        asked = np.minimum(*(np.array(side.visitors)[at] for side, at in ((self._one, rows), (self._other, columns))))
        return Pairs(rows, columns, np.asarray(sure, np.float32), np.asarray(asked, np.float32))

    def _unlike(self, row: int, column: int) -> float:
        one, other = self._one.wordings[row], self._other.wordings[column]
        if asks_another_thing(one, other):
            return np.inf
        longer = abs(float(np.log((len(one.words) + 2) / (len(other.words) + 2))))
        return UNLIKE * ((one.numbers != other.numbers) + (bool(one.asked) != bool(other.asked))) + LONGER * longer


def sure_enough(real: Pairs, wrong: Pairs) -> float:
    """From which sureness on few enough of the `real` pairs are wrong; `wrong` are those without their counterparts.

    A question without a counterpart shows its best wrong one first and its second best wrong one then; one with a
    counterpart shows its best wrong one only then. With r wrong ones above some sureness on average, 1 - exp(-r) of all
    questions have a best one there and 1 - exp(-r) (1 + r) a second one."""
    if len(wrong.sure) < FEW:
        return USUALLY_SURE
    alone = np.median([without_counterpart(real.below(unsure), wrong.below(unsure)) for unsure in UNSURE])
    for least in np.arange(LEAST_SURE, SUREST, 0.01):
        above = rate(wrong.below(least), float(alone))
        if alone * (1 - np.exp(-above)) <= WRONG * (1 - real.below(least)):
            return float(least)
    return SUREST


def without_counterpart(real: float, wrong: float) -> float:
    """The share of questions that have none, from the shares of real and wrong pairs below some sureness."""
    return float(min(SHARES, key=lambda share: abs(share * np.exp(-rate(wrong, share)) - real)))


def rate(below: float, alone: float) -> float:
    """Wrong ones above a sureness, from the share of wrong pairs below it, where `alone` have no counterpart."""
    return float(RATES[np.abs(np.exp(-RATES) * (1 + alone * RATES) - below).argmin()])


def next_best(scaled: Matrix, chosen: NDArray[np.intp], vectors: Matrix) -> Matrix:
    """Of each row the best that is not like the chosen one; `vectors` are of the columns."""
    alike = (vectors[chosen] @ vectors.T >= ALIKE) | (np.arange(len(vectors)) == chosen[:, None])
    return np.asarray(np.where(alike, -np.inf, scaled).max(axis=1), np.float32)
