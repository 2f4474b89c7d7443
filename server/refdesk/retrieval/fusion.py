"""Lexical and dense scores become one order. Scores are fused, not ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from refdesk.retrieval.lexical import Ranking, Rows, Scores

LEXICAL_WEIGHT = 3.0
"""Of the square of a passage's selfscore, against nearness scaled to 1: words that fit well decide, a few stray ones of
an everyday question do not (decisions/dense-retrieval.md)."""
SCALE = 60
"""Nearness is 1 for the nearest passage and 0 for this one."""


class Scope(NamedTuple):
    """Passages of articles with exactly one of these audiences, in one of these languages."""

    audiences: Sequence[tuple[str, ...]]
    languages: Sequence[str]


class DenseIndex(Protocol):
    """Embedded passages of one generation. Blocking, 5 to 10 ms: called in a thread, and given up after a while."""

    def scores(self, query: str, language: str, scope: Scope, limit: int) -> Sequence[tuple[int, float]]:
        """(row, similarity) best first, over the passages in scope; `language` is the question's.

        Similarities must be comparable between encoders where the languages of the rows call for several. Anything
        raised means "not now": the search goes on without."""

    def signals(self, query: str, language: str, scope: Scope, rows: Sequence[int]) -> dict[int, dict[str, float]]:
        """What the gate weighs besides words. A row may be missing."""


class Fused(NamedTuple):
    """Best first. `similarity` is NaN where the dense index did not return the row."""

    rows: Rows
    scores: Scores
    similarity: Scores


def lexical_only(ranking: Ranking) -> Fused:
    return Fused(ranking.rows, ranking.selfscore, np.full(len(ranking.rows), np.nan, np.float32))


def fuse(ranking: Ranking, dense: Sequence[tuple[int, float]], lexical_weight: float) -> Fused:
    """`dense` holds at least one row, best first. A row that it did not return is at most as near as its last."""
    near = dict(dense)
    rows = np.array(sorted({*map(int, ranking.rows), *near}), np.int32)
    similarity = np.array([near.get(int(row), np.nan) for row in rows], np.float32)
    share = np.zeros(len(rows), np.float32)
    share[np.searchsorted(rows, ranking.rows)] = ranking.selfscore
    best, last = dense[0][1], dense[-1][1]
    zero = dense[min(SCALE, len(dense)) - 1][1]
    nearness = (np.nan_to_num(similarity, nan=last) - zero) / (best - zero if best > zero else 1.0)
    scores = nearness + lexical_weight * share**2
    order = np.lexsort((rows, -scores))
    return Fused(rows[order], scores[order].astype(np.float32), similarity[order])


def merge(rankings: Sequence[Ranking]) -> Ranking:
    """Several wordings of one question: of each row the wording that fits it best."""
    if len(rankings) == 1:
        return rankings[0]
    rows, share = np.concatenate([r.rows for r in rankings]), np.concatenate([r.selfscore for r in rankings])
    by_row = np.lexsort((-share, rows))
    first = by_row[np.concatenate([[True], np.diff(rows[by_row]) > 0])] if len(rows) else by_row
    best = first[np.lexsort((rows[first], -share[first]))]

    def column(name: str) -> Scores:
        return np.asarray(np.concatenate([getattr(ranking, name) for ranking in rankings])[best])

    z = max(ranking.z for ranking in rankings)
    return Ranking(rows[best], share[best], column("bm25"), column("coverage"), column("idf_coverage"), z)
