"""Generations on disk: swapped whole, patched, rebuilt, and never served damaged."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from corpora import ANONYMOUS, CENTRE, article

from refdesk.corpus.passages import FORMAT
from refdesk.domain.articles import Passage
from refdesk.errors import CorpusError
from refdesk.library import Library
from refdesk.retrieval import generation
from refdesk.retrieval.generation import GenerationStore

ARTICLES = [article(f"a{n}", f"Title {n}", f"Body of article {n}.\n\nMore word{n}.") for n in range(30)]


def changed(at: int, body: str = "Zebra stripes."):
    return [*ARTICLES[:at], article(f"a{at}", f"Title {at}", body, version="2"), *ARTICLES[at + 1 :]]


async def first(store: GenerationStore, question: str) -> str | None:
    hits = (await store.current().search(question, ANONYMOUS)).hits
    return hits[0].article.id if hits else None


def folders(path: Path) -> list[str]:
    return [entry.name for entry in (path / "generations").iterdir() if entry.is_dir()]


async def test_published_then_opened_by_another_process(tmp_path: Path) -> None:
    published = GenerationStore(tmp_path).publish(CENTRE, ARTICLES)
    store = GenerationStore(tmp_path)
    with pytest.raises(CorpusError):
        store.current()
    opened = store.open_current()
    assert opened is not None
    assert opened.generation == published.generation
    assert list(opened.catalogue.all) == ARTICLES
    assert opened.centre == CENTRE
    assert await first(store, "word7") == "a7"


def test_nothing_changed_makes_no_generation(tmp_path: Path) -> None:
    store = GenerationStore(tmp_path)
    before = store.publish(CENTRE, ARTICLES)
    assert store.publish(CENTRE, list(ARTICLES)) is before
    assert GenerationStore(tmp_path).publish(CENTRE, ARTICLES).generation == before.generation


async def test_a_small_change_is_patched_and_a_large_one_rebuilt(tmp_path: Path) -> None:
    store = GenerationStore(tmp_path)
    rows = len(store.publish(CENTRE, ARTICLES).index.postings.lengths)
    patched = store.publish(CENTRE, changed(3))
    assert len(patched.index.postings.lengths) == rows + 1
    assert await first(store, "zebra") == "a3"
    assert await first(store, "word3") is None
    assert len(store.publish(CENTRE, changed(3)[:20]).index.postings.lengths) == 39
    assert await first(store, "word25") is None


def test_settings_of_the_help_centre_make_a_generation_too(tmp_path: Path) -> None:
    store = GenerationStore(tmp_path)
    before = store.publish(CENTRE, ARTICLES)
    after = store.publish(msgspec.structs.replace(CENTRE, name="Other"), ARTICLES)
    assert after.generation != before.generation
    assert after.centre.name == "Other"
    assert folders(tmp_path) == [after.generation]


async def test_a_running_turn_keeps_its_version(tmp_path: Path) -> None:
    store = GenerationStore(tmp_path)
    held = store.publish(CENTRE, ARTICLES)
    store.publish(CENTRE, changed(3))
    assert [hit.article.id for hit in (await held.search("word3", ANONYMOUS)).hits] == ["a3"]
    assert (await held.search("zebra", ANONYMOUS)).hits == ()


async def test_another_process_swaps_and_this_one_follows(tmp_path: Path) -> None:
    mine, other = GenerationStore(tmp_path), GenerationStore(tmp_path)
    mine.publish(CENTRE, ARTICLES)
    other.publish(CENTRE, changed(3))
    mine.open_current()
    assert await first(mine, "zebra") == "a3"
    mine.publish(CENTRE, changed(4, "Giraffe neck."))
    assert await first(mine, "giraffe") == "a4"
    assert await first(mine, "zebra") is None


def test_an_empty_folder_has_no_current_generation(tmp_path: Path) -> None:
    assert GenerationStore(tmp_path).open_current() is None
    assert GenerationStore(tmp_path / "missing").open_current() is None


FILES = ("manifest.json", "articles.msgpack", "words.msgpack", "keys.npy", "rows.npy", "counts.npy", "first_rows.npy")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
def test_a_damaged_generation_is_not_served_but_rebuilt(tmp_path: Path, name: str, damage: str) -> None:
    folder = tmp_path / "generations" / GenerationStore(tmp_path).publish(CENTRE, ARTICLES).generation
    content = (folder / name).read_bytes()
    if damage == "gone":
        (folder / name).unlink()
    elif damage == "cut":
        (folder / name).write_bytes(content[: len(content) // 2])
    else:
        (folder / name).write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    store = GenerationStore(tmp_path)
    assert store.open_current() is None
    store.publish(CENTRE, ARTICLES)
    reopened = GenerationStore(tmp_path).open_current()
    assert reopened is not None
    assert list(reopened.catalogue.all) == ARTICLES


@pytest.mark.parametrize("content", ["", "nowhere", "../../etc", ".hidden", "\n"])
def test_a_wrong_pointer_is_no_generation(tmp_path: Path, content: str) -> None:
    GenerationStore(tmp_path).publish(CENTRE, ARTICLES)
    (tmp_path / "generations" / "current").write_text(content)
    store = GenerationStore(tmp_path)
    assert store.open_current() is None
    assert len(store.publish(CENTRE, ARTICLES).catalogue.all) == 30


def test_a_generation_of_another_version_is_rebuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = GenerationStore(tmp_path).publish(CENTRE, ARTICLES)
    monkeypatch.setattr(generation, "ANALYSER", generation.ANALYSER + 1)
    store = GenerationStore(tmp_path)
    assert store.open_current() is None
    assert store.publish(CENTRE, ARTICLES).generation != before.generation


def test_a_generation_whose_articles_were_split_otherwise_is_rebuilt(tmp_path: Path) -> None:
    before = GenerationStore(tmp_path, passage_format=1).publish(CENTRE, ARTICLES)
    store = GenerationStore(tmp_path, passage_format=2)
    assert store.open_current() is None
    assert store.publish(CENTRE, ARTICLES).generation != before.generation
    assert GenerationStore(tmp_path, passage_format=2).open_current() is not None


async def test_articles_are_split_anew_where_splitting_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.md").write_text("---\ntitle: A\n---\n\nOne.\n\nTwo.\n", "utf-8")
    opened = Library(tmp_path / "corpus", tmp_path / "data")
    await opened.open()
    halves = (Passage("a", 0, "", ((0, 4),)), Passage("a", 1, "", ((6, 10),)))
    monkeypatch.setattr("refdesk.corpus.sync.split_passages", lambda *_: halves)
    same = Library(tmp_path / "corpus", tmp_path / "data")
    await same.open()
    assert [len(one.passages) for one in same.current().catalogue.all] == [1]
    monkeypatch.setattr("refdesk.library.FORMAT", FORMAT + 1)
    changed = Library(tmp_path / "corpus", tmp_path / "data")
    await changed.open()
    assert [len(one.passages) for one in changed.current().catalogue.all] == [2]
    assert changed.current().generation != same.current().generation


def test_what_a_kill_left_behind_is_swept_at_the_start(tmp_path: Path) -> None:
    name = GenerationStore(tmp_path).publish(CENTRE, ARTICLES).generation
    for left in ("000009-dead.unfinished", "000008-beef"):
        (tmp_path / "generations" / left).mkdir()
    assert GenerationStore(tmp_path).open_current() is not None
    assert folders(tmp_path) == [name]


PUBLISHER = """
import sys
sys.path[:0] = [{tests!r}]
from pathlib import Path
from test_generation import CENTRE, ARTICLES, changed
from refdesk.retrieval.generation import GenerationStore
store = GenerationStore(Path({folder!r}))
print("ready", flush=True)
while True:
    store.publish(CENTRE, changed(3))
    store.publish(CENTRE, ARTICLES)
"""


def kill_while_publishing(folder: Path, delay: float) -> None:
    code = PUBLISHER.format(tests=str(Path(__file__).parent), folder=str(folder))
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    try:
        child.wait(delay)
    except subprocess.TimeoutExpired:
        os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()


def check_after_kill(folder: Path) -> None:
    snapshot = GenerationStore(folder).open_current()
    assert snapshot is not None
    assert list(snapshot.catalogue.all) in (ARTICLES, changed(3))


def test_a_kill_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    GenerationStore(tmp_path).publish(CENTRE, ARTICLES)
    kill_while_publishing(tmp_path, 0.05)
    check_after_kill(tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("round_number", range(40))
def test_forty_kills_leave_the_old_or_the_new(tmp_path: Path, round_number: int) -> None:
    GenerationStore(tmp_path).publish(CENTRE, ARTICLES)
    kill_while_publishing(tmp_path, 0.005 + 0.0037 * round_number)
    check_after_kill(tmp_path)
