"""Questions that ask the same, across wording and language (what was measured: tests/bench/README.md).

A wrong merge hides a gap and a missed one only splits it, so every step errs on the side of leaving apart. The order in
which questions came does not matter.

1. Nearly the same words, or nearly the same vector: one wording.
2. Across languages: wordings that are each other's nearest, as surely as the pile itself asks for.
3. In one language: wordings that are near, or keep the same company, with enough of it; and if both have a counterpart
   in another language, only where those could be exchanged: two questions whose translations stay apart are two.

What people put together or took apart stands above all of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec
import numpy as np
from numpy.typing import NDArray

from refdesk.domain.gap_counterparts import Facing, Side
from refdesk.domain.gap_nearness import (
    Matrix,
    against_surroundings,
    centred,
    company,
    likely_pairs,
    support,
    unit,
    usual,
)
from refdesk.domain.gap_piles import NEVER, Piles, merge_by_average
from refdesk.domain.gap_wordings import Wording, asks_another_thing, differ, misspelt_pairs

SAME_WORDING = 0.97
"""Cosine without the common part."""
NEAR = 0.96
"""From here on two wordings of one language need no company."""
SAME_PART = 0.9
"""What the wordings of one language in two piles must reach where those are joined for their counterparts' sake …"""
STRAY, TIMES = 0.6, 3
"""… and where one has so many times the other's visitors, whose wordings are misspelt ones then."""
ROUNDS = 4
SAME_COMPANY, ENOUGH = 0.71, 1.8
OWN_WORDS, USUAL_WORDS, MOST_WORDS = 0.6, 0.25, 0.5
"""Weight of the share of content words that two have in common, against the usual one and up to one that is enough."""
OTHER_NUMBERS, OTHER_KIND = 0.3, 0.05
EXCHANGEABLE, ONE_SIDED = 0.05, 0.1
"""Cosine by which counterparts may be nearer to their own questions than to the other's; and a counterpart to its own
question than to one that has none."""


class Vectors(msgspec.Struct, frozen=True):
    """One encoder's: of the wordings (rows, dimensions), and by language of questions on nothing in particular."""

    rows: Matrix
    beside: Mapping[str, Matrix]

    def of(self, language: str, rows: Sequence[int]) -> tuple[Matrix, Matrix]:
        """Those of some wordings of a language and those beside, without what all have in common."""
        beside = self.beside.get(language)
        nothing = np.empty((0, self.rows.shape[1]), np.float32)
        return centred(self.rows[list(rows)], nothing if beside is None else beside)


class Encoded(msgspec.Struct, frozen=True):
    """`english`, the better one, is used between English wordings only; its other rows are not looked at."""

    everywhere: Vectors
    english: Vectors

    def within(self, language: str) -> Vectors:
        return self.english if language == "en" else self.everywhere

    def middles(self, units: Sequence[Sequence[int]]) -> Encoded:
        """Of the wordings of each unit, as one."""
        return Encoded(
            *(Vectors(middles(part.rows, units), part.beside) for part in (self.everywhere, self.english)),
        )


def middles(vectors: Matrix, units: Sequence[Sequence[int]]) -> Matrix:
    found = [vectors[list(rows)].mean(axis=0) for rows in units]
    return unit(np.stack(found)) if found else vectors[:0]


def grouped(
    wordings: Sequence[Wording],
    encoded: Encoded | None,
    owners: Sequence[str | None] | None = None,
    visitors: Sequence[int] | None = None,
) -> list[int]:
    """For each wording the number of its group, which is its first wording's. `encoded` None: by words only.

    `owners`: wordings of one owner are one group whatever they look like, and those of two never are. `visitors`: how
    many asked each wording (one by default). What is spelt rightly is one wording however many ask it, and its slips
    are many, so it is visitors who tell which is which."""
    asked = [1] * len(wordings) if visitors is None else visitors
    piles = Piles(len(wordings), owners)
    alike = Piles(len(wordings))
    for one, other in misspelt_pairs(wordings, asked):
        alike.join_if_free(one, other)
    if encoded is not None:
        join_same_wordings(wordings, encoded, alike)
    units = alike.all()
    for rows in units:
        for row in rows[1:]:
            piles.join_if_free(rows[0], row)
    if encoded is not None:
        Units(wordings, encoded, units, piles, asked).join()
        for popular in (True, False):
            for _ in range(ROUNDS):
                if not Units(wordings, encoded, parts(wordings, piles), piles, asked, popular=popular).join_again():
                    break
    return piles.numbers()


def parts(wordings: Sequence[Wording], piles: Piles) -> list[list[int]]:
    """Each pile's rows by language: what one wording could not show its counterpart, all of them together may."""
    found: dict[tuple[int, str], list[int]] = {}
    for row, wording in enumerate(wordings):
        found.setdefault((piles.number(row), wording.language), []).append(row)
    return list(found.values())


def by_language(wordings: Sequence[Wording]) -> dict[str, list[int]]:
    rows: dict[str, list[int]] = {}
    for row, wording in enumerate(wordings):
        rows.setdefault(wording.language, []).append(row)
    return rows


