"""Events that a webhook is told, until it has them. Jobs, see sql_database."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, bindparam, func, select, text, update

from refdesk.adapters.sql_tables import SafeText, UtcText, outbox
from refdesk.domain.gap_queue import Happened, OutboxItem

ADD = text(
    "INSERT INTO outbox (id, created_at, body, due_at) VALUES (:id, :at, :body, :at) ON CONFLICT (id) DO NOTHING"
).bindparams(bindparam("at", type_=UtcText), bindparam("body", type_=SafeText))


def add(connection: Connection, happened: Happened) -> None:
    body = msgspec.json.encode(happened).decode()
    connection.execute(ADD, {"id": happened.id, "body": body, "at": happened.at})


def due(connection: Connection, now: str, limit: int) -> list[OutboxItem]:
    waiting = select(outbox).where(outbox.c.due_at <= now, outbox.c.delivered_at.is_(None))
    rows = connection.execute(waiting.order_by(outbox.c.seq).limit(limit))
    return [OutboxItem(row.seq, msgspec.json.decode(row.body, type=Happened), row.tries) for row in rows]


def waiting(connection: Connection) -> int:
    left = outbox.c.due_at.is_not(None) & outbox.c.delivered_at.is_(None)
    return connection.scalar(select(func.count()).where(left)) or 0


def tried(connection: Connection, seq: int, delivered_at: str | None, due_at: str | None) -> None:
    values = {"tries": outbox.c.tries + 1, "delivered_at": delivered_at, "due_at": due_at}
    connection.execute(update(outbox).where(outbox.c.seq == seq).values(values))
