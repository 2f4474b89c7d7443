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
_MARKS = 256


class Words(NamedTuple):
    each: frozenset[str]
    marks: int
    """A bit for each word, which words may share: where more bits differ than words may, the words need no look."""

    @classmethod
    def of(cls, text: str) -> Words:
        each = frozenset(text.split())
        return cls(each, reduce(or_, (1 << hash(word) % _MARKS for word in each), 0))


def chosen(articles: Sequence[int], words_of: Callable[[int], Words], limit: int) -> list[int]:
    """At most `limit` places in an order of passages, best first. `articles`: what each passage is of; `words_of`: the
    words of the passage at a place. The first of a longer choice are the shorter one."""
    found: list[int] = []
    copies: list[int] = []
    taken: Counter[int] = Counter()
    kept: list[Words] = []
    for place, article in enumerate(articles):
        if len(found) == limit:
            break
        if taken[article] == PER_ARTICLE:
            continue
        words = words_of(place)
        if any(are_alike(words, other) for other in kept):
            copies.append(place)
            continue
        taken[article] += 1
        kept.append(words)
        found.append(place)
    return found + copies[: max(0, limit - len(found))]


def are_alike(one: Words, other: Words) -> bool:
    """Nearly the same words and exactly the same numbers: a differing number is a contradiction worth seeing."""
    both = len(one.each) + len(other.each)
    if (one.marks ^ other.marks).bit_count() > _DIFFERING * both:
        return False
    shared = len(one.each & other.each)
    if shared < ALIKE * (both - shared):
        return False
    return not any(char.isdigit() for word in one.each ^ other.each for char in word)
