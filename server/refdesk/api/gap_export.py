"""Taking the docs-gap queue out, all of it: CSV for spreadsheets, JSON lines for programs."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from refdesk.api.gaps import view_of
from refdesk.api.services import Services
from refdesk.domain.gap_queue import CAUSES, STATUSES, GapFilter
from refdesk.domain.gap_view import GapView
from refdesk.text.spreadsheet import BOM, csv_line

COLUMNS = (
    "id", "status", "cause", "title", "count", "visitors", "first_asked", "last_asked", "languages", "questions",
    "missing_information", "nearest", "hidden", "assignee", "article", "answered_by", "created_at", "closed_at",
)  # fmt: skip


async def all_gaps(services: Services) -> AsyncIterator[GapView]:
    """Of every status and cause, page by page."""
    for status in STATUSES:
        for cause in CAUSES:
            cursor = None
            while True:
                page = await services.gaps.store.gaps(GapFilter(status=status, cause=cause), cursor=cursor)
                asked = await services.gaps.store.asked([row.id for row in page.gaps])
                for row in page.gaps:
                    yield view_of(services, row, asked[row.id])
                cursor = page.next_cursor
                if cursor is None:
                    break


def cells(view: GapView) -> list[str]:
    row: dict[str, Any] = {
        **{name: getattr(view, name) for name in COLUMNS if hasattr(view, name)},
        "languages": " ".join(view.languages),
        "questions": "\n".join(question.text for question in view.questions),
        "missing_information": "\n".join(view.missing_information),
        "nearest": " ".join(article.id for article in view.nearest),
        "answered_by": view.answered_by.article_id if view.answered_by is not None else None,
    }
    return ["" if row[name] is None else str(row[name]) for name in COLUMNS]


async def csv_lines(services: Services) -> AsyncIterator[bytes]:
    yield (BOM + csv_line(list(COLUMNS))).encode()
    async for view in all_gaps(services):
        yield csv_line(cells(view)).encode("utf-8", "replace")


async def json_lines(services: Services) -> AsyncIterator[bytes]:
    async for view in all_gaps(services):
        yield msgspec.json.encode(view) + b"\n"
