"""An answer without a model: the sentences of the found passages that answer best, verbatim (provenance.md).

A quote is one sentence, or two neighbours of one paragraph where both speak to the question and stay short together.
Every quote is a substring of the article's body.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from refdesk.assistant.disagreement import Side, conflicting_numbers
from refdesk.assistant.relevance import Candidate, Similarity, rank_sentences
from refdesk.domain.conversation import EvidenceItem
from refdesk.ports import Hit
from refdesk.text.terms import fold

LONGEST_PAIR = 320
"""Characters of two sentences quoted together; a single longer sentence is quoted alone."""
PAIRED = 0.7
"""A neighbour joins if its own score is at least this share of the sentence's."""
REPEATED = 1.0
"""Taken off a sentence's score for each quote its article already has: other articles get their say."""
UNRELATED = 0.3
"""Share of the best score below which a further sentence is no evidence."""

MOST_OTHER_SIDES = 2
"""Counterparts shown of one quote."""


class Quote(msgspec.Struct, frozen=True):
    """`start` and `end` are offsets in the article's body."""

    hit: Hit
    start: int
    end: int
    score: float = 0.0

    @property
    def text(self) -> str:
        return self.hit.article.body[self.start : self.end]

    def holds(self, article_id: str, start: int) -> bool:
        return self.hit.article.id == article_id and self.start <= start < self.end


def evidence(
    question: str, language: str, hits: Sequence[Hit], limit: int = 3, similarity: Similarity | None = None
) -> tuple[EvidenceItem, ...]:
    """At most `limit` quotes, best first; empty only if the hits hold no sentence.

    Where a quoted sentence has a counterpart in another article that gives other numbers, the counterpart follows it,
    beyond the limit. `similarity` helps where words cannot: question and article in different languages."""
    return tuple(map(_item, best_quotes(question, language, hits, limit, similarity)))


def best_quotes(
    question: str, language: str, hits: Sequence[Hit], limit: int = 3, similarity: Similarity | None = None
) -> list[Quote]:
    return _both_sides(_choose(rank_sentences(question, language, hits, similarity), limit), hits)


def _choose(ranked: Sequence[Candidate], limit: int) -> list[Quote]:
    chosen: list[Quote] = []
    texts: set[str] = set()
    taken: Counter[str] = Counter()
    left = list(ranked)
    while left and len(chosen) < limit:
        best = max(left, key=lambda candidate: candidate.score - REPEATED * taken[candidate.hit.article.id])
        if chosen and best.score < UNRELATED * chosen[0].score:
            break
        quote = _grown(best, left)
        left = [c for c in left if not quote.holds(c.hit.article.id, c.unit.start)]
        if fold(quote.text) not in texts:
            chosen.append(quote)
            texts.add(fold(quote.text))
            taken[quote.hit.article.id] += 1
    return chosen


def _grown(best: Candidate, left: Sequence[Candidate]) -> Quote:
    """The sentence, with the better one of its neighbours where that is still free, related and short enough."""
    start, end = best.unit.start, best.unit.end
    beside = [c for c in left if c.rank == best.rank and abs(c.place - best.place) == 1]
    for other in sorted(beside, key=lambda candidate: -candidate.score):
        low, high = min(start, other.unit.start), max(end, other.unit.end)
        between = best.hit.article.body[min(end, other.unit.end) : max(start, other.unit.start)]
        one_paragraph = not between.strip() and between.count("\n") < 2 and not best.unit.header
        if one_paragraph and high - low <= LONGEST_PAIR and other.score >= PAIRED * best.score:
            return Quote(best.hit, low, high, best.score)
    return Quote(best.hit, start, end, best.score)


def _both_sides(chosen: Sequence[Quote], hits: Sequence[Hit]) -> list[Quote]:
    pairs = conflicting_numbers(hits)
    shown: list[Quote] = []
    for quote in chosen:
        shown.append(quote)
        for side in _counterparts(quote, pairs):
            if not any(known.holds(*side.place) for known in [*chosen, *shown]):
                shown.append(Quote(side.hit, side.start, side.end, quote.score))
    return shown


def _counterparts(quote: Quote, pairs: Iterable[tuple[Side, Side]]) -> list[Side]:
    """At most one for each of the other articles."""
    both = [pair for pair in pairs if any(quote.holds(*side.place) for side in pair)]
    others = [side for pair in both for side in pair if not quote.holds(*side.place)]
    return list({side.hit.article.id: side for side in reversed(others)}.values())[:MOST_OTHER_SIDES]


def _item(quote: Quote) -> EvidenceItem:
    article = quote.hit.article
    return EvidenceItem(article.id, article.title, article.url, quote.hit.passage.section, quote.text)
