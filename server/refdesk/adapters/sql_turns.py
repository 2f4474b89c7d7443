"""A turn in the database: asked, finished, read, rated, interrupted, deleted. Jobs, see sql_database."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Connection, Row, bindparam, delete, exc, insert, select, text, update

from refdesk.adapters import sql_article_days, sql_stats, sql_visitors
from refdesk.adapters.search_words import words
from refdesk.adapters.sql_tables import clean_text, conversations, idempotency_keys, turn_bodies, turns
from refdesk.domain.article_signals import counts_of
from refdesk.domain.console import STAFF_VISITOR
from refdesk.domain.conversation import Conversation, Feedback, StoredTurn, Turn, TurnTrail
from refdesk.domain.gaps import is_unanswered
from refdesk.errors import RequestError
from refdesk.ports import TurnRow

IDEMPOTENCY_HOURS = 24
UNFINISHED = ("running", "interrupted")
RETRY_AFTER_S = 2
TOGETHER = 500
"""Turns deleted by one statement: a database takes only so many parameters."""

_turn_decoder = msgspec.json.Decoder(Turn)
_trail_decoder = msgspec.json.Decoder(TurnTrail)

EARLIER = select(idempotency_keys.c.body_hash, idempotency_keys.c.turn_id, idempotency_keys.c.created_at).where(
    idempotency_keys.c.visitor_id == bindparam("visitor"), idempotency_keys.c.key == bindparam("key")
)
OWNER = select(conversations.c.visitor_id).where(conversations.c.id == bindparam("conversation")).with_for_update()
RUNNING = (
    select(turns.c.seq)
    .where(turns.c.conversation_id == bindparam("conversation"), turns.c.status == text("'running'"))
    .limit(1)
)
STORED = (turn_bodies.c.turn, turn_bodies.c.trail, turns.c.status, turns.c.rating, turns.c.comment)
BODIES = turns.join(turn_bodies)
ONE = (
    select(*STORED, conversations.c.visitor_id)
    .select_from(BODIES.join(conversations))
    .where(turns.c.id == bindparam("turn_id"))
)
CONVERSATION = select(conversations.c.visitor_id, conversations.c.created_at).where(
    conversations.c.id == bindparam("conversation")
)
ASKED = select(*STORED).select_from(BODIES).where(turns.c.conversation_id == bindparam("conversation"))
ALL = ASKED.order_by(turns.c.seq)
LAST = ASKED.order_by(turns.c.seq.desc()).limit(bindparam("last"))
ADD_CONVERSATION, ADD_TURN, ADD_BODY = insert(conversations), insert(turns), insert(turn_bodies)
BEFORE = (
    select(turns.c.seq, conversations.c.visitor_id, *sql_stats.COUNTED)
    .select_from(turns.join(conversations))
    .where(turns.c.id == bindparam("turn_id"))
    .with_for_update(of=turns)
)
FINISH = update(turns).where(turns.c.seq == bindparam("of"))
FINISH_BODY = update(turn_bodies).where(turn_bodies.c.seq == bindparam("of"))
ADD_WORDS = {
    "sqlite": text("INSERT OR REPLACE INTO turn_search (rowid, words) VALUES (:seq, :words)"),
    "postgresql": text(
        "INSERT INTO turn_search (seq, words) VALUES (:seq, array_to_tsvector(:words))"
        " ON CONFLICT (seq) DO UPDATE SET words = excluded.words"
    ),
}
DROP_WORDS = text("DELETE FROM turn_search WHERE rowid = :seq")


# --- asking ----------------------------------------------------------------------------------


def begin(connection: Connection, row: TurnRow, server_id: str) -> StoredTurn | None:
    """See ConversationStore.begin_turn."""
    if "\0" in row.question or clean_text(row.question) != row.question:
        raise RequestError(400, "invalid_text", "question: NUL and lone surrogates are not text", field="question")
    if row.idempotency is not None and (earlier := find_earlier(connection, row, *row.idempotency)):
        return earlier
    if row.newcomer is not None:
        sql_visitors.add(connection, *row.newcomer, row.created_at)
    try:
        if row.new_conversation:
            start_conversation(connection, row)
        else:
            check_conversation(connection, row)
        add_turn(connection, row, server_id)
    except exc.IntegrityError as error:
        raise conflict(error) from error
    if row.idempotency is not None:
        keep_key(connection, row, *row.idempotency)
    return None


def find_earlier(connection: Connection, row: TurnRow, key: str, body_hash: str) -> StoredTurn | None:
    """The turn that the same key began within a day. A key that is older counts as new."""
    earlier = connection.execute(EARLIER, {"visitor": row.visitor_id, "key": key}).first()
    if earlier is None:
        return None
    if moment(row.created_at) - moment(earlier.created_at) >= timedelta(hours=IDEMPOTENCY_HOURS):
        mine = (idempotency_keys.c.visitor_id == row.visitor_id, idempotency_keys.c.key == key)
        connection.execute(delete(idempotency_keys).where(*mine))
        return None
    if earlier.body_hash != body_hash:
        raise RequestError(422, "idempotency_mismatch", "Idempotency-Key was used with another body")
    stored = one(connection, earlier.turn_id, row.visitor_id)
    if stored is not None and stored.turn.status == "running":
        raise idempotency_running()
    return stored


def idempotency_running() -> RequestError:
    detail = "the turn of this Idempotency-Key is still running"
    return RequestError(409, "idempotency_running", detail, retry_after=RETRY_AFTER_S)


def conversation_not_found() -> RequestError:
    return RequestError(404, "conversation_not_found", "there is no such conversation")


def turn_running() -> RequestError:
    detail = "a question of this conversation is still being answered"
    return RequestError(409, "turn_running", detail, retry_after=RETRY_AFTER_S)


def conflict(error: exc.IntegrityError) -> RequestError:
    """Which rule a simultaneous request made us break; everything else means a visitor who is gone or not the owner."""
    what = str(error.orig)
    if "uq_turns_running" in what or "turns.conversation_id" in what:
        return turn_running()
    return conversation_not_found()


def start_conversation(connection: Connection, row: TurnRow) -> None:
    values = {"id": row.conversation_id, "visitor_id": row.visitor_id, "created_at": row.created_at}
    connection.execute(ADD_CONVERSATION, values)


def check_conversation(connection: Connection, row: TurnRow) -> None:
    if connection.execute(OWNER, {"conversation": row.conversation_id}).scalar() != row.visitor_id:
        raise conversation_not_found()
    if connection.execute(RUNNING, {"conversation": row.conversation_id}).first() is not None:
        raise turn_running()


def add_turn(connection: Connection, row: TurnRow, server_id: str) -> None:
    turn = Turn(id=row.turn_id, conversation_id=row.conversation_id, created_at=row.created_at, question=row.question)
    values = {
        "id": row.turn_id,
        "conversation_id": row.conversation_id,
        "created_at": row.created_at,
        "status": turn.status,
        "kind": turn.kind,
        "language": turn.language,
        "grounded": False,
        "server_id": server_id,
        "looked_at": True,  # until it ends as something to look at, see `finish`
    }
    (seq,) = connection.execute(ADD_TURN, values).inserted_primary_key or (0,)
    connection.execute(ADD_BODY, {"seq": seq, "turn": json_text(turn), "trail": "{}"})


def keep_key(connection: Connection, row: TurnRow, key: str, body_hash: str) -> None:
    values = {
        "visitor_id": row.visitor_id,
        "key": key,
        "body_hash": body_hash,
        "turn_id": row.turn_id,
        "created_at": row.created_at,
    }
    try:
        connection.execute(insert(idempotency_keys), values)
    except exc.IntegrityError as error:
        raise idempotency_running() from error


def moment(rfc3339: str) -> datetime:
    return datetime.fromisoformat(rfc3339)


# --- finishing -------------------------------------------------------------------------------


def finish(connection: Connection, turn: Turn, trail: TurnTrail) -> None:
    """Also where the turn was taken for interrupted meanwhile; nothing where it was deleted, or is stored already.

    Only a turn that may be a gap is left to look at, so that the others, most of all, cost the queue nothing."""
    before = connection.execute(BEFORE, {"turn_id": turn.id}).mappings().first()
    if before is None or before["status"] not in UNFINISHED:
        return
    seq, visitor_id = before["seq"], before["visitor_id"]
    failed = is_unanswered(turn, visitor_id)
    values = {
        "status": turn.status,
        "kind": turn.kind,
        "language": turn.language,
        "grounded": turn.grounded,
        "reason": trail.reason,
        "model_error": turn.model_error,
        "looked_at": not failed,
        "first_word": sql_stats.bucket(trail.timings.get("first_word_ms")),
        "total": sql_stats.bucket(trail.timings.get("total_ms")),
        **usage_columns(trail),
    }
    connection.execute(FINISH, {"of": seq, **values})
    connection.execute(FINISH_BODY, {"of": seq, "turn": json_text(turn), "trail": json_text(trail)})
    add_words(connection, seq, turn)
    if not visitor_id.startswith(STAFF_VISITOR):
        sql_article_days.add(connection, counts_of(turn, trail, failed=failed))
    sql_stats.add(connection, [{**before, **values}], no_longer=[before] if before["status"] == "interrupted" else ())


def usage_columns(trail: TurnTrail) -> dict[str, Any]:
    names = ("model", "input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    return {name: getattr(trail.usage, name) for name in names}


def add_words(connection: Connection, seq: int, turn: Turn) -> None:
    found: Any = words(f"{turn.question} {turn.answer}")
    dialect = connection.dialect.name
    connection.execute(ADD_WORDS[dialect], {"seq": seq, "words": " ".join(found) if dialect == "sqlite" else found})


def interrupt_all(connection: Connection) -> int:
    return interrupt(connection, turns.c.status == "running")


def interrupt(connection: Connection, which: ColumnElement[bool]) -> int:
    ended = update(turns).where(which, turns.c.status == "running").values(status="interrupted")
    seqs = connection.execute(ended.returning(turns.c.seq)).scalars().all()
    bodies = select(turn_bodies.c.seq, turn_bodies.c.turn).where(turn_bodies.c.seq.in_(seqs))
    for seq, turn in connection.execute(bodies).all():
        add_words(connection, seq, _turn_decoder.decode(turn))
    counted = select(*sql_stats.COUNTED).where(turns.c.seq.in_(seqs))
    sql_stats.add(connection, connection.execute(counted).mappings().all())
    return len(seqs)


# --- reading ---------------------------------------------------------------------------------


def one(connection: Connection, turn_id: str, visitor_id: str | None) -> StoredTurn | None:
    row = connection.execute(ONE, {"turn_id": turn_id}).first()
    if row is None or visitor_id not in {None, row.visitor_id}:
        return None
    return stored_turn(row)


def conversation(connection: Connection, conversation_id: str, visitor_id: str | None) -> Conversation | None:
    row = connection.execute(CONVERSATION, {"conversation": conversation_id}).first()
    if row is None or visitor_id not in {None, row.visitor_id}:
        return None
    return Conversation(id=conversation_id, visitor_id=row.visitor_id, created_at=row.created_at)


def of_conversation(connection: Connection, conversation_id: str, last: int | None) -> list[StoredTurn]:
    if last is None:
        return [stored_turn(row) for row in connection.execute(ALL, {"conversation": conversation_id})]
    rows = connection.execute(LAST, {"conversation": conversation_id, "last": last}).all()
    return [stored_turn(row) for row in reversed(rows)]


def stored_turn(row: Row[*tuple[Any, ...]]) -> StoredTurn:
    turn = _turn_decoder.decode(row.turn)
    turn.status = row.status
    turn.feedback = Feedback(rating=row.rating, comment=row.comment or "") if row.rating else None
    return StoredTurn(turn=turn, trail=_trail_decoder.decode(row.trail))


def json_text(value: Any) -> str:
    """JSON. A lone surrogate, which a model's reply may hold and no database can, becomes `?`."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value), ensure_ascii=False).encode("utf-8", "replace").decode()


