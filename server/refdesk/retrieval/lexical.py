"""BM25 over folded, stemmed terms, for what one visitor may see and nothing else.

Each language counts for itself: a term is a term of one language, the question is analysed once in each, and the score
of a passage is its share of what the best possible passage in its language would have (`selfscore`), so that passages
of different languages can be ranked together. Document frequencies and lengths are taken over visible passages only:
a restricted article changes no score and no order.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from refdesk.domain.articles import Article, Passage
from refdesk.retrieval.postings import NO_ROWS, PassageTerms, Postings
from refdesk.retrieval.recent import Recent
from refdesk.text.remembering import WORD
from refdesk.text.terms import content_words, primary, terms

K1, B = 1.2, 0.6
SIGNALS = ("coverage", "idf_coverage", "bm25", "selfscore")
TITLE, SYNONYM, SECTION = 3, 2, 2
"""How often a word of the title, of the article's synonyms and of the headings above counts in each passage."""

_REMEMBERED = 300_000
"""Passages in remembered words, per view: 2.4 MB."""
_ABSENT = 512
"""Remembered words that no passage has, per view: 0.2 MB."""
Rows = NDArray[np.int32]
Scores = NDArray[np.float32]
NO_IMPACTS: Scores = np.empty(0, np.float32)


class Word(NamedTuple):
    """A content word of the question in one language, among the visible passages. Rows rise."""

    idf: float
    rows: Rows
    impacts: Scores
    """(k1 + 1) · tf / (tf + k1 · length norm), per row."""


class Ranking(NamedTuple):
    """Rows with any word of the question, best first. All but `bm25` are between 0 and 1."""

    rows: Rows
    selfscore: Scores
    """BM25 as a share of (k1 + 1) · Σ idf of the question's content words: comparable across questions."""
    bm25: Scores
    coverage: Scores
    """Share of the question's unique content words that occur in the passage (provenance.md)."""
    idf_coverage: Scores
    z: float = 0.0
    """How far the best stands above all passages that share a word, in standard deviations."""

    def signals(self, at: Sequence[int] | NDArray[np.int64]) -> list[dict[str, float]]:
        """Of the rows at these places."""
        columns = (column[at].tolist() for column in (self.coverage, self.idf_coverage, self.bm25, self.selfscore))
        return [dict(zip(SIGNALS, values, strict=True)) for values in zip(*columns, strict=True)]


