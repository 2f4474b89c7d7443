"""Which of the best passages are handed over: no article and no copied text crowds out the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import NamedTuple

PER_ARTICLE = 3
"""So that one long article does not fill a result."""
ALIKE = 0.85
"""Jaccard similarity of words from which on two passages are one text: its copies stand behind all others."""
_DIFFERING = (1 - ALIKE) / (1 + ALIKE) + 1e-9
"""Of the words of both, as many may differ at most where the similarity is ALIKE."""
_BITS = 256


class Marks(NamedTuple):
    """What is remembered of a text instead of its words, which take fifty times as much."""

    words: int
    bits: int
    """One for each word, which words may share: there are never more differing bits than differing words."""

    @classmethod
    def of(cls, words: frozenset[str]) -> Marks:
        return cls(len(words), reduce(or_, (1 << hash(word) % _BITS for word in words), 0))


def chosen(
    articles: Sequence[int],
    marks_of: Callable[[int], Marks],
    words_of: Callable[[int], frozenset[str]],
    limit: int,
) -> list[int]:
    """At most `limit` places in an order of passages, best first. `articles`: what each passage is of; `words_of`: the
    words of the passage at a place. The first of a longer choice are the shorter one."""
    found: list[int] = []
    copies: list[int] = []
    taken: Counter[int] = Counter()
    kept: list[Marks] = []
    for place, article in enumerate(articles):
        if len(found) == limit:
            break
        if taken[article] == PER_ARTICLE:
            continue
        marks = words, bits = marks_of(place)
        near = [
            other
            for other, (count, of) in zip(found, kept, strict=True)
            if (bits ^ of).bit_count() <= _DIFFERING * (words + count)
        ]
        if any(are_alike(words_of(place), words_of(other)) for other in near):
            copies.append(place)
            continue
        taken[article] += 1
        kept.append(marks)
        found.append(place)
    return found + copies[: max(0, limit - len(found))]


def are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Nearly the same words and exactly the same numbers: a differing number is a contradiction worth seeing."""
    shared = len(one & other)
    if shared < ALIKE * (len(one) + len(other) - shared):
        return False
    return not any(char.isdigit() for word in one ^ other for char in word)
