"""The vectors of one finished generation in embedded Chroma, read-only. build_vectors.py writes them.

Collections load when they are first asked: an English help centre keeps its multilingual one on disk until somebody
asks in another language. Chroma answers with partial results where its files are gone, so counts are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import chromadb
import msgspec
import numpy as np
from chromadb.config import Settings
from numpy.typing import NDArray

from refdesk.adapters import vector_slots
from refdesk.adapters.vector_slots import Slots, VectorFile
from refdesk.errors import DenseUnavailable

T = TypeVar("T")
MANIFEST = "vectors.json"
SMALL = 16_384
"""Vectors up to which collections are held in memory by who asks (25 MB at most, what Chroma would hold of them)."""
ENOUGH = 0.5
"""Share of the asked neighbours that must come back. The approximate search may miss one; a lost file loses most."""


class CollectionFacts(msgspec.Struct, frozen=True):
    model_id: str
    dimensions: int
    live: int


class Manifest(msgspec.Struct, frozen=True):
    """Written last: a folder without it is not an index."""

    collections: dict[str, CollectionFacts]


class _Collection:
    def __init__(self, folder: Path, name: str, facts: CollectionFacts, client: Any) -> None:
        """A large collection is counted at once, one that will be held rather than asked only if it is asked all the
        same: Chroma loads a collection to count it."""
        self.facts, self._name, self._is_counted = facts, name, False
        self._chroma = client.get_collection(name, embedding_function=None)
        self._slots: Slots = vector_slots.load(folder, name)
        self._vectors = VectorFile(vector_slots.vector_path(folder, name), facts.dimensions)
        if self._slots.live != facts.live:
            raise self._not_all_there()
        if facts.live > SMALL:
            self._count()

    def query(self, vector: Any, limit: int) -> list[tuple[int, float]]:
        self._count()
        expected = min(limit, self.facts.live)
        found = self._chroma.query(query_embeddings=[vector], n_results=expected, include=["distances"])
        slots, distances = found["ids"][0], found["distances"][0]
        if len(slots) < ENOUGH * expected:
            raise DenseUnavailable("the vector index has lost vectors")
        rows, owners = self._slots.rows([int(slot) for slot in slots])
        if not len(rows) and expected:
            raise DenseUnavailable("the vector index returned unknown ids")
        cosines = 1.0 - np.asarray(distances, np.float32)
        return list(zip(rows.tolist(), cosines[owners].tolist(), strict=True))

    def _count(self) -> None:
        if not self._is_counted and self._chroma.count() != self.facts.live:
            raise self._not_all_there()
        self._is_counted = True

    def _not_all_there(self) -> DenseUnavailable:
        return DenseUnavailable(f"the vectors of {self._name} are not all there")

    def vectors(self, rows: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        pairs = self._slots.of_rows(rows)
        return pairs[:, 1], self._vectors.read(pairs[:, 0].tolist())

    def everything(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float32]]:
        """Rows, their places among the vectors, and those."""
        live, pairs = np.flatnonzero(self._slots.keys), self._slots.by_row
        return pairs[:, 1], np.searchsorted(live, pairs[:, 0]), self._vectors.read(live.tolist())

    def sample(self, limit: int) -> NDArray[np.float32]:
        live = np.flatnonzero(self._slots.keys)
        return self._vectors.read(live[:: max(1, len(live) // limit)][:limit].tolist())


class ChromaVectors:
    """ports.VectorIndex. Queries may come from several threads."""

    def __init__(self, client: Any, collections: dict[str, _Collection]) -> None:
        self._client, self._collections = client, collections

    @classmethod
    def open(cls, folder: Path) -> ChromaVectors:
        """Raises DenseUnavailable where the folder is missing, damaged or not finished."""
        client = None
        try:
            manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
            client = open_client(folder)
            facts = manifest.collections.items()
            return cls(client, {name: _Collection(folder, name, fact, client) for name, fact in facts})
        except Exception as error:  # Chroma's own errors have no common base
            if client is not None:
                client.close()
            raise DenseUnavailable(f"the vector index cannot be opened: {error}") from error

    @property
    def collections(self) -> dict[str, CollectionFacts]:
        return {name: collection.facts for name, collection in self._collections.items()}

    def query(self, collections: Sequence[str], vector: Any, limit: int) -> list[tuple[int, float]]:
        best: dict[int, float] = {}
        for collection in self._asked(collections, vector):
            for row, cosine in _guarded(collection.query, vector, limit):
                best[row] = max(cosine, best.get(row, -1.0))
        return sorted(best.items(), key=lambda hit: (-hit[1], hit[0]))[:limit]

    def vectors(self, collections: Sequence[str], rows: Sequence[int]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        found = [_guarded(self._named(name).vectors, rows) for name in collections]
        some = [pair for pair in found if len(pair[0])]
        if not some:
            return np.empty(0, np.int32), np.empty((0, 0), np.float32)
        return np.concatenate([pair[0] for pair in some]), np.concatenate([pair[1] for pair in some])

    def everything(
        self, collections: Sequence[str]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float32]] | None:
        asked = [self._named(name) for name in collections]
        if sum(collection.facts.live for collection in asked) > SMALL:
            return None
        found = [_guarded(collection.everything) for collection in asked if collection.facts.live]
        if not found:
            return np.empty(0, np.int32), np.empty(0, np.int64), np.empty((0, asked[0].facts.dimensions), np.float32)
        starts = np.cumsum([0, *(len(vectors) for _, _, vectors in found)])
        rows = np.concatenate([rows for rows, _, _ in found])
        places = np.concatenate([places + start for (_, places, _), start in zip(found, starts, strict=False)])
        order = np.argsort(rows, kind="stable")
        return rows[order], places[order], np.concatenate([vectors for _, _, vectors in found])

    def sample(self, collection: str, limit: int) -> NDArray[np.float32]:
        return _guarded(self._named(collection).sample, limit)

    def _named(self, name: str) -> _Collection:
        if name not in self._collections:
            raise DenseUnavailable(f"the vector index has no collection {name}")
        return self._collections[name]

    def _asked(self, names: Sequence[str], vector: Any) -> list[_Collection]:
        asked = [self._named(name) for name in names]
        if any(collection.facts.dimensions != np.shape(vector)[-1] for collection in asked):
            raise DenseUnavailable("the question's vector has another dimension than the index")
        return [collection for collection in asked if collection.facts.live]

    def close(self) -> None:
        self._collections = {}
        self._client.close()


def open_client(folder: Path) -> Any:
    """Embedded, silent, deaf to the environment's `.env` file."""
    settings = Settings(_env_file=None, anonymized_telemetry=False)  # type: ignore[call-arg]
    return chromadb.PersistentClient(str(folder / "chroma"), settings)


def _guarded(ask: Callable[..., T], *arguments: Any) -> T:
    try:
        return ask(*arguments)
    except DenseUnavailable:
        raise
    except Exception as error:  # Chroma's own errors have no common base
        raise DenseUnavailable(f"the vector index failed: {error}") from error
