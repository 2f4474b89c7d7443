"""The corpus as the server holds it: read, indexed, swapped in, and read again on demand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import structlog

from refdesk.corpus.pages import ArticlePages, Edition
from refdesk.corpus.passages import FORMAT
from refdesk.corpus.report import CorpusReading
from refdesk.corpus.sync import read_corpus
from refdesk.dense_service import Backend, DenseService
from refdesk.domain.articles import Article, Roles
from refdesk.errors import CorpusError, DataFolderError, MassDeletion, RequestError, StorageUnavailable
from refdesk.ports import ArticleArchive
from refdesk.retrieval.generation import GenerationStore
from refdesk.retrieval.search import CorpusSnapshot
from refdesk.threshold import own_threshold

log = structlog.get_logger()

Progress: TypeAlias = Callable[[int, int, str], None]


class Library:
    """A Retriever, and the console's syncing. One sync at a time; a reader keeps the version that it began with."""

    def __init__(
        self,
        corpus: Path,
        data: Path,
        public_url: str = "",
        progress: Progress | None = None,
        backend: Callable[[], Backend] | None = None,
        *,
        archive: ArticleArchive | None = None,
    ) -> None:
        """`backend` None: words only. `archive`: where every version is kept that was ever served."""
        self._corpus, self._data, self._progress = corpus, data, progress
        self._generations = GenerationStore(data, public_url, FORMAT)
        self.dense = DenseService(backend, self._generations.current) if backend else None
        self._report: dict[str, Any] | None = None
        self._lock = asyncio.Lock()
        self._pages = ArticlePages(corpus)
        self._step: tuple[int, int, str] | None = None
        self._archive = archive
        self._kept: str | None = None
        """The generation whose texts are in the archive."""

    def current(self) -> CorpusSnapshot:
        return self._generations.current()

    # --- reading the folder ---

    async def open(self, *, force: bool = False) -> dict[str, Any]:
        """The last generation, brought up to date. A corpus that cannot be read stops the start; so does the guard
        against mass deletion, for an unmounted folder must not become an empty help centre."""
        with self._writing():
            await asyncio.to_thread(self._generations.open_current)
        return await self._run(force=force)

    async def sync(self, *, force: bool = False) -> dict[str, Any]:
        await self._keep_new_versions()
        try:
            report = await self._run(force=force)
            await self._keep_new_versions()
            return report
        except (CorpusError, DataFolderError) as error:
            status, code = refusal(error)
            self._report = {"status": "failed", "code": code, "detail": str(error), "finished_at": now()}
            log.error("sync failed", code=code, detail=str(error))
            detail = "The corpus was not synced; the last report names the reason."
            raise RequestError(status, code, detail, retry_after=60 if status == 503 else None) from error

    async def _run(self, *, force: bool) -> dict[str, Any]:
        async with self._lock:
            started = time.perf_counter()
            self._step = (0, 0, "")
            try:
                reading = await asyncio.to_thread(self._read_and_publish, force)
            finally:
                self._step = None
            self._report = {
                "status": "done",
                "generation": self.current().generation,
                "articles": len(reading.articles),
                "seconds": round(time.perf_counter() - started, 3),
                "finished_at": now(),
                "gate": gate_of(self.current()),
                **msgspec.to_builtins(reading.report),
            }
            self._log(reading)
            if self.dense is not None:
                self.dense.refresh()
            return self._report

    async def _keep_new_versions(self) -> None:
        """Before others take their place, and as soon as they have taken it."""
        if self._kept != self.current().generation:
            await self.keep_versions()

    async def keep_versions(self) -> None:
        if self._archive is None:
            return
        snapshot = self.current()
        try:
            await self._archive.keep_articles(snapshot.catalogue.all, at=now())
            self._kept = snapshot.generation
        except StorageUnavailable as error:
            log.warning("versions of articles are not kept yet", error=str(error))

    def _read_and_publish(self, force: bool) -> CorpusReading:
        reading = read_corpus(self._corpus, self._articles(), self._tell, force=force)
        with self._writing():
            own = own_threshold(self._data)
            self._generations.publish(reading.centre, reading.articles, self._indexing, own_threshold=own)
        return reading

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A full disk or a folder that cannot be used is a matter of the data folder, not a fault of ours."""
        try:
            yield
        except OSError as error:
            why = f"the index cannot be written or read ({error.strerror or error})"
            raise DataFolderError(f"data folder {self._data}: {why}") from error

    def _indexing(self, done: int, total: int) -> None:
        self._tell(done, total, "indexing articles")

    def _tell(self, done: int, total: int, what: str) -> None:
        self._step = (done, total, what)
        if self._progress is not None:
            self._progress(done, total, what)

    def _articles(self) -> tuple[Article, ...]:
        try:
            return self._generations.current().catalogue.all
        except CorpusError:
            return ()

    def _log(self, reading: CorpusReading) -> None:
        report = reading.report
        log.info(
            "sync",
            articles=len(reading.articles),
            added=len(report.added),
            changed=len(report.changed),
            removed=len(report.removed),
            withheld=len(report.withheld),
        )
        for notice in report.withheld:
            log.warning("file withheld", path=notice.path, line=notice.line, reason=notice.reason)

    def last_report(self) -> dict[str, Any] | None:
        return self._report

    def under_way(self) -> tuple[int, int, str] | None:
        return self._step

    def readiness(self) -> dict[str, Any]:
        try:
            snapshot = self._generations.current()
        except CorpusError:
            return {"corpus": "unavailable", "index": "unavailable"}
        dense = self.dense.state if self.dense is not None else {"status": "off"}
        articles = len(snapshot.catalogue.all)
        facts = {"index": snapshot.generation, "articles": articles, "dense": dense, "gate": gate_of(snapshot)}
        return {"corpus": "ok", **facts}

    # --- what pages show ---

    async def article_html(self, article: Article, roles: Roles, *, with_title: bool = True) -> str:
        known = self.current().catalogue.known_roles(roles)
        return await self._pages.html(self._edition(), article, known, with_title=with_title)

    async def image(self, path: str, roles: Roles) -> tuple[bytes, str] | None:
        found = await self._pages.image(self._edition(), path, roles)
        return None if found is None else (found.data, found.media_type)

    def _edition(self) -> Edition:
        snapshot = self.current()
        return Edition(snapshot.generation, snapshot.catalogue.all)

    # --- life ---

    def begin_background(self) -> None:
        if self.dense is not None:
            self.dense.begin()

    async def close(self) -> None:
        self._pages.close()
        if self.dense is not None:
            await self.dense.close()


def refusal(error: CorpusError | DataFolderError) -> tuple[int, str]:
    """Status and code of a sync that failed."""
    if isinstance(error, DataFolderError):
        return 503, "storage_unavailable"
    return 409, "mass_deletion" if isinstance(error, MassDeletion) else "corpus_unreadable"


def gate_of(snapshot: CorpusSnapshot) -> dict[str, Any]:
    """What decides about refusals just now, for health and console. `own`: the owner's choice, if there is one."""
    return {
        "threshold": snapshot.threshold,
        "evidence": "words" if snapshot.dense is None else "vectors",
        "own": msgspec.to_builtins(snapshot.own_threshold),
    }


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
