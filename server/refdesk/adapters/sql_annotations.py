"""Notes, tags and verdicts of staff. Jobs, see sql_database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, bindparam, delete, exc, insert, select, text

from refdesk.adapters.sql_tables import SafeText, UtcText, conversations, notes, tags, turns, verdicts
from refdesk.domain.console import Annotations, Note, TurnVerdict

SAFE = (bindparam("author", type_=SafeText), bindparam("created_at", type_=UtcText))
ADD_TAG = text(
    "INSERT INTO tags (conversation_id, tag, author, created_at) VALUES (:conversation_id, :tag, :author, :created_at)"
    " ON CONFLICT (conversation_id, tag) DO NOTHING"
).bindparams(*SAFE, bindparam("conversation_id", type_=SafeText), bindparam("tag", type_=SafeText))
SET_VERDICT = text(
    "INSERT INTO verdicts (turn_id, verdict, author, created_at, note, articles)"
    " VALUES (:turn_id, :verdict, :author, :created_at, :note, :articles)"
    " ON CONFLICT (turn_id) DO UPDATE SET verdict = excluded.verdict, author = excluded.author,"
    " created_at = excluded.created_at, note = excluded.note, articles = excluded.articles"
).bindparams(*SAFE, *(bindparam(name, type_=SafeText) for name in ("turn_id", "note", "articles")))


def of_conversation(connection: Connection, conversation_id: str) -> Annotations:
    noted = select(notes).where(notes.c.conversation_id == conversation_id).order_by(notes.c.seq)
    tagged = select(tags.c.tag).where(tags.c.conversation_id == conversation_id).order_by(tags.c.tag)
    judged = select(verdicts).join(turns).where(turns.c.conversation_id == conversation_id).order_by(turns.c.seq)
    return Annotations(
        notes=tuple(Note(row.author, row.created_at, row.text) for row in connection.execute(noted)),
        tags=tuple(connection.execute(tagged).scalars()),
        verdicts=tuple(as_verdict(row) for row in connection.execute(judged)),
    )


def add_note(connection: Connection, conversation_id: str, note: Note) -> bool:
    if not is_there(connection, conversation_id):
        return False
    values = {"author": note.author, "created_at": note.created_at, "text": note.text}
    connection.execute(insert(notes), {"conversation_id": conversation_id, **values})
    return True


def change_tags(
    connection: Connection, conversation_id: str, *, add: Sequence[str], remove: Sequence[str], author: str, at: str
) -> bool:
    if not is_there(connection, conversation_id):
        return False
    for tag in add:
        values = {"conversation_id": conversation_id, "tag": tag, "author": author, "created_at": at}
        connection.execute(ADD_TAG, values)
    if remove:
        connection.execute(delete(tags).where(tags.c.conversation_id == conversation_id, tags.c.tag.in_(remove)))
    return True


def is_there(connection: Connection, conversation_id: str) -> bool:
    """Held until the end of the transaction, so that what hangs on it cannot come too late."""
    found = select(conversations.c.id).where(conversations.c.id == conversation_id).with_for_update(key_share=True)
    return connection.execute(found).first() is not None


def as_verdict(row: Row[*tuple[Any, ...]]) -> TurnVerdict:
    articles = tuple(msgspec.json.decode(row.articles, type=list[str]))
    return TurnVerdict(row.turn_id, row.verdict, row.author, row.created_at, row.note, articles)


def set_verdict(connection: Connection, verdict: TurnVerdict) -> bool:
    values = {**msgspec.structs.asdict(verdict), "articles": msgspec.json.encode(verdict.articles).decode()}
    try:
        with connection.begin_nested():
            connection.execute(SET_VERDICT, values)
    except exc.IntegrityError:
        return False
    return True
