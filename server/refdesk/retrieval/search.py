"""One version of the corpus that can be searched: the Snapshot of the ports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple, TypeVar

import msgspec
import numpy as np
import structlog

from refdesk.domain.articles import Article, HelpCentre, Passage, Roles
from refdesk.domain.gate import OwnThreshold, comparable, evidence_score, in_force, lexical_evidence
from refdesk.ports import Hit, SearchResult
from refdesk.retrieval.baselines import WEIGHTS
from refdesk.retrieval.catalogue import Catalogue
from refdesk.retrieval.choosing import Marks, chosen
from refdesk.retrieval.fusion import (
    LEXICAL_WEIGHT,
    NOTHING,
    DenseIndex,
    Fused,
    Nearest,
    Scope,
    beside,
    fuse,
    joined,
    lexical_only,
    merge,
    nearest_of,
)
from refdesk.retrieval.index import LexicalIndex
from refdesk.retrieval.lexical import Ranking, Rows, View
from refdesk.retrieval.recent import Recent
from refdesk.retrieval.wordings import reworded
from refdesk.text.language import recognise
from refdesk.text.remembering import QUESTION, remembers
from refdesk.text.terms import fold, is_stop_word, primary, surface_words

CANDIDATES = 100
"""Passages that either side hands to the fusion."""
WIDE = 600
"""Of them from the dense index where a category is asked for, which it does not know."""
DENSE_SECONDS, DENSE_REST = 1.5, 5.0
"""How long one question waits for the dense index, and how long none asks it after a failure."""
LONGER, STRANGE = 4, 0.75
"""Content words of a longer question, and the share of unknown ones that makes it strange."""
CONFIDENT = 0.95
"""Evidence from which on passages in the question's own language do, and no other language is asked: no everyday
question that they answer gets other first five articles for it, and of those that only another language answers one in
a hundred loses its article (decisions/dense-retrieval.md)."""
WIDEST = 16
"""Hits that every search looks for: whoever asks for fewer gets the first of them."""
_VIEWS, _RESULTS, _MARKS = 32, 256, 16384

T = TypeVar("T")

log = structlog.get_logger()


class _Request(NamedTuple):
    """What a search is remembered by: the same in the same words finds the same."""

    query: str
    roles: Roles
    """Those that an article knows."""
    language: str | None
    category: str | None
    limit: int


class _Question(NamedTuple):
    language: str
    queries: tuple[str, ...]
    """As asked, and repaired where that is something else."""
    wordings: tuple[str, ...]
    """These and what the synonyms make of the first."""
    words: tuple[frozenset[str], ...]
    """Of each wording, but for stop words. Scripts without spaces have none to count."""
    audiences: tuple[tuple[str, ...], ...]
    """Of the passages that the visitor may see."""


class _Found(NamedTuple):
    near: Nearest
    ranking: Ranking
    unknown: tuple[frozenset[str], ...]
    """Of each wording the words that no passage has, neither here nor where was looked before."""
    is_native: bool
    """Whether passages in the question's language are among those that were asked."""
    degraded: bool


