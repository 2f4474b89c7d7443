"""Makes an index of vectors: `python -m refdesk.adapters.build_vectors JSON`, started by vector_build.build().

A process of its own, because Chroma's writes stop every thread of theirs, and because it may be killed at any time: the
vectors computed so far stand in the cache, and the folder appears only when it is complete.
"""

from __future__ import annotations

import fcntl
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from refdesk.adapters.chroma_vectors import MANIFEST
from refdesk.adapters.chroma_writer import Wanted, batches, write_index
from refdesk.adapters.onnx_embedder import load_e5, load_minilm
from refdesk.adapters.vector_build import LOCK, Progress, Step, VectorBuild
from refdesk.adapters.vector_cache import VectorCache, vector_key
from refdesk.ports import ENGLISH, MULTILINGUAL, Embedder, VectorRow

NICE = 15
STEP = 64
"""Texts between two writes of the cache: the three seconds of work that a kill costs."""

LOADERS: Mapping[str, Callable[[Path, int], Embedder]] = {
    MULTILINGUAL: lambda cache, threads: load_e5(cache, threads=threads),
    ENGLISH: lambda cache, threads: load_minilm(cache, threads=threads),
}


class Texts:
    """What shall be findable: texts by encoder and key, and which collections and rows they belong to."""

    def __init__(self, embedders: Mapping[str, Embedder], rows: Iterable[VectorRow]) -> None:
        self.wanted: dict[str, Wanted] = {}
        self.by_encoder: dict[str, dict[int, str]] = {}
        for row in rows:
            embedder = embedders[row.encoder]
            key = vector_key(embedder.model_id, row.text)
            self.by_encoder.setdefault(row.encoder, {})[key] = row.text
            empty = Wanted(embedder.model_id, embedder.dimensions, {})
            self.wanted.setdefault(row.collection, empty).rows.setdefault(key, []).append(row.row)

    @property
    def keys(self) -> Iterator[int]:
        return (key for texts in self.by_encoder.values() for key in texts)


def embed(texts: Texts, embedders: Mapping[str, Embedder], cache: VectorCache, progress: Progress) -> None:
    """Only what the cache does not have. Short texts first, so that the figures move early."""
    missing = {name: cache.missing(known) for name, known in texts.by_encoder.items()}
    total = sum(map(len, texts.by_encoder.values()))
    done = total - sum(map(len, missing.values()))
    progress(done, total)
    for name, keys in missing.items():
        known = texts.by_encoder[name]
        for batch in batches(sorted(keys, key=lambda key: len(known[key])), STEP):
            cache.put(batch, embedders[name].embed_passages([known[key] for key in batch]))
            done += len(batch)
            progress(done, total)


def run(asked: VectorBuild, progress: Progress) -> None:
    """A server and a command may want the same vectors: the second waits, and finds them made."""
    target = Path(asked.target)
    with (target.parent / LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / MANIFEST).exists():
            make(asked, progress)


def make(asked: VectorBuild, progress: Progress) -> None:
    rows = read_rows(Path(asked.rows))
    names = sorted({row.encoder for row in rows})
    embedders = {name: LOADERS[name](Path(asked.encoders), asked.threads) for name in names}
    texts, cache = Texts(embedders, rows), VectorCache(Path(asked.cache))
    try:
        embed(texts, embedders, cache, progress)
        write_index(Path(asked.target), texts.wanted, cache.get, Path(asked.previous) if asked.previous else None)
        cache.prune(texts.keys)
    finally:
        cache.close()


def read_rows(path: Path) -> list[VectorRow]:
    decoder = msgspec.json.Decoder(VectorRow)
    with path.open("rb") as file:
        return [decoder.decode(line) for line in file]


def main() -> int:
    os.nice(NICE)
    parent = os.getppid()

    def report(done: int, total: int) -> None:
        if os.getppid() != parent:
            sys.exit("the server is gone")
        sys.stdout.buffer.write(msgspec.json.encode(Step(done, total)) + b"\n")
        sys.stdout.flush()

    run(msgspec.json.decode(sys.argv[1], type=VectorBuild), report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
