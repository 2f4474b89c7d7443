"""Which of the best passages are handed over: no article and no copied text crowds out the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

PER_ARTICLE = 3
"""So that one long article does not fill a result."""
ALIKE = 0.85
"""Jaccard similarity of words from which on two passages are one text: its copies stand behind all others."""


def chosen(articles: Sequence[int], words_of: Callable[[int], frozenset[str]], limit: int) -> list[int]:
    """At most `limit` places in an order of passages, best first. `articles`: what each passage is of; `words_of`: the
    words of the passage at a place. The first of a longer choice are the shorter one."""
    found: list[int] = []
    copies: list[int] = []
    taken: Counter[int] = Counter()
    kept: list[frozenset[str]] = []
    for place, article in enumerate(articles):
        if len(found) == limit:
            break
        if taken[article] == PER_ARTICLE:
            continue
        words = words_of(place)
        fewest, most = ALIKE * len(words), len(words) / ALIKE
        if any(are_alike(words, other) for other in kept if fewest <= len(other) <= most):
            copies.append(place)
            continue
        taken[article] += 1
        kept.append(words)
        found.append(place)
    return found + copies[: max(0, limit - len(found))]


def are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Nearly the same words and exactly the same numbers: a differing number is a contradiction worth seeing."""
    shared = len(one & other)
    if shared < ALIKE * (len(one) + len(other) - shared):
        return False
    return not any(char.isdigit() for word in one ^ other for char in word)
