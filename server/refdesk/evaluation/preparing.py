"""A help centre that is ready to be measured: read, indexed, with its vectors, over a database that is thrown away."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import blake2b
from pathlib import Path

from refdesk.app import Parts, close_parts, open_parts
from refdesk.errors import DataFolderError
from refdesk.library import Library
from refdesk.settings import Settings
from refdesk.terminal import Terminal

LOOK_SECONDS = 0.2
"""Between two looks at how far the vectors are."""


def cache_folder(corpus: Path) -> Path:
    """One for each corpus folder, so that a second measurement need not embed again. Raises DataFolderError."""
    digest = blake2b(str(corpus.resolve()).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    folder = Path.home() / ".cache" / "refdesk" / digest
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataFolderError(f"{folder} cannot be made ({error.strerror}); name another one with --data") from error
    return folder


@asynccontextmanager
async def prepared(settings: Settings, terminal: Terminal) -> AsyncIterator[Parts]:
    """All parts of a server but its port. The server's own database is never opened."""
    with tempfile.TemporaryDirectory(prefix="refdesk-") as folder:
        parts = await open_parts(settings, terminal.progress, database_folder=Path(folder))
        try:
            await vectors(parts.library, terminal)
            yield parts
        finally:
            await close_parts(parts)


async def vectors(library: Library, terminal: Terminal) -> None:
    """Waits for them, so that search and gate are those of a server that has settled, and says so where it takes time
    and where they cannot be had."""
    if library.dense is None:
        return
    waiting = asyncio.ensure_future(library.dense.ready())
    shown = 0
    while not waiting.done():
        state = library.dense.state
        if state["status"] == "building" and state["total"]:
            if not shown:
                terminal.note("Vectors of this corpus are built first, as a server does behind its open port.")
            shown = state["total"]
            terminal.progress(min(state["done"], shown - 1), shown, "embedding passages")
        await asyncio.wait([waiting], timeout=LOOK_SECONDS)
    if shown:
        terminal.progress(shown, shown, "embedding passages")
    await waiting
    if library.dense.state["status"] == "failed":
        terminal.warn(f"search by meaning failed, by words only: {library.dense.state['detail']}")