# --- stopping --------------------------------------------------------------------------------


def request_stop(connection: Connection, turn_id: str, visitor_id: str) -> bool:
    own = select(conversations.c.id).where(conversations.c.visitor_id == visitor_id)
    mine = update(turns).where(turns.c.id == turn_id, turns.c.conversation_id.in_(own))
    return connection.execute(mine.values(stop_requested=True)).rowcount > 0


def to_stop(connection: Connection, turn_ids: Sequence[str]) -> list[str]:
    """Those that somebody asked to stop, and those that are no longer there."""
    going_on = select(turns.c.id).where(turns.c.id.in_(turn_ids), ~turns.c.stop_requested)
    wanted = set(connection.execute(going_on).scalars())
    return [turn_id for turn_id in turn_ids if turn_id not in wanted]


# --- rating and deleting ---------------------------------------------------------------------


def rate(connection: Connection, turn_id: str, visitor_id: str, feedback: Feedback) -> bool:
    own = select(conversations.c.id).where(conversations.c.visitor_id == visitor_id)
    mine = (turns.c.id == turn_id, turns.c.conversation_id.in_(own))
    before = connection.execute(select(*sql_stats.COUNTED).where(*mine).with_for_update()).mappings().first()
    if before is None:
        return False
    connection.execute(update(turns).where(*mine).values(rating=feedback.rating, comment=feedback.comment))
    if before["status"] != "running":
        sql_stats.add(connection, [{**before, "rating": feedback.rating}], no_longer=[before])
    return True


def delete_turns(connection: Connection, which: ColumnElement[bool]) -> int:
    """The turns and their words; what else hangs on a turn goes by its foreign key. The day counts stay as they are."""
    seqs = connection.execute(select(turns.c.seq).where(which).with_for_update()).scalars().all()
    for start in range(0, len(seqs), TOGETHER):
        some = seqs[start : start + TOGETHER]
        connection.execute(delete(turns).where(turns.c.seq.in_(some)))
        drop_words(connection, some)
    return len(seqs)


def drop_words(connection: Connection, seqs: Iterable[int]) -> None:
    """PostgreSQL's follow their turn; a virtual table of SQLite has no foreign key."""
    found = [{"seq": seq} for seq in seqs]
    if found and connection.dialect.name == "sqlite":
        connection.execute(DROP_WORDS, found)


def delete_conversation(connection: Connection, conversation_id: str, visitor_id: str) -> bool:
    if conversation(connection, conversation_id, visitor_id) is None:
        return False
    delete_turns(connection, turns.c.conversation_id == conversation_id)
    connection.execute(delete(conversations).where(conversations.c.id == conversation_id))
    return True
