"""The queue as it is read: pages, single gaps, their questions, notes and history. Jobs, see sql_database."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, Select, and_, exists, func, or_, select

from refdesk.adapters.sql_tables import conversations, gap_history, gap_notes, gap_questions, gaps, turns
from refdesk.domain.console import Note
from refdesk.domain.gap_queue import (
    OFF_TOPIC,
    WAITING,
    Answer,
    Asked,
    GapBody,
    GapEvent,
    GapFilter,
    GapPage,
    GapRow,
    InQueue,
)
from refdesk.errors import RequestError

CURSOR = re.compile(r"([0-9]{1,12})\|([0-9TZ:.\-]{1,40})\|([A-Za-z0-9_\-]{1,64})")

_body_decoder = msgspec.json.Decoder(GapBody)

ASKED = gap_questions.join(turns, turns.c.seq == gap_questions.c.seq).join(conversations)
COUNTED = (
    select(
        gap_questions.c.gap_id,
        func.count().label("count"),
        func.count(conversations.c.visitor_id.distinct()).label("visitors"),
        func.min(gap_questions.c.asked_at).label("first_asked"),
        func.max(gap_questions.c.asked_at).label("last_asked"),
    )
    .select_from(ASKED)
    .group_by(gap_questions.c.gap_id)
)


def rows(counted: Select[*tuple[Any, ...]]) -> tuple[Select[*tuple[Any, ...]], Any]:
    """Gaps with their figures, and the figures to sort by."""
    figures = counted.subquery("figures")
    columns = (figures.c[name] for name in ("count", "visitors", "first_asked", "last_asked"))
    return select(gaps, *columns).join(figures, figures.c.gap_id == gaps.c.id), figures.c


def page(connection: Connection, wanted: GapFilter, cursor: str | None, limit: int) -> GapPage:
    chosen, figure = rows(COUNTED)
    chosen = chosen.where(*but_for_cause(wanted))
    chosen = chosen.where(gaps.c.cause == wanted.cause if wanted.cause else gaps.c.cause != OFF_TOPIC)
    if cursor:
        visitors, last, gap_id = from_cursor(cursor)
        same = figure.visitors == visitors
        chosen = chosen.where(
            or_(
                figure.visitors < visitors,
                and_(same, figure.last_asked < last),
                and_(same, figure.last_asked == last, gaps.c.id > gap_id),
            )
        )
    order = (figure.visitors.desc(), figure.last_asked.desc(), gaps.c.id)
    found = list(map(as_gap, connection.execute(chosen.order_by(*order).limit(limit + 1)).all()))
    more = to_cursor(found[limit - 1]) if len(found) > limit else None
    return GapPage(tuple(found[:limit]), more, out_of_scope(connection, wanted))


def but_for_cause(wanted: GapFilter) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [gaps.c.status.in_([wanted.status] if wanted.status else WAITING)]
    return found if wanted.assignee is None else [*found, gaps.c.assignee == wanted.assignee]


def out_of_scope(connection: Connection, wanted: GapFilter) -> int:
    if wanted.cause is not None:
        return 0
    asked = exists().where(gap_questions.c.gap_id == gaps.c.id)
    counted = select(func.count()).select_from(gaps).where(*but_for_cause(wanted), gaps.c.cause == OFF_TOPIC, asked)
    return int(connection.execute(counted).scalar() or 0)


def in_queue(connection: Connection, conversation_id: str) -> dict[str, InQueue]:
    """By turn."""
    columns = (turns.c.id, gap_questions.c.cause, gap_questions.c.gap_id, gaps.c.cause.label("gap_cause"))
    chosen = select(*columns).select_from(
        gap_questions.join(turns, turns.c.seq == gap_questions.c.seq).outerjoin(
            gaps, gaps.c.id == gap_questions.c.gap_id
        )
    )
    found = connection.execute(chosen.where(turns.c.conversation_id == conversation_id))
    return {row.id: InQueue(row.cause, row.gap_id, row.gap_cause) for row in found}


def to_cursor(gap: GapRow) -> str:
    return base64.urlsafe_b64encode(f"{gap.visitors}|{gap.last_asked}|{gap.id}".encode()).decode().rstrip("=")


def from_cursor(cursor: str) -> tuple[int, str, str]:
    """Raises RequestError 400: not one of ours."""
    try:
        found = CURSOR.fullmatch(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode("ascii"))
    except ValueError:
        found = None
    if found is None:
        raise RequestError(400, "invalid_cursor", "cursor: take it from next_cursor of the page before", field="cursor")
    return int(found[1]), found[2], found[3]


def real_id(connection: Connection, gap_id: str) -> str:
    """Where the gap's questions are now."""
    into = connection.execute(select(gaps.c.merged_into).where(gaps.c.id == gap_id)).scalar()
    return into if into is not None else gap_id


