"""What people do to gaps, and what a check finds. Jobs, see sql_database. Whoever works on a gap holds it: from then on
grouping adds to it and takes nothing away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, insert, select, text, update

from refdesk.adapters.sql_gap_intake import bump, note_event, pin_key, settle_causes
from refdesk.adapters.sql_gap_queue import real_id
from refdesk.adapters.sql_tables import SafeText, gap_history, gap_notes, gap_pins, gap_questions, gaps, turns
from refdesk.domain.gap_queue import WAITING, Answer, GapChange

PIN = text(
    "INSERT INTO gap_pins (wording, gap_id) VALUES (:wording, :gap_id)"
    " ON CONFLICT (wording) DO UPDATE SET gap_id = excluded.gap_id"
).bindparams(bindparam("gap_id", type_=SafeText))


def change(connection: Connection, gap_id: str, change: GapChange, actor: str, at: str) -> bool:
    bump(connection)
    real = real_id(connection, gap_id)
    before = connection.execute(select(gaps).where(gaps.c.id == real)).mappings().first()
    if before is None:
        return False
    given = {name: value for name, value in msgspec.structs.asdict(change).items() if value is not msgspec.UNSET}
    note = given.pop("note", None)
    if note is not None:
        connection.execute(insert(gap_notes), {"gap_id": real, "author": actor, "created_at": at, "text": note})
        note_event(connection, real, "note", at=at, actor=actor)
    for name, value in given.items():
        if before[name] != value:
            note_event(connection, real, name, at=at, actor=actor, detail={"from": before[name], "to": value})
    values: dict[str, Any] = {**given, "held": True}
    if "cause" in given:
        values["cause_by_hand"] = True
    if "status" in given:
        values["closed_at"] = None if given["status"] in WAITING else at
    connection.execute(update(gaps).where(gaps.c.id == real).values(values))
    return True


def merge(connection: Connection, into: str, others: Sequence[str], actor: str, at: str) -> bool:
    bump(connection)
    target = real_id(connection, into)
    gone = [gap_id for gap_id in dict.fromkeys(real_id(connection, other) for other in others) if gap_id != target]
    there = set(connection.execute(select(gaps.c.id).where(gaps.c.id.in_([target, *gone]))).scalars())
    if there != {target, *gone}:
        return False
    connection.execute(update(gap_questions).where(gap_questions.c.gap_id.in_(gone)).values(gap_id=target))
    for table in (gap_notes, gap_history, gap_pins):
        connection.execute(update(table).where(table.c.gap_id.in_(gone)).values(gap_id=target))
    moved = gaps.c.id.in_(gone) | gaps.c.merged_into.in_(gone)
    connection.execute(update(gaps).where(moved).values(merged_into=target))
    connection.execute(update(gaps).where(gaps.c.id == target).values(held=True))
    for gap_id in gone:
        note_event(connection, target, "merged", at=at, actor=actor, detail={"from": gap_id})
    pin(connection, target)
    settle_causes(connection, [target])
    return True


def split(
    connection: Connection, gap_id: str, turn_ids: Sequence[str], *, new_id: str, actor: str, at: str
) -> str | None:
    bump(connection)
    real = real_id(connection, gap_id)
    of_gap = select(gap_questions.c.wording).where(gap_questions.c.gap_id == real).distinct()
    all_of_it = set(connection.execute(of_gap).scalars())
    named = of_gap.join(turns, turns.c.seq == gap_questions.c.seq).where(turns.c.id.in_(turn_ids))
    leaving = set(connection.execute(named).scalars())
    if not leaving or leaving == all_of_it:
        return None
    connection.execute(insert(gaps), {"id": new_id, "created_at": at, "cause": "nothing_found", "held": True})
    moved = gap_questions.c.wording.in_(leaving)
    connection.execute(update(gap_questions).where(moved).values(gap_id=new_id))
    connection.execute(update(gaps).where(gaps.c.id == real).values(held=True))
    note_event(connection, real, "split", at=at, actor=actor, detail={"to": new_id})
    note_event(connection, new_id, "split", at=at, actor=actor, detail={"from": real})
    pin(connection, real)
    pin(connection, new_id)
    settle_causes(connection, [real, new_id])
    return new_id


def pin(connection: Connection, gap_id: str) -> None:
    """Its wordings stay in it, also once their questions have been deleted."""
    wordings = select(gap_questions.c.wording).where(gap_questions.c.gap_id == gap_id).distinct()
    found = [{"wording": pin_key(wording), "gap_id": gap_id} for wording in connection.execute(wordings).scalars()]
    if found:
        connection.execute(PIN, found)


def set_answer(connection: Connection, gap_id: str, answer: Answer | None, close: bool, at: str) -> bool:
    bump(connection)
    real = real_id(connection, gap_id)
    before = connection.execute(select(gaps).where(gaps.c.id == real)).first()
    if before is None or before.status not in WAITING:
        return False
    told = msgspec.json.encode(answer).decode() if answer is not None else None
    values: dict[str, Any] = {"answered_by": told}
    if answer is not None:
        detail = {"article": answer.article_id, "by": answer.by}
        if before.answered_by is None or msgspec.json.decode(before.answered_by)["article_id"] != answer.article_id:
            note_event(connection, real, "answered", at=at, detail=detail)
        if close:
            values |= {"status": "done", "closed_at": at, "article": answer.article_id, "held": True}
            note_event(connection, real, "status", at=at, detail={"from": before.status, "to": "done"})
    connection.execute(update(gaps).where(gaps.c.id == real).values(values))
    return True