class CorpusSnapshot:
    """Immutable but for what it remembers, for `dense`, which may come later than the rest, and for `own_threshold`,
    which the owner may change while the corpus stays as it is."""

    def __init__(
        self, generation: str, catalogue: Catalogue, index: LexicalIndex, dense: DenseIndex | None = None
    ) -> None:
        self.generation = generation
        self.catalogue = catalogue
        self.index = index
        self.dense = dense
        self.own_threshold: OwnThreshold | None = None
        self._dense_rests_until = 0.0
        declared = tuple(map(primary, catalogue.centre.languages))
        self.languages = tuple(dict.fromkeys((*declared, *catalogue.languages)))
        """Of the settings, the default one first, then of the articles."""
        sizes = np.fromiter((len(article.passages) for article in catalogue.all), np.int64, len(catalogue.all))
        offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        self._article_of_row = np.full(len(index.postings.lengths), -1, np.int32)
        self._article_of_row[np.repeat(index.first_rows, sizes) + offsets] = np.repeat(np.arange(len(sizes)), sizes)
        self._views: Recent[tuple[object, ...], View] = Recent(_VIEWS)
        self._results: Recent[tuple[_Request, DenseIndex | None], SearchResult] = Recent(_RESULTS)
        self._language_of = remembers(_RESULTS, QUESTION)(self._find_language)
        self._marks_of = lru_cache(_MARKS)(lambda row: Marks.of(self._words_of(row)))

    @property
    def centre(self) -> HelpCentre:
        return self.catalogue.centre

    def article(self, article_id: str, roles: Roles) -> Article | None:
        return self.catalogue.article(article_id, roles)

    def articles(self, roles: Roles, *, language: str | None = None, category: str | None = None) -> Sequence[Article]:
        return self.catalogue.articles(roles, language, category)

    def named(self, url: str) -> str | None:
        return self.catalogue.named(url)

    @property
    def threshold(self) -> float:
        return in_force(self.own_threshold)

    def evidence_score(self, signals: dict[str, float]) -> float:
        """With vectors, or by words where they do not serve (yet): both compare with `threshold`."""
        by_words = "near" not in signals
        score = lexical_evidence(signals) if by_words else evidence_score(signals, WEIGHTS)
        return comparable(score, self.own_threshold, by_words=by_words)

    async def search(
        self, query: str, roles: Roles, *, language: str | None = None, category: str | None = None, limit: int = 8
    ) -> SearchResult:
        """A model often searches for what the application has just searched for, and visitors ask what others asked."""
        known = self.catalogue.known_roles(roles)
        asked = _Request(query, known, language, category, max(limit, WIDEST))
        key = asked, self.dense
        result = self._results.get(key)
        if result is None:
            result = await self._found(asked)
            if not result.degraded:
                self._results.keep(key, result)
        return msgspec.structs.replace(result, hits=result.hits[:limit])

    async def _found(self, asked: _Request) -> SearchResult:
        """In the question's own language where that answers it well, else in all."""
        language = self._language_of(asked.query)
        views = self._views_of(asked, language)
        question = await self._read(asked, language, views)
        found: list[_Found] = []
        for view in views:
            found.append(await self._find(view, asked, question, found))
            if _answers_well(found[-1], question):
                break
        return await self._result(found, asked, question, views[: len(found)])

    def _views_of(self, asked: _Request, language: str) -> list[View]:
        """What is searched, in turn: passages in the question's own language and the others. Words alone, which cost
        little, are looked for in all at once."""
        where = asked.roles, language, asked.category, asked.language
        if self.dense is None:
            return [self._view(*where)]
        apart = [self._view(*where, own) for own in (True, False)]
        return [view for view in apart if view.codes] or apart[:1]

    async def _read(self, asked: _Request, language: str, views: Sequence[View]) -> _Question:
        repaired = await self._repaired(asked, language, views)
        queries = (asked.query, repaired) if repaired else (asked.query,)
        wordings = (asked.query, *reworded(asked.query, self.centre.synonyms, language), *queries[1:])
        audiences = tuple(audience for audience in self.catalogue.audiences if not asked.roles.isdisjoint(audience))
        words = tuple(_content(wording, language) for wording in wordings)
        return _Question(language, queries, wordings, words, audiences)

    async def _find(self, view: View, asked: _Request, question: _Question, before: Sequence[_Found]) -> _Found:
        """`before`: in the question's own language, where the view is of the others."""
        scope = Scope(question.audiences, view.codes, bool(before))
        wide = CANDIDATES if asked.category is None else WIDE
        nearest, failed = await self._ask_dense(question, scope, lambda dense: _nearest(dense, question, scope, wide))
        near = _visible(nearest or NOTHING, view).best(CANDIDATES)
        rankings = [view.rank(wording, question.language, CANDIDATES, near.rows) for wording in question.wordings]
        unknown = before[-1].unknown if before else question.words
        unknown = tuple(frozenset(word for word in words if not view.knows(word)) for words in unknown)
        return _Found(near, merge(rankings), unknown, question.language in view.codes, failed)

    async def _result(
        self, found: Sequence[_Found], asked: _Request, question: _Question, views: Sequence[View]
    ) -> SearchResult:
        near = joined([one.near for one in found]).best(CANDIDATES)
        ranking = beside([one.ranking for one in found])
        weight = LEXICAL_WEIGHT if question.language in self.catalogue.languages else 0.0
        fused = fuse(ranking, near, weight) if len(near.rows) else lexical_only(ranking)
        places = self._chosen(fused, asked.limit)
        rows = fused.rows[places].tolist() if len(near.rows) else []
        scope = Scope(question.audiences, tuple(code for view in views for code in view.codes))
        signals, failed = await self._ask_dense(
            question, scope, lambda dense: dense.signals(question.queries[-1], question.language, scope, rows)
        )
        hits = self._hits(places, fused, ranking, near.rows, signals or {})
        figures = {"z": ranking.z, **_strangeness(question, found)}
        return SearchResult(hits, question.wordings, figures, failed or any(one.degraded for one in found))

    def _chosen(self, fused: Fused, limit: int) -> list[int]:
        rows = fused.rows.tolist()
        return chosen(
            self._article_of_row[fused.rows].tolist(),
            lambda place: self._marks_of(rows[place]),
            lambda place: self._words_of(rows[place]),
            limit,
        )

    def measure(self, question: str, passages: Sequence[tuple[Article, Passage]]) -> list[dict[str, float]]:
        asked_in = self._language_of(question)
        measured = []
        for article, passage in passages:
            view = self._view(frozenset(article.audience), asked_in, None, None)
            measured.append(view.measure(question, asked_in, article, passage))
        return measured

    def passage(self, row: int) -> tuple[Article, Passage] | None:
        """What stands in an index row; None: an article that is gone."""
        at = int(self._article_of_row[row]) if 0 <= row < len(self._article_of_row) else -1
        if at < 0:
            return None
        article = self.catalogue.all[at]
        return article, article.passages[row - int(self.index.first_rows[at])]

    def _find_language(self, text: str) -> str:
        return primary(recognise(text, self.languages, self.centre.default_language))

    def _view(
        self, roles: Roles, asked_in: str, category: str | None, language: str | None, own: bool | None = None
    ) -> View:
        """`own`: only what is in the language of the question, or only what is not."""
        preferred = (language or asked_in) if self.catalogue.translated else ""
        key = self.catalogue.known_roles(roles), preferred, category, language, own is None or (asked_in, own)
        view = self._views.get(key)
        if view is None:
            places = self.catalogue.places(roles, category=category, language=language)
            folded = self.catalogue.folded(places, preferred)
            if own is not None:
                folded = [at for at in folded if (primary(self.catalogue.all[at].language) == asked_in) is own]
            seen = np.zeros(len(self.catalogue.all) + 1, np.bool_)  # the last stands for rows of no article
            seen[folded] = True
            view = self._views.keep(key, View(self.index.postings, seen[self._article_of_row], self.index.languages))
        return view

    async def _repaired(self, asked: _Request, language: str, views: Sequence[View]) -> str | None:
        if language not in self.catalogue.languages:
            return None
        words = self.index.vocabulary.ready(asked.roles)
        if words is None:
            words = await asyncio.to_thread(self.index.vocabulary.visible, asked.roles)
        return words.repair(asked.query, language, lambda word: any(view.knows(word) for view in views))

    async def _ask_dense(
        self, question: _Question, scope: Scope, ask: Callable[[DenseIndex], T]
    ) -> tuple[T | None, bool]:
        """What a dense index answers, in a thread if it takes long, and whether there is one that failed to."""
        clock = asyncio.get_running_loop().time
        if self.dense is None or clock() < self._dense_rests_until:
            return None, self.dense is not None
        try:
            if self.dense.at_hand(question.queries, question.language, scope):
                return ask(self.dense), False
            async with asyncio.timeout(DENSE_SECONDS):
                return await asyncio.to_thread(ask, self.dense), False
        except Exception as failure:  # whatever fails there, lexical search goes on
            log.warning("dense_search_failed", error=type(failure).__name__, detail=str(failure)[:200])
            self._dense_rests_until = clock() + DENSE_REST
            return None, True

    def _hits(
        self,
        places: Sequence[int],
        fused: Fused,
        ranking: Ranking,
        near: Rows,
        dense: Mapping[int, Mapping[str, float]],
    ) -> tuple[Hit, ...]:
        """`near`: rows that the dense index found, nearest first; `dense`: its signals by row. `rank_words` and
        `rank_meaning` are places from 1, where that side found the row."""
        by_meaning = {row: at for at, row in enumerate(near.tolist(), 1)}
        columns = [column[places].tolist() for column in fused]
        hits = []
        for row, score, at, by_words in zip(*columns, ranking.signals(fused.at[places]), strict=True):
            found = self.passage(row)
            if found is None:
                continue
            signals = {**by_words, **dense.get(row, {})}
            if signals["selfscore"]:
                signals["rank_words"] = at + 1.0
            if row in by_meaning:
                signals["rank_meaning"] = float(by_meaning[row])
            hits.append(Hit(*found, score=score, signals=signals))
        return tuple(hits)

    def _words_of(self, row: int) -> frozenset[str]:
        found = self.passage(row)
        return frozenset(fold(found[1].text(found[0].body)).split()) if found else frozenset()


