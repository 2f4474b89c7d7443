"""Whose data is whose, and how it goes: signing in, export, erasure, retention. Jobs, see sql_database."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, select, update

from refdesk.adapters import sql_purge, sql_visitors
from refdesk.adapters.sql_tables import conversations, spending, turns, visitor_tokens, visitors
from refdesk.adapters.sql_turns import delete_turns
from refdesk.domain.console import STAFF_VISITOR, Retention
from refdesk.domain.conversation import Conversation, Visitor

GUARD = 5
"""A retention run that would delete more than one in so many turns stops."""


def sign_in(
    connection: Connection, visitor: Visitor, token_hash: bytes, *, at: str, expires_at: str | None, earlier: str | None
) -> Visitor:
    """See PrivacyStore.sign_in."""
    known = visitors_of(connection, visitor.subject or "")
    if known:
        visitor = Visitor(id=known[0], roles=visitor.roles, subject=visitor.subject)
    else:
        values = {"id": visitor.id, "subject": visitor.subject, "created_at": at}
        connection.execute(insert(visitors), values)
    sql_visitors.drop_expired(connection, visitor.id, at)
    sql_visitors.add_token(connection, visitor, token_hash, at, expires_at)
    if earlier is not None and is_anonymous(connection, earlier):
        known.append(earlier)
    moved = conversations.c.visitor_id.in_([other for other in known if other != visitor.id])
    connection.execute(update(conversations).where(moved).values(visitor_id=visitor.id))
    return visitor


def is_anonymous(connection: Connection, visitor_id: str) -> bool:
    found = select(visitors.c.id).where(visitors.c.id == visitor_id, visitors.c.subject.is_(None))
    return connection.execute(found).first() is not None


def visitors_of(connection: Connection, subject: str) -> list[str]:
    """Oldest first. More than one where two sessions began at the same moment: the next sign-in joins them."""
    found = select(visitors.c.id).where(visitors.c.subject == subject).order_by(visitors.c.created_at, visitors.c.id)
    return list(connection.execute(found).scalars())


def conversations_of(connection: Connection, visitor_id: str) -> list[Conversation]:
    owned = select(conversations).where(conversations.c.visitor_id == visitor_id)
    rows = connection.execute(owned.order_by(conversations.c.created_at, conversations.c.id)).mappings()
    return [Conversation(**row) for row in rows]


# --- erasure ---------------------------------------------------------------------------------


def erase(connection: Connection, visitor_ids: Sequence[str]) -> bool:
    """Tokens, conversations and what hangs on them go by their foreign keys."""
    owned = select(conversations.c.id).where(conversations.c.visitor_id.in_(visitor_ids))
    delete_turns(connection, turns.c.conversation_id.in_(owned))
    connection.execute(delete(spending).where(spending.c.who.in_(visitor_ids)))
    erased = connection.execute(delete(visitors).where(visitors.c.id.in_(visitor_ids))).rowcount > 0
    if erased:
        sql_purge.mark(connection)
    return erased


def erase_subject(connection: Connection, subject: str) -> bool:
    return erase(connection, visitors_of(connection, subject))


# --- retention -------------------------------------------------------------------------------


def due(connection: Connection, since: str, force: bool) -> Retention:
    """What a run would do, and whether it must not."""
    total = connection.execute(select(func.count()).select_from(turns)).scalar_one()
    old = connection.execute(select(func.count()).select_from(turns).where(turns.c.created_at < since)).scalar_one()
    return Retention(deleted=0, due=old, total=total, stopped=not force and old * GUARD > total)


def delete_some(connection: Connection, since: str, most: int) -> int:
    """One piece of a run, small enough to let questions come in between. Returns how many turns it deleted."""
    oldest = select(turns.c.seq).where(turns.c.created_at < since).order_by(turns.c.created_at).limit(most)
    deleted = delete_turns(connection, turns.c.seq.in_(connection.execute(oldest).scalars().all()))
    if deleted:
        sql_purge.mark(connection)
    return deleted


def delete_leftovers(connection: Connection, since: str) -> None:
    """Conversations without turns, then visitors without conversations, if older than that."""
    empty = ~exists().where(turns.c.conversation_id == conversations.c.id)
    connection.execute(delete(conversations).where(conversations.c.created_at < since, empty))
    connection.execute(delete(visitors).where(visitors.c.created_at < since, *nothing_left(since)))


def nothing_left(since: str) -> tuple[ColumnElement[bool], ...]:
    """The visitor that stands for a staff key stays, and so does one who has signed in since."""
    signed_in = exists().where(visitor_tokens.c.visitor_id == visitors.c.id, visitor_tokens.c.created_at >= since)
    has_asked = exists().where(conversations.c.visitor_id == visitors.c.id)
    return (~visitors.c.id.startswith(STAFF_VISITOR, autoescape=True), ~has_asked, ~signed_in)
