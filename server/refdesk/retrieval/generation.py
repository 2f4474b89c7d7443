"""Index generations on disk: built aside, swapped in whole, opened in a moment.

`generations/<name>/` holds the articles, the arrays, and a manifest with the size and hash of every file; `current`
names the one in use and is replaced in one step. Whatever is killed when, a reader finds the old one or the new one.
Nothing is forced to disk: after a power cut a torn file no longer matches its hash, and the corpus folder, which is the
truth, is indexed again.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path

import msgspec
import structlog

from refdesk.domain.articles import Article, HelpCentre
from refdesk.domain.gate import OwnThreshold
from refdesk.errors import CorpusError
from refdesk.retrieval.catalogue import Catalogue
from refdesk.retrieval.index import LexicalIndex, Progress
from refdesk.retrieval.search import CorpusSnapshot
from refdesk.text.terms import ANALYSER

SCHEMA = 1
"""Rises with the layout of the files; a generation of another one is rebuilt."""

_TRIES = 5
_ARTICLES, _MANIFEST, _UNFINISHED = "articles.msgpack", "manifest.json", ".unfinished"

log = structlog.get_logger()


class FileMark(msgspec.Struct, frozen=True):
    size: int
    digest: str


class Manifest(msgspec.Struct, frozen=True):
    generation: str
    schema: int
    analyser: int
    passages: int
    """corpus.passages.FORMAT."""
    centre: HelpCentre
    languages: tuple[str, ...]
    articles: int
    rows: int
    files: dict[str, FileMark]


class GenerationStore:
    """One folder of generations, and the snapshot of the current one: a Retriever.

    `passage_format`: how articles are split; a generation of another one is rebuilt."""

    def __init__(self, folder: Path, public_url: str = "", passage_format: int = 0) -> None:
        self._folder = folder / "generations"
        self._public_url, self._passage_format = public_url, passage_format
        self._snapshot: CorpusSnapshot | None = None

    def current(self) -> CorpusSnapshot:
        if self._snapshot is None:
            raise CorpusError("the corpus is not indexed yet")
        return self._snapshot

    def open_current(self) -> CorpusSnapshot | None:
        """The generation in use, also after another process swapped it. None: there is none, or it is damaged or of
        another version, and the corpus has to be published again. Half a second for 10,000 articles."""
        self._sweep()
        return self._load_current()

    def _load_current(self) -> CorpusSnapshot | None:
        for _ in range(_TRIES):
            name = self._current_name()
            if name is None or (self._snapshot is not None and self._snapshot.generation == name):
                return self._snapshot if name is not None else None
            try:
                self._snapshot = self._open(name)
            except (OSError, ValueError, msgspec.MsgspecError) as damage:
                if self._current_name() == name:  # it was not swapped away while it was read
                    log.warning("generation_unusable", generation=name, reason=str(damage))
                    return None
        return self._snapshot

    def publish(
        self,
        centre: HelpCentre,
        articles: Sequence[Article],
        progress: Progress | None = None,
        *,
        own_threshold: OwnThreshold | None = None,
    ) -> CorpusSnapshot:
        """Makes these articles the current version: nothing where nothing changed, a patch for a small change, else a
        new index. Blocks for 1 ms per new article; waits while another process publishes."""
        self._folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)  # articles for staff are in it
        self._folder.mkdir(exist_ok=True)
        with self._locked():
            before = self._load_current()
            if before is not None and before.centre == centre and list(before.catalogue.all) == list(articles):
                self._clean(before.generation)
                before.own_threshold = own_threshold
                return before
            index = before.index.patched(before.catalogue.all, articles) if before else None
            snapshot = self._swap_in(centre, articles, index or LexicalIndex.build(articles, progress))
        snapshot.own_threshold = own_threshold
        self._snapshot = snapshot
        return snapshot

    def _swap_in(self, centre: HelpCentre, articles: Sequence[Article], index: LexicalIndex) -> CorpusSnapshot:
        name = self._next_name()
        folder = self._folder / f"{name}{_UNFINISHED}"
        folder.mkdir()
        (folder / _ARTICLES).write_bytes(msgspec.msgpack.encode(articles))
        index.save(folder)
        files = {file.name: _mark(file) for file in sorted(folder.iterdir())}
        rows = len(index.postings.lengths)
        versions = SCHEMA, ANALYSER, self._passage_format
        manifest = Manifest(name, *versions, centre, index.languages, len(articles), rows, files)
        _write_manifest(folder / _MANIFEST, manifest)
        folder.rename(self._folder / name)
        pointer = self._folder / f"current{_UNFINISHED}"
        pointer.write_text(name)
        os.replace(pointer, self._folder / "current")
        self._clean(name)
        return self._open(name, articles)

    def _open(self, name: str, articles: Sequence[Article] | None = None) -> CorpusSnapshot:
        """Raises OSError, ValueError or MsgspecError where the generation cannot be used."""
        folder = self._folder / name
        manifest = _read_manifest(folder / _MANIFEST)
        versions = manifest.schema, manifest.analyser, manifest.passages
        if manifest.generation != name or versions != (SCHEMA, ANALYSER, self._passage_format):
            raise ValueError("made by another version")
        if articles is None:
            for file, mark in manifest.files.items():
                if _mark(folder / file) != mark:
                    raise ValueError(f"{file} is damaged")
            articles = msgspec.msgpack.decode((folder / _ARTICLES).read_bytes(), type=list[Article])
        index = LexicalIndex.open(folder, manifest.languages)
        return CorpusSnapshot(name, Catalogue(manifest.centre, articles, self._public_url), index)

    def _current_name(self) -> str | None:
        try:
            name = (self._folder / "current").read_text().strip()
        except (OSError, ValueError):
            return None
        return name if name and "/" not in name and not name.startswith(".") else None

    def _next_name(self) -> str:
        """Never one that was used before, so that a name always means one content."""
        numbers = (entry.name.split("-")[0] for entry in self._folder.iterdir())
        last = max((int(number) for number in numbers if number.isdigit()), default=0)
        return f"{last + 1:06d}-{os.urandom(4).hex()}"

    def _clean(self, current: str) -> None:
        """Other generations and what a kill left behind. Who still has one open keeps its mapped files."""
        for entry in self._folder.iterdir():
            if entry.is_dir() and entry.name != current:
                shutil.rmtree(entry, ignore_errors=True)

    def _sweep(self) -> None:
        """What a kill left behind, unless a publication is at work on it."""
        name = self._current_name()
        if name is not None and len([entry for entry in self._folder.iterdir() if entry.is_dir()]) > 1:
            with suppress(BlockingIOError), self._locked(fcntl.LOCK_NB):
                self._clean(self._current_name() or name)

    @contextmanager
    def _locked(self, how: int = 0) -> Iterator[None]:
        with (self._folder / "lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | how)
            yield


def _mark(file: Path) -> FileMark:
    with file.open("rb") as stream:
        digest = blake2b(digest_size=16)
        while block := stream.read(1 << 20):
            digest.update(block)
        return FileMark(stream.tell(), digest.hexdigest())


def _write_manifest(file: Path, manifest: Manifest) -> None:
    """Two lines: the manifest, and the hash of that line."""
    line = msgspec.json.encode(manifest)
    file.write_bytes(line + b"\n" + blake2b(line, digest_size=16).hexdigest().encode() + b"\n")


def _read_manifest(file: Path) -> Manifest:
    line, _, digest = file.read_bytes().partition(b"\n")
    if blake2b(line, digest_size=16).hexdigest().encode() != digest.strip():
        raise ValueError("the manifest is damaged")
    return msgspec.json.decode(line, type=Manifest)
