"""The conversation log: which turns a filter lets through, page by page. Jobs, see sql_database.

Rows are numbered in order of asking, so a page ends at a number, whatever is deleted or added meanwhile.
"""

from __future__ import annotations

from typing import Any

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    column,
    false,
    func,
    select,
    table,
    text,
)

from refdesk.adapters.cursors import from_cursor, to_cursor
from refdesk.adapters.search_words import fts5_query, tsquery, words
from refdesk.adapters.sql_tables import conversations, tags, turns, utc_text, verdicts, visitors
from refdesk.adapters.sql_turns import BODIES, STORED, stored_turn
from refdesk.domain.console import LogEntry, LogFilter, LoggedTurn, LogPage, TurnPage
from refdesk.errors import RequestError

search = table("turn_search", column("seq"), column("words"), column("rowid"))
CHUNK = 200
"""Turns looked at together, until a page is full of conversations."""

ENTRY = (
    turns.c.seq,
    *STORED,
    turns.c.conversation_id,
    conversations.c.visitor_id,
    visitors.c.subject,
    conversations.c.created_at.label("begun_at"),
)
PEOPLE = BODIES.join(conversations).join(visitors)


def log(connection: Connection, wanted: LogFilter, cursor: str | None, limit: int) -> LogPage:
    """Each conversation at its newest turn that passes."""
    seqs = list(newest(connection, wanted, from_cursor(cursor) if cursor else None, limit + 1).values())
    chosen = select(*ENTRY).select_from(PEOPLE).where(turns.c.seq.in_(seqs[:limit])).order_by(turns.c.seq.desc())
    entries = with_counts(connection, connection.execute(chosen).all())
    return LogPage(entries=tuple(entries), next_cursor=to_cursor(seqs[limit - 1]) if len(seqs) > limit else None)


def newest(connection: Connection, wanted: LogFilter, end: int | None, most: int) -> dict[str, int]:
    """The next conversations, each with the number of the turn that shows it. `end`: where the page before ended."""
    found: dict[str, int] = {}
    passing, number = picked(wanted, connection.dialect.name)
    passing = passing.order_by(number.desc()).limit(CHUNK)
    below = end
    while True:
        chunk = passing if below is None else passing.where(number < below)
        rows = connection.execute(chunk).all()
        fresh = {row.conversation_id for row in rows} - found.keys()
        earlier = set() if end is None else shown_before(connection, wanted, end, fresh)
        for seq, conversation_id in rows:
            if conversation_id not in earlier:
                found.setdefault(conversation_id, seq)
        if len(rows) < CHUNK or len(found) >= most:
            return dict(list(found.items())[:most])
        below = rows[-1].seq


def shown_before(connection: Connection, wanted: LogFilter, end: int, among: set[str]) -> set[str]:
    """Which of these conversations have a newer turn that passes, and so were on an earlier page."""
    newer = select(turns.c.seq).where(turns.c.conversation_id.in_(among), turns.c.seq >= end)
    newer = newer.where(*conditions(wanted))
    seqs = connection.execute(newer).scalars().all()
    if not seqs:
        return set()
    passing, number = picked(wanted, connection.dialect.name)
    passing = passing.where(number.between(end, max(seqs)), turns.c.conversation_id.in_(among))
    return {row.conversation_id for row in connection.execute(passing)}


def exported(connection: Connection, wanted: LogFilter, cursor: str | None, limit: int) -> TurnPage:
    passing, number = picked(wanted, connection.dialect.name)
    passing = passing.order_by(number).limit(limit + 1)
    if cursor:
        passing = passing.where(number > from_cursor(cursor))
    seqs = [row.seq for row in connection.execute(passing)]
    judged = PEOPLE.outerjoin(verdicts, verdicts.c.turn_id == turns.c.id)
    chosen = (
        select(*ENTRY, verdicts.c.verdict, verdicts.c.articles)
        .select_from(judged)
        .where(turns.c.seq.in_(seqs))
        .order_by(turns.c.seq)
    )
    rows = connection.execute(chosen).all()
    return TurnPage(
        turns=tuple(map(logged, rows[:limit])),
        next_cursor=to_cursor(rows[limit - 1].seq) if len(rows) > limit else None,
    )


def logged(row: Row[*tuple[Any, ...]]) -> LoggedTurn:
    articles = tuple(msgspec.json.decode(row.articles, type=list[str])) if row.articles else ()
    return LoggedTurn(stored_turn(row), row.visitor_id, row.subject, row.verdict, articles)


def with_counts(connection: Connection, rows: Any) -> list[LogEntry]:
    ids = [row.conversation_id for row in rows]
    counted = select(turns.c.conversation_id, func.count()).where(turns.c.conversation_id.in_(ids))
    counts: dict[str, int] = {row[0]: row[1] for row in connection.execute(counted.group_by(turns.c.conversation_id))}
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


def picked(wanted: LogFilter, dialect: str) -> tuple[Select[*tuple[Any, ...]], ColumnElement[int]]:
    """Number and conversation of the turns that pass, and the column to sort and limit the numbers by: where words are
    asked for it is that of the full-text index, which so leads and stops early."""
    chosen = select(turns.c.seq, turns.c.conversation_id).where(*conditions(wanted))
    if not wanted.q.strip():
        return chosen, turns.c.seq
    asked = words(wanted.q)
    if not asked:  # `?!` is in no turn
        return chosen.where(false()), turns.c.seq
    if dialect == "sqlite":
        matching = text("turn_search MATCH :asked").bindparams(asked=fts5_query(asked))
        return chosen.select_from(search.join(turns, turns.c.seq == search.c.rowid)).where(matching), search.c.rowid
    matching = text("turn_search.words @@ CAST(:asked AS tsquery)").bindparams(asked=tsquery(asked))
    return chosen.select_from(search.join(turns, turns.c.seq == search.c.seq)).where(matching), turns.c.seq


def conditions(wanted: LogFilter) -> list[ColumnElement[bool]]:
    equal = ("status", "grounded", "rating", "kind", "language", "reason", "model_error")
    found = [turns.c[name] == getattr(wanted, name) for name in equal if getattr(wanted, name) is not None]
    if wanted.since is not None:
        found.append(turns.c.created_at >= moment(wanted.since, "from"))
    if wanted.until is not None:
        found.append(turns.c.created_at < moment(wanted.until, "to"))
    if wanted.visitor_id is not None:
        own = select(conversations.c.id).where(conversations.c.visitor_id == wanted.visitor_id)
        found.append(turns.c.conversation_id.in_(own))
    if wanted.tag is not None:
        found.append(turns.c.conversation_id.in_(select(tags.c.conversation_id).where(tags.c.tag == wanted.tag)))
    if wanted.verdict is not None:
        found.append(turns.c.id.in_(select(verdicts.c.turn_id).where(verdicts.c.verdict == wanted.verdict)))
    return found


def moment(value: str, field: str) -> str:
    try:
        return utc_text(value)
    except (ValueError, OverflowError) as error:
        raise RequestError(400, "invalid_time", f"{field}: a date or RFC 3339 time is expected", field=field) from error
