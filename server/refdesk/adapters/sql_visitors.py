"""Visitors and their tokens, as hashes. Jobs, see sql_database."""

from __future__ import annotations

import msgspec
from sqlalchemy import Connection, LargeBinary, bindparam, delete, select, text

from refdesk.adapters.sql_tables import SafeText, UtcText, utc_text, visitor_tokens, visitors
from refdesk.domain.conversation import Visitor

BY_TOKEN = (
    select(visitors.c.id, visitors.c.subject, visitor_tokens.c.roles, visitor_tokens.c.expires_at)
    .join(visitor_tokens)
    .where(visitor_tokens.c.hash == bindparam("hash"))
)


ADD_VISITOR = text(
    "INSERT INTO visitors (id, subject, created_at) VALUES (:id, :subject, :created_at) ON CONFLICT DO NOTHING"
).bindparams(
    bindparam("id", type_=SafeText), bindparam("subject", type_=SafeText), bindparam("created_at", type_=UtcText)
)
ADD_TOKEN = text(
    "INSERT INTO visitor_tokens (hash, visitor_id, roles, created_at, expires_at)"
    " VALUES (:hash, :visitor_id, :roles, :created_at, :expires_at) ON CONFLICT DO NOTHING"
).bindparams(
    bindparam("hash", type_=LargeBinary),
    bindparam("visitor_id", type_=SafeText),
    bindparam("created_at", type_=UtcText),
    bindparam("expires_at", type_=UtcText),
)


def add(connection: Connection, visitor: Visitor, token_hash: bytes, created_at: str) -> None:
    """Again does nothing: servers that start together each make sure of the visitor behind the staff key."""
    values = {"id": visitor.id, "subject": visitor.subject, "created_at": created_at}
    connection.execute(ADD_VISITOR, values)
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
    connection.execute(ADD_TOKEN, values)


def drop_expired(connection: Connection, visitor_id: str, at: str) -> None:
    """A person who signs in every day would leave a row every day."""
    gone = (visitor_tokens.c.visitor_id == visitor_id, visitor_tokens.c.expires_at <= at)
    connection.execute(delete(visitor_tokens).where(*gone))


def by_token(connection: Connection, token_hash: bytes, now: str) -> Visitor | None:
    row = connection.execute(BY_TOKEN, {"hash": token_hash}).first()
    if row is None or (row.expires_at is not None and utc_text(now) >= row.expires_at):
        return None
    return Visitor(id=row.id, roles=tuple(msgspec.json.decode(row.roles, type=list[str])), subject=row.subject)
