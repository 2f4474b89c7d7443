"""Staff: accounts, sessions, keys and the audit log. Secrets come in as hashes. Jobs, see sql_database."""

from __future__ import annotations

import hmac
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, delete, exc, insert, select, update

from refdesk.adapters.cursors import from_cursor, to_cursor
from refdesk.adapters.sql_tables import audit, staff, staff_keys, staff_sessions
from refdesk.domain.console import AuditEntry, AuditPage, StaffAccount, StaffKey

ACCOUNT = (staff.c.name, staff.c.role, staff.c.password_hash, staff.c.disabled, staff.c.created_at)
KEY = (staff_keys.c.kid, staff_keys.c.name, staff_keys.c.label, staff_keys.c.disabled, staff_keys.c.created_at)


def add(connection: Connection, account: StaffAccount) -> bool:
    try:
        with connection.begin_nested():
            connection.execute(insert(staff), msgspec.structs.asdict(account))
    except exc.IntegrityError:
        return False
    return True


def account(connection: Connection, name: str) -> StaffAccount | None:
    return as_account(connection.execute(select(*ACCOUNT).where(staff.c.name == name)).first())


def accounts(connection: Connection) -> list[StaffAccount]:
    rows = connection.execute(select(*ACCOUNT).order_by(staff.c.name)).mappings()
    return [StaffAccount(**row) for row in rows]


def change(connection: Connection, name: str, changes: dict[str, Any]) -> bool:
    """A new password or disabling ends the account's sessions in the same transaction."""
    if not changes:
        return account(connection, name) is not None
    if connection.execute(update(staff).where(staff.c.name == name).values(changes)).rowcount == 0:
        return False
    if changes.get("disabled") or "password_hash" in changes:
        connection.execute(delete(staff_sessions).where(staff_sessions.c.name == name))
    return True


def open_session(connection: Connection, token_hash: bytes, name: str, at: str, expires_at: str) -> None:
    """And forgets those that have expired."""
    connection.execute(delete(staff_sessions).where(staff_sessions.c.expires_at <= at))
    values = {"hash": token_hash, "name": name, "created_at": at, "expires_at": expires_at}
    connection.execute(insert(staff_sessions), values)


def by_session(connection: Connection, token_hash: bytes, now: str) -> StaffAccount | None:
    found = select(*ACCOUNT).join(staff_sessions).where(staff_sessions.c.hash == token_hash)
    found = found.where(staff_sessions.c.expires_at > now, ~staff.c.disabled)
    return as_account(connection.execute(found).first())


def close_session(connection: Connection, token_hash: bytes) -> bool:
    return connection.execute(delete(staff_sessions).where(staff_sessions.c.hash == token_hash)).rowcount > 0


def as_account(row: Row[*tuple[Any, ...]] | None) -> StaffAccount | None:
    return (
        None if row is None else StaffAccount(**{name: row._mapping[name] for name in StaffAccount.__struct_fields__})
    )


# --- keys ------------------------------------------------------------------------------------


def add_key(connection: Connection, key: StaffKey, key_hash: bytes) -> bool:
    try:
        with connection.begin_nested():
            connection.execute(insert(staff_keys), {"hash": key_hash, **msgspec.structs.asdict(key)})
    except exc.IntegrityError:
        return False
    return True


def by_key(connection: Connection, kid: str, key_hash: bytes) -> StaffAccount | None:
    found = select(*ACCOUNT, staff_keys.c.hash).join(staff_keys).where(staff_keys.c.kid == kid)
    row = connection.execute(found.where(~staff_keys.c.disabled, ~staff.c.disabled)).first()
    return as_account(row) if row is not None and hmac.compare_digest(row.hash, key_hash) else None


def keys(connection: Connection, name: str | None) -> list[StaffKey]:
    listed = select(*KEY).order_by(staff_keys.c.created_at, staff_keys.c.kid)
    if name is not None:
        listed = listed.where(staff_keys.c.name == name)
    return [StaffKey(**row) for row in connection.execute(listed).mappings()]


def disable_key(connection: Connection, kid: str) -> bool:
    return connection.execute(update(staff_keys).where(staff_keys.c.kid == kid).values(disabled=True)).rowcount > 0


# --- audit log -------------------------------------------------------------------------------


def add_audit(connection: Connection, entry: AuditEntry) -> None:
    values = {**msgspec.structs.asdict(entry), "detail": msgspec.json.encode(entry.detail).decode()}
    connection.execute(insert(audit), values)


def audit_page(connection: Connection, cursor: str | None, limit: int) -> AuditPage:
    listed = select(audit).order_by(audit.c.seq.desc()).limit(limit + 1)
    if cursor:
        listed = listed.where(audit.c.seq < from_cursor(cursor))
    rows = connection.execute(listed).all()
    entries = tuple(as_entry(row) for row in rows[:limit])
    return AuditPage(entries=entries, next_cursor=to_cursor(rows[limit - 1].seq) if len(rows) > limit else None)


def as_entry(row: Row[*tuple[Any, ...]]) -> AuditEntry:
    names = ("created_at", "actor", "ip", "action", "target")
    return AuditEntry(**{name: row._mapping[name] for name in names}, detail=msgspec.json.decode(row.detail))
