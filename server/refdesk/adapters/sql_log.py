"""The conversation log: which turns a filter lets through, page by page. Jobs, see sql_database.

Rows are numbered in order of asking, so a page ends at a number, whatever is deleted or added meanwhile.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Row,
    Select,
    column,
    exists,
    false,
    func,
    literal_column,
    select,
    table,
    text,
)

from refdesk.adapters.cursors import from_cursor, to_cursor
from refdesk.adapters.search_words import fts5_query, tsquery, words
from refdesk.adapters.sql_tables import conversations, tags, turns, verdicts, visitors
from refdesk.adapters.sql_turns import STORED, stored_turn
from refdesk.domain.console import LogEntry, LogFilter, LoggedTurn, LogPage, TurnPage

later = turns.alias("later")
search = table("turn_search", column("seq"), column("words"), column("rowid"))

ENTRY = (
    turns.c.seq,
    *STORED,
    turns.c.conversation_id,
    conversations.c.visitor_id,
    visitors.c.subject,
    conversations.c.created_at.label("begun_at"),
)


def log(connection: Connection, wanted: LogFilter, cursor: str | None, limit: int) -> LogPage:
    """Each conversation at its newest turn that passes: no later turn of it does."""
    dialect = connection.dialect.name
    is_later = (later.c.conversation_id == turns.c.conversation_id) & (later.c.seq > turns.c.seq)
    chosen = select(turns.c.seq).where(*conditions(wanted, turns, dialect))
    chosen = chosen.where(~exists().where(is_later, *conditions(wanted, later, dialect)))
    if cursor:
        chosen = chosen.where(turns.c.seq < from_cursor(cursor))
    seqs = connection.execute(chosen.order_by(turns.c.seq.desc()).limit(limit + 1)).scalars().all()
    rows = connection.execute(people(select(*ENTRY)).where(turns.c.seq.in_(seqs[:limit])).order_by(turns.c.seq.desc()))
    entries = with_counts(connection, rows.all())
    return LogPage(entries=tuple(entries), next_cursor=to_cursor(seqs[limit - 1]) if len(seqs) > limit else None)


def exported(connection: Connection, wanted: LogFilter, cursor: str | None, limit: int) -> TurnPage:
    picked = people(select(*ENTRY, verdicts.c.verdict)).outerjoin(verdicts, verdicts.c.turn_id == turns.c.id)
    picked = picked.where(*conditions(wanted, turns, connection.dialect.name))
    if cursor:
        picked = picked.where(turns.c.seq > from_cursor(cursor))
    rows = connection.execute(picked.order_by(turns.c.seq).limit(limit + 1)).all()
    logged = (LoggedTurn(stored_turn(row), row.visitor_id, row.subject, row.verdict) for row in rows[:limit])
    return TurnPage(turns=tuple(logged), next_cursor=to_cursor(rows[limit - 1].seq) if len(rows) > limit else None)


def people(statement: Select[Any]) -> Select[Any]:
    return statement.select_from(turns).join(conversations).join(visitors)


def with_counts(connection: Connection, rows: Any) -> list[LogEntry]:
    ids = [row.conversation_id for row in rows]
    counted = select(turns.c.conversation_id, func.count()).where(turns.c.conversation_id.in_(ids))
    counts: dict[str, int] = dict(connection.execute(counted.group_by(turns.c.conversation_id)).tuples().all())
    tagged: dict[str, list[str]] = {}
    chosen = select(tags.c.conversation_id, tags.c.tag).where(tags.c.conversation_id.in_(ids)).order_by(tags.c.tag)
    for conversation_id, tag in connection.execute(chosen):
        tagged.setdefault(conversation_id, []).append(tag)
    return [entry(row, counts[row.conversation_id], tagged.get(row.conversation_id, [])) for row in rows]


def entry(row: Row[*tuple[Any, ...]], count: int, tagged: list[str]) -> LogEntry:
    return LogEntry(
        conversation_id=row.conversation_id,
        visitor_id=row.visitor_id,
        subject=row.subject,
        created_at=row.begun_at,
        turns=count,
        turn=stored_turn(row).turn,
        tags=tuple(tagged),
    )


# --- the filter ------------------------------------------------------------------------------


def conditions(wanted: LogFilter, of: FromClause, dialect: str) -> list[ColumnElement[bool]]:
    equal = ("status", "grounded", "rating", "kind", "language")
    found = [of.c[name] == getattr(wanted, name) for name in equal if getattr(wanted, name) is not None]
    if wanted.since is not None:
        found.append(of.c.created_at >= wanted.since)
    if wanted.until is not None:
        found.append(of.c.created_at < wanted.until)
    if wanted.visitor_id is not None:
        own = select(conversations.c.id).where(conversations.c.visitor_id == wanted.visitor_id)
        found.append(of.c.conversation_id.in_(own))
    if wanted.tag is not None:
        found.append(of.c.conversation_id.in_(select(tags.c.conversation_id).where(tags.c.tag == wanted.tag)))
    if wanted.verdict is not None:
        found.append(of.c.id.in_(select(verdicts.c.turn_id).where(verdicts.c.verdict == wanted.verdict)))
    if wanted.q.strip():
        found.append(of.c.seq.in_(matching(wanted.q, dialect)))
    return found


def matching(q: str, dialect: str) -> Select[Any]:
    """Numbers of the turns that hold every word of q; a q without any word (`?!`) is in none."""
    asked = words(q)
    if not asked:
        return select(literal_column("0")).where(false())
    if dialect == "sqlite":
        return select(search.c.rowid).where(literal_column("turn_search").op("MATCH")(fts5_query(asked)))
    return select(search.c.seq).where(text("words @@ CAST(:asked AS tsquery)").bindparams(asked=tsquery(asked)))
