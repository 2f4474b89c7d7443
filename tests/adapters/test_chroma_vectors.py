"""Vectors in Chroma: built by the real child process, opened, asked, patched; and every way of being broken."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest

from refdesk.adapters import chroma_vectors, vector_slots
from refdesk.adapters.chroma_vectors import MANIFEST, ChromaVectors, open_client
from refdesk.adapters.chroma_writer import Wanted, patchable, write_index
from refdesk.adapters.encoder_files import MINILM
from refdesk.adapters.onnx_embedder import load_minilm
from refdesk.adapters.vector_build import VectorBuild, build, write_rows
from refdesk.adapters.vector_cache import VectorCache, vector_key
from refdesk.errors import DenseUnavailable
from refdesk.ports import ENGLISH, VectorRow

DIMENSIONS = 8


def vectors_of(keys: list[int]) -> np.ndarray:
    made = np.stack([np.random.default_rng(key).normal(size=DIMENSIONS) for key in keys])
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float16)


def wanted(keys: range, model_id: str = "model", collection: str = "public-e5") -> dict[str, Wanted]:
    return {collection: Wanted(model_id, DIMENSIONS, {key: [key * 10] for key in keys})}


def question(key: int) -> np.ndarray:
    return vectors_of([key])[0].astype(np.float32)


@pytest.fixture
def index(tmp_path: Path) -> Path:
    write_index(tmp_path / "one", wanted(range(1, 101)), vectors_of)
    return tmp_path / "one"


def test_finds_each_text_by_its_row(index: Path) -> None:
    vectors = ChromaVectors.open(index)
    for key in (1, 50, 100):
        (row, cosine), *rest = vectors.query(["public-e5"], question(key), 5)
        assert row == key * 10
        assert cosine == pytest.approx(1, abs=2e-3)
        assert len(rest) == 4
    vectors.close()


def test_exact_cosines_agree_with_search_and_leave_out_unknown_rows(index: Path) -> None:
    vectors = ChromaVectors.open(index)
    found = vectors.query(["public-e5"], question(7), 20)
    rows, matrix = vectors.vectors(["public-e5"], [*(row for row, _ in found), 5])
    exact = dict(zip(rows.tolist(), (matrix @ question(7)).tolist(), strict=True))
    assert exact == pytest.approx(dict(found), abs=2e-3)
    assert len(vectors.vectors(["public-e5"], [])[0]) == 0
    vectors.close()


def test_one_text_of_several_rows_and_one_row_of_several_texts(tmp_path: Path) -> None:
    write_index(tmp_path / "i", {"abc": Wanted("m", DIMENSIONS, {1: [4, 5], 2: [5]})}, vectors_of)
    vectors = ChromaVectors.open(tmp_path / "i")
    assert [row for row, _ in vectors.query(["abc"], question(1), 9)] == [4, 5]
    rows, matrix = vectors.vectors(["abc"], [4, 5])
    assert sorted(rows.tolist()) == [4, 5, 5]
    assert (matrix @ question(2)).max() == pytest.approx(1, abs=2e-3)
    vectors.close()


def test_everything_of_small_collections_agrees_with_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {"one": Wanted("model", DIMENSIONS, {1: [10, 30], 2: [20]}), "two": Wanted("model", DIMENSIONS, {3: [15]})}
    write_index(tmp_path / "two", texts, vectors_of)
    vectors = ChromaVectors.open(tmp_path / "two")
    found = vectors.everything(["one", "two"])
    assert found is not None
    rows, places, held = found
    assert rows.tolist() == [10, 15, 20, 30]
    cosines = dict(zip(rows.tolist(), (held @ question(2))[places].tolist(), strict=True))
    assert cosines == pytest.approx(dict(vectors.query(["one", "two"], question(2), 4)), abs=2e-3)
    monkeypatch.setattr(chroma_vectors, "SMALL", 2)
    assert vectors.everything(["one", "two"]) is None
    vectors.close()


def test_a_sample_is_spread_over_what_is_alive(tmp_path: Path, index: Path) -> None:
    write_index(tmp_path / "two", wanted(range(11, 101)), vectors_of, index)
    vectors = ChromaVectors.open(tmp_path / "two")
    assert np.array_equal(vectors.sample("public-e5", 1)[0], question(11))
    assert len(vectors.sample("public-e5", 40)) == 40
    assert len(vectors.sample("public-e5", 500)) == 90
    vectors.close()


def test_collections_are_asked_together_and_apart(tmp_path: Path) -> None:
    write_index(tmp_path / "i", wanted(range(1, 5)) | wanted(range(5, 9), collection="staff-e5"), vectors_of)
    vectors = ChromaVectors.open(tmp_path / "i")
    assert vectors.query(["public-e5", "staff-e5"], question(6), 1)[0][0] == 60
    assert 60 not in dict(vectors.query(["public-e5"], question(6), 9))
    assert vectors.query([], question(6), 9) == []
    vectors.close()


def test_a_small_change_is_a_patch_that_may_renumber_rows(tmp_path: Path, index: Path) -> None:
    change = {"public-e5": Wanted("model", DIMENSIONS, {key: [key] for key in range(11, 104)})}
    assert patchable(index, change)
    write_index(tmp_path / "two", change, vectors_of, index)
    vectors = ChromaVectors.open(tmp_path / "two")
    assert vectors.query(["public-e5"], question(103), 1)[0][0] == 103
    assert vectors.query(["public-e5"], question(50), 1)[0][0] == 50
    assert len(vectors.query(["public-e5"], question(5), 200)) == 93
    assert vector_slots.load(tmp_path / "two", "public-e5").live == 93
    vectors.close()
    again = ChromaVectors.open(index)
    assert again.query(["public-e5"], question(5), 1)[0][0] == 50
    again.close()


def test_dead_vectors_add_up_until_the_index_is_built_anew(tmp_path: Path, index: Path) -> None:
    write_index(tmp_path / "two", wanted(range(15, 101)), vectors_of, index)
    assert len(vector_slots.load(tmp_path / "two", "public-e5").keys) == 100
    write_index(tmp_path / "three", wanted(range(25, 101)), vectors_of, tmp_path / "two")
    assert len(vector_slots.load(tmp_path / "three", "public-e5").keys) == 76


@pytest.mark.parametrize(
    "other",
    [
        wanted(range(1, 101), model_id="another"),
        wanted(range(1, 101), collection="other-e5"),
        wanted(range(1, 101)) | wanted(range(3), collection="more-e5"),
        wanted(range(500, 600)),
    ],
)
def test_another_model_audience_or_corpus_is_no_patch(index: Path, other: dict[str, Wanted]) -> None:
    assert not patchable(index, other)


def test_an_empty_collection_finds_nothing(tmp_path: Path) -> None:
    write_index(tmp_path / "i", {"abc": Wanted("m", DIMENSIONS, {})}, vectors_of)
    vectors = ChromaVectors.open(tmp_path / "i")
    assert vectors.query(["abc"], question(1), 5) == []
    vectors.close()


@pytest.mark.parametrize("lost", ["chroma", MANIFEST, "public-e5.npz", "public-e5.f16", "chroma/chroma.sqlite3"])
def test_a_lost_file_is_noticed_at_opening(index: Path, lost: str) -> None:
    path = index / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(DenseUnavailable):
        ChromaVectors.open(index)


@pytest.mark.parametrize("damaged", [MANIFEST, "public-e5.npz", "chroma/chroma.sqlite3"])
def test_a_damaged_file_is_noticed_at_opening(index: Path, damaged: str) -> None:
    (index / damaged).write_bytes(b"\x00garbage" * 500)
    with pytest.raises(DenseUnavailable):
        ChromaVectors.open(index)


def test_lost_segment_files_are_noticed_at_the_latest_when_asked(index: Path) -> None:
    for folder in (index / "chroma").iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)
    with pytest.raises(DenseUnavailable):
        ChromaVectors.open(index).query(["public-e5"], question(1), 50)


def test_what_is_held_in_memory_needs_no_index_of_chroma(index: Path) -> None:
    whole = ChromaVectors.open(index)
    before = whole.everything(["public-e5"])
    whole.close()
    for folder in (index / "chroma").iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)
    after = ChromaVectors.open(index).everything(["public-e5"])
    assert before is not None
    assert after is not None
    assert all(np.array_equal(one, other) for one, other in zip(before, after, strict=True))


@pytest.fixture
def short(index: Path) -> Path:
    """Chroma has one vector less than it should."""
    client = open_client(index)
    collection = client.get_collection("public-e5", embedding_function=None)
    collection.delete(ids=collection.get(limit=1)["ids"])
    client.close()
    return index


def test_a_large_collection_is_counted_at_opening(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chroma_vectors, "SMALL", 0)
    with pytest.raises(DenseUnavailable, match="not all there"):
        ChromaVectors.open(short)


def test_a_small_one_is_counted_when_it_is_asked_all_the_same(short: Path) -> None:
    vectors = ChromaVectors.open(short)
    for _ in range(2):
        with pytest.raises(DenseUnavailable, match="not all there"):
            vectors.query(["public-e5"], question(1), 3)


def test_counts_that_differ_are_noticed(index: Path) -> None:
    manifest = msgspec.json.decode((index / MANIFEST).read_bytes())
    manifest["collections"]["public-e5"]["live"] = 99
    (index / MANIFEST).write_bytes(msgspec.json.encode(manifest))
    with pytest.raises(DenseUnavailable, match="not all there"):
        ChromaVectors.open(index)


def test_wrong_dimension_and_unknown_collection_are_named(index: Path) -> None:
    vectors = ChromaVectors.open(index)
    with pytest.raises(DenseUnavailable, match="dimension"):
        vectors.query(["public-e5"], np.ones(5, np.float32), 3)
    with pytest.raises(DenseUnavailable, match="no collection"):
        vectors.vectors(["staff-e5"], [10])
    vectors.close()
    with pytest.raises(DenseUnavailable):
        vectors.query(["public-e5"], question(1), 3)


# --- the child process ---------------------------------------------------------------------------


def asked(folder: Path, target: str, previous: str = "") -> VectorBuild:
    before = str(folder / previous) if previous else ""
    return VectorBuild(
        str(folder / "rows"), str(folder / target), str(folder / "models"), str(folder / "cache"), before
    )


def rows(*texts: str) -> list[VectorRow]:
    return [VectorRow("public-minilm", ENGLISH, row, text) for row, text in enumerate(texts)]


async def test_the_child_builds_and_a_second_build_embeds_only_what_is_new(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    write_rows(rows("Reset your password.", "Pay an invoice.", "Pay an invoice."), tmp_path / "rows")
    await build(asked(tmp_path, "one"), lambda done, total: seen.append((done, total)))
    assert (seen[0], seen[-1]) == ((0, 2), (2, 2))
    write_rows(rows("Pay an invoice.", "Export a report."), tmp_path / "rows")
    seen.clear()
    await build(asked(tmp_path, "two", "one"), lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]
    vectors = ChromaVectors.open(tmp_path / "two")
    near = load_minilm(tmp_path / "models").embed_queries(["how do I export reports?"])[0]
    assert vectors.query(["public-minilm"], near, 2)[0][0] == 1
    assert vectors.collections["public-minilm"].model_id == MINILM.model_id
    vectors.close()


async def test_a_killed_build_leaves_no_folder_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    texts = [f"Article {n} explains how to configure setting {n}. " * 8 for n in range(400)]
    write_rows(rows(*texts), tmp_path / "rows")
    begun = asyncio.Event()
    first = asyncio.create_task(build(asked(tmp_path, "one"), lambda done, _: begun.set() if done else None))
    await begun.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    assert not (tmp_path / "one").exists()
    seen: list[int] = []
    await build(asked(tmp_path, "one"), lambda done, _: seen.append(done))
    assert seen[0] >= 64
    assert seen[-1] == 400


async def test_a_server_and_a_command_that_build_the_same_make_it_once(tmp_path: Path) -> None:
    write_rows(rows(*(f"Article {n} explains setting {n}. " * 5 for n in range(150))), tmp_path / "rows")
    seen: list[tuple[int, int]] = []
    await asyncio.gather(*(build(asked(tmp_path, "one"), lambda *step: seen.append(step)) for _ in range(3)))
    assert sum(done == 64 for done, _ in seen) == 1
    vectors = ChromaVectors.open(tmp_path / "one")
    assert vectors.collections["public-minilm"].live == 150
    vectors.close()


async def test_a_child_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(DenseUnavailable, match="rows"):
        await build(asked(tmp_path, "one"))


# --- the cache -----------------------------------------------------------------------------------


def test_cache_keeps_vectors_over_a_restart(tmp_path: Path) -> None:
    first = VectorCache(tmp_path / "cache")
    first.put([1, 2], np.eye(2, DIMENSIONS, dtype=np.float32))
    first.close()
    second = VectorCache(tmp_path / "cache")
    assert second.missing([1, 2, 3]) == [3]
    assert second.get([2, 1]).tolist() == np.eye(2, DIMENSIONS)[::-1].tolist()
    with pytest.raises(KeyError):
        second.get([1, 3])
    second.close()


def test_a_damaged_cache_is_thrown_away(tmp_path: Path) -> None:
    (tmp_path / "cache").write_bytes(b"not a database at all" * 100)
    cache = VectorCache(tmp_path / "cache")
    assert cache.missing([1]) == [1]
    cache.close()


def test_the_key_depends_on_model_and_text() -> None:
    assert len({vector_key(model, text) for model in "ab" for text in ("x", "y", "\ud800")}) == 6
    assert vector_key("a", "x") == vector_key("a", "x")


def test_pruning_keeps_what_is_used_and_waits_until_it_pays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refdesk.adapters.vector_cache.SLACK", 2)
    cache = VectorCache(tmp_path / "cache")
    cache.put(list(range(1, 6)), np.ones((5, DIMENSIONS), np.float32))
    cache.prune([1, 2])
    assert cache.missing(range(1, 6)) == []
    cache.prune([1])
    assert cache.missing(range(1, 6)) == [2, 3, 4, 5]
    cache.close()