class View:
    """The passages that one kind of visitor may see, and the statistics of just these."""

    def __init__(self, postings: Postings, visible: NDArray[np.bool_], languages: Sequence[str]) -> None:
        self.visible = visible
        self.languages = tuple(languages)
        self._postings = postings
        self._totals = np.bincount(postings.languages[visible], minlength=len(languages))
        lengths = np.bincount(postings.languages[visible], postings.lengths[visible], len(languages))
        self._averages = np.maximum(lengths / np.maximum(self._totals, 1), 1.0).astype(np.float32)
        norms = K1 * (1 - B + B * postings.lengths / self._averages[postings.languages])
        self._norms = norms.astype(np.float32)
        self._words: OrderedDict[str, Word] = OrderedDict()
        self._held = 0
        self._absent: Recent[str, Word] = Recent(_ABSENT)
        self.spoken = [int(number) for number in np.flatnonzero(self._totals)]
        """Languages that have visible passages, as places in `languages`."""
        self.codes = tuple(self.languages[number] for number in self.spoken)
        """The same as codes."""

    def word(self, term: str, language: int) -> Word:
        """Remembers what it finds: everyday words, which have the longest lists, are asked for most often. There is no
        end of words that no passage has: only the last are remembered, of a question nearly all in another language."""
        name = _term_of(self.languages[language], term)
        word = self._words.get(name) or self._absent.get(name)
        if word is None:
            word = self._look_up(name, int(self._totals[language]))
            if not len(word.rows):
                return self._absent.keep(name, word) if len(name) <= WORD else word
            self._words[name] = word
            self._held += len(word.rows) + 50
            while self._held > _REMEMBERED and len(self._words) > 1:
                self._held -= len(self._words.popitem(last=False)[1].rows) + 50
        elif len(word.rows):
            self._words.move_to_end(name)
        return word

    def rank(self, question: str, asked_in: str, limit: int, also: Rows | None = None) -> Ranking:
        """The `limit` best rows by selfscore, and the visible rows `also`, whatever they score."""
        asked = [(number, self._asked(question, asked_in, number)) for number in self.spoken]
        share = np.zeros(len(self.visible), np.float32)
        for _, words in asked:
            best = (K1 + 1) * sum(word.idf for word in words)
            for word in filter(_stands, words):
                share[word.rows] += word.impacts * np.float32(word.idf / best)
        found = np.flatnonzero(share > 0).astype(np.int32)
        scores = share[found]
        top = np.argpartition(-scores, limit)[:limit] if len(found) > limit else np.arange(len(found))
        rows = _rising(len(share), found[top], NO_ROWS if also is None else also)
        rows = rows[np.argsort(-share[rows], kind="stable")]
        return self._with_signals(rows, share[rows], asked, _standing_out(scores))

    def knows(self, word: str) -> bool:
        """Whether a visible passage has some form of the word."""
        asked = ((self.languages[number], number) for number in self.spoken)
        return any(len(self.word(term, number).rows) for code, number in asked for term in terms(word, code))

    def measure(self, question: str, asked_in: str, article: Article, passage: Passage) -> dict[str, float]:
        """The same signals of one passage that may not be in this index: one that an earlier turn cited."""
        if not self.languages:
            return dict.fromkeys(SIGNALS, 0.0)
        language = primary(article.language)
        number = self.languages.index(language) if language in self.languages else 0
        held = passage_terms(article, passage, number)
        norm = K1 * (1 - B + B * held.length / float(self._averages[number]))
        asked = content_words(question, language, asked_in)
        total = bm25 = covered = idf_covered = 0.0
        for term in asked:
            idf, count = self.word(term, number).idf, held.counts.get(_term_of(language, term), 0)
            total += idf
            bm25 += idf * (K1 + 1) * count / (count + norm)
            covered += count > 0
            idf_covered += idf * (count > 0)
        return {
            "coverage": covered / max(len(asked), 1),
            "idf_coverage": idf_covered / max(total, 1e-9),
            "bm25": bm25,
            "selfscore": bm25 / max((K1 + 1) * total, 1e-9),
        }

    def _asked(self, question: str, asked_in: str, language: int) -> list[Word]:
        return [self.word(term, language) for term in content_words(question, self.languages[language], asked_in)]

    def _look_up(self, name: str, passages: int) -> Word:
        rows, counts = self._postings.of(name)
        if len(rows):
            seen = self.visible[rows]
            rows, counts = rows[seen], counts[seen]
        idf = math.log(1 + (passages - len(rows) + 0.5) / (len(rows) + 0.5))
        if not len(rows):
            return Word(idf, NO_ROWS, NO_IMPACTS)
        tf = counts.astype(np.float32)
        impacts = np.float32(K1 + 1) * tf / (tf + self._norms[rows])
        return Word(idf, rows, impacts)

    def _with_signals(self, rows: Rows, share: Scores, asked: Sequence[tuple[int, list[Word]]], z: float) -> Ranking:
        coverage, idf_coverage = np.zeros(len(rows), np.float32), np.zeros(len(rows), np.float32)
        best = np.zeros(len(self.languages), np.float32)
        for number, words in asked:
            total = sum(word.idf for word in words)
            best[number] = (K1 + 1) * total
            for word in filter(_stands, words):
                has = _holds(word.rows, rows)
                coverage += has * np.float32(1 / len(words))
                idf_coverage += has * np.float32(word.idf / total)
        bm25 = share * best[self._postings.languages[rows]]
        return Ranking(rows, share, bm25, coverage, idf_coverage, z)


def passage_terms(article: Article, passage: Passage, language: int) -> PassageTerms:
    """What a passage is found by: its text, and with more weight its title, headings and the article's synonyms."""
    code = primary(article.language)
    counts = Counter(terms(passage.text(article.body), code))
    length = counts.total()
    for text, weight in (
        (article.title, TITLE),
        (passage.section, SECTION),
        *((synonym, SYNONYM) for synonym in article.synonyms),
    ):
        for term in terms(text, code):
            counts[term] += weight
            length += 1
    return PassageTerms({_term_of(code, term): count for term, count in counts.items()}, length, language)


def index_passages(articles: Iterable[Article], languages: Sequence[str], first_row: int = 0) -> Postings:
    """Rows in the order of the articles and their passages. `languages` holds the primary code of every article."""
    numbers = {code: number for number, code in enumerate(languages)}
    rows: Iterator[PassageTerms] = (
        passage_terms(article, passage, numbers[primary(article.language)])
        for article in articles
        for passage in article.passages
    )
    return Postings.build(rows, first_row)


def _term_of(language: str, term: str) -> str:
    return f"{language} {term}"


def _rising(size: int, *rows: Rows) -> Rows:
    """All of them, each once, of the rows below `size`."""
    marked = np.zeros(size, np.bool_)
    for some in rows:
        marked[some] = True
    return np.flatnonzero(marked).astype(np.int32)


def _standing_out(scores: Scores) -> float:
    """How far the best stands above the mean, in standard deviations; 0 where all are equal."""
    if not len(scores):
        return 0.0
    exact = scores.astype(np.float64)
    mean = float(exact.sum()) / len(exact)
    variance = float(np.einsum("s,s->", exact, exact)) / len(exact) - mean**2
    return (float(exact.max()) - mean) / math.sqrt(variance) if variance > 1e-12 else 0.0


def _stands(word: Word) -> bool:
    return len(word.rows) > 0


def _holds(sorted_rows: Rows, rows: Rows) -> NDArray[np.bool_]:
    """`sorted_rows`: at least one."""
    return np.asarray(sorted_rows.take(sorted_rows.searchsorted(rows), mode="clip") == rows)
