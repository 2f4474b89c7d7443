"""Search by meaning: how near a question comes to the embedded texts (decisions/dense-retrieval.md).

Embeddings of one help centre share a large common part that says nothing about a question. A part of the mean is taken
off on both sides ("centring"): the titles' mean off the question, for titles are what questions are about, and the
passages' mean off the passages. Means are taken over what the visitor may see. The title's own nearness counts besides.
For a question in the text's own language the directions in which languages differ are taken off too ("axes"), or a
passage with foreign product names would stand apart from its like.

Where a corpus has several languages, nearness is counted in spreads above what off-topic questions reach in each of
them: so passages that were compared by different encoders stand in one order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refdesk.ports import ENGLISH, MULTILINGUAL, Embedder, VectorIndex
from refdesk.retrieval.baselines import Baseline, Baselines, OffTopic, Spread, reach_of
from refdesk.retrieval.embedded_texts import TEXT, TITLE, Audience, Part, article_name, encoders_of, part_of
from refdesk.retrieval.fusion import NOTHING, Nearest, Scope
from refdesk.retrieval.search import CorpusSnapshot
from refdesk.text.terms import content_words, primary

CENTRING = 0.65
"""The share of the mean that is taken off, where there are many titles; with few of them less."""
FEW_TITLES = 10
TITLE_WEIGHT = 0.3
FOREIGN = 1.5
"""Spreads that a passage in another language must be nearer, if there are passages in the question's own."""
FOREIGN_SHARE = 0.3
"""Of the candidates that each other language is asked for, where there are passages in the question's own."""
PACKED = 8
"""Passages that a question gets: the gate looks at the best of them."""
AT_HAND = 10_000
"""Vectors that are compared within a millisecond or so."""
SAMPLE = 512
"""Vectors that a mean is taken from."""
TITLES = 80
"""Of a language that are asked as questions, evenly spread."""
TITLE_WORDS = 2
"""Content words of a title that could be a question."""

Vectors: TypeAlias = NDArray[np.float32]


_Key: TypeAlias = tuple[str, tuple[Part, ...]]
"""An encoder, and the parts that are asked together."""


class Near(NamedTuple):
    """Rows, rising, and how near they are. `cosine` and `title` are plain cosines; `similarity` is what ranks."""

    rows: NDArray[np.int32]
    similarity: Vectors
    cosine: Vectors
    title: Vectors


NO_SCORES: Vectors = np.empty(0, np.float32)
UNKNOWN = Near(np.empty(0, np.int32), NO_SCORES, NO_SCORES, NO_SCORES)


class _Asked(NamedTuple):
    """A question, the language it is in, and the parts, all of one language, that it is asked of."""

    query: str
    language: str
    spoken: str
    parts: Sequence[Part]

    @property
    def encoder(self) -> str:
        return ENGLISH if self.language == self.spoken == "en" else MULTILINGUAL

    @property
    def key(self) -> _Key:
        """What everything that is prepared for such questions is kept by."""
        return self.encoder, tuple(self.parts)

    @property
    def is_native(self) -> bool:
        return self.language == self.spoken and self.encoder == MULTILINGUAL

    @property
    def texts(self) -> list[str]:
        return [part.collection(TEXT, self.encoder) for part in self.parts]

    @property
    def titles(self) -> list[str]:
        return [part.collection(TITLE, self.encoder) for part in self.parts]


class _Held(NamedTuple):
    """All passages of some parts, in memory, less the means: where they are few, each is compared."""

    rows: NDArray[np.int32]
    """Rising."""
    text_of: NDArray[np.int64]
    texts: Vectors
    title_of: NDArray[np.int64]
    titles: Vectors


class _Title(NamedTuple):
    """Asked as a question of all articles but its own."""

    text: str
    own: range
    """Rows of its article."""


class _Means(NamedTuple):
    texts: Vectors
    titles: Vectors
    size: int
    """Of the sample of titles."""