def join_same_wordings(wordings: Sequence[Wording], encoded: Encoded, alike: Piles) -> None:
    for language, rows in by_language(wordings).items():
        own, _ = encoded.within(language).of(language, rows)
        near = np.asarray(own @ own.T, np.float32)
        for one, other in zip(*np.nonzero(np.triu(near >= SAME_WORDING, 1)), strict=True):
            if differ(wordings[rows[one]], wordings[rows[other]]):
                near[one, other] = near[other, one] = NEVER
        merge_by_average(alike, rows, near, SAME_WORDING)


class Units:
    """Steps 2 and 3, over wordings that are really different. Rows are units; `piles` are of the wordings."""

    def __init__(
        self,
        wordings: Sequence[Wording],
        encoded: Encoded,
        units: list[list[int]],
        piles: Piles,
        visitors: Sequence[int],
        *,
        popular: bool = True,
    ) -> None:
        self._popular = popular
        self._wordings = [wordings[rows[0]] for rows in units]
        self._encoded = encoded.middles(units)
        self._first = [rows[0] for rows in units]
        self._visitors = [sum(visitors[row] for row in rows) for rows in units]
        self._piles = piles
        self._rows = by_language(self._wordings)
        self._centred: dict[str, tuple[Matrix, Matrix]] = {}
        self._place: dict[int, int] = {}
        for language, rows in self._rows.items():
            self._centred[language] = self._encoded.everywhere.of(language, rows)
            self._place.update((row, at) for at, row in enumerate(rows))
        self._counterparts: dict[str, dict[int, int]] = {}
        """By language: the row there that is a row's counterpart."""

    def join(self) -> None:
        self.join_across()
        self._join_company()

    def join_across(self) -> None:
        for _, row, counterpart in self._pairs():
            self._add_counterparts(row, counterpart)
            if self._languages(row).isdisjoint(self._languages(counterpart)):  # else a third one says otherwise
                self._piles.join_if_free(self._first[row], self._first[counterpart])

    def join_again(self) -> bool:
        """Once more, with a pile's wordings of each language as one unit: a misspelt wording that took a counterpart
        keeps nobody else from it. Whether anything was joined."""
        for rows in self._by_pile().values():
            for one, other in combinations(rows, 2):
                self._add_counterparts(one, other)
        joined = self._join_agreeing(self._pairs())
        if len(self._rows) > 2:
            for language in sorted(self._rows):
                joined |= self._join_agreeing(self._against_piles(language))
        return joined

    def _join_agreeing(self, pairs: list[tuple[float, int, int]]) -> bool:
        joined = False
        for _, row, counterpart in pairs:
            if self._agree(row, counterpart):
                joined |= self._piles.join_if_free(self._first[row], self._first[counterpart])
        return joined

    def _pairs(self) -> list[tuple[float, int, int]]:
        """Units of two languages that are each other's counterparts, the surest first."""
        found: list[tuple[float, int, int]] = []
        for one, other in combinations(sorted(self._rows), 2):
            found += self._across(one, other)
        return sorted(found, reverse=True)

    def _across(self, one: str, other: str) -> list[tuple[float, int, int]]:
        ours, theirs = self._rows[one], self._rows[other]
        barred = self._barred(ours, theirs) | self._barred(theirs, ours).T
        found = Facing(self._side(one), self._side(other), popular=self._popular).counterparts(barred)
        return [(sure, ours[at], theirs[to]) for sure, at, to in found]

    def _barred(self, ours: Sequence[int], theirs: Sequence[int]) -> NDArray[np.bool_]:
        """(ours, theirs): where the pile of one of ours has in the other language already that very one or another one,
        which is neither like it nor so rare that it may be a misspelt one."""
        language = self._wordings[theirs[0]].language
        vectors, visitors = self._centred[language][0], np.array([self._visitors[row] for row in theirs])
        barred = np.zeros((len(ours), len(theirs)), np.bool_)
        piles = self._by_pile()
        for at, row in enumerate(ours):
            for same in piles[self._piles.number(self._first[row])]:
                if self._wordings[same].language == language:
                    barred[at] |= (vectors @ self._vector(same) < SAME_PART) & (self._visitors[same] * TIMES > visitors)
                    barred[at, self._place[same]] = True
        return barred

    def _against_piles(self, language: str) -> list[tuple[float, int, int]]:
        """A language's units and what piles have in all the others: several translations of a question tell better
        than one what it asks. For a pile stands its unit that most visitors asked."""
        piles = {number: [row for row in rows if self._wordings[row].language != language]
                 for number, rows in self._by_pile().items()}  # fmt: skip
        piles = {number: rows for number, rows in piles.items() if rows}
        stand = [max(rows, key=lambda row: self._visitors[row]) for rows in piles.values()]
        beside = [beside for other, (_, beside) in sorted(self._centred.items()) if other != language]
        vectors = unit(np.stack([np.sum([self._vector(row) for row in rows], axis=0) for rows in piles.values()]))
        wordings, visitors = [self._wordings[row] for row in stand], [self._visitors[row] for row in stand]
        other = Side(wordings, vectors, np.concatenate(beside), visitors)
        ours = self._rows[language]
        barred = np.zeros((len(ours), len(stand)), np.bool_)
        numbers = {number: at for at, number in enumerate(piles)}
        for at, row in enumerate(ours):
            if (mine := numbers.get(self._piles.number(self._first[row]))) is not None:
                barred[at], barred[:, mine] = True, True
        found = Facing(self._side(language), other, popular=self._popular).counterparts(barred)
        return sorted(((sure, ours[at], stand[to]) for sure, at, to in found), reverse=True)

    def _side(self, language: str) -> Side:
        vectors, beside = self._centred[language]
        rows = self._rows[language]
        return Side([self._wordings[row] for row in rows], vectors, beside, [self._visitors[row] for row in rows])

    def _add_counterparts(self, one: int, other: int) -> None:
        self._counterparts.setdefault(self._wordings[other].language, {})[one] = other
        self._counterparts.setdefault(self._wordings[one].language, {})[other] = one

    def _agree(self, one: int, other: int) -> bool:
        """Whether what the piles of two units have in the same language is the same."""
        mine, yours = (self._parts_beside(row) for row in (one, other))
        shared = [(mine[language], yours[language]) for language in mine.keys() & yours.keys()]
        return all(self._are_one(row, same) for row, same in shared)

    def _are_one(self, one: int, other: int) -> bool:
        few, many = sorted((self._visitors[one], self._visitors[other]))
        near = float(self._vector(one) @ self._vector(other))
        if few * TIMES <= many:  # which counterpart a misspelt wording has taken says nothing
            return near >= STRAY and not asks_another_thing(self._wordings[one], self._wordings[other])
        return near >= SAME_PART and not self._are_two(one, other)

    def _parts_beside(self, row: int) -> dict[str, int]:
        """By language, the units of its pile."""
        rows = self._by_pile()[self._piles.number(self._first[row])]
        return {self._wordings[at].language: at for at in rows}

    def _by_pile(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for row, first in enumerate(self._first):
            found.setdefault(self._piles.number(first), []).append(row)
        return found

    def _languages(self, row: int) -> set[str]:
        return {self._wordings[at].language for at in self._by_pile()[self._piles.number(self._first[row])]}

    # --- in one language ---

    def _join_company(self) -> None:
        count = len(self._wordings)
        scores = np.full((count, count), np.nan, np.float32)
        for language, rows in self._rows.items():
            scores[np.ix_(rows, rows)] = self._company(language, rows)
        merge_by_average(self._piles, self._first, scores, SAME_COMPANY)

    def _company(self, language: str, rows: Sequence[int]) -> Matrix:
        own, others = self._encoded.within(language).of(language, rows)
        near, beside = np.asarray(own @ own.T, np.float32), np.asarray(own @ others.T, np.float32)
        usually = usual(near, beside, own=True)
        scaled = against_surroundings(near, usually, usually)
        beside = against_surroundings(beside, usually, np.full((beside.shape[1], 1), usually.mean(), np.float32))
        shared = company(scaled, beside)
        score = np.minimum(shared, 0.5)
        pairs = likely_pairs(np.maximum(shared, near >= NEAR))
        for (one, other), supported in zip(pairs, support(near, pairs), strict=True):
            kept = shared[one, other] * min(1.0, supported / ENOUGH)
            kept += common_words(self._wordings[rows[one]], self._wordings[rows[other]])
            kept = 1.0 if near[one, other] >= NEAR else kept
            kept = NEVER if self._are_two(rows[one], rows[other]) else kept
            score[one, other] = score[other, one] = kept
        return score

    def _are_two(self, one: int, other: int) -> bool:
        """Whether they ask for two things, or each is nearer to its own counterpart in another language."""
        if asks_another_thing(self._wordings[one], self._wordings[other]):
            return True
        return any(self._stay_apart(one, other, found) for found in self._counterparts.values())

    def _stay_apart(self, one: int, other: int, counterparts: Mapping[int, int]) -> bool:
        """By their counterparts in one language."""
        mine, yours = counterparts.get(one), counterparts.get(other)
        if mine == yours:  # both None, or one and the same by way of a third language
            return False
        apart = self._vector(one) - self._vector(other)
        if mine is not None and yours is not None:
            return float(apart @ (self._vector(mine) - self._vector(yours))) / 2 > EXCHANGEABLE
        nearer = apart @ self._vector(mine) if mine is not None else -apart @ self._vector(yours or 0)
        return float(nearer) > ONE_SIDED

    def _vector(self, row: int) -> Matrix:
        vector: Matrix = self._centred[self._wordings[row].language][0][self._place[row]]
        return vector


def common_words(one: Wording, other: Wording) -> float:
    """What to add to common company: questions on one narrow subject keep it too, but have few words in common, and ask
    for other numbers and other kinds of things."""
    shared = len(one.terms & other.terms) / max(1, len(one.terms | other.terms))
    unlike = OTHER_NUMBERS * (one.numbers != other.numbers) + OTHER_KIND * (bool(one.asked) != bool(other.asked))
    return OWN_WORDS * (min(shared, MOST_WORDS) - USUAL_WORDS) - unlike