def one(connection: Connection, gap_id: str) -> GapRow | None:
    """Also one that has no questions left."""
    real = real_id(connection, gap_id)
    chosen, _ = rows(COUNTED.where(gap_questions.c.gap_id == real))
    row = connection.execute(chosen).first()
    if row is not None:
        return as_gap(row)
    bare = connection.execute(select(gaps).where(gaps.c.id == real)).first()
    return as_gap(bare) if bare is not None else None


def as_gap(row: Row[*tuple[Any, ...]]) -> GapRow:
    found = dict(row._mapping)
    answered = found["answered_by"]
    return GapRow(
        **{name: found[name] for name in ("id", "created_at", "status", "cause", "assignee", "article", "closed_at")},
        held=bool(found["held"]),
        answered_by=msgspec.json.decode(answered, type=Answer) if answered else None,
        count=found.get("count", 0),
        visitors=found.get("visitors", 0),
        first_asked=found.get("first_asked", found["created_at"]),
        last_asked=found.get("last_asked", found["created_at"]),
    )


ASKED_COLUMNS = (
    gap_questions.c.gap_id,
    turns.c.id.label("turn_id"),
    turns.c.conversation_id,
    conversations.c.visitor_id,
    *(gap_questions.c[name] for name in ("asked_at", "language", "cause", "question", "wording", "body")),
)


def asked(connection: Connection, gap_ids: Sequence[str]) -> dict[str, list[Asked]]:
    """A page of the queue has thousands: rows are taken apart by place, not by name, which costs twice the time."""
    chosen = select(*ASKED_COLUMNS).select_from(ASKED).where(gap_questions.c.gap_id.in_(gap_ids))
    found = connection.execute(chosen.order_by(gap_questions.c.seq.desc())).all()
    people: dict[str, set[str]] = {}
    for _, _, _, visitor, _, _, _, _, wording, _ in found:
        people.setdefault(wording, set()).add(visitor)
    questions: dict[str, list[Asked]] = {gap_id: [] for gap_id in gap_ids}
    for gap_id, turn, talk, _, at, language, cause, question, wording, body in found:
        known = _body_decoder.decode(body)
        questions[gap_id].append(Asked(turn, talk, at, language, cause, question, wording, known, len(people[wording])))
    return questions


def notes(connection: Connection, gap_id: str) -> list[Note]:
    chosen = select(gap_notes).where(gap_notes.c.gap_id == real_id(connection, gap_id)).order_by(gap_notes.c.seq)
    return [Note(row.author, row.created_at, row.text) for row in connection.execute(chosen)]


def history(connection: Connection, gap_id: str) -> list[GapEvent]:
    chosen = select(gap_history).where(gap_history.c.gap_id == real_id(connection, gap_id)).order_by(gap_history.c.seq)
    found = connection.execute(chosen)
    return [GapEvent(row.at, row.actor, row.what, msgspec.json.decode(row.detail)) for row in found]
