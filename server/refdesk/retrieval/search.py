"""One version of the corpus that can be searched: the Snapshot of the ports."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
import structlog

from refdesk.domain.articles import Article, HelpCentre, Passage, Roles
from refdesk.domain.gate import OwnThreshold, comparable, evidence_score, in_force, lexical_evidence
from refdesk.ports import Hit, SearchResult
from refdesk.retrieval.baselines import WEIGHTS
from refdesk.retrieval.catalogue import Catalogue
from refdesk.retrieval.fusion import LEXICAL_WEIGHT, DenseIndex, Fused, Scope, fuse, lexical_only, merge
from refdesk.retrieval.index import LexicalIndex
from refdesk.retrieval.lexical import Ranking, View
from refdesk.retrieval.wordings import reworded
from refdesk.text.language import recognise
from refdesk.text.terms import fold, primary

CANDIDATES = 100
"""Passages that either side hands to the fusion."""
WIDE = 600
"""Of them from the dense index where a category is asked for, which it does not know."""
PER_ARTICLE = 3
"""So that one long article does not fill a result."""
ALIKE = 0.85
"""Jaccard similarity of words from which on two passages are one text: its copies stand behind all others."""
DENSE_SECONDS, DENSE_REST = 1.5, 5.0
"""How long one question waits for the dense index, and how long none asks it after a failure."""
LONGER, STRANGE = 4, 0.75
"""Content words of a longer question, and the share of unknown ones that makes it strange."""
_VIEWS = 16

T = TypeVar("T")

log = structlog.get_logger()


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
        self._views: OrderedDict[tuple[Roles, str, str | None, str | None], View] = OrderedDict()
        self._words_of = lru_cache(maxsize=1000)(self._find_words_of)

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
        asked_in = self._language_of(query)
        view = self._view(roles, asked_in, category, language)
        repaired = await self._repaired(query, roles, view, asked_in)
        queries = [query, repaired] if repaired else [query]
        wordings = [query, *reworded(query, self.centre.synonyms, asked_in), *queries[1:]]
        readable = [audience for audience in self.catalogue.audiences if not roles.isdisjoint(audience)]
        scope = Scope(readable, view.codes)
        wide = CANDIDATES if category is None else WIDE
        found, degraded = await self._ask_dense(lambda dense: _nearest(dense, queries, asked_in, scope, wide))
        dense = _visible(found or {}, view)[:CANDIDATES]
        near = [row for row, _ in dense]
        ranking = merge([view.rank(wording, asked_in, CANDIDATES, near) for wording in wordings])
        fused = fuse(ranking, dense, self._lexical_weight(asked_in)) if dense else lexical_only(ranking)
        chosen = self._chosen(fused.rows, limit)
        rows = fused.rows[chosen].tolist() if dense else []
        signals, failed = await self._ask_dense(lambda dense: dense.signals(queries[-1], asked_in, scope, rows))
        hits = self._hits(chosen, fused, ranking, near, signals or {})
        figures = {"z": ranking.z, **_strangeness(wordings, asked_in, view)}
        return SearchResult(hits, tuple(wordings), figures, degraded or failed)

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

    def _language_of(self, text: str) -> str:
        return primary(recognise(text, self.languages, self.centre.default_language))

    def _lexical_weight(self, asked_in: str) -> float:
        return LEXICAL_WEIGHT if asked_in in self.catalogue.languages else 0.0

    def _view(self, roles: Roles, asked_in: str, category: str | None, language: str | None) -> View:
        preferred = (language or asked_in) if self.catalogue.translated else ""
        key = (self.catalogue.known_roles(roles), preferred, category, language)
        if key in self._views:
            self._views.move_to_end(key)
            return self._views[key]
        places = self.catalogue.places(roles, category=category, language=language)
        seen = np.zeros(len(self.catalogue.all) + 1, np.bool_)  # the last stands for rows of no article
        seen[self.catalogue.folded(places, preferred)] = True
        view = View(self.index.postings, seen[self._article_of_row], self.index.languages)
        self._views[key] = view
        if len(self._views) > _VIEWS:
            self._views.popitem(last=False)
        return view

    async def _repaired(self, query: str, roles: Roles, view: View, asked_in: str) -> str | None:
        if asked_in not in self.catalogue.languages:
            return None
        known = self.catalogue.known_roles(roles)
        words = self.index.vocabulary.ready(known)
        if words is None:
            words = await asyncio.to_thread(self.index.vocabulary.visible, known)
        return words.repair(query, asked_in, view.knows)

    async def _ask_dense(self, ask: Callable[[DenseIndex], T]) -> tuple[T | None, bool]:
        """What a dense index answers in a thread, and whether there is one that failed to."""
        clock = asyncio.get_running_loop().time
        if self.dense is None or clock() < self._dense_rests_until:
            return None, self.dense is not None
        try:
            async with asyncio.timeout(DENSE_SECONDS):
                return await asyncio.to_thread(ask, self.dense), False
        except Exception as failure:  # whatever fails there, lexical search goes on
            log.warning("dense_search_failed", error=type(failure).__name__, detail=str(failure)[:200])
            self._dense_rests_until = clock() + DENSE_REST
            return None, True

    def _chosen(self, rows: Iterable[int], limit: int) -> list[int]:
        """Places in the order, so that no article and no copied text crowds out the others."""
        chosen: list[int] = []
        copies: list[int] = []
        taken: Counter[int] = Counter()
        kept: list[frozenset[str]] = []
        for place, row in enumerate(map(int, rows)):
            if len(chosen) == limit:
                break
            at = int(self._article_of_row[row])
            if taken[at] == PER_ARTICLE:
                continue
            words = self._words_of(row)
            if any(_are_alike(words, other) for other in kept):
                copies.append(place)
                continue
            taken[at] += 1
            kept.append(words)
            chosen.append(place)
        return chosen + copies[: max(0, limit - len(chosen))]

    def _hits(
        self,
        places: Sequence[int],
        fused: Fused,
        ranking: Ranking,
        near: Sequence[int],
        dense: Mapping[int, Mapping[str, float]],
    ) -> tuple[Hit, ...]:
        """`near`: rows that the dense index found, nearest first; `dense`: its signals by row. `rank_words` and
        `rank_meaning` are places from 1, where that side found the row."""
        by_words = {int(row): at for at, row in enumerate(ranking.rows)}
        by_meaning = {row: at for at, row in enumerate(near, 1)}
        hits = []
        for place in places:
            row = int(fused.rows[place])
            found = self.passage(row)
            if found is None:
                continue
            signals = {**ranking.signals(by_words[row]), **dense.get(row, {})}
            if signals["selfscore"]:
                signals["rank_words"] = by_words[row] + 1.0
            if row in by_meaning:
                signals["rank_meaning"] = float(by_meaning[row])
            hits.append(Hit(*found, score=float(fused.scores[place]), signals=signals))
        return tuple(hits)

    def _find_words_of(self, row: int) -> frozenset[str]:
        found = self.passage(row)
        return frozenset(fold(found[1].text(found[0].body)).split()) if found else frozenset()


def _nearest(dense: DenseIndex, queries: Sequence[str], asked_in: str, scope: Scope, limit: int) -> dict[int, float]:
    """Of each row the wording that it is nearest to."""
    best: dict[int, float] = {}
    for query in filter(_says_something, queries):
        for row, similarity in dense.scores(query, asked_in, scope, limit):
            best[row] = max(similarity, best.get(row, similarity))
    return best


def _visible(found: Mapping[int, float], view: View) -> list[tuple[int, float]]:
    """Best first."""
    seen = [(row, near) for row, near in found.items() if 0 <= row < len(view.visible) and view.visible[row]]
    return sorted(seen, key=lambda pair: -pair[1])


def _says_something(query: str) -> bool:
    return any(sign.isalnum() for sign in query)


def _strangeness(wordings: Sequence[str], asked_in: str, view: View) -> dict[str, float]:
    """`unknown`: the share of the question's content words that no visible passage has, in the best wording; `strange`:
    1 where that is nearly all of a longer question: what it is near to, it may be for one word that happens to be
    known. Nothing for a question in a language that no passage is written in."""
    counts = [counted for wording in wordings if (counted := view.unknown(wording, asked_in))[0]]
    if not counts:
        return {}
    words, unknown = min(counts, key=lambda counted: counted[1] / counted[0])
    share = unknown / words
    return {"unknown": share, "strange": float(words >= LONGER and share >= STRANGE)}


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Nearly the same words and exactly the same numbers: a differing number is a contradiction worth seeing."""
    fewer, more = sorted((len(one), len(other)))
    if fewer < ALIKE * more:
        return False
    shared = len(one & other)
    if shared < ALIKE * (fewer + more - shared):
        return False
    return not any(char.isdigit() for word in one ^ other for char in word)
