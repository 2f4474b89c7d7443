"""The tables, one schema for SQLite and PostgreSQL. Changed only together with a script in `migrations/versions`.

A turn and its trail are one JSON text each, in a table of their own; what is filtered, sorted or counted has a column
in `turns`, whose rows stay so small that reading a hundred thousand takes milliseconds. Where a column and the JSON
hold the same thing (status, feedback) the column is the truth: it changes without rewriting the JSON.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    ARRAY,
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    TypeDecorator,
    text,
)


class SafeText(TypeDecorator[str]):
    """Text that either database can hold: NUL (PostgreSQL refuses it) and lone surrogates become U+FFFD.

    The API refuses such text with a 400; this is the second line, so that none of it ever becomes a 500."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Any) -> str | None:
        return None if value is None else clean_text(value)


class UtcText(TypeDecorator[str]):
    """A moment as RFC 3339 text of one width in UTC, so that text order is time order on both databases."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Any) -> str | None:
        return None if value is None else utc_text(value)


def clean_text(value: str) -> str:
    if value.isascii():
        return value.replace("\0", "\ufffd") if "\0" in value else value
    return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\0", "\ufffd")


def utc_text(value: str) -> str:
    """`2026-02-03T04:05:06.789Z`; a moment without an offset counts as UTC. Raises ValueError."""
    moment = datetime.fromisoformat(value)
    moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return moment.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

Sequence = BigInteger().with_variant(Integer, "sqlite")
"""SQLite numbers rows by itself only in a column of type INTEGER."""


def owned_by(column: str) -> ForeignKey:
    return ForeignKey(column, ondelete="CASCADE")


visitors = Table(
    "visitors",
    metadata,
    Column("id", SafeText, primary_key=True),
    Column("subject", SafeText, index=True),
    Column("created_at", UtcText, nullable=False),
)

visitor_tokens = Table(
    "visitor_tokens",
    metadata,
    Column("hash", LargeBinary, primary_key=True),
    Column("visitor_id", SafeText, owned_by("visitors.id"), nullable=False, index=True),
    Column("roles", Text, nullable=False),
    Column("created_at", UtcText, nullable=False),
    Column("expires_at", UtcText),
)

conversations = Table(
    "conversations",
    metadata,
    Column("id", SafeText, primary_key=True),
    Column("visitor_id", SafeText, owned_by("visitors.id"), nullable=False, index=True),
    Column("created_at", UtcText, nullable=False),
)

turns = Table(
    "turns",
    metadata,
    Column("seq", Sequence, primary_key=True, autoincrement=True),
    Column("id", SafeText, nullable=False, unique=True),
    Column("conversation_id", SafeText, owned_by("conversations.id"), nullable=False),
    Column("created_at", UtcText, nullable=False),
    Column("status", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("language", Text, nullable=False),
    Column("grounded", Boolean, nullable=False),
    Column("rating", Text),
    Column("comment", SafeText),
    Column("reason", Text),
    Column("model_error", Text),
    Column("model", SafeText, nullable=False, server_default=""),
    Column("input_tokens", Integer, nullable=False, server_default="0"),
    Column("output_tokens", Integer, nullable=False, server_default="0"),
    Column("cache_read_tokens", Integer, nullable=False, server_default="0"),
    Column("cache_write_tokens", Integer, nullable=False, server_default="0"),
    Column("first_word", Text),
    Column("total", Text),
    Column("server_id", Text),
    Column("stop_requested", Boolean, nullable=False, server_default=text("false")),
    Column("looked_at", Boolean, nullable=False, server_default=text("false")),
    Index("ix_turns_conversation", "conversation_id", "seq"),
    Index("ix_turns_created_at", "created_at"),
    Index(
        "ix_turns_to_look_at",
        "seq",
        sqlite_where=text("NOT looked_at"),
        postgresql_where=text("NOT looked_at"),
    ),
    Index(
        "uq_turns_running",
        "conversation_id",
        unique=True,
        sqlite_where=text("status = 'running'"),
        postgresql_where=text("status = 'running'"),
    ),
    sqlite_autoincrement=True,
)

turn_bodies = Table(
    "turn_bodies",
    metadata,
    Column("seq", Sequence, owned_by("turns.seq"), primary_key=True, autoincrement=False),
    Column("turn", Text, nullable=False),
    Column("trail", Text, nullable=False),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("visitor_id", SafeText, owned_by("visitors.id"), primary_key=True),
    Column("key", SafeText, primary_key=True),
    Column("body_hash", SafeText, nullable=False),
    Column("turn_id", SafeText, owned_by("turns.id"), nullable=False, index=True),
    Column("created_at", UtcText, nullable=False, index=True),
)

notes = Table(
    "notes",
    metadata,
    Column("seq", Sequence, primary_key=True, autoincrement=True),
    Column("conversation_id", SafeText, owned_by("conversations.id"), nullable=False, index=True),
    Column("author", SafeText, nullable=False),
    Column("created_at", UtcText, nullable=False),
    Column("text", SafeText, nullable=False),
    sqlite_autoincrement=True,
)

tags = Table(
    "tags",
    metadata,
    Column("conversation_id", SafeText, owned_by("conversations.id"), primary_key=True),
    Column("tag", SafeText, primary_key=True),
    Column("author", SafeText, nullable=False),
    Column("created_at", UtcText, nullable=False),
)

verdicts = Table(
    "verdicts",
    metadata,
    Column("turn_id", SafeText, owned_by("turns.id"), primary_key=True),
    Column("verdict", Text, nullable=False),
    Column("author", SafeText, nullable=False),
    Column("created_at", UtcText, nullable=False),
    Column("note", SafeText, nullable=False),
    Column("articles", SafeText, nullable=False, server_default="[]"),
)

staff = Table(
    "staff",
    metadata,
    Column("name", SafeText, primary_key=True),
    Column("role", Text, nullable=False),
    Column("password_hash", Text),
    Column("disabled", Boolean, nullable=False),
    Column("created_at", UtcText, nullable=False),
    CheckConstraint("role IN ('agent', 'admin')", name="role"),
)

staff_sessions = Table(
    "staff_sessions",
    metadata,
    Column("hash", LargeBinary, primary_key=True),
    Column("name", SafeText, owned_by("staff.name"), nullable=False, index=True),
    Column("created_at", UtcText, nullable=False),
    Column("expires_at", UtcText, nullable=False),
)

staff_keys = Table(
    "staff_keys",
    metadata,
    Column("kid", SafeText, primary_key=True),
    Column("hash", LargeBinary, nullable=False),
    Column("name", SafeText, owned_by("staff.name"), nullable=False, index=True),
    Column("label", SafeText, nullable=False),
    Column("disabled", Boolean, nullable=False),
    Column("created_at", UtcText, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("seq", Sequence, primary_key=True, autoincrement=True),
    Column("created_at", UtcText, nullable=False, index=True),
    Column("actor", SafeText, nullable=False),
    Column("ip", SafeText, nullable=False),
    Column("action", Text, nullable=False),
    Column("target", SafeText, nullable=False),
    Column("detail", Text, nullable=False),
    sqlite_autoincrement=True,
)

day_counts = Table(
    # Sums per day without any text or id, deleted turns included.
    "day_counts",
    metadata,
    Column("day", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("value", Float, nullable=False),
)

servers = Table(
    # PostgreSQL only: who is alive. A running turn of a server that stopped beating is interrupted by the others.
    "servers",
    metadata,
    Column("id", Text, primary_key=True),
    Column("beat_at", Float, nullable=False),
)

marks = Table(
    # Small facts about the database itself.
    "marks",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

gaps = Table(
    "gaps",
    metadata,
    Column("id", SafeText, primary_key=True),
    Column("created_at", UtcText, nullable=False),
    Column("status", Text, nullable=False, server_default="open"),
    Column("cause", Text, nullable=False),
    Column("cause_by_hand", Boolean, nullable=False, server_default=text("false")),
    Column("assignee", SafeText),
    Column("article", SafeText),
    Column("held", Boolean, nullable=False, server_default=text("false")),
    Column("closed_at", UtcText),
    Column("answered_by", Text),
    Column("merged_into", SafeText, owned_by("gaps.id"), index=True),
    CheckConstraint("status IN ('open', 'in_progress', 'done', 'not_supported', 'dismissed')", name="status"),
)

gap_questions = Table(
    "gap_questions",
    metadata,
    Column("seq", Sequence, owned_by("turns.seq"), primary_key=True, autoincrement=False),
    Column("gap_id", SafeText, owned_by("gaps.id")),
    Column("wording", Text, nullable=False),
    Column("asked_at", UtcText, nullable=False),
    Column("language", Text, nullable=False),
    Column("cause", Text, nullable=False),
    Column("question", SafeText, nullable=False),
    Column("body", SafeText, nullable=False),
    Index("ix_gap_questions_gap", "gap_id", "asked_at"),
    Index("ix_gap_questions_wording", "wording"),
)

gap_pins = Table(
    # Where people put a wording, by its hash; it stays there even when its questions have been deleted.
    "gap_pins",
    metadata,
    Column("wording", Text, primary_key=True),
    Column("gap_id", SafeText, owned_by("gaps.id"), nullable=False, index=True),
)

gap_notes = Table(
    "gap_notes",
    metadata,
    Column("seq", Sequence, primary_key=True, autoincrement=True),
    Column("gap_id", SafeText, owned_by("gaps.id"), nullable=False, index=True),
    Column("author", SafeText, nullable=False),
    Column("created_at", UtcText, nullable=False),
    Column("text", SafeText, nullable=False),
    sqlite_autoincrement=True,
)

gap_history = Table(
    "gap_history",
    metadata,
    Column("seq", Sequence, primary_key=True, autoincrement=True),
    Column("gap_id", SafeText, owned_by("gaps.id"), nullable=False, index=True),
    Column("at", UtcText, nullable=False),
    Column("actor", SafeText, nullable=False),
    Column("what", Text, nullable=False),
    Column("detail", SafeText, nullable=False),
    sqlite_autoincrement=True,
)

outbox = Table(
    # Events for the webhook, until they are delivered or given up.
    "outbox",
    metadata,
    Column("seq", Sequence, primary_key=True, autoincrement=True),
    Column("id", Text, nullable=False, unique=True),
    Column("created_at", UtcText, nullable=False),
    Column("body", SafeText, nullable=False),
    Column("tries", Integer, nullable=False, server_default="0"),
    Column("due_at", UtcText),
    Column("delivered_at", UtcText),
    Index("ix_outbox_due_at", "due_at"),
    sqlite_autoincrement=True,
)

article_days = Table(
    # How far each article came in the turns of a day, by the language of the question.
    "article_days",
    metadata,
    Column("day", Text, primary_key=True),
    Column("article_id", SafeText, primary_key=True),
    Column("language", Text, primary_key=True),
    *(
        Column(name, Integer, nullable=False, server_default="0")
        for name in ("found", "read", "opened", "cited", "listed", "shown", "failed")
    ),
)

article_versions = Table(
    # Versions of articles that turns may have been given. `seen_at`: when a server last had it for the current one.
    "article_versions",
    metadata,
    Column("version", Text, primary_key=True),
    Column("article_id", SafeText, nullable=False),
    Column("seen_at", UtcText, nullable=False),
)

article_bodies = Table(
    # Apart, so that `seen_at` changes without rewriting them.
    "article_bodies",
    metadata,
    Column("version", Text, owned_by("article_versions.version"), primary_key=True),
    Column("title", SafeText, nullable=False),
    Column("language", Text, nullable=False),
    Column("body", SafeText, nullable=False),
)

rate_windows = Table(
    # Who used what when, by the hash of a key, until the window is over. In unix time, seconds.
    "rate_windows",
    metadata,
    Column("key", Text, primary_key=True),
    Column("times", ARRAY(Float).with_variant(JSON(), "sqlite"), nullable=False),
    Column("ends_at", Float, nullable=False),
)

spending = Table(
    # What model calls of a UTC day have cost, or may yet cost. `who`: a visitor's id; empty: everybody together.
    "spending",
    metadata,
    Column("day", Text, primary_key=True),
    Column("who", SafeText, primary_key=True),
    Column("nanodollars", BigInteger, nullable=False),
)