class DensePassages:
    """fusion.DenseIndex over one generation's vectors. Blocking: 5 to 10 ms a question.

    Raises DenseUnavailable from what it stands on."""

    def __init__(
        self,
        vectors: VectorIndex,
        embedders: Mapping[str, Embedder],
        snapshot: CorpusSnapshot,
        baselines: Baselines | None = None,
    ) -> None:
        self._vectors, self._embedders, self._baselines = vectors, embedders, baselines
        parts = {part_of(article) for article in snapshot.catalogue.all if article.passages}
        self._means = {(part, name): self._mean(part, name) for part in parts for name in encoders_of(part.language)}
        self._means_of: dict[_Key, tuple[float, _Means]] = {}
        """Over several parts: few combinations are visible to anybody."""
        self._held: dict[_Key, _Held | None] = {}
        self._lengths: dict[tuple[_Key, bool], tuple[Vectors, Vectors]] = {}
        self._axes = np.array(baselines.axes if baselines else (), np.float32)
        self._titles = _titles(snapshot) if baselines is None else {}

    def at_hand(self, queries: Sequence[str], language: str, scope: Scope) -> bool:
        asked = [_Asked(query, language, *of) for query in queries for of in self._by_language(scope).items()]
        held = [self._held.get(one.key) for one in asked]
        few = sum(len(one.texts) + len(one.titles) for one in held if one is not None) <= AT_HAND
        return few and None not in held and all(self._embedders[one.encoder].remembers(one.query) for one in asked)

    def scores(self, query: str, language: str, scope: Scope, limit: int) -> Nearest:
        found = list(self._near(query, language, scope, limit))
        return Nearest(*(np.concatenate(column) for column in zip(*found, strict=True))) if found else NOTHING

    def signals(self, query: str, language: str, scope: Scope, rows: Sequence[int]) -> dict[int, dict[str, float]]:
        """What the gate weighs, for rows of these audiences: `cosine` and `title_cosine` by the encoder that the
        languages call for, and, where baselines are known, `near`: 0 for what off-topic questions reach in this help
        centre, 1 for what its own titles reach."""
        found: dict[int, dict[str, float]] = {}
        for spoken, parts in self._by_language(scope).items():
            near = self._measured(_Asked(query, language, spoken, parts), rows)
            baseline = self._baselines.of(language, spoken) if self._baselines else None
            for row, similarity, cosine, title in zip(*(column.tolist() for column in near), strict=True):
                found[row] = {"cosine": cosine, "title_cosine": title}
                if baseline:
                    found[row]["near"] = baseline.near(similarity)
        return found

    def measure_baselines(self, bank: OffTopic, audiences: Sequence[Audience]) -> Baselines:
        """What off-topic questions and the help centre's own titles reach, per language of question and text, and from
        now on the yardstick of `signals`. 5 to 10 ms for each question and language of text."""
        axes = _language_axes(self._embedders[MULTILINGUAL], bank)
        self._axes = np.array(axes, np.float32)
        self._lengths.clear()
        visible = self._by_language(Scope(audiences, [part.language for part, _ in self._means]))
        measured = {
            Baselines.key(asked_in, spoken): self._baseline(questions, asked_in, spoken, parts)
            for asked_in, questions in bank.items()
            for spoken, parts in visible.items()
        }
        self._baselines = Baselines(measured, axes)
        self._titles = {}
        return self._baselines

    def close(self) -> None:
        self._vectors.close()

    def _baseline(self, questions: Sequence[str], asked_in: str, spoken: str, parts: Sequence[Part]) -> Baseline:
        def best(text: str, own: range = range(0)) -> float:
            rows, similarity = self._nearest(_Asked(text, asked_in, spoken, parts), PACKED + len(own))
            return float(similarity[(rows < own.start) | (rows >= own.stop)].max(initial=-1.0))

        off_topic = Spread.of([best(question) for question in _enough(questions, asked_in, spoken)])
        titles = [title for part in parts for title in self._titles.get(part, ())] if asked_in == spoken else []
        sample = titles[:: max(1, len(titles) // TITLES)][:TITLES]
        return Baseline(off_topic, reach_of([off_topic.above(best(*title)) for title in sample]))

    def _near(self, query: str, language: str, scope: Scope, limit: int) -> Iterator[Nearest]:
        visible = self._by_language(scope)
        beside = scope.beside or language in visible
        for spoken, parts in visible.items():
            asked, is_foreign = _Asked(query, language, spoken, parts), spoken != language and beside
            rows, similarity = self._nearest(asked, round(FOREIGN_SHARE * limit) if is_foreign else limit)
            if self._baselines and (baseline := self._baselines.of(language, spoken)):
                similarity = baseline.off_topic.above(similarity) - (FOREIGN if is_foreign else 0.0)
            yield Nearest(rows, similarity)

    def _by_language(self, scope: Scope) -> dict[str, list[Part]]:
        visible: dict[str, list[Part]] = {}
        for part, encoder in self._means:
            if encoder == MULTILINGUAL and part.audience in scope.audiences and part.language in scope.languages:
                visible.setdefault(part.language, []).append(part)
        return visible

    def _nearest(self, asked: _Asked, limit: int) -> Nearest:
        """In no order: the nearest of all, or of what the index takes for nearest."""
        question, held = self._question(asked), self._all_of(asked)
        if held is None:
            rows = [row for row, _ in self._vectors.query(asked.texts, question, limit)]
            near = self._measured(asked, rows)
            return Nearest(near.rows, near.similarity)
        texts, titles = (_products(vectors, question) for vectors in (held.texts, held.titles))
        of_texts, of_titles = self._lengths_of(asked, held)
        similarity = _joined_similarity((texts / of_texts)[held.text_of], (titles / of_titles)[held.title_of])
        best = np.argpartition(-similarity, limit)[:limit] if limit < len(similarity) else np.arange(len(similarity))
        return Nearest(held.rows[best], similarity[best])

    def _all_of(self, asked: _Asked) -> _Held | None:
        """None where there are too many."""
        if asked.key not in self._held:
            texts, titles = self._vectors.everything(asked.texts), self._vectors.everything(asked.titles)
            self._held[asked.key] = None if texts is None or titles is None else self._centred(asked, texts, titles)
        return self._held[asked.key]

    def _centred(self, asked: _Asked, texts: tuple[Any, Any, Any], titles: tuple[Any, Any, Any]) -> _Held:
        share, means = self._visible_means(asked)
        (rows, text_of, of_texts), (_, title_of, of_titles) = texts, titles
        return _Held(rows, text_of, of_texts - share * means.texts, title_of, of_titles - share * means.titles)

    def _lengths_of(self, asked: _Asked, held: _Held) -> tuple[Vectors, Vectors]:
        """What a product with the question is divided by: the rest of `_direction`, since the question has lost the
        directions in which languages differ, and a product with it does not see them in a passage either."""
        key = asked.key, asked.is_native
        if key not in self._lengths:
            texts, titles = (_lengths(self._without_axes(asked, vectors)) for vectors in (held.texts, held.titles))
            self._lengths[key] = texts, titles
        return self._lengths[key]

    def _question(self, asked: _Asked) -> Vectors:
        share, means = self._visible_means(asked)
        return self._direction(asked, self._plain(asked) - share * means.titles)

    def _plain(self, asked: _Asked) -> Vectors:
        vector: Vectors = self._embedders[asked.encoder].embed_queries([asked.query])[0]
        return vector

    def _direction(self, asked: _Asked, vectors: Vectors) -> Vectors:
        """Of unit length, for a native question without what languages differ in."""
        kept = self._without_axes(asked, vectors)
        return np.asarray(kept / _lengths(kept)[..., None], np.float32)

    def _without_axes(self, asked: _Asked, vectors: Vectors) -> Vectors:
        if not asked.is_native or not len(self._axes):
            return vectors
        return np.asarray(vectors - (vectors @ self._axes.T) @ self._axes, np.float32)

    def _measured(self, asked: _Asked, rows: Sequence[int]) -> Near:
        """Exactly, from the stored vectors."""
        found, texts, titles = self._vectors_of(asked, rows)
        if not len(found):
            return UNKNOWN
        plain, question = self._plain(asked), self._question(asked)
        share, means = self._visible_means(asked)
        text = self._direction(asked, texts - share * means.texts) @ question
        title = self._direction(asked, titles - share * means.titles) @ question
        return Near(found, _joined_similarity(text, title), texts @ plain, titles @ plain)

    def _vectors_of(self, asked: _Asked, rows: Sequence[int]) -> tuple[NDArray[np.int32], Vectors, Vectors]:
        """Those of the rows that are in these parts, rising, with their text's and their title's vector."""
        held = self._all_of(asked)
        if held is not None:
            share, means = self._visible_means(asked)
            places = _places(held.rows, np.sort(np.asarray(rows, np.int32)))
            texts, titles = held.texts[held.text_of[places]], held.titles[held.title_of[places]]
            return held.rows[places], texts + share * means.texts, titles + share * means.titles
        found, texts = self._vectors.vectors(asked.texts, rows)
        if not len(found):
            return found, texts, texts
        order = np.argsort(found)
        found, texts = found[order], texts[order]
        titled, titles = self._vectors.vectors(asked.titles, found.tolist())
        return found, texts, titles[np.argsort(titled)]

    def _mean(self, part: Part, encoder: str) -> _Means:
        texts, titles = (self._vectors.sample(part.collection(kind, encoder), SAMPLE) for kind in (TEXT, TITLE))
        return _Means(texts.mean(axis=0), titles.mean(axis=0), len(titles))

    def _visible_means(self, asked: _Asked) -> tuple[float, _Means]:
        """The share of them to take off; means over the parts by their size, as far as the samples tell it."""
        if asked.key not in self._means_of:
            self._means_of[asked.key] = _joined([self._means[part, asked.encoder] for part in asked.parts])
        return self._means_of[asked.key]


def _joined(means: Sequence[_Means]) -> tuple[float, _Means]:
    sizes = [mean.size for mean in means]
    texts = np.average([mean.texts for mean in means], axis=0, weights=sizes).astype(np.float32)
    titles = np.average([mean.titles for mean in means], axis=0, weights=sizes).astype(np.float32)
    return CENTRING * sum(sizes) / (sum(sizes) + FEW_TITLES), _Means(texts, titles, sum(sizes))


def _titles(snapshot: CorpusSnapshot) -> dict[Part, list[_Title]]:
    """Those that could be questions; evenly spread, a few more of each part than are asked."""
    found: dict[Part, list[_Title]] = {}
    for article, first in zip(snapshot.catalogue.all, snapshot.index.first_rows.tolist(), strict=True):
        title = _Title(article_name(article), range(first, first + len(article.passages)))
        if title.own and len(content_words(title.text, primary(article.language))) >= TITLE_WORDS:
            found.setdefault(part_of(article), []).append(title)
    return {part: titles[:: max(1, len(titles) // TITLES)] for part, titles in found.items()}


def _language_axes(embedder: Embedder, bank: OffTopic) -> tuple[tuple[float, ...], ...]:
    """Orthonormal directions that lead from one language's mean to another's; the bank says the same kind of thing in
    each. As passages, for it is passages that mix languages."""
    means = [embedder.embed_passages(list(questions)).mean(axis=0) for questions in bank.values()]
    if len(means) < 2:
        return ()
    across = np.stack([mean - means[0] for mean in means[1:]])
    return tuple(map(tuple, np.linalg.qr(across.T)[0].T.round(5).tolist()))


def _enough(questions: Sequence[str], asked_in: str, spoken: str) -> Sequence[str]:
    """All for the pairs that matter, every third for the others: a background thread has to ask them all."""
    return questions if asked_in == spoken else questions[::3]


def _lengths(vectors: Vectors) -> Vectors:
    return np.asarray(np.maximum(np.linalg.norm(vectors, axis=-1), 1e-9), np.float32)


def _places(rising: NDArray[np.int32], wanted: NDArray[np.int32]) -> NDArray[np.int64]:
    """Where the wanted stand that are there; each stands once."""
    places = np.searchsorted(rising, wanted)
    there = places < len(rising)
    there[there] = rising[places[there]] == wanted[there]
    return places[there]


def _products(vectors: Vectors, question: Vectors) -> Vectors:
    """Not `@`: BLAS starts threads for it, which spin for longer than the product takes."""
    return np.asarray(np.einsum("vd,d->v", vectors, question), np.float32)


def _joined_similarity(text: Vectors, title: Vectors) -> Vectors:
    return np.asarray((text + TITLE_WEIGHT * title) / (1 + TITLE_WEIGHT), np.float32)
