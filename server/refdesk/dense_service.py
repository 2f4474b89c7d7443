"""Keeps the vectors of the current generation: builds them in the background, opens them, hands them to the snapshot.

Lexical search serves meanwhile, and for as long as anything here fails. A build that was killed goes on where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import msgspec
import structlog

from refdesk.errors import DenseUnavailable
from refdesk.ports import Embedder, VectorIndex, VectorRow
from refdesk.retrieval.baselines import Baselines, off_topic
from refdesk.retrieval.dense import DensePassages, vector_rows
from refdesk.retrieval.search import CorpusSnapshot

log = structlog.get_logger()

RETRY_SECONDS = 60.0
"""After a failure that may pass (a full disk, a killed child)."""


class Backend(Protocol):
    """Encoders and index files, see adapters.dense_backend."""

    def embedders(self) -> dict[str, Embedder]: ...
    def has(self, generation: str) -> bool: ...
    def open(self, generation: str) -> VectorIndex: ...
    async def build(self, generation: str, rows: Iterable[VectorRow], progress: Callable[[int, int], None]) -> None: ...
    def discard(self, generation: str) -> None: ...
    def note(self, generation: str) -> bytes | None:
        """What was kept with a generation's vectors."""

    def keep_note(self, generation: str, note: bytes) -> None: ...
    def sweep(self, keep: str) -> None: ...


class DenseService:
    """`load` imports and makes the backend, seconds of work: it runs in a thread."""

    def __init__(self, load: Callable[[], Backend], current: Callable[[], CorpusSnapshot]) -> None:
        self._load, self._current = load, current
        self._backend: Backend | None = None
        self._embedders: dict[str, Embedder] = {}
        self._task: asyncio.Task[None] | None = None
        self._wanted, self._settled = asyncio.Event(), asyncio.Event()
        self.state: dict[str, Any] = {"status": "starting"}

    def begin(self) -> None:
        if self._task is None:
            self._wanted.set()
            self._task = asyncio.create_task(self._run(), name="dense retrieval")

    def refresh(self) -> None:
        """The generation has changed; the one before goes on serving whoever began with it."""
        self._settled.clear()
        self._wanted.set()

    async def ready(self) -> None:
        """Waits until the current generation has its vectors, or until that failed."""
        self.begin()
        await self._settled.wait()

    async def _run(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            self._settled.clear()
            try:
                await self._serve(self._current())
            except Exception as failure:  # whatever ails it, words go on serving and it is tried again
                known = isinstance(failure, DenseUnavailable)
                self.state = {"status": "failed", "detail": str(failure)[:200] if known else type(failure).__name__}
                log.warning("dense retrieval is off", reason=str(failure)[:300], exc_info=None if known else failure)
                asyncio.get_running_loop().call_later(RETRY_SECONDS, self._wanted.set)
            if not self._wanted.is_set():  # else another generation came meanwhile
                self._settled.set()

    async def _serve(self, snapshot: CorpusSnapshot) -> None:
        if snapshot.dense is not None:
            self.state = {"status": "ready"}
            return
        backend = await self._loaded()
        name = snapshot.generation
        if backend.has(name):
            try:
                snapshot.dense = await asyncio.to_thread(self._opened, backend, snapshot)
            except Exception as failure:  # damaged, or made by another version of this program
                log.warning("vectors are built anew", generation=name, reason=str(failure)[:300])
                backend.discard(name)
        if snapshot.dense is None:
            await backend.build(name, vector_rows(snapshot), self._progress)
            snapshot.dense = await asyncio.to_thread(self._opened, backend, snapshot)
        self.state = {"status": "ready"}
        log.info("dense retrieval serves", generation=name)
        backend.sweep(keep=name)

    def _opened(self, backend: Backend, snapshot: CorpusSnapshot) -> DensePassages:
        """With the yardstick of the gate, measured once for a generation: 5 to 10 ms for each off-topic question."""
        vectors = backend.open(snapshot.generation)
        try:
            return self._calibrated(backend, vectors, snapshot)
        except BaseException:
            vectors.close()
            raise

    def _calibrated(self, backend: Backend, vectors: VectorIndex, snapshot: CorpusSnapshot) -> DensePassages:
        kept = backend.note(snapshot.generation)
        baselines = msgspec.json.decode(kept, type=Baselines) if kept else None
        dense = DensePassages(vectors, self._embedders, snapshot, baselines)
        if baselines is None:
            measured = dense.measure_baselines(off_topic(), sorted(snapshot.catalogue.audiences))
            backend.keep_note(snapshot.generation, msgspec.json.encode(measured))
        return dense

    async def _loaded(self) -> Backend:
        if self._backend is None:
            backend = await asyncio.to_thread(self._load)
            self._embedders = await asyncio.to_thread(backend.embedders)
            self._backend = backend
        return self._backend

    def _progress(self, done: int, total: int) -> None:
        self.state = {"status": "building", "done": done, "total": total}

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
