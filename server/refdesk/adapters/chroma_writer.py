"""Writes an index of vectors in embedded Chroma: built whole, or as a copy of the one before with what changed.

Chroma never gives back the space of a deleted vector and updates ten times slower than it inserts, so a text that
changed is one slot dead and one added, and with a fifth of the slots dead the index is built anew.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from refdesk.adapters import vector_slots
from refdesk.adapters.chroma_vectors import MANIFEST, CollectionFacts, Manifest, open_client
from refdesk.adapters.vector_slots import DEAD, Keys, Slots

BATCH = 5000
"""Chroma takes 5461 at once."""
DEAD_SHARE = 0.2
HNSW = {"space": "cosine", "ef_construction": 100, "ef_search": 200, "num_threads": 1, "sync_threshold": 100}
"""ef_search 200: exact to 99 % for the 100 nearest. One thread: the server has the other core."""

T = TypeVar("T")
Vectors: TypeAlias = Callable[[Sequence[int]], NDArray[np.float16]]
"""The vectors of keys, (keys, dimensions)."""


class Wanted(msgspec.Struct, frozen=True):
    """What a collection shall hold: the rows of each text, by key."""

    model_id: str
    dimensions: int
    rows: dict[int, list[int]] = {}


def write_index(target: Path, wanted: Mapping[str, Wanted], vectors: Vectors, previous: Path | None = None) -> None:
    """The folder is made beside `target` and renamed when it is complete. Raises what Chroma and the disk do."""
    making = target.with_name(f"{target.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    old = patchable(previous, wanted)
    if old and previous:
        shutil.copytree(previous, making, ignore=shutil.ignore_patterns(MANIFEST))
    else:
        making.mkdir(parents=True)
    client = open_client(making)
    try:
        for name, want in wanted.items():
            chroma, keys = _collection(client, name, want, old.get(name))
            with vector_slots.vector_path(making, name).open("ab") as file:
                keys = _add(file, chroma, keys, want, vectors)
            vector_slots.save(making, name, _slots(keys, want))
    finally:
        client.close()
    facts = {name: CollectionFacts(want.model_id, want.dimensions, len(want.rows)) for name, want in wanted.items()}
    (making / MANIFEST).write_bytes(msgspec.json.encode(Manifest(facts)))
    shutil.rmtree(target, ignore_errors=True)
    making.rename(target)


def patchable(previous: Path | None, wanted: Mapping[str, Wanted]) -> dict[str, Slots]:
    """The slots of the index before, where it has the same collections and stays mostly alive; else none."""
    if previous is None:
        return {}
    try:
        manifest = msgspec.json.decode((previous / MANIFEST).read_bytes(), type=Manifest)
        slots = {name: vector_slots.load(previous, name) for name in manifest.collections}
    except Exception:  # whatever is wrong with it, a new one is built
        return {}
    models = {name: facts.model_id for name, facts in manifest.collections.items()}
    if models != {name: want.model_id for name, want in wanted.items()}:
        return {}
    alive = all(_gone(old.keys, wanted[name]).mean() <= DEAD_SHARE for name, old in slots.items() if len(old.keys))
    return slots if alive else {}


def _gone(keys: Keys, want: Wanted) -> NDArray[np.bool_]:
    """Which slots have no text any more, the long dead included."""
    return ~np.isin(keys, np.fromiter(want.rows, np.int64, len(want.rows)))


def _collection(client: Any, name: str, want: Wanted, old: Slots | None) -> tuple[Any, Keys]:
    """Chroma's collection without the texts that are gone, and the keys of its slots."""
    if old is None:
        made = client.create_collection(name, embedding_function=None, configuration={"hnsw": HNSW})
        return made, np.empty(0, np.int64)
    chroma, keys = client.get_collection(name, embedding_function=None), old.keys.copy()
    gone = _gone(keys, want)
    for batch in batches(np.flatnonzero(gone & (keys != DEAD)).tolist(), BATCH):
        chroma.delete(ids=[str(slot) for slot in batch])
    keys[gone] = DEAD
    return chroma, keys


def _add(file: BinaryIO, chroma: Any, keys: Keys, want: Wanted, vectors: Vectors) -> Keys:
    """Appends the texts that are not there yet to Chroma and to the file of exact vectors."""
    there = set(keys.tolist())
    for batch in batches((key for key in want.rows if key not in there), BATCH):
        made = vectors(batch)
        ids = [str(slot) for slot in range(len(keys), len(keys) + len(batch))]
        chroma.add(ids=ids, embeddings=made.astype(np.float32))
        file.write(made.tobytes())
        keys = np.concatenate([keys, np.array(batch, np.int64)])
    return keys


def _slots(keys: Keys, want: Wanted) -> Slots:
    pairs = [(slot, row) for slot, key in enumerate(keys.tolist()) for row in want.rows.get(key, ())]
    return Slots.of(keys, np.array(pairs, np.int32).reshape(-1, 2))


def batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
