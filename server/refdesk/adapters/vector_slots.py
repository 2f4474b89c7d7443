"""Which row a vector of a Chroma collection belongs to, and the vectors themselves for exact cosines.

Chroma's id is a slot number. A slot is one text; its key is a hash of model and text. Rows may be renumbered from one
generation to the next while slots stay, so a small change touches only the texts that changed.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

Keys: TypeAlias = NDArray[np.int64]
DEAD = 0
"""The key of a slot whose text is gone (vector_cache.vector_key gives no 0)."""


class Slots(msgspec.Struct, frozen=True):
    keys: Keys
    """(slots,)"""
    pairs: NDArray[np.int32]
    """(pairs, 2): slot and row, ordered by slot. Dead slots are in no pair."""
    by_row: NDArray[np.int32]
    """The same pairs, ordered by row."""

    @classmethod
    def of(cls, keys: Keys, pairs: NDArray[np.int32]) -> Slots:
        return cls(keys, pairs, pairs[np.argsort(pairs[:, 1], kind="stable")])

    @property
    def live(self) -> int:
        return int(np.count_nonzero(self.keys))

    def rows(self, slots: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The rows of these slots, in the order of the slots, and of each row the place of its slot among them."""
        places, owners = _places(self.pairs[:, 0], np.asarray(slots, np.int32))
        return self.pairs[places, 1], owners

    def of_rows(self, rows: Sequence[int]) -> NDArray[np.int32]:
        """The pairs of these rows, ordered by row."""
        places, _ = _places(self.by_row[:, 1], np.unique(np.asarray(rows, np.int32)))
        return self.by_row[places]


def _places(rising: NDArray[np.int32], wanted: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each wanted value stands, as often as it does, and which of the wanted it is."""
    starts, ends = (np.searchsorted(rising, wanted, side=side) for side in ("left", "right"))
    counts = ends - starts
    owners = np.repeat(np.arange(len(wanted)), counts)
    return np.arange(counts.sum()) + np.repeat(starts - np.cumsum(counts) + counts, counts), owners


class VectorFile:
    """Half floats, a record for each slot, read where they lie: nothing stays in memory."""

    def __init__(self, path: Path, dimensions: int) -> None:
        self._dimensions, self._size = dimensions, 2 * dimensions
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._file)

    def read(self, slots: Sequence[int]) -> NDArray[np.float32]:
        """(slots, dimensions). Raises OSError, ValueError."""
        found = b"".join(os.pread(self._file, self._size, self._size * slot) for slot in slots)
        return np.frombuffer(found, np.float16).reshape(len(slots), self._dimensions).astype(np.float32)


def save(folder: Path, collection: str, slots: Slots) -> None:
    np.savez(folder / f"{collection}.npz", keys=slots.keys, pairs=slots.pairs)


def load(folder: Path, collection: str) -> Slots:
    """Raises OSError, ValueError, KeyError, zipfile.BadZipFile."""
    with np.load(folder / f"{collection}.npz", allow_pickle=False) as arrays:
        return Slots.of(arrays["keys"], arrays["pairs"])


def vector_path(folder: Path, collection: str) -> Path:
    return folder / f"{collection}.f16"
