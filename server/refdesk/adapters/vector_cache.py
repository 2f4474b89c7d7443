"""Vectors that were once computed, by model and text: what a killed build had done is not done again.

One SQLite file in the data folder. Half floats: a cosine changes by less than 0.0005. It is a cache: a damaged file is
thrown away.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

TABLE = "CREATE TABLE IF NOT EXISTS vectors (key INTEGER PRIMARY KEY, vector BLOB NOT NULL)"
SLACK = 10_000
"""Unused vectors that are kept at least: an article that comes back, an audience that changes."""


def vector_key(model_id: str, text: str) -> int:
    """63 bits, never 0: among a million texts two agree once in ten million corpora."""
    digest = hashlib.blake2b(f"{model_id}\0{text}".encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest) >> 1 or 1


class VectorCache:
    """One process writes at a time, others wait for up to a minute. Raises sqlite3.Error where the disk is full."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._connection = _open(path)
        except sqlite3.DatabaseError:
            for suffix in ("", "-wal", "-shm"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
            self._connection = _open(path)

    def missing(self, keys: Iterable[int]) -> list[int]:
        ask = self._connection.execute
        return [key for key in keys if not ask("SELECT 1 FROM vectors WHERE key = ?", (key,)).fetchone()]

    def get(self, keys: Sequence[int]) -> NDArray[np.float16]:
        """(keys, dimensions). Raises KeyError."""
        ask = self._connection.execute
        found = [ask("SELECT vector FROM vectors WHERE key = ?", (key,)).fetchone() for key in keys]
        if None in found:
            raise KeyError("a vector is missing from the cache")
        return np.frombuffer(b"".join(row[0] for row in found), np.float16).reshape(len(keys), -1)

    def put(self, keys: Sequence[int], vectors: NDArray[np.float32]) -> None:
        rows = zip(keys, (vector.tobytes() for vector in vectors.astype(np.float16)), strict=True)
        with self._connection:
            self._connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def prune(self, used: Iterable[int]) -> None:
        """Drops what this corpus does not use, once that is more than what it uses."""
        with self._connection:
            self._connection.execute("CREATE TEMP TABLE used (key INTEGER PRIMARY KEY)")
            self._connection.executemany("INSERT OR IGNORE INTO used VALUES (?)", ((key,) for key in used))
            (kept,) = self._connection.execute("SELECT count(*) FROM used").fetchone()
            (stored,) = self._connection.execute("SELECT count(*) FROM vectors").fetchone()
            if stored > 2 * kept + SLACK:
                self._connection.execute("DELETE FROM vectors WHERE key NOT IN (SELECT key FROM used)")
            self._connection.execute("DROP TABLE used")

    def close(self) -> None:
        self._connection.close()


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=60)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(TABLE)
        connection.execute("SELECT count(*) FROM vectors").fetchone()
    except sqlite3.DatabaseError:
        connection.close()
        raise
    return connection
