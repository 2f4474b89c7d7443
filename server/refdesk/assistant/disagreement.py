"""Pairs of sentences of different articles that state the same thing with different numbers.

Without a model nothing decides which of them is right, so a visitor must see both sides. Two sentences state the same
thing where nearly all of their words are the same and a number of each measures the same thing ("30 days", "14 days").
Numbers that name something ("Windows 10", "step 3") measure nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

import msgspec

from refdesk.assistant.expectation import number_words
from refdesk.assistant.sentences import sentences_in
from refdesk.ports import Hit
from refdesk.text.terms import fold, is_stop_word, terms

SAME_WORDS = 0.6
"""Share of common words in the sentence with more of them; below it two sentences merely concern one subject."""
FEWEST_SHARED = 3
_MOST_SENTENCES = 200
_TOKEN = re.compile(r"\d[\d.,:\u00a0\u202f]*\d|\w+|[%€$£¥₽]|[^\w\s]")
_GROUPING = re.compile(r"[.,\u00a0\u202f](?=\d{3}(?:\D|$))")
_SYMBOLS = "%€$£¥₽"


class Side(msgspec.Struct, frozen=True):
    hit: Hit
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.hit.article.body[self.start : self.end]

    @property
    def place(self) -> tuple[str, int]:
        return self.hit.article.id, self.start


class _Statement(msgspec.Struct, frozen=True):
    side: Side
    words: frozenset[str]
    figures: dict[str, frozenset[str]]
    """What is counted or measured -> the values given for it."""


def conflicting_numbers(hits: Sequence[Hit]) -> tuple[tuple[Side, Side], ...]:
    """In the order of the hits. Translations of one article are one article here."""
    stated = [statement for statement in _statements(hits) if statement.figures][:_MOST_SENTENCES]
    return tuple((one.side, other.side) for one, other in combinations(stated, 2) if _disagree(one, other))


def _disagree(one: _Statement, other: _Statement) -> bool:
    first, second = one.side.hit.article, other.side.hit.article
    if first.family == second.family or first.language != second.language:
        return False
    shared = len(one.words & other.words)
    most = max(len(one.words), len(other.words))
    if shared < min(FEWEST_SHARED, max(2, most)) or shared < SAME_WORDS * most:
        return False
    return any(one.figures[unit].isdisjoint(other.figures[unit]) for unit in one.figures.keys() & other.figures.keys())


def _statements(hits: Sequence[Hit]) -> Iterator[_Statement]:
    seen: set[tuple[str, int]] = set()
    for hit in hits:
        for unit in sentences_in(hit.article.body, hit.passage.spans):
            side = Side(hit, unit.start, unit.end)
            if side.place not in seen:
                seen.add(side.place)
                yield _statement(side, hit.article.language)


def _statement(side: Side, language: str) -> _Statement:
    figures: dict[str, set[str]] = {}
    for unit, value in _figures(side.text, language):
        figures.setdefault(unit, set()).add(value)
    spelled = number_words(language).keys()
    words = [word for word in re.findall(r"\w+", fold(side.text)) if not word[0].isdigit() and word not in spelled]
    return _Statement(
        side, frozenset(terms(" ".join(words), language)), {unit: frozenset(values) for unit, values in figures.items()}
    )


def _figures(text: str, language: str) -> Iterator[tuple[str, str]]:
    tokens = _TOKEN.findall(text)
    spelled = number_words(language)
    for at, token in enumerate(tokens):
        value = str(spelled.get(fold(token), "")) or (_value(token) if token[0].isdigit() else "")
        if value and not _is_name(tokens, at, language):
            for unit in _units(tokens, at, language):
                yield unit, value


def _value(token: str) -> str:
    return _GROUPING.sub("", token).replace(",", ".").rstrip(".:")


def _is_name(tokens: Sequence[str], at: int, language: str) -> bool:
    """ "Windows 10", "Area 51": a capitalised word stands right before it, and not as the sentence's first."""
    before = tokens[at - 1] if at > 1 else ""
    return before[:1].isupper() and not is_stop_word(fold(before), language)


def _units(tokens: Sequence[str], at: int, language: str) -> list[str]:
    """The currency sign before it, or the one or two words that follow at once ("days", "working days", "%")."""
    if at and tokens[at - 1] in _SYMBOLS:
        return [tokens[at - 1]]
    units: list[str] = []
    for token in tokens[at + 1 : at + 3]:
        if token in _SYMBOLS:
            return [*units, token]
        if not token[0].isalpha() or is_stop_word(fold(token), language):
            break
        units += terms(token, language)
    return units
