"""Deleted text leaves the SQLite files: the full-text index is rewritten without it, in pieces.

FTS5 keeps the words of deleted rows until their segments are merged. (PostgreSQL's vacuum does its own.)
"""

from __future__ import annotations

from sqlalchemy import Connection, Integer, delete, select, text
from sqlalchemy.dialects.sqlite import insert

from refdesk.adapters.sql_tables import marks

PURGE = "purge"
PAGES = 500
"""Index pages rewritten per transaction (some 20 ms), so that turns come in between."""

MERGE = text("INSERT INTO turn_search (turn_search, rank) VALUES ('merge', :pages)")
CHANGES = text("SELECT total_changes()")


def mark(connection: Connection) -> None:
    """In the same transaction as the deletion, so that a crash forgets nothing. Nothing to do on PostgreSQL."""
    if connection.dialect.name != "sqlite":
        return
    count = marks.c.value.cast(Integer) + 1
    first = insert(marks).values(name=PURGE, value="1")
    connection.execute(first.on_conflict_do_update(index_elements=["name"], set_={"value": count}))


def wanted(connection: Connection) -> str | None:
    return connection.execute(select(marks.c.value).where(marks.c.name == PURGE)).scalar()


def merge_words(connection: Connection, *, first: bool) -> bool:
    """True while there is more to do. The first call of a purge gathers all segments (a negative count)."""
    before: int = connection.execute(CHANGES).scalar_one()
    connection.execute(MERGE, {"pages": -PAGES if first else PAGES})
    after: int = connection.execute(CHANGES).scalar_one()
    return first or after - before >= 2


def done(connection: Connection, *, mark: str | None) -> None:
    """Unless something was deleted since the purge began."""
    connection.execute(delete(marks).where(marks.c.name == PURGE, marks.c.value == mark))
