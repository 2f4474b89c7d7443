"""Encoders and vector indexes of the data folder: `vectors/<name>/`, built aside, opened read-only."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

from refdesk.adapters import vector_build
from refdesk.adapters.chroma_vectors import MANIFEST, ChromaVectors
from refdesk.adapters.onnx_embedder import load_e5, load_minilm
from refdesk.adapters.vector_build import VectorBuild
from refdesk.ports import ENGLISH, MULTILINGUAL, Embedder, VectorRow

NOTE = "calibration.json"


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
        return ChromaVectors.open(self._vectors / name)

    async def build(self, name: str, rows: Iterable[VectorRow], progress: Callable[[int, int], None]) -> None:
        """In a child process; what it had embedded when it was killed is not done again. Raises DenseUnavailable."""
        self._vectors.mkdir(parents=True, exist_ok=True)
        listed = self._vectors / f"{name}.rows"
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
        for folder in self._vectors.iterdir() if self._vectors.exists() else ():
            if folder.is_dir() and folder.name != keep:
                shutil.rmtree(folder, ignore_errors=True)

    def _latest(self, name: str) -> Path | None:
        """The newest finished index of another name: what a small change is patched from."""
        others = [f for f in self._vectors.iterdir() if f.name != name and (f / MANIFEST).exists()]
        return max(others, key=lambda folder: folder.stat().st_mtime, default=None)
