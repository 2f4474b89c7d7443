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
TIMES, TIMES_SHORT, TIMES_PLAIN = 5, 20, 3
"""A misspelling is at most one in so many of the word; of one shorter than LONG; and of one that has all the same
letters, doubled or swapped."""
WHOLE = 15
"""Letters of a question from which on a slip is believed wherever its words begin and end."""
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

_OPPOSITES = (
    "on off",
    "with without",
    "before after",
    "in out",
    "up down",
    "enable disable",
    "activate deactivate",
    "включить выключить",
    "включить отключить",
    "подключить отключить",
    "zapnout vypnout",
    "zapnu vypnu",
    "povolit zakázat",
    "с без",
    "до после",
    "s bez",
    "po před",
)
OPPOSITES = [tuple(fold(pair).split()) for pair in _OPPOSITES]
"""Words of which a question has one or the other: to an index they are function words, to an encoder nearly the same,
and to a reader the whole difference."""
TELLING = frozenset(fold("off without before after out down без после bez před").split())
"""Function words that turn a question into another one; their opposites stand in many for no reason."""

PREAMBLE = re.compile(r"[^,:;!.?…]*[,:;!.…]+\s+")


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
    spelt: tuple[str, ...]
    """All its words, in order."""

    @property
    def letters(self) -> str:
        """Without what is between words: a space is misplaced as easily as a letter."""
        return "".join(self.spelt)

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
            spelt=tuple(surface_words(without_preamble(text, language))),
        )

    @property
    def key(self) -> str:
        """Questions with the same key are one wording: order, function words and inflection do not matter. Empty where
        there is no content word: such a question is like no other."""
        if not self.terms:
            return ""
        told = (self.terms | self.numbers, self.asked | (self.small & TELLING))
        return ":".join((self.language, *(" ".join(sorted(words)) for words in told)))


def without_preamble(question: str, language: str) -> str:
    """Without a greeting or a plea before it ("Hello, …", "Could you tell me please: …"): to an encoder that is part of
    what is asked, and what is alike in questions that are not."""
    rest = question
    while (first := PREAMBLE.match(rest)) and is_empty(first[0], language):
        rest = rest[first.end() :]
    return question if all(is_stop_word(word, language) for word in surface_words(rest)) else rest


def is_empty(text: str, language: str) -> bool:
    """Words, and none of them says what it is about."""
    words = surface_words(text)
    return bool(words) and all(is_stop_word(word, language) for word in words)


def asks_another_thing(one: Wording, other: Wording) -> bool:
    """ "When …" and "where …" are two questions, however much the rest is alike, and so are "on" and "off"."""
    return bool(one.asked and other.asked and not one.asked & other.asked) or are_opposed(one, other)


def are_opposed(one: Wording, other: Wording) -> bool:
    """Whether each has another word of a pair of opposites, and not both."""
    mine, yours = one.words | one.small, other.words | other.small
    return any(
        (this in mine) != (that in mine) and (this in mine, that in mine) == (that in yours, this in yours)
        for this, that in OPPOSITES
    )


def differ(one: Wording, other: Wording) -> bool:
    """Whether a number or the thing asked for tells apart what else looks the same."""
    return one.numbers != other.numbers or asks_another_thing(one, other)


def misspelt_pairs(wordings: Sequence[Wording], visitors: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Pairs of the same words but one or two, which are misspelt in one of them. `visitors`: who asked each."""
    usual: Counter[tuple[str, str]] = Counter()
    for wording, count in zip(wordings, visitors, strict=True):
        usual.update({(wording.language, word): count for word in wording.words | wording.small | {*wording.spelt}})
    seen: set[tuple[int, int]] = set()
    for rows in sharing(wordings).values():
        if len(rows) > 1:
            breathe()
        for pair in combinations(rows, 2):
            if pair not in seen:
                seen.add(pair)
                (few, one), (many, other) = sorted((visitors[row], row) for row in pair)
                known = usual if is_rare(few, many) else None
                if is_misspelt(wordings[one], wordings[other], usual) or has_same_letters(
                    wordings[one], wordings[other], known, few
                ):
                    yield pair


def is_rare(few: int, many: int, times: int = TIMES) -> bool:
    """Whether what few write may be a slip of what many write."""
    return few * times <= many or (few <= 1 and many >= USUAL)


def has_same_letters(one: Wording, other: Wording, usual: Mapping[tuple[str, str], int] | None, asked: int) -> bool:
    """Whether they are spelt alike but for the spaces; also with two slips beside where `asked`, the visitors who asked
    `one`, are few. `usual` None: they are not. Where one word only is another one it is left to `is_misspelt`."""
    mine, yours = one.letters, other.letters
    if not mine or differ(one, other):
        return False
    if mine == yours:
        return True
    if usual is None or min(len(mine), len(yours)) < WHOLE or abs(len(mine) - len(yours)) > MOST_SLIPS:
        return False
    own = Counter(one.spelt) - Counter(other.spelt)
    unknown = all(usual.get((one.language, word), 0) <= asked for word in own)
    return len(own) > 1 and unknown and edits(mine, yours) <= MOST_SLIPS


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
        if wording.words:
            found.setdefault((wording.language, frozenset({wording.letters})), []).append(row)
    return found


def is_misspelt(one: Wording, other: Wording, usual: Mapping[tuple[str, str], int]) -> bool:
    mine, yours = one.words - other.words, other.words - one.words
    if differ(one, other) or max(len(mine), len(yours)) > MOST_SLIPS:
        return False
    for word in list(mine):
        partner = next((another for another in yours if is_slip(word, another, one.language, usual)), None)
        if partner is not None:
            mine, yours = mine - {word}, yours - {partner}
    return all(is_small_slip(word, one, other, usual) for word in mine) and all(
        is_small_slip(word, other, one, usual) for word in yours
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
    times = TIMES_PLAIN if set(one) == set(other) else TIMES
    believed = few <= 1 or few * times <= many if shorter >= LONG else is_rare(few, many, TIMES_SHORT)
    twice = shorter >= LONGER or (shorter >= LONG and letters_apart(one, other) <= MOST_SLIPS)
    return believed and edits(one, other) <= (MOST_SLIPS if twice else 1)


def letters_apart(one: str, other: str) -> int:
    """Letters that one has and the other has not: 4 for `import` and `export`, none for `become` and `cbeome`."""
    mine, yours = Counter(one), Counter(other)
    return (mine - yours).total() + (yours - mine).total()


def differ_by_prefix(one: str, other: str) -> bool:
    same = (letter == another for letter, another in zip(reversed(one), reversed(other), strict=False))
    root = sum(takewhile(bool, same))
    return root >= ROOT and {one[: len(one) - root], other[: len(other) - root]} <= PREFIXES


def is_small_slip(word: str, one: Wording, other: Wording, usual: Mapping[tuple[str, str], int]) -> bool:
    """Whether a word of `one` is a misspelt function word that only the other question has."""
    if len(word) < SHORTEST - 1:
        return False
    count = usual.get((other.language, word), 0)
    return any(
        edits(word, small) <= 1 and (count <= 1 or count * TIMES <= usual.get((other.language, small), 0))
        for small in other.small - one.small
    )


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
