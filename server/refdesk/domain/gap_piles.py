"""Piles of rows that are put together, pair by pair or by average, except where something keeps them apart."""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

NEVER = -1e6
"""A score that keeps two rows, and any piles with them, apart."""


BREATH_S = 0.00005


def breathe() -> None:
    """Grouping runs in a thread beside the server's: without this each of the server's steps could wait five
    milliseconds for the interpreter."""
    time.sleep(BREATH_S)


class Piles:
    def __init__(self, rows: int, owners: Sequence[str | None] | None = None) -> None:
        """Rows of one owner are one pile from the beginning, and rows of two owners never are."""
        self._pile = list(range(rows))
        self._members = {row: [row] for row in range(rows)}
        self._owner: dict[int, str] = {}
        first: dict[str, int] = {}
        for row, owner in enumerate(owners or ()):
            if owner is not None:
                self._owner[row] = owner
                self.join(first.setdefault(owner, row), row)

    def number(self, row: int) -> int:
        return self._pile[row]

    def all(self) -> list[list[int]]:
        """Each pile's rows, rising; piles in the order of their first."""
        return sorted(sorted(rows) for rows in self._members.values())

    def members(self, row: int) -> list[int]:
        return self._members[self._pile[row]]

    def numbers(self) -> list[int]:
        """Of each row's pile: that of its first row."""
        first = {pile: min(members) for pile, members in self._members.items()}
        return [first[pile] for pile in self._pile]

    def owner(self, row: int) -> str | None:
        return self._owner.get(self._pile[row])

    def may_join(self, one: int, other: int) -> bool:
        owners = {self.owner(one), self.owner(other)} - {None}
        return len(owners) < 2

    def join(self, one: int, other: int) -> None:
        into, gone = self._pile[one], self._pile[other]
        if into == gone:
            return
        if len(self._members[into]) < len(self._members[gone]):
            into, gone = gone, into
        for row in self._members[gone]:
            self._pile[row] = into
        self._members[into] += self._members.pop(gone)
        if gone in self._owner:
            self._owner[into] = self._owner[gone]

    def join_if_free(self, one: int, other: int) -> bool:
        """Whether they were two and are one now."""
        free = self._pile[one] != self._pile[other] and self.may_join(one, other)
        if free:
            self.join(one, other)
        return free


def merge_by_average(piles: Piles, rows: Sequence[int], scores: NDArray[np.float32], least: float) -> None:
    """Joins, best first, the piles whose pairs of rows score `least` on average.

    Scores are (rows, rows), symmetric; NaN says nothing and does not count; NEVER decides."""
    known = ~np.isnan(scores)
    place: dict[int, int] = {}
    which = [place.setdefault(piles.number(row), len(place)) for row in rows]
    first = [-1] * len(place)
    for row, at in zip(rows, which, strict=True):
        first[at] = row
    gather = np.zeros((len(place), len(which)), np.float32)
    gather[which, range(len(which))] = 1
    sums = gather @ np.where(known, scores, 0) @ gather.T
    counts = gather @ known.astype(np.float32) @ gather.T
    average = _averages(sums, counts)
    best = average.argmax(axis=1)
    while True:
        breathe()
        one = int(average[np.arange(len(average)), best].argmax())
        other = int(best[one])
        if not average[one, other] >= least:
            return
        if not piles.may_join(first[one], first[other]):
            average[one, other] = average[other, one] = -np.inf
            best[one], best[other] = average[one].argmax(), average[other].argmax()
            continue
        piles.join(first[one], first[other])
        for array in (sums, counts):
            array[one] += array[other]
            array[:, one] += array[:, other]
        gone = np.isneginf(average[one]) & (counts[one] > 0) | np.isneginf(average[other]) & (counts[other] > 0)
        average[one] = np.where(counts[one] > 0, sums[one] / np.maximum(counts[one], 1), -np.inf)
        average[one, gone] = -np.inf
        average[one, one] = -np.inf
        average[:, one] = average[one]
        average[other] = average[:, other] = -np.inf
        counts[other] = counts[:, other] = 0
        stale = np.nonzero((best == one) | (best == other))[0]
        best[stale] = average[stale].argmax(axis=1)
        best[one] = average[one].argmax()
        better = average[:, one] > average[np.arange(len(average)), best]
        best[better] = one


def _averages(sums: NDArray[np.float32], counts: NDArray[np.float32]) -> NDArray[np.float32]:
    average = np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)
    np.fill_diagonal(average, -np.inf)
    return average
