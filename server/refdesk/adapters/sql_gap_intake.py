"""How turns become questions of gaps, and questions are put into their gaps. Jobs, see sql_database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import msgspec
from sqlalchemy import Connection, delete, exists, func, insert, select, text, update

from refdesk.adapters import sql_outbox
from refdesk.adapters.sql_tables import (
    conversations,
    gap_history,
    gap_pins,
    gap_questions,
    gaps,
    marks,
    turns,
)
from refdesk.adapters.sql_turns import BODIES, STORED, stored_turn
from refdesk.domain.gap_queue import (
    Fresh,
    Happened,
    Pile,
    PiledWording,
    Regrouping,
    Unanswered,
)
from refdesk.domain.gaps import common_cause

VERSION, CHECKED = "gaps_version", "gaps_checked"
TOGETHER = 400
"""Ids in one statement: a database takes only so many parameters."""

TO_LOOK_AT = text("NOT turns.looked_at")
"""In the words of the partial index, which SQLite uses for no others: without it every look reads every turn."""
WAITING = select(turns.c.seq).where(TO_LOOK_AT, turns.c.status != "running").order_by(turns.c.seq)

BUMP = text(
    "INSERT INTO marks (name, value) VALUES ('gaps_version', '1')"
    " ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(marks.value AS INTEGER) + 1 AS TEXT)"
)
SET_CHECKED = text(
    "INSERT INTO marks (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


def bump(connection: Connection) -> None:
    """Something was done to gaps. Holds the row until the end of the transaction, so that two never work at once."""
    connection.execute(BUMP)


def version(connection: Connection, *, hold: bool = False) -> int:
    found = select(marks.c.value).where(marks.c.name == VERSION)
    return int(connection.execute(found.with_for_update() if hold else found).scalar() or 0)


def checked(connection: Connection) -> str:
    return connection.execute(select(marks.c.value).where(marks.c.name == CHECKED)).scalar() or ""


def set_checked(connection: Connection, state: str) -> None:
    connection.execute(SET_CHECKED, {"name": CHECKED, "value": state})


def pieces(values: Sequence[Any]) -> Iterable[Sequence[Any]]:
    return (values[start : start + TOGETHER] for start in range(0, len(values), TOGETHER))


# --- from turns to questions -----------------------------------------------------------------


def fresh(connection: Connection, limit: int) -> list[Fresh]:
    """Turns that may be gaps: which are none was said when they ended, see sql_turns.finish."""
    seqs = connection.execute(WAITING.limit(limit)).scalars().all()
    if not seqs:
        return []
    columns = (turns.c.seq, conversations.c.visitor_id, *STORED)
    chosen = select(*columns).select_from(BODIES.join(conversations)).where(turns.c.seq.in_(seqs))
    return [
        Fresh(row.seq, row.visitor_id, stored_turn(row)) for row in connection.execute(chosen.order_by(turns.c.seq))
    ]


def take_in(connection: Connection, seqs: Sequence[int], questions: Sequence[Unanswered]) -> None:
    """All or nothing: where another server has had one of the turns, the whole batch is read again."""
    held = select(turns.c.seq).where(turns.c.seq.in_(seqs), TO_LOOK_AT).with_for_update()
    there = set(connection.execute(held).scalars())
    if (
        there != set(seqs)
        and connection.execute(select(turns.c.seq).where(turns.c.seq.in_(seqs), turns.c.looked_at).limit(1)).first()
    ):
        return
    rows = [
        {**{name: getattr(asked, name) for name in ("seq", "wording", "asked_at", "language", "cause", "question")},
         "body": msgspec.json.encode(asked.body).decode()}
        for asked in questions if asked.seq in there
    ]  # fmt: skip
    if rows:
        connection.execute(insert(gap_questions), rows)
        bump(connection)
    connection.execute(update(turns).where(turns.c.seq.in_(seqs)).values(looked_at=True))


# --- from questions to gaps ------------------------------------------------------------------


def pile(connection: Connection, limit: int) -> Pile:
    newest = func.max(gap_questions.c.seq)
    visitors = func.count(conversations.c.visitor_id.distinct())
    grouped = (
        select(gap_questions.c.wording, newest.label("newest"), visitors.label("visitors"))
        .select_from(gap_questions.join(turns, turns.c.seq == gap_questions.c.seq).join(conversations))
        .group_by(gap_questions.c.wording)
        .order_by(newest.desc())
    )
    number = version(connection)
    known = {row.wording: row for row in connection.execute(grouped.limit(limit))}
    lost = select(gap_questions.c.wording).where(gap_questions.c.gap_id.is_(None)).distinct()
    missing = [wording for wording in connection.execute(lost).scalars() if wording not in known]
    for some in pieces(missing):
        known |= {row.wording: row for row in connection.execute(grouped.where(gap_questions.c.wording.in_(some)))}
    return Pile(number, tuple(piled(connection, known)))


def pin_key(wording: str) -> str:
    """A pin outlives the questions of its wording, so it holds none of their words: what was erased stays erased."""
    return blake2b(wording.encode(), digest_size=16).hexdigest()


def piled(connection: Connection, known: Mapping[str, Any]) -> list[PiledWording]:
    """Each wording by its newest question; its gap is that of any question which has one."""
    pins = {row.wording: row.gap_id for row in connection.execute(select(gap_pins))}
    found: list[PiledWording] = []
    for some in pieces(list(known)):
        chosen = select(gap_questions.c.wording, func.max(gap_questions.c.gap_id)).where(
            gap_questions.c.wording.in_(some)
        )
        rows = connection.execute(chosen.group_by(gap_questions.c.wording)).all()
        gap_of: dict[str, str | None] = {row[0]: row[1] for row in rows}
        held = set(
            connection.execute(select(gaps.c.id).where(gaps.c.id.in_(set(gap_of.values())), gaps.c.held)).scalars()
        )
        seqs = [known[wording].newest for wording in some]
        for row in connection.execute(select(gap_questions).where(gap_questions.c.seq.in_(seqs))):
            gap_id = gap_of[row.wording]
            found.append(
                PiledWording(
                    wording=row.wording,
                    question=row.question,
                    language=row.language,
                    gap_id=gap_id,
                    held=gap_id in held,
                    visitors=known[row.wording].visitors,
                    pin=pins.get(pin_key(row.wording)),
                )
            )
    return sorted(found, key=lambda wording: known[wording.wording].newest)


def regroup(connection: Connection, regrouping: Regrouping) -> list[Happened] | None:
    if version(connection, hold=True) != regrouping.version:
        return None
    bump(connection)
    at, wanted = regrouping.at, set(regrouping.gaps.values())
    states = select(gaps.c.id, gaps.c.status, gaps.c.closed_at)
    status = {
        row.id: row for some in pieces(list(wanted)) for row in connection.execute(states.where(gaps.c.id.in_(some)))
    }
    new = [gap_id for gap_id in dict.fromkeys(regrouping.gaps.values()) if gap_id not in status]
    for gap_id in new:
        connection.execute(insert(gaps), {"id": gap_id, "created_at": at, "cause": "nothing_found"})
        note_event(connection, gap_id, "created", at=at)
    emptied = move(connection, regrouping.gaps)
    touched = wanted | emptied.keys()
    for gap_id, into in emptied.items():
        settle_emptied(connection, gap_id, into, at)
    settle_causes(connection, touched)
    tidy(connection)
    again = reopen(connection, [row for row in status.values() if row.status == "done"], at)
    happened = [Happened("gap.new", gap_id, at) for gap_id in new]
    happened += [Happened("gap.reopened", gap_id, at) for gap_id in again]
    for event in happened if regrouping.announce else ():
        sql_outbox.add(connection, event)
    return happened


def move(connection: Connection, wanted: Mapping[str, str]) -> dict[str, str]:
    """Returns the gaps that lost wordings, each with the gap to which most of them went."""
    went: dict[str, Counter[str]] = {}
    for some in pieces(list(wanted)):
        chosen = select(gap_questions.c.wording, gap_questions.c.gap_id, func.count().label("questions")).where(
            gap_questions.c.wording.in_(some)
        )
        for row in connection.execute(chosen.group_by(gap_questions.c.wording, gap_questions.c.gap_id)).all():
            if row.gap_id == wanted[row.wording]:
                continue
            if row.gap_id is not None:
                went.setdefault(row.gap_id, Counter())[wanted[row.wording]] += row.questions
            connection.execute(
                update(gap_questions).where(gap_questions.c.wording == row.wording).values(gap_id=wanted[row.wording])
            )
    return {gap_id: where.most_common(1)[0][0] for gap_id, where in went.items()}


def settle_emptied(connection: Connection, gap_id: str, into: str, at: str) -> None:
    """Its id stands for the gap that has its questions now."""
    left = connection.execute(select(gap_questions.c.seq).where(gap_questions.c.gap_id == gap_id).limit(1)).first()
    if left is not None:
        return
    connection.execute(update(gaps).where(gaps.c.id == gap_id).values(merged_into=into))
    connection.execute(update(gaps).where(gaps.c.merged_into == gap_id).values(merged_into=into))
    note_event(connection, into, "merged", at=at, detail={"from": gap_id})


def settle_causes(connection: Connection, gap_ids: Iterable[str]) -> None:
    """The most frequent one of its questions, unless a person has said which."""
    for some in pieces(sorted(gap_ids)):
        counted = select(gap_questions.c.gap_id, gap_questions.c.cause, func.count()).where(
            gap_questions.c.gap_id.in_(some)
        )
        causes: dict[str, dict[str, int]] = {}
        for gap_id, cause, count in connection.execute(
            counted.group_by(gap_questions.c.gap_id, gap_questions.c.cause)
        ).all():
            causes.setdefault(gap_id, {})[cause] = count
        for gap_id, counts in causes.items():
            free = update(gaps).where(gaps.c.id == gap_id, ~gaps.c.cause_by_hand)
            connection.execute(free.values(cause=common_cause(counts)))


def tidy(connection: Connection) -> None:
    """A gap whose questions were all deleted, and which nobody has worked on, goes."""
    heirs = gaps.alias("heirs")
    connection.execute(
        delete(gaps).where(
            ~gaps.c.held,
            gaps.c.merged_into.is_(None),
            ~exists().where(gap_questions.c.gap_id == gaps.c.id),
            ~exists().where(gap_pins.c.gap_id == gaps.c.id),
            ~exists().where(heirs.c.merged_into == gaps.c.id),
        )
    )


def reopen(connection: Connection, done: Sequence[Any], at: str) -> list[str]:
    """What was done and has been asked since, without an answer."""
    again = []
    for row in done:
        since = select(gap_questions.c.seq).where(gap_questions.c.gap_id == row.id)
        if row.closed_at is not None:
            since = since.where(gap_questions.c.asked_at > row.closed_at)
        if connection.execute(since.limit(1)).first() is not None:
            opened = {"status": "open", "closed_at": None, "answered_by": None}
            connection.execute(update(gaps).where(gaps.c.id == row.id).values(opened))
            note_event(connection, row.id, "reopened", at=at)
            again.append(row.id)
    return again


def note_event(
    connection: Connection,
    gap_id: str,
    what: str,
    *,
    at: str,
    actor: str = "refdesk",
    detail: Mapping[str, Any] | None = None,
) -> None:
    told = msgspec.json.encode(dict(detail or {})).decode()
    connection.execute(insert(gap_history), {"gap_id": gap_id, "at": at, "actor": actor, "what": what, "detail": told})