def _nearest(dense: DenseIndex, question: _Question, scope: Scope, limit: int) -> Nearest:
    queries = filter(_says_something, question.queries)
    return nearest_of([dense.scores(query, question.language, scope, limit) for query in queries])


def _visible(found: Nearest, view: View) -> Nearest:
    seen = (found.rows >= 0) & (found.rows < len(view.visible))
    seen[seen] = view.visible[found.rows[seen]]
    return found.picked(seen)


def _answers_well(found: _Found, question: _Question) -> bool:
    """By the evidence of the passage that has most, see gate.evidence_score()."""
    near, ranking = found.near, found.ranking
    if found.degraded or not len(near.rows):
        return False
    rising = np.argsort(ranking.rows)
    selfscore = ranking.selfscore[rising[ranking.rows[rising].searchsorted(near.rows)]]
    best = int(np.argmax(WEIGHTS["near"] * near.near + WEIGHTS["selfscore"] * selfscore))
    of_passage = {"near": float(near.near[best]), "selfscore": float(selfscore[best])}
    return evidence_score({**_strangeness(question, [found]), **of_passage}, WEIGHTS) >= CONFIDENT


def _says_something(query: str) -> bool:
    return any(sign.isalnum() for sign in query)


def _content(wording: str, language: str) -> frozenset[str]:
    return frozenset(word for word in surface_words(wording) if not is_stop_word(word, language))


def _strangeness(question: _Question, found: Sequence[_Found]) -> dict[str, float]:
    """`unknown`: the share of the question's content words that no visible passage has in any language, in the best
    wording; `strange`: 1 where that is nearly all of a longer question: what it is near to, it may be for one word that
    happens to be known. Nothing for a question in a language that no passage is written in."""
    both = zip(question.words, found[-1].unknown, strict=True)
    shares = [(len(strange) / len(words), len(words)) for words, strange in both if words]
    if not shares or not any(one.is_native for one in found):
        return {}
    share, words = min(shares, key=itemgetter(0))
    return {"unknown": share, "strange": float(words >= LONGER and share >= STRANGE)}
