"""Search by meaning: how near a question comes to the embedded texts (decisions/dense-retrieval.md).

Where a corpus has several languages, nearness is counted in spreads above what off-topic questions reach in each of
them: so passages that were compared by different encoders stand in one order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from refdesk.ports import ENGLISH, MULTILINGUAL, Embedder, VectorIndex
from refdesk.retrieval.baselines import Baseline, Baselines, OffTopic, Spread, reach_of
from refdesk.retrieval.embedded_texts import TEXT, TITLE, Audience, Part, article_name, encoders_of, part_of
from refdesk.retrieval.fusion import Nearest, Scope, joined
from refdesk.retrieval.search import CorpusSnapshot
from refdesk.retrieval.vector_space import Asked, Means, Vectors, VectorSpace
from refdesk.text.terms import content_words, primary

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

_QUESTIONS = 256
"""Vectors of the last questions: one question is asked of several languages, and asked again for its signals."""


class _Seen(NamedTuple):
    """What a question in one language sees of the articles in one language."""

    spoken: str
    encoder: str
    space: VectorSpace
    is_native: bool
    is_foreign: bool
    """In another language than the question, beside passages in its own."""
    baseline: Baseline | None


class _Title(NamedTuple):
    """Asked as a question of all articles but its own."""

    text: str
    own: range
    """Rows of its article."""


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
        self._titles = _titles(snapshot) if baselines is None else {}
        self._space = lru_cache(None)(self._new_space)
        """Few combinations of parts are visible to anybody."""
        self._visible = lru_cache(_QUESTIONS)(self._see)
        self._plain = lru_cache(_QUESTIONS)(self._embed)
        self._asked = lru_cache(_QUESTIONS)(self._ask)

    def at_hand(self, queries: Sequence[str], language: str, scope: Scope) -> bool:
        visible = self._visible(language, scope)
        sizes = [seen.space.at_hand for seen in visible]
        if None in sizes or sum(filter(None, sizes)) * len(queries) > AT_HAND:
            return False
        encoders = {seen.encoder for seen in visible}
        return all(self._embedders[encoder].remembers(query) for encoder in encoders for query in queries)

    def scores(self, query: str, language: str, scope: Scope, limit: int) -> Nearest:
        return joined(list(self._near(query, self._visible(language, scope), limit)))

    def signals(self, query: str, language: str, scope: Scope, rows: Sequence[int]) -> dict[int, dict[str, float]]:
        """What the gate weighs, for rows of these audiences: `cosine` and `title_cosine` by the encoder that the
        languages call for, and, where baselines are known, `near`: 0 for what off-topic questions reach in this help
        centre, 1 for what its own titles reach."""
        found: dict[int, dict[str, float]] = {}
        rising = np.array(sorted(rows), np.int32)
        for seen in self._visible(language, scope) if rows else ():
            near = seen.space.measured(self._question(query, seen), rising)
            for row, similarity, cosine, title in zip(*(column.tolist() for column in near), strict=True):
                found[row] = {"cosine": cosine, "title_cosine": title}
                if seen.baseline:
                    found[row]["near"] = seen.baseline.near(similarity)
        return found

    def measure_baselines(self, bank: OffTopic, audiences: Sequence[Audience]) -> Baselines:
        """What off-topic questions and the help centre's own titles reach, per language of question and text, and from
        now on the yardstick of `signals`. 5 to 10 ms for each question and language of text."""
        axes = _language_axes(self._embedders[MULTILINGUAL], bank)
        self._take(Baselines({}, axes))
        visible = self._by_language(Scope(tuple(audiences), tuple(part.language for part, _ in self._means)))
        measured = {
            Baselines.key(asked_in, spoken): self._baseline(questions, asked_in, spoken, parts)
            for asked_in, questions in bank.items()
            for spoken, parts in visible.items()
        }
        self._take(baselines := Baselines(measured, axes))
        self._titles = {}
        return baselines

    def close(self) -> None:
        self._vectors.close()

    def _take(self, baselines: Baselines) -> None:
        """The axes are part of every space, the baselines of everything that is seen."""
        self._baselines = baselines
        for remembered in (self._space, self._visible, self._asked):
            remembered.cache_clear()

    def _baseline(self, questions: Sequence[str], asked_in: str, spoken: str, parts: Sequence[Part]) -> Baseline:
        seen = self._seen(asked_in, spoken, parts, is_foreign=False)

        def best(text: str, own: range = range(0)) -> float:
            rows, similarity = seen.space.nearest(self._question(text, seen), PACKED + len(own))
            return float(similarity[(rows < own.start) | (rows >= own.stop)].max(initial=-1.0))

        off_topic = Spread.of([best(question) for question in _enough(questions, asked_in, spoken)])
        titles = [title for part in parts for title in self._titles.get(part, ())] if asked_in == spoken else []
        sample = titles[:: max(1, len(titles) // TITLES)][:TITLES]
        return Baseline(off_topic, reach_of([off_topic.above(best(*title)) for title in sample]))

    def _near(self, query: str, visible: Sequence[_Seen], limit: int) -> Iterator[Nearest]:
        for seen in visible:
            most = round(FOREIGN_SHARE * limit) if seen.is_foreign else limit
            rows, similarity = seen.space.nearest(self._question(query, seen), most)
            near = np.zeros_like(similarity)
            if seen.baseline:
                near = seen.baseline.near(similarity)
                similarity = seen.baseline.off_topic.above(similarity) - (FOREIGN if seen.is_foreign else 0.0)
            yield Nearest(rows, similarity, near)

    def _see(self, language: str, scope: Scope) -> tuple[_Seen, ...]:
        visible = self._by_language(scope)
        beside = scope.beside or language in visible
        return tuple(
            self._seen(language, spoken, parts, is_foreign=spoken != language and beside)
            for spoken, parts in visible.items()
        )

    def _seen(self, language: str, spoken: str, parts: Sequence[Part], *, is_foreign: bool) -> _Seen:
        encoder = ENGLISH if language == spoken == "en" else MULTILINGUAL
        baseline = self._baselines.of(language, spoken) if self._baselines else None
        is_native = language == spoken and encoder == MULTILINGUAL
        return _Seen(spoken, encoder, self._space(encoder, tuple(parts)), is_native, is_foreign, baseline)

    def _by_language(self, scope: Scope) -> dict[str, list[Part]]:
        visible: dict[str, list[Part]] = {}
        for part, encoder in self._means:
            if encoder == MULTILINGUAL and part.audience in scope.audiences and part.language in scope.languages:
                visible.setdefault(part.language, []).append(part)
        return visible

    def _new_space(self, encoder: str, parts: tuple[Part, ...]) -> VectorSpace:
        texts, titles = ([part.collection(kind, encoder) for part in parts] for kind in (TEXT, TITLE))
        axes = np.array(self._baselines.axes if self._baselines else (), np.float32)
        return VectorSpace(self._vectors, (texts, titles), [self._means[part, encoder] for part in parts], axes)

    def _embed(self, query: str, encoder: str) -> Vectors:
        vector: Vectors = self._embedders[encoder].embed_queries([query])[0]
        return vector

    def _question(self, query: str, seen: _Seen) -> Asked:
        return self._asked(query, seen.encoder, seen.space, seen.is_native)

    def _ask(self, query: str, encoder: str, space: VectorSpace, is_native: bool) -> Asked:
        return space.asked(self._plain(query, encoder), is_native=is_native)

    def _mean(self, part: Part, encoder: str) -> Means:
        texts, titles = (self._vectors.sample(part.collection(kind, encoder), SAMPLE) for kind in (TEXT, TITLE))
        return Means(texts.mean(axis=0), titles.mean(axis=0), len(titles))


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
