"""Encoders and vector indexes of the data folder: `vectors/<name>/`, built aside, opened read-only."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from refdesk.adapters import vector_build
from refdesk.adapters.chroma_vectors import MANIFEST, ChromaVectors
from refdesk.adapters.onnx_embedder import load_e5, load_minilm
from refdesk.adapters.vector_build import LOCK, VectorBuild
from refdesk.memory import give_back
from refdesk.ports import ENGLISH, MULTILINGUAL, Embedder, VectorRow

NOTE = "calibration.json"
ROWS, LEFT_SECONDS = ".rows", 86_400
"""What a build is told, and when it is left over from one that was killed."""


class DenseBackend:
    """Importing this module loads Chroma and onnxruntime (3 s): do it when a port is open already."""

    def __init__(self, data: Path, encoders: Path | None = None, *, threads: int = 1) -> None:
        self._encoders, self._vectors = encoders or data / "encoders", data / "vectors"
        self._cache, self._threads = data / "vectors.cache", threads

    def embedders(self) -> dict[str, Embedder]:
        """Blocking: 5 s the first time, when the weights are converted. Raises DenseUnavailable."""
        return {MULTILINGUAL: load_e5(self._encoders), ENGLISH: load_minilm(self._encoders)}

    def has(self, name: str) -> bool:
        return (self._vectors / name / MANIFEST).exists()

    def open(self, name: str) -> ChromaVectors:
        """Blocking. Raises DenseUnavailable."""
        vectors = ChromaVectors.open(self._vectors / name)
        give_back()
        return vectors

    async def build(self, name: str, rows: Iterable[VectorRow], progress: Callable[[int, int], None]) -> None:
        """In a child process; what it had embedded when it was killed is not done again. Raises DenseUnavailable."""
        self._vectors.mkdir(parents=True, exist_ok=True)
        listed = self._vectors / f"{name}.{os.getpid()}{ROWS}"
        vector_build.write_rows(rows, listed)
        asked = VectorBuild(
            rows=str(listed),
            target=str(self._vectors / name),
            encoders=str(self._encoders),
            cache=str(self._cache),
            previous=str(self._latest(name) or ""),
            threads=self._threads,
        )
        try:
            await vector_build.build(asked, progress)
        finally:
            listed.unlink(missing_ok=True)

    def note(self, name: str) -> bytes | None:
        path = self._vectors / name / NOTE
        return path.read_bytes() if path.exists() else None

    def keep_note(self, name: str, note: bytes) -> None:
        path = self._vectors / name / NOTE
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_bytes(note)
        unfinished.replace(path)

    def discard(self, name: str) -> None:
        """A damaged index: built anew next time."""
        shutil.rmtree(self._vectors / name, ignore_errors=True)

    def sweep(self, keep: str) -> None:
        """Other indexes, unless a process is building one just now, and what killed ones have left."""
        if not self._vectors.exists():
            return
        with (self._vectors / LOCK).open("a") as lock, suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for entry in self._vectors.iterdir():
                if entry.is_dir() and entry.name != keep:
                    shutil.rmtree(entry, ignore_errors=True)
                elif entry.suffix == ROWS and time.time() - entry.stat().st_mtime > LEFT_SECONDS:
                    entry.unlink(missing_ok=True)

    def _latest(self, name: str) -> Path | None:
        """The newest finished index of another name: what a small change is patched from."""
        others = [f for f in self._vectors.iterdir() if f.name != name and (f / MANIFEST).exists()]
        return max(others, key=lambda folder: folder.stat().st_mtime, default=None)
