"""The folder of indexes: what is kept, what is swept, and what another process is at work on."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from refdesk.adapters.dense_backend import LEFT_SECONDS, DenseBackend
from refdesk.adapters.vector_build import LOCK
from refdesk.ports import ENGLISH, VectorRow


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    folder = tmp_path / "vectors"
    for name in ("old", "current", "next.making"):
        (folder / name).mkdir(parents=True)
    return folder


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()} - {LOCK}


def test_sweeping_leaves_the_current_index(tmp_path: Path, vectors: Path) -> None:
    DenseBackend(tmp_path).sweep(keep="current")
    assert names(vectors) == {"current"}


def test_nothing_is_swept_while_a_process_builds(tmp_path: Path, vectors: Path) -> None:
    with (vectors / LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        DenseBackend(tmp_path).sweep(keep="current")
        assert names(vectors) == {"old", "current", "next.making"}
    DenseBackend(tmp_path).sweep(keep="current")
    assert names(vectors) == {"current"}


def test_lists_of_killed_builds_go_and_those_of_waiting_ones_stay(tmp_path: Path, vectors: Path) -> None:
    for name, age in (("left.1.rows", LEFT_SECONDS + 60), ("waiting.2.rows", 60)):
        (vectors / name).write_text("")
        then = (vectors / name).stat().st_mtime - age
        os.utime(vectors / name, (then, then))
    DenseBackend(tmp_path).sweep(keep="current")
    assert names(vectors) == {"current", "waiting.2.rows"}


def test_without_a_folder_there_is_nothing_to_sweep(tmp_path: Path) -> None:
    DenseBackend(tmp_path).sweep(keep="current")
    assert not (tmp_path / "vectors").exists()


async def test_what_is_built_is_opened_with_its_note_and_discarded(tmp_path: Path) -> None:
    backend, rows = DenseBackend(tmp_path), [VectorRow("abc-minilm", ENGLISH, 7, "Pay an invoice.")]
    assert not backend.has("one")
    await backend.build("one", rows, lambda done, total: None)
    assert backend.has("one")
    assert backend.note("one") is None
    backend.keep_note("one", b"{}")
    index = backend.open("one")
    assert index.vectors(["abc-minilm"], [7])[0].tolist() == [7]
    index.close()
    assert backend.note("one") == b"{}"
    backend.discard("one")
    assert not backend.has("one")
    assert names(tmp_path / "vectors") == set()
