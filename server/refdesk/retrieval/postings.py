"""Which passage holds which term how often: the arrays of the lexical index, mapped from disk and never written again.

A patch appends rows. The rows of articles that are gone stay where they are, unseen, until the index is rebuilt.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

NO_ROWS: NDArray[np.int32] = np.empty(0, np.int32)
NO_COUNTS: NDArray[np.uint8] = np.empty(0, np.uint8)


class PassageTerms(NamedTuple):
    """One row. `counts` are weighted and saturate at 255; `length` is the number of terms."""

    counts: Mapping[str, int]
    length: int
    language: int


class Postings(NamedTuple):
    """`keys` are sorted; the rows of term i are `rows[starts[i]:starts[i + 1]]`, rising."""

    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]
    counts: NDArray[np.uint8]
    lengths: NDArray[np.float32]
    languages: NDArray[np.uint8]

    @classmethod
    def build(cls, passages: Iterable[PassageTerms], first_row: int = 0) -> Postings:
        numbers: dict[str, int] = {}
        terms, counts = array("i"), bytearray()
        sizes: list[int] = []
        lengths: list[int] = []
        languages: list[int] = []
        for passage in passages:
            terms.extend([numbers.setdefault(term, len(numbers)) for term in passage.counts])
            counts += bytes([count if count < 256 else 255 for count in passage.counts.values()])
            sizes.append(len(passage.counts))
            lengths.append(passage.length)
            languages.append(passage.language)
        rows = np.repeat(np.arange(first_row, first_row + len(sizes), dtype=np.int32), sizes)
        keys = np.fromiter(map(term_key, numbers), np.uint64, len(numbers))
        by_key = np.argsort(keys)
        rank = np.empty(len(keys), np.int32)
        rank[by_key] = np.arange(len(keys), dtype=np.int32)
        ranked = rank[np.array(terms, np.int32)]
        order = np.argsort(ranked, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(ranked, minlength=len(keys)))]).astype(np.int64)
        return cls(
            keys[by_key],
            starts,
            rows[order],
            np.frombuffer(counts, np.uint8)[order],
            np.array(lengths, np.float32),
            np.array(languages, np.uint8),
        )

    def extended(self, added: Postings) -> Postings:
        """With the rows of `added`, built with `first_row=len(self.lengths)`, behind the present ones."""
        keys = np.union1d(self.keys, added.keys)
        mine, theirs = np.searchsorted(keys, self.keys), np.searchsorted(keys, added.keys)
        sizes = np.zeros(len(keys), np.int64)
        sizes[mine] += np.diff(self.starts)
        sizes[theirs] += np.diff(added.starts)
        place_of_term = np.zeros(len(keys), np.int64)
        place_of_term[mine] = self.starts[1:]
        place_of_term = np.maximum.accumulate(place_of_term)
        places = np.repeat(place_of_term[theirs], np.diff(added.starts))
        return Postings(
            keys,
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            np.insert(self.rows, places, added.rows),
            np.insert(self.counts, places, added.counts),
            np.concatenate([self.lengths, added.lengths]),
            np.concatenate([self.languages, added.languages]),
        )

    def of(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Rows and counts of a term; empty arrays if no passage has it."""
        key = term_key(term)
        at = int(self.keys.searchsorted(np.uint64(key)))
        if at == len(self.keys) or int(self.keys[at]) != key:
            return NO_ROWS, NO_COUNTS
        start, end = int(self.starts[at]), int(self.starts[at + 1])
        return self.rows[start:end], self.counts[start:end]

    def save(self, folder: Path) -> None:
        for name, column in self._asdict().items():
            np.save(folder / f"{name}.npy", column, allow_pickle=False)

    @classmethod
    def open(cls, folder: Path) -> Postings:
        """Raises OSError or ValueError where a file is missing or is no array."""
        loaded = (np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in cls._fields)
        return cls(*map(np.asarray, loaded))


def term_key(term: str) -> int:
    """Terms are stored as 64 bits of a hash: among a million of them a collision has odds of one in 37 million."""
    return int.from_bytes(blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
