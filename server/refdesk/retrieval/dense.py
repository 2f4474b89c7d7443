"""Dense retrieval over one generation: which texts are embedded, and how a question is compared with them.

English passages are embedded by both encoders, others by the multilingual one; the pair of languages picks the encoder.
In a corpus of several languages an English question is compared by both, and the two scales are brought together on the
passages that both know: the English encoder orders the English passages among themselves, the multilingual one decides
where they stand against passages of other languages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b

import numpy as np

from refdesk.domain.articles import Article, Passage
from refdesk.ports import ENGLISH, MULTILINGUAL, Embedder, VectorIndex, VectorRow
from refdesk.retrieval.search import CorpusSnapshot
from refdesk.text.terms import primary

ENGLISH_CODE = "en"
SAMPLE = 256
"""Passages whose cosines tell what is ordinary for a question: the scale of `cosine_z`."""

Audience = tuple[str, ...]


def collection(audience: Audience, encoder: str, kind: str) -> str:
    """`kind`: `en` or `xx` for passages by language, `titles`."""
    digest = blake2b("\n".join(sorted(audience)).encode(), digest_size=6).hexdigest()
    return f"{encoder}-{kind}-{digest}"


def passage_text(article: Article, passage: Passage) -> str:
    """Title and section path stand in each embedded text: without them recall falls by 6 to 8 points (retrieval.md)."""
    head = " › ".join(filter(None, (article.title, passage.section)))
    return f"{head}\n{passage.text(article.body)}"


def vector_rows(snapshot: CorpusSnapshot) -> Iterator[VectorRow]:
    """Everything that shall be findable by meaning. A title's row is that of its article's first passage."""
    for article, first in zip(snapshot.catalogue.all, snapshot.index.first_rows.tolist(), strict=True):
        english = primary(article.language) == ENGLISH_CODE
        kind = "en" if english else "xx"
        for encoder in (MULTILINGUAL, ENGLISH) if english else (MULTILINGUAL,):
            titles = collection(article.audience, encoder, "titles")
            if article.passages:
                yield VectorRow(titles, encoder, first, article.title)
            name = collection(article.audience, encoder, kind)
            for number, passage in enumerate(article.passages):
                yield VectorRow(name, encoder, first + number, passage_text(article, passage))


class DensePassages:
    """fusion.DenseIndex over an opened index of vectors. Blocking; raises DenseUnavailable."""

    def __init__(
        self, vectors: VectorIndex, embedders: Mapping[str, Embedder], snapshot: CorpusSnapshot, names: frozenset[str]
    ) -> None:
        self._vectors, self._embedders, self._names = vectors, embedders, names
        self._english = [primary(article.language) == ENGLISH_CODE for article in snapshot.catalogue.all]
        rows = np.flatnonzero(snapshot.live_rows)
        self._sample = np.random.default_rng(0).permutation(rows)[:SAMPLE].tolist()

    def scores(
        self, query: str, language: str, audiences: Sequence[Audience], limit: int
    ) -> Sequence[tuple[int, float]]:
        english = self._present(audiences, ENGLISH, "en")
        others = self._present(audiences, MULTILINGUAL, "xx")
        if language == ENGLISH_CODE and english:
            own = self._vectors.query(english, self._embed(ENGLISH, query), limit)
            return self._mixed(query, own, others, audiences, limit) if others else own
        every = [*self._present(audiences, MULTILINGUAL, "en"), *others]
        return self._vectors.query(every, self._embed(MULTILINGUAL, query), limit) if every else []

    def _mixed(
        self, query: str, own: list[tuple[int, float]], others: list[str], audiences: Sequence[Audience], limit: int
    ) -> list[tuple[int, float]]:
        vector = self._embed(MULTILINGUAL, query)
        foreign = self._vectors.query(others, vector, limit)
        both = self._vectors.cosines(self._present(audiences, MULTILINGUAL, "en"), vector, [row for row, _ in own])
        scaled = on_scale(own, both)
        return sorted([*scaled, *foreign], key=lambda pair: (-pair[1], pair[0]))[:limit]

    def title_cosines(
        self, query: str, language: str, audiences: Sequence[Audience], rows: Sequence[int]
    ) -> dict[int, float]:
        """Of the titles whose articles begin in these rows."""
        return self._exact(query, language, audiences, rows, titles=True)

    def usual(self, query: str, language: str, audiences: Sequence[Audience]) -> tuple[float, float]:
        """Mean and spread of the question's cosines over a sample of all passages."""
        values = list(self._exact(query, language, audiences, self._sample, titles=False).values())
        if len(values) < 2:
            return 0.0, 1.0
        return float(np.mean(values)), max(float(np.std(values)), 1e-3)

    def _exact(
        self, query: str, language: str, audiences: Sequence[Audience], rows: Sequence[int], *, titles: bool
    ) -> dict[int, float]:
        encoder = ENGLISH if language == ENGLISH_CODE and self._present(audiences, ENGLISH, "en") else MULTILINGUAL
        kinds = ("titles",) if titles else ("en", "xx") if encoder == MULTILINGUAL else ("en",)
        names = [name for kind in kinds for name in self._present(audiences, encoder, kind)]
        return self._vectors.cosines(names, self._embed(encoder, query), rows) if names else {}

    def _present(self, audiences: Sequence[Audience], encoder: str, kind: str) -> list[str]:
        names = (collection(audience, encoder, kind) for audience in audiences)
        return [name for name in names if name in self._names]

    def _embed(self, encoder: str, text: str) -> np.ndarray:
        vector: np.ndarray = self._embedders[encoder].embed_queries([text])[0]
        return vector

    def close(self) -> None:
        self._vectors.close()


def on_scale(own: Sequence[tuple[int, float]], other: Mapping[int, float]) -> list[tuple[int, float]]:
    """`own` scores moved to the scale of `other`, by mean and spread over the rows that both have; the order stays."""
    known = [row for row, _ in own if row in other]
    if len(known) < 2:
        return [(row, other.get(row, score)) for row, score in own]
    mine = np.array([score for row, score in own if row in other])
    theirs = np.array([other[row] for row in known])
    stretch = theirs.std() / mine.std() if mine.std() > 1e-6 else 0.0
    return [(row, float(theirs.mean() + (score - mine.mean()) * stretch)) for row, score in own]
