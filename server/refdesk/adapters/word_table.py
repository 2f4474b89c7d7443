"""The vectors of a model's words in a file, a record for each, read one by one.

250 000 words are 100 MB, of which a help centre uses a few thousand. A mapped file would come to stay in memory
(each page that is touched brings its neighbours); single reads are served by the system's own cache in 1 µs.
"""

from __future__ import annotations

import os
import struct
import weakref
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from refdesk.adapters.bert_weights import Floats, Words

HEADER = struct.Struct("<II")
"""Values and scales of a record. Then the records: scales as half floats, values as signed bytes."""


def write_words(words: Words, path: Path) -> None:
    records = np.concatenate([words.scales.astype("<f2").view(np.int8), words.values], axis=1)
    with path.open("wb") as file:
        file.write(HEADER.pack(words.values.shape[1], words.scales.shape[1]))
        file.write(records.tobytes())


class WordTable:
    """Reads need no position and no lock: threads may share it. Raises OSError, ValueError."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._file)
        values, scales = HEADER.unpack(os.pread(self._file, HEADER.size, 0))
        self._record = np.dtype([("scales", "<f2", (scales, 1)), ("values", "i1", (scales, values // scales))])

    def vectors(self, words: Sequence[int]) -> Floats:
        """(words, hidden)"""
        size = self._record.itemsize
        found = b"".join(os.pread(self._file, size, HEADER.size + size * word) for word in words)
        records = np.frombuffer(found, self._record)
        vectors = records["values"] * records["scales"].astype(np.float32)
        return np.asarray(vectors.reshape(len(words), -1), np.float32)
