"""`refdesk gaps`: the queue of what to write next, read from the database, also while a server runs."""

from __future__ import annotations

import asyncio
import time

import msgspec

from refdesk.adapters.sql_gaps import SqlGaps
from refdesk.adapters.sql_open import open_beside
from refdesk.api.times import timestamp
from refdesk.domain.gap_queue import GapFilter, GapStatus
from refdesk.domain.gap_view import GapView, gap_view
from refdesk.domain.gaps import Cause
from refdesk.settings import Settings
from refdesk.terminal import Terminal


class GapsOrder(msgspec.Struct, frozen=True):
    """What the command line asks for."""

    status: GapStatus | None = None
    cause: Cause | None = None
    most: int = 20
    as_json: bool = False


def run_gaps(settings: Settings, terminal: Terminal, order: GapsOrder) -> int:
    """Raises DataFolderError, SettingError, StorageUnavailable."""
    views, out_of_scope = asyncio.run(read_views(settings, order))
    for view in views:
        if order.as_json:
            terminal.data(msgspec.json.encode(view).decode())
        else:
            print_view(view, terminal)
    if not order.as_json and (told := what_is_missing(len(views), out_of_scope)):
        terminal.line(told)
    return 0


def what_is_missing(shown: int, out_of_scope: int) -> str:
    """An empty list says why it is empty, and every list what it leaves out."""
    if out_of_scope:
        left_out = f"{out_of_scope} out of scope, see them with: refdesk gaps --cause out_of_scope"
        return f"And {left_out}" if shown else f"None in scope; {left_out}"
    return "" if shown else "Nothing is asked for that was not answered."


async def read_views(settings: Settings, order: GapsOrder) -> tuple[list[GapView], int]:
    """The gaps, and how many are left out as out of scope."""
    database = await open_beside(settings.data, settings.database_url)
    try:
        store = SqlGaps(database)
        page = await store.gaps(GapFilter(status=order.status, cause=order.cause), limit=order.most)
        asked = await store.asked([row.id for row in page.gaps])
        now = timestamp(time.time())
        return [gap_view(row, asked[row.id], k=settings.gaps_k, now=now) for row in page.gaps], page.out_of_scope
    finally:
        await database.close()


def print_view(view: GapView, terminal: Terminal) -> None:
    terminal.line(view.title or f"(too few visitors asked to show it: {view.id})", "bold")
    answered = f", now answered by {view.answered_by.title}" if view.answered_by is not None else ""
    state = f"{view.status}, {view.cause}{answered}"
    languages = " ".join(view.languages)
    terminal.line(f"  {view.visitors} visitors, {view.count} times, last {view.last_asked[:10]} ({languages}); {state}")
    for question in view.questions[1:3]:
        terminal.line(f"  also: {question.text}", "dim")
    for sentence in view.missing_information[:2]:
        terminal.line(f"  missing: {sentence}", "yellow")
    for article in view.nearest[:2]:
        terminal.line(f"  near: {article.title}: {article.why}", "cyan")
