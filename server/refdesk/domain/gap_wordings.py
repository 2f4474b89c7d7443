"""When two questions are worded alike without any encoder: the same content words, give or take one slip of the pen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

import msgspec

from refdesk.text.numbers import numbers
from refdesk.text.terms import content_words, fold, primary

SHORTEST_MISSPELT = 5
"""Letters of a word from which on a slip is believed: `card` and `cart` are two words."""
LONG_WORD = 8
"""From here on two slips in one word are."""
COMMON = 2
"""Words that must be the same before another one counts as misspelt."""

_ASKED = {
    "time": r"when|(?:what|which) (?:year|date|day|month|time)|когда|в как(?:ом|ой) (?:году|месяце|день)|kdy"
    r"|ve? (?:kterém|jakém) roce",
    "place": r"where|(?:what|which) (?:place|country|city)|где|куда|откуда|kde|kam|odkud",
    "person": r"who|whom|whose|кто|кого|кому|кем|kdo|koho|komu|kým",
    "amount": r"how (?:many|much)|(?:what|which) (?:percentage|percent|number|amount)|сколько"
    r"|как(?:ой|ое|ая) (?:процент|количество|доля)|kolik",
}
ASKED = {what: re.compile(rf"\b(?:{words})\b") for what, words in _ASKED.items()}


class Wording(msgspec.Struct, frozen=True):
    """What of a question's text tells it from others."""

    language: str
    """The primary tag."""
    terms: frozenset[str]
    """Content words, as the index knows them."""
    numbers: frozenset[str]
    asked: frozenset[str]
    """Whether it asks for a time, a place, a person or an amount, as far as its words say."""
    length: int
    """Characters."""

    @classmethod
    def of(cls, text: str, language: str) -> Wording:
        words = " ".join(fold(text).split())
        return cls(
            language=primary(language),
            terms=frozenset(content_words(text, language)),
            numbers=frozenset(numbers(text)),
            asked=frozenset(what for what, pattern in ASKED.items() if pattern.search(words)),
            length=len(text),
        )

    @property
    def key(self) -> str:
        """Questions with the same key are one wording: order, function words and inflection do not matter. Empty where
        there is no content word: such a question is like no other."""
        if not self.terms:
            return ""
        return f"{self.language}:{' '.join(sorted(self.terms | self.numbers))}:{' '.join(sorted(self.asked))}"


def asks_another_thing(one: Wording, other: Wording) -> bool:
    """ "When …" and "where …" are two questions, however much the rest is alike."""
    return bool(one.asked and other.asked and not one.asked & other.asked)


def differ(one: Wording, other: Wording) -> bool:
    """Whether a number or the thing asked for tells apart what else looks the same."""
    return one.numbers != other.numbers or asks_another_thing(one, other)


def misspelt_pairs(wordings: Sequence[Wording]) -> Iterator[tuple[int, int]]:
    """Pairs of the same words but one, which is the same word with a slip in one of them."""
    without: dict[tuple[str, frozenset[str]], list[tuple[int, str]]] = {}
    for row, wording in enumerate(wordings):
        for term in wording.terms if len(wording.terms) > COMMON else ():
            without.setdefault((wording.language, wording.terms - {term}), []).append((row, term))
    for found in without.values():
        for (row, term), (other, another) in combinations(found, 2):
            if row != other and is_slip(term, another) and not differ(wordings[row], wordings[other]):
                yield row, other


def is_slip(one: str, other: str) -> bool:
    """Whether the words differ by a slip: letters left out, doubled, replaced, or two swapped; never in a number."""
    if min(len(one), len(other)) < SHORTEST_MISSPELT or any(map(str.isdigit, one + other)):
        return False
    return edits(one, other) <= (2 if min(len(one), len(other)) >= LONG_WORD else 1)


def edits(one: str, other: str) -> int:
    """The distance with swaps of neighbours (optimal string alignment)."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, another in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != another))
            if before and i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == another:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1]
