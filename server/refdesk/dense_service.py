"""Keeps the vectors of the current generation: builds them in the background, opens them, hands them to the snapshot.

Lexical search serves meanwhile, and for as long as anything here fails. A build that was killed goes on where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Any, Protocol

import msgspec
import structlog

from refdesk.errors import DenseUnavailable
from refdesk.ports import Embedder, VectorIndex, VectorRow
from refdesk.retrieval.baselines import RECIPE as YARDSTICK
from refdesk.retrieval.baselines import Baselines, off_topic
from refdesk.retrieval.dense import DensePassages
from refdesk.retrieval.embedded_texts import RECIPE, vector_rows
from refdesk.retrieval.search import CorpusSnapshot

log = structlog.get_logger()

RETRY_SECONDS = 60.0
"""After a failure that may pass (a full disk, a killed child)."""


class Backend(Protocol):
    """Encoders and index files, see adapters.dense_backend."""

    def embedders(self) -> dict[str, Embedder]: ...
    def has(self, name: str) -> bool: ...
    def open(self, name: str) -> VectorIndex: ...
    async def build(self, name: str, rows: Iterable[VectorRow], progress: Callable[[int, int], None]) -> None: ...
    def discard(self, name: str) -> None: ...
    def note(self, name: str) -> bytes | None:
        """What was kept with vectors."""

    def keep_note(self, name: str, note: bytes) -> None: ...
    def sweep(self, keep: str) -> None: ...


def vectors_name(generation: str, embedders: Mapping[str, Embedder]) -> str:
    """Of a generation's vectors: those of another recipe or another model are never opened, and swept."""
    made_of = "\0".join([str(RECIPE), *(f"{name} {embedders[name].model_id}" for name in sorted(embedders))])
    return f"{generation}-{blake2b(made_of.encode(), digest_size=4).hexdigest()}"


def kept_baselines(note: bytes | None) -> Baselines | None:
    """None: they are to be measured, since there are none or none of today's recipe."""
    try:
        kept = msgspec.json.decode(note or b"", type=Baselines)
    except msgspec.MsgspecError:
        return None
    return kept if kept.recipe == YARDSTICK else None


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

    @property
    def embedders(self) -> dict[str, Embedder]:
        """Empty until they are loaded."""
        return self._embedders

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
                self._tell(failure)
                asyncio.get_running_loop().call_later(RETRY_SECONDS, self._wanted.set)
            if not self._wanted.is_set():  # else another generation came meanwhile
                self._settled.set()

    def _tell(self, failure: Exception) -> None:
        more: dict[str, Any]
        if isinstance(failure, DenseUnavailable):
            detail, more = str(failure)[:200], {"folder": failure.folder} if failure.folder else {}
        else:
            detail, more = type(failure).__name__, {"exc_info": failure}
        self.state = {"status": "failed", "detail": detail}
        log.warning("dense retrieval is off", reason=str(failure)[:300], **more)

    async def _serve(self, snapshot: CorpusSnapshot) -> None:
        if snapshot.dense is not None:
            self.state = {"status": "ready"}
            return
        backend = await self._loaded()
        name = vectors_name(snapshot.generation, self._embedders)
        if backend.has(name):
            try:
                snapshot.dense = await asyncio.to_thread(self._opened, backend, name, snapshot)
            except Exception as failure:  # damaged, or made by another version of this program
                log.warning("vectors are built anew", generation=name, reason=str(failure)[:300])
                backend.discard(name)
        if snapshot.dense is None:
            await backend.build(name, vector_rows(snapshot), self._progress)
            snapshot.dense = await asyncio.to_thread(self._opened, backend, name, snapshot)
        self.state = {"status": "ready"}
        log.info("dense retrieval serves", generation=name)
        backend.sweep(keep=name)

    def _opened(self, backend: Backend, name: str, snapshot: CorpusSnapshot) -> DensePassages:
        """With the yardstick of the gate, measured once for a generation: 5 to 10 ms for each off-topic question."""
        vectors = backend.open(name)
        try:
            return self._calibrated(backend, name, vectors, snapshot)
        except BaseException:
            vectors.close()
            raise

    def _calibrated(self, backend: Backend, name: str, vectors: VectorIndex, snapshot: CorpusSnapshot) -> DensePassages:
        baselines = kept_baselines(backend.note(name))
        dense = DensePassages(vectors, self._embedders, snapshot, baselines)
        if baselines is None:
            measured = dense.measure_baselines(off_topic(), sorted(snapshot.catalogue.audiences))
            backend.keep_note(name, msgspec.json.encode(measured))
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
