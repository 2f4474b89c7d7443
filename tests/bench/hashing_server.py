"""`refdesk serve` with a hashing embedder in place of both encoders, to be compared with others that use one.

    python tests/bench/hashing_server.py --port 8800 --corpus FOLDER --data FOLDER      (what `refdesk serve` takes)

Everything else is the product: Chroma, fusion, gate. A word adds or takes one at a place that its hash names.
"""

from __future__ import annotations

import asyncio
import re
import sys
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refdesk import cli
from refdesk.adapters import build_vectors, dense_backend, vector_build
from refdesk.ports import ENGLISH, MULTILINGUAL

PLACES = 384
WORD = re.compile(r"\w+")


@lru_cache(maxsize=200_000)
def place_of(word: str) -> tuple[int, float]:
    code = zlib.crc32(word.encode())
    return code % PLACES, 1.0 if code & 0x10000 else -1.0


class HashingEmbedder:
    """Remembers nothing: every text is hashed anew, as the others do."""

    def __init__(self, name: str) -> None:
        self.model_id, self.dimensions = f"hashing-{name}", PLACES

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), PLACES), np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in WORD.findall(text.lower()):
                place, sign = place_of(word)
                vector[place] += sign
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)

    embed_passages = embed_queries

    def remembers(self, query: str) -> bool:
        """It takes no time either way."""
        return True


async def build(asked: vector_build.VectorBuild, progress: Callable[[int, int], None]) -> None:
    """In a thread: the child process of the product would load the encoders."""
    await asyncio.to_thread(build_vectors.run, asked, progress)


def main() -> int:
    made: dict[str, Any] = {name: HashingEmbedder(name) for name in (MULTILINGUAL, ENGLISH)}
    build_vectors.LOADERS = {name: lambda cache, threads, name=name: made[name] for name in made}
    dense_backend.DenseBackend.embedders = lambda self: made  # type: ignore[method-assign]
    vector_build.build = build
    return cli.main(["serve", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
