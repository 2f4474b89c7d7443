"""When two questions are worded alike without any encoder: the same content words, give or take slips of the pen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, takewhile

import msgspec

from refdesk.domain.gap_piles import breathe
from refdesk.text.numbers import numbers
from refdesk.text.terms import content_words, fold, is_stop_word, primary, surface_words

LONG, LONGER = 5, 8
"""Letters from which on one slip, and two, are believed in a word."""
SHORTEST = 3
"""A shorter word than LONG counts as misspelt only where nobody else has written it and the other is usual."""
USUAL = 3
TIMES = 10
"""A misspelling is at most one in so many of the word."""
COMMON = 2
"""Words that must be the same before others count as misspelt; one is enough if it is long."""
MOST_SLIPS = 2
MOST_WORDS = 14
"""Content words of a question that is compared."""

PREFIXES = {
    "",
    *"de dis down en ex il im in ir mis non out over re un under up".split(),
    *"в вы до за из ис на не о об от пере по под при про раз рас с со у".split(),
    *"do na ne o ob od po pod pro pře při roz s u v vy z za".split(),
}
"""With these a word turns into another one, often its opposite: encrypted, decrypted; включить, выключить."""
ROOT = 3
"""Letters that two words with different prefixes have in common at least."""

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
    words: frozenset[str]
    """Content words as they were written, folded."""
    small: frozenset[str]
    """Its function words."""
    numbers: frozenset[str]
    asked: frozenset[str]
    """Whether it asks for a time, a place, a person or an amount, as far as its words say."""

    @classmethod
    def of(cls, text: str, language: str) -> Wording:
        words, written = " ".join(fold(text).split()), surface_words(text)
        return cls(
            language=primary(language),
            terms=frozenset(content_words(text, language)),
            words=frozenset(word for word in written if not is_stop_word(word, primary(language))),
            small=frozenset(word for word in written if is_stop_word(word, primary(language))),
            numbers=frozenset(numbers(text)),
            asked=frozenset(what for what, pattern in ASKED.items() if pattern.search(words)),
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


def misspelt_pairs(wordings: Sequence[Wording], visitors: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs of the same words but one or two, which are misspelt in one of them. `visitors`: who asked each."""
    usual: Counter[tuple[str, str]] = Counter()
    for wording, count in zip(wordings, visitors, strict=True):
        usual.update({(wording.language, word): count for word in wording.words})
    seen: set[tuple[int, int]] = set()
    for rows in sharing(wordings).values():
        if len(rows) > 1:
            breathe()
        for pair in combinations(rows, 2):
            if pair not in seen:
                seen.add(pair)
                if is_misspelt(wordings[pair[0]], wordings[pair[1]], usual):
                    yield pair


def sharing(wordings: Sequence[Wording]) -> dict[tuple[str, frozenset[str]], list[int]]:
    """Rows by what is left of their words without any one or two of them."""
    found: dict[tuple[str, frozenset[str]], list[int]] = {}
    for row, wording in enumerate(wordings):
        if len(wording.words) > MOST_WORDS:
            continue
        for count in range(MOST_SLIPS + 1):
            for left_out in combinations(sorted(wording.words), count):
                same = wording.words - {*left_out}
                if len(same) >= COMMON or any(len(word) >= LONG for word in same):
                    found.setdefault((wording.language, same), []).append(row)
    return found


def is_misspelt(one: Wording, other: Wording, usual: Mapping[tuple[str, str], int]) -> bool:
    mine, yours = one.words - other.words, other.words - one.words
    if differ(one, other) or max(len(mine), len(yours)) > MOST_SLIPS:
        return False
    for word in list(mine):
        partner = next((another for another in yours if is_slip(word, another, one.language, usual)), None)
        if partner is not None:
            mine, yours = mine - {word}, yours - {partner}
    return all(is_small_slip(word, other, usual) for word in mine) and all(
        is_small_slip(word, one, usual) for word in yours
    )


def is_slip(one: str, other: str, language: str, usual: Mapping[tuple[str, str], int]) -> bool:
    """Whether the words differ by a slip: letters left out, doubled, replaced, or two swapped; never in a number, and
    only where one of them is rare: `import` is no misspelt `export`."""
    shorter = min(len(one), len(other))
    if shorter < SHORTEST or any(map(str.isdigit, one + other)):
        return False
    if differ_by_prefix(one, other):
        return False
    few, many = sorted((usual.get((language, one), 0), usual.get((language, other), 0)))
    believed = few * TIMES <= many or few <= 1 if shorter >= LONG else few <= 1 and many >= USUAL
    return believed and edits(one, other) <= (2 if shorter >= LONGER else 1)


def differ_by_prefix(one: str, other: str) -> bool:
    same = (letter == another for letter, another in zip(reversed(one), reversed(other), strict=False))
    root = sum(takewhile(bool, same))
    return root >= ROOT and {one[: len(one) - root], other[: len(other) - root]} <= PREFIXES


def is_small_slip(word: str, other: Wording, usual: Mapping[tuple[str, str], int]) -> bool:
    """Whether it is a misspelt function word of the other question."""
    rare = usual.get((other.language, word), 0) <= 1 and len(word) >= SHORTEST - 1
    return rare and any(edits(word, small) <= 1 for small in other.small)


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
