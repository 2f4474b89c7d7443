"""Vectors in the background: built once, kept, built anew where they are made of something else, done without."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

import msgspec
import pytest
from corpora import CENTRE, article
from structlog.testing import capture_logs
from test_dense import MemoryVectors, WordEmbedder

from refdesk import dense_service
from refdesk.dense_service import DenseService
from refdesk.errors import DenseUnavailable
from refdesk.ports import ENGLISH, MULTILINGUAL, VectorIndex, VectorRow
from refdesk.retrieval import baselines
from refdesk.retrieval.baselines import Baselines
from refdesk.retrieval.catalogue import Catalogue
from refdesk.retrieval.index import LexicalIndex
from refdesk.retrieval.search import CorpusSnapshot


class MemoryBackend:
    """dense_service.Backend. `built` lists every build by name; what is kept outlives the service."""

    def __init__(self) -> None:
        self.models = {MULTILINGUAL: "multilingual 1", ENGLISH: "english 1"}
        self.rows: dict[str, list[VectorRow]] = {}
        self.notes: dict[str, bytes] = {}
        self.built: list[str] = []
        self.broken = False

    def embedders(self) -> dict[str, WordEmbedder]:
        return {name: WordEmbedder(model) for name, model in self.models.items()}

    def has(self, name: str) -> bool:
        return name in self.rows

    def open(self, name: str) -> VectorIndex:
        if self.broken:
            self.broken = False
            raise DenseUnavailable("damaged")
        return MemoryVectors(self.rows[name], self.embedders())

    async def build(self, name: str, rows: Iterable[VectorRow], progress: Callable[[int, int], None]) -> None:
        self.rows[name] = list(rows)
        self.built.append(name)
        progress(1, 1)

    def discard(self, name: str) -> None:
        del self.rows[name]

    def note(self, name: str) -> bytes | None:
        return self.notes.get(name)

    def keep_note(self, name: str, note: bytes) -> None:
        self.notes[name] = note

    def sweep(self, keep: str) -> None:
        self.rows = {name: rows for name, rows in self.rows.items() if name == keep}


@pytest.fixture
def backend() -> MemoryBackend:
    return MemoryBackend()


async def settled(backend: MemoryBackend, generation: str = "000001-aa") -> CorpusSnapshot:
    """As after a start: another service, the snapshot read anew."""
    articles = [article("a", "Refunds", "A refund takes ten days.")]
    snapshot = CorpusSnapshot(generation, Catalogue(CENTRE, articles), LexicalIndex.build(articles))
    service = DenseService(lambda: backend, lambda: snapshot)
    async with asyncio.timeout(20):
        await service.ready()
    assert service.state == {"status": "ready"}
    await service.close()
    return snapshot


async def test_a_start_opens_what_an_earlier_one_built(backend: MemoryBackend) -> None:
    await settled(backend)
    assert (await settled(backend)).dense is not None
    assert len(backend.built) == 1


async def test_another_generation_is_built_and_the_one_before_swept(backend: MemoryBackend) -> None:
    await settled(backend)
    await settled(backend, "000002-bb")
    assert len(set(backend.built)) == 2
    assert list(backend.rows) == [backend.built[1]]


async def test_another_recipe_of_texts_is_built_anew(backend: MemoryBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    await settled(backend)
    monkeypatch.setattr(dense_service, "RECIPE", dense_service.RECIPE + 1)
    await settled(backend)
    assert len(set(backend.built)) == 2
    assert list(backend.rows) == [backend.built[1]]


@pytest.mark.parametrize("encoder", [MULTILINGUAL, ENGLISH])
async def test_another_model_is_built_anew(backend: MemoryBackend, encoder: str) -> None:
    await settled(backend)
    backend.models[encoder] = "another"
    await settled(backend)
    assert len(set(backend.built)) == 2


@pytest.mark.parametrize(
    "note", [b"", b"nonsense", b'{"pairs": {"en en": {"text": {"middle": 0.1, "spread": 0.1}}}}', b"old"]
)
async def test_a_yardstick_that_cannot_be_used_is_measured_anew_from_the_same_vectors(
    backend: MemoryBackend, note: bytes
) -> None:
    await settled(backend)
    [(name, measured)] = backend.notes.items()
    kept = msgspec.json.decode(measured, type=Baselines)
    if note == b"old":
        note = msgspec.json.encode(msgspec.structs.replace(kept, recipe=baselines.RECIPE - 1, pairs={}))
    backend.notes[name] = note
    await settled(backend)
    assert backend.notes[name] == measured
    assert backend.built == [name]


async def test_the_log_has_the_folder_at_fault_and_what_everybody_may_read_has_not() -> None:
    def load() -> MemoryBackend:
        raise DenseUnavailable("the encoders cannot be kept: set REFDESK_ENCODERS", "a/folder")

    articles = [article("a", "Refunds", "A refund takes ten days.")]
    snapshot = CorpusSnapshot("000001-aa", Catalogue(CENTRE, articles), LexicalIndex.build(articles))
    service = DenseService(load, lambda: snapshot)
    with capture_logs() as logs:
        async with asyncio.timeout(20):
            await service.ready()
    await service.close()
    reason = "the encoders cannot be kept: set REFDESK_ENCODERS"
    assert service.state == {"status": "failed", "detail": reason}
    told = {"event": "dense retrieval is off", "log_level": "warning", "reason": reason, "folder": "a/folder"}
    assert logs == [told]


async def test_damaged_vectors_are_built_anew(backend: MemoryBackend) -> None:
    await settled(backend)
    backend.broken = True
    assert (await settled(backend)).dense is not None
    assert len(backend.built) == 2
