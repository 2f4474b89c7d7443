"""Lexical and dense scores become one order. Scores are fused, not ranks (retrieval.md, 5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from refdesk.retrieval.lexical import Ranking, Rows, Scores

LEXICAL_WEIGHT = 0.2


class DenseIndex(Protocol):
    """Embedded passages of one generation. Blocking, 5 to 10 ms: called in a thread, and given up after a while."""

    def scores(
        self, query: str, language: str, audiences: Sequence[tuple[str, ...]], limit: int
    ) -> Sequence[tuple[int, float]]:
        """(row, similarity) best first, over the passages of articles with exactly one of these audiences.

        Similarities must be comparable between encoders where the languages of the rows call for several. Anything
        raised means "not now": the search goes on without."""


class Fused(NamedTuple):
    """Best first. `similarity` is NaN where the dense index did not return the row."""

    rows: Rows
    scores: Scores
    similarity: Scores


def lexical_only(ranking: Ranking) -> Fused:
    return Fused(ranking.rows, ranking.selfscore, np.full(len(ranking.rows), np.nan, np.float32))


def fuse(ranking: Ranking, dense: Sequence[tuple[int, float]], lexical_weight: float) -> Fused:
    """Min-max over the candidates of both; a row that one side did not return has that side's least score."""
    near = dict(dense)
    rows = np.array(sorted({*map(int, ranking.rows), *near}), np.int32)
    similarity = np.array([near.get(int(row), np.nan) for row in rows], np.float32)
    lexical = np.zeros(len(rows), np.float32)
    lexical[np.searchsorted(rows, ranking.rows)] = ranking.selfscore
    scores = lexical_weight * _from_zero_to_one(lexical) + (1 - lexical_weight) * _from_zero_to_one(similarity)
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


def _from_zero_to_one(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Min-max; a score that is missing counts as the least, and equal ones as the most."""
    known = scores[~np.isnan(scores)]
    low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
    scaled = (scores - low) / (high - low) if high > low else scores * 0 + 1
    return np.nan_to_num(scaled, nan=0.0).astype(np.float32)
