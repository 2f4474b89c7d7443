"""Visitors and their tokens, as hashes. Jobs, see sql_database."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, bindparam, insert, select

from refdesk.adapters.sql_tables import utc_text, visitor_tokens, visitors
from refdesk.domain.conversation import Visitor

BY_TOKEN = (
    select(visitors.c.id, visitors.c.subject, visitor_tokens.c.roles, visitor_tokens.c.expires_at)
    .join(visitor_tokens)
    .where(visitor_tokens.c.hash == bindparam("hash"))
)


def add(connection: Connection, visitor: Visitor, token_hash: bytes, created_at: str) -> None:
    values = {"id": visitor.id, "subject": visitor.subject, "created_at": created_at}
    connection.execute(insert(visitors), values)
    add_token(connection, visitor, token_hash, created_at, None)


def add_token(
    connection: Connection, visitor: Visitor, token_hash: bytes, created_at: str, expires_at: str | None
) -> None:
    values = {
        "hash": token_hash,
        "visitor_id": visitor.id,
        "roles": msgspec.json.encode(visitor.roles).decode(),
        "created_at": created_at,
        "expires_at": expires_at,
    }
    connection.execute(insert(visitor_tokens), values)


def by_token(connection: Connection, token_hash: bytes, now: str | None) -> Visitor | None:
    row = connection.execute(BY_TOKEN, {"hash": token_hash}).first()
    if row is None or (row.expires_at is not None and now is not None and utc_text(now) >= row.expires_at):
        return None
    return Visitor(id=row.id, roles=tuple(msgspec.json.decode(row.roles, type=list[str])), subject=row.subject)
