"""What staff work with: the conversation log, notes, tags, verdicts, accounts, the audit log, figures per day."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from refdesk.domain.conversation import Kind, Status, StoredTurn, Turn

Verdict = Literal["right", "wrong_source", "wrong_answer", "should_have_answered"]
StaffRole = Literal["agent", "admin"]
STAFF_VISITOR = "v_staff_"
"""How the ids of visitors begin who ask with a staff key; their turns are tests, never gaps."""


class LogFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which turns; what is None (or "") does not matter. All that is given must hold of one and the same turn."""

    status: Status | None = None
    grounded: bool | None = None
    rating: Literal["up", "down"] | None = None
    kind: Kind | None = None
    language: str | None = None
    reason: str | None = None
    """Of a refusal."""
    model_error: str | None = None
    verdict: Verdict | None = None
    tag: str | None = None
    """Of the conversation."""
    visitor_id: str | None = None
    q: str = ""
    """Every word of it begins a word of the question or the answer; case and accents do not matter."""
    since: str | None = None
    """RFC 3339; turns from this moment on …"""
    until: str | None = None
    """… and before this one."""


class LogEntry(msgspec.Struct, frozen=True):
    """A conversation, shown by its newest turn that the filter lets through."""

    conversation_id: str
    visitor_id: str
    subject: str | None
    created_at: str
    """Of the conversation."""
    turns: int
    """All of the conversation's turns."""
    turn: Turn
    tags: tuple[str, ...]


class LogPage(msgspec.Struct, frozen=True):
    entries: tuple[LogEntry, ...]
    next_cursor: str | None


class LoggedTurn(msgspec.Struct, frozen=True):
    """A turn as it is exported."""

    stored: StoredTurn
    visitor_id: str
    subject: str | None
    verdict: Verdict | None
    articles: tuple[str, ...] = ()
    """As in the verdict."""


class TurnPage(msgspec.Struct, frozen=True):
    turns: tuple[LoggedTurn, ...]
    next_cursor: str | None


class Note(msgspec.Struct, frozen=True):
    author: str
    created_at: str
    text: str


class TurnVerdict(msgspec.Struct, frozen=True):
    turn_id: str
    verdict: Verdict
    author: str
    created_at: str
    note: str = ""
    articles: tuple[str, ...] = ()
    """Ids of those that answer the question, in the author's eyes."""


class Annotations(msgspec.Struct, frozen=True):
    """What staff have put to a conversation."""

    notes: tuple[Note, ...] = ()
    tags: tuple[str, ...] = ()
    verdicts: tuple[TurnVerdict, ...] = ()


class StaffAccount(msgspec.Struct, frozen=True):
    name: str
    role: StaffRole
    created_at: str
    password_hash: str | None = None
    """argon2id; None: signs in with keys only."""
    disabled: bool = False


class StaffKey(msgspec.Struct, frozen=True):
    """A key of an account, with whose role it acts. Only its hash is known."""

    kid: str
    name: str
    label: str
    created_at: str
    disabled: bool = False


class AuditEntry(msgspec.Struct, frozen=True):
    """Who did what to what. Holds ids and settings, never what a visitor wrote."""

    created_at: str
    actor: str
    ip: str
    action: str
    target: str = ""
    detail: dict[str, Any] = {}


class AuditPage(msgspec.Struct, frozen=True):
    entries: tuple[AuditEntry, ...]
    next_cursor: str | None


class Retention(msgspec.Struct, frozen=True):
    """What a retention run did. `stopped`: it would have deleted more than a fifth, and deleted nothing."""

    deleted: int
    due: int
    total: int
    stopped: bool = False


class DayCounts(msgspec.Struct, frozen=True):
    """Sums of one UTC day, deleted turns included; for the names see `adapters/sql_stats.py`."""

    day: str
    counts: dict[str, float]
