"""Lexical and dense scores become one order. Scores are fused, not ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from refdesk.retrieval.lexical import Ranking, Rows, Scores

LEXICAL_WEIGHT = 3.0
"""Of the square of a passage's selfscore, against nearness scaled to 1: words that fit well decide, a few stray ones of
an everyday question do not (decisions/dense-retrieval.md)."""
SCALE = 60
"""Nearness is 1 for the nearest passage and 0 for this one."""


class Scope(NamedTuple):
    """Passages of articles with exactly one of these audiences, in one of these languages."""

    audiences: tuple[tuple[str, ...], ...]
    languages: tuple[str, ...]
    beside: bool = False
    """Besides passages in the question's own language, which are asked apart."""


class Nearest(NamedTuple):
    """What the dense index found: each row once."""

    rows: Rows
    similarity: Scores
    """Ranks passages of one question."""
    near: Scores
    """What the gate weighs (see `signals`); 0 where there is no yardstick."""

    def best(self, limit: int) -> Nearest:
        """Best first."""
        return self.picked(np.argsort(-self.similarity, kind="stable")[:limit])

    def picked(self, places: NDArray[np.int64] | NDArray[np.bool_]) -> Nearest:
        return Nearest(self.rows[places], self.similarity[places], self.near[places])


NOTHING = Nearest(np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.float32))


class DenseIndex(Protocol):
    """Embedded passages of one generation. Blocking, 5 to 10 ms: called in a thread and given up after a while, unless
    it is `at_hand`."""

    def at_hand(self, queries: Sequence[str], language: str, scope: Scope) -> bool:
        """Whether both others take less than handing them to a thread and back is worth (1 ms)."""

    def scores(self, query: str, language: str, scope: Scope, limit: int) -> Nearest:
        """Of the passages in scope, the `limit` nearest of each language, in no order; `language` is the question's.

        Similarities must be comparable between encoders where the languages of the rows call for several. Anything
        raised means "not now": the search goes on without."""

    def signals(self, query: str, language: str, scope: Scope, rows: Sequence[int]) -> dict[int, dict[str, float]]:
        """What the gate weighs besides words. A row may be missing."""


class Fused(NamedTuple):
    """Best first."""

    rows: Rows
    scores: Scores
    at: NDArray[np.int64]
    """The row's place in the ranking by words."""


def lexical_only(ranking: Ranking) -> Fused:
    return Fused(ranking.rows, ranking.selfscore, np.arange(len(ranking.rows)))


def fuse(ranking: Ranking, dense: Nearest, lexical_weight: float) -> Fused:
    """`dense` holds at least one row, best first, and only such as are ranked too. A row that it did not return is at
    most as near as its last."""
    rising = np.argsort(ranking.rows)
    rows, share = ranking.rows[rising], ranking.selfscore[rising]
    best, last = float(dense.similarity[0]), float(dense.similarity[-1])
    zero = float(dense.similarity[min(SCALE, len(dense.rows)) - 1])
    similarity = np.full(len(rows), last, np.float32)
    similarity[rows.searchsorted(dense.rows)] = dense.similarity
    scores = (similarity - zero) / (best - zero if best > zero else 1.0) + lexical_weight * share**2
    order = np.argsort(-scores, kind="stable")
    return Fused(rows[order], scores[order].astype(np.float32), rising[order])


def joined(found: Sequence[Nearest]) -> Nearest:
    """Of passages that have nothing in common."""
    if len(found) <= 1:
        return found[0] if found else NOTHING
    return Nearest(*(np.concatenate(column) for column in zip(*found, strict=True)))


def nearest_of(found: Sequence[Nearest]) -> Nearest:
    """Several wordings of one question: of each row the wording that it is nearest to."""
    if len(found) <= 1:
        return found[0] if found else NOTHING
    both = joined(found)
    order = np.lexsort((-both.similarity, both.rows))
    return both.picked(order[np.unique(both.rows[order], return_index=True)[1]])


def beside(rankings: Sequence[Ranking]) -> Ranking:
    """Of passages that have nothing in common, by the same question."""
    if len(rankings) == 1:
        return rankings[0]
    return _picked(rankings, lambda rows, share: np.lexsort((rows, -share)))


def merge(rankings: Sequence[Ranking]) -> Ranking:
    """Several wordings of one question: of each row the wording that fits it best."""
    return rankings[0] if len(rankings) == 1 else _picked(rankings, _best_of_each)


def _best_of_each(rows: Rows, share: Scores) -> NDArray[np.int64]:
    by_row = np.lexsort((-share, rows))
    first = by_row[np.concatenate([[True], np.diff(rows[by_row]) > 0])] if len(rows) else by_row
    return first[np.lexsort((rows[first], -share[first]))]


def _picked(rankings: Sequence[Ranking], pick: Callable[[Rows, Scores], NDArray[np.int64]]) -> Ranking:
    rows, share, *signals = (np.concatenate([ranking[column] for ranking in rankings]) for column in range(5))
    order = pick(rows, share)
    bm25, coverage, idf_coverage = (signal[order] for signal in signals)
    return Ranking(rows[order], share[order], bm25, coverage, idf_coverage, max(ranking.z for ranking in rankings))
