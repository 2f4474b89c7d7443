"""How well a sentence of a found passage answers a question, by words alone.

The weights were fitted by a softmax over each question's sentences (xquad; half of the English and Russian questions,
checked on the other half and across the languages) and rounded; `tests/bench/evidence.py` prints what they reach.
Everything is computed from the hits themselves: a word that stands in every sentence of the hits says little here,
however rare it is in the corpus.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from refdesk.assistant.expectation import Expectation, could_answer, expectation
from refdesk.assistant.sentences import Unit, sentences_in
from refdesk.ports import Hit
from refdesk.text.terms import terms

Similarity = Callable[[Sequence[str]], Sequence[float]]
"""Cosines of sentences to the question, in the order given."""

OWN, BEFORE, AFTER, PASSAGE, RANK, CLOSE, DENSE = 10.0, 4.5, 2.3, 4.0, 2.3, 0.8, 6.0
FITS = {Expectation.NUMBER: 1.2, Expectation.SHARE: 2.0, Expectation.NAME: 2.0, None: 0.0}
MOST_TERMS = 48
"""Of a question; a pasted page is compared by its rarest words."""
_STEM_SHARE, _RELATED = 0.7, 0.6
_SHORTEST_STEM = 4


class Candidate(msgspec.Struct):
    """One sentence of one passage. `place` is its index among the passage's sentences."""

    rank: int
    hit: Hit
    place: int
    unit: Unit
    text: str
    terms: frozenset[str]
    order: tuple[str, ...]
    score: float = 0.0
    shares: float = 0.0
    """The weighted share of the question's words in the sentence or its surroundings; 0: nothing in common."""


def rank_sentences(
    question: str, language: str, hits: Sequence[Hit], similarity: Similarity | None = None
) -> list[Candidate]:
    """Every sentence of the hits once, with its score, best first. An equal score keeps the order of the hits."""
    found = _candidates(hits)
    weights = _weights(question, found)
    wanted = expectation(question, language)
    by_passage: dict[int, list[Candidate]] = {}
    for candidate in found:
        by_passage.setdefault(candidate.rank, []).append(candidate)
    for group in by_passage.values():
        _score_passage(group, question, language, weights, wanted)
    if similarity is not None and found:
        _add_similarity(found, similarity)
    return sorted(found, key=lambda candidate: -candidate.score)


def _candidates(hits: Sequence[Hit]) -> list[Candidate]:
    found: list[Candidate] = []
    seen: set[tuple[str, int, int]] = set()
    for rank, hit in enumerate(hits):
        body = hit.article.body
        for place, unit in enumerate(sentences_in(body, hit.passage.spans)):
            key = (hit.article.id, unit.start, unit.end)
            if key not in seen:
                seen.add(key)
                text = body[unit.start : unit.end]
                order = tuple(terms(text, hit.article.language))
                found.append(Candidate(rank, hit, place, unit, text, frozenset(order), order))
    return found


def _weights(question: str, found: Sequence[Candidate]) -> dict[str, dict[str, float]]:
    """Weight of the question's terms for each language of the articles: words are compared in the article's."""
    count = len(found)
    holding = Counter(term for candidate in found for term in candidate.terms)
    weights: dict[str, dict[str, float]] = {}
    for language in {candidate.hit.article.language for candidate in found}:
        asked = dict.fromkeys(terms(question, language))
        idf = {t: 1 + math.log(1 + (count - holding[t] + 0.5) / (holding[t] + 0.5)) for t in asked}
        kept = sorted(idf.items(), key=lambda pair: -pair[1])[:MOST_TERMS] if len(idf) > MOST_TERMS else idf.items()
        total = sum(weight for _, weight in kept) or 1.0
        weights[language] = {term: weight / total for term, weight in kept}
    return weights


def _score_passage(
    group: Sequence[Candidate],
    question: str,
    language: str,
    weights: dict[str, dict[str, float]],
    wanted: Expectation | None,
) -> None:
    hit = group[0].hit
    asked = weights[hit.article.language]
    heading = frozenset(terms(f"{hit.article.title} {hit.passage.section}", hit.article.language))
    whole = heading.union(*(candidate.terms for candidate in group))
    passage = _share(asked, whole)
    pairs = list(zip(asked, list(asked)[1:], strict=False))
    for at, candidate in enumerate(group):
        before = heading | _context(candidate, group[at - 1] if at else None)
        after = group[at + 1].terms if at + 1 < len(group) else frozenset()
        own = _matches(asked, candidate.terms)
        told = sum(own.values())
        ahead, behind = (_gain(own, _matches(asked, words)) for words in (before, after))
        candidate.shares = told + ahead + behind
        candidate.score = OWN * told + BEFORE * ahead + AFTER * behind + PASSAGE * passage + RANK / (1 + candidate.rank)
        candidate.score += CLOSE * _closeness(pairs, asked, candidate.order)
        if could_answer(wanted, candidate.text, question, language):
            candidate.score += FITS[wanted]


def _context(candidate: Candidate, previous: Candidate | None) -> frozenset[str]:
    """What a reader has in mind: the sentence before, or the head of the table for one of its rows."""
    if candidate.unit.header:
        start, end = candidate.unit.header
        return frozenset(terms(candidate.hit.article.body[start:end], candidate.hit.article.language))
    return previous.terms if previous else frozenset()


def _share(asked: dict[str, float], words: frozenset[str]) -> float:
    return sum(_matches(asked, words).values())


def _matches(asked: dict[str, float], words: frozenset[str]) -> dict[str, float]:
    """The weight each term of the question has in the words: in full, or in part for a word of the same root."""
    return {term: weight * _match(term, words) for term, weight in asked.items()}


def _match(term: str, words: frozenset[str]) -> float:
    if term in words:
        return 1.0
    length = max(_SHORTEST_STEM, round(len(term) * _STEM_SHARE))
    if len(term) < _SHORTEST_STEM or term.isdigit():
        return 0.0
    root = term[:length]
    return _RELATED if any(word.startswith(root) for word in words) else 0.0


def _gain(own: dict[str, float], around: dict[str, float]) -> float:
    return sum(max(0.0, around[term] - own[term]) for term in own)


def _closeness(pairs: Sequence[tuple[str, str]], asked: dict[str, float], order: Sequence[str]) -> float:
    """Neighbours in the question that stand within three words of each other, in the same order."""
    near = {(first, second) for at, first in enumerate(order) for second in order[at + 1 : at + 4]}
    return sum(asked[first] + asked[second] for first, second in pairs if (first, second) in near) / 2


def _add_similarity(found: Sequence[Candidate], similarity: Similarity) -> None:
    cosines = list(similarity([candidate.text for candidate in found]))
    low, high = min(cosines), max(cosines)
    for candidate, cosine in zip(found, cosines, strict=True):
        candidate.score += DENSE * (cosine - low) / ((high - low) or 1.0)
