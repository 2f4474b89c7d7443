"""Everything there is from the beginning: visitors, turns, full text, staff, audit log."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    create_visitors()
    create_conversations()
    create_turns()
    create_annotations()
    create_staff()
    create_audit()
    create_bookkeeping()
    if op.get_bind().dialect.name == "sqlite":
        create_sqlite_parts()
    else:
        create_postgres_parts()


def text_column(name: str, *, primary_key: bool = False, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, primary_key=primary_key, nullable=nullable)


def owned(name: str, target: str, *, primary_key: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, sa.ForeignKey(target, ondelete="CASCADE"), primary_key=primary_key, nullable=False)


def sequence() -> sa.Column[int]:
    return sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True)


def create_visitors() -> None:
    op.create_table(
        "visitors",
        text_column("id", primary_key=True),
        text_column("subject", nullable=True),
        text_column("created_at"),
    )
    op.create_index("ix_visitors_subject", "visitors", ["subject"])
    op.create_table(
        "visitor_tokens",
        sa.Column("hash", sa.LargeBinary, primary_key=True),
        owned("visitor_id", "visitors.id"),
        text_column("roles"),
        text_column("created_at"),
        text_column("expires_at", nullable=True),
    )
    op.create_index("ix_visitor_tokens_visitor_id", "visitor_tokens", ["visitor_id"])


def create_conversations() -> None:
    op.create_table(
        "conversations",
        text_column("id", primary_key=True),
        owned("visitor_id", "visitors.id"),
        text_column("created_at"),
    )
    op.create_index("ix_conversations_visitor_id", "conversations", ["visitor_id"])


def create_turns() -> None:
    tokens = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    op.create_table(
        "turns",
        sequence(),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        owned("conversation_id", "conversations.id"),
        *(text_column(name) for name in ("created_at", "status", "kind", "language")),
        sa.Column("grounded", sa.Boolean, nullable=False),
        *(text_column(name, nullable=True) for name in ("rating", "comment", "reason", "model_error")),
        sa.Column("model", sa.Text, nullable=False, server_default=""),
        *(sa.Column(name, sa.Integer, nullable=False, server_default="0") for name in tokens),
        *(text_column(name, nullable=True) for name in ("first_word", "total", "server_id")),
        sa.Column("stop_requested", sa.Boolean, nullable=False, server_default=sa.text("false")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_turns_conversation", "turns", ["conversation_id", "seq"])
    op.create_index("ix_turns_created_at", "turns", ["created_at"])
    running = sa.text("status = 'running'")
    op.create_index(
        "uq_turns_running",
        "turns",
        ["conversation_id"],
        unique=True,
        sqlite_where=running,
        postgresql_where=running,
    )
    op.create_table(
        "turn_bodies",
        sa.Column(
            "seq", SEQUENCE, sa.ForeignKey("turns.seq", ondelete="CASCADE"), primary_key=True, autoincrement=False
        ),
        text_column("turn"),
        text_column("trail"),
    )
    op.create_table(
        "idempotency_keys",
        owned("visitor_id", "visitors.id", primary_key=True),
        text_column("key", primary_key=True),
        text_column("body_hash"),
        owned("turn_id", "turns.id"),
        text_column("created_at"),
    )
    op.create_index("ix_idempotency_keys_turn_id", "idempotency_keys", ["turn_id"])
    op.create_index("ix_idempotency_keys_created_at", "idempotency_keys", ["created_at"])


def create_annotations() -> None:
    op.create_table(
        "notes",
        sequence(),
        owned("conversation_id", "conversations.id"),
        *(text_column(name) for name in ("author", "created_at", "text")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_notes_conversation_id", "notes", ["conversation_id"])
    op.create_table(
        "tags",
        owned("conversation_id", "conversations.id", primary_key=True),
        text_column("tag", primary_key=True),
        text_column("author"),
        text_column("created_at"),
    )
    op.create_table(
        "verdicts",
        owned("turn_id", "turns.id", primary_key=True),
        *(text_column(name) for name in ("verdict", "author", "created_at", "note")),
        sa.Column("articles", sa.Text, nullable=False, server_default="[]"),
    )


def create_staff() -> None:
    op.create_table(
        "staff",
        text_column("name", primary_key=True),
        text_column("role"),
        text_column("password_hash", nullable=True),
        sa.Column("disabled", sa.Boolean, nullable=False),
        text_column("created_at"),
        sa.CheckConstraint("role IN ('agent', 'admin')", name="role"),
    )
    op.create_table(
        "staff_sessions",
        sa.Column("hash", sa.LargeBinary, primary_key=True),
        owned("name", "staff.name"),
        text_column("created_at"),
        text_column("expires_at"),
    )
    op.create_index("ix_staff_sessions_name", "staff_sessions", ["name"])
    op.create_table(
        "staff_keys",
        text_column("kid", primary_key=True),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        owned("name", "staff.name"),
        text_column("label"),
        sa.Column("disabled", sa.Boolean, nullable=False),
        text_column("created_at"),
    )
    op.create_index("ix_staff_keys_name", "staff_keys", ["name"])


def create_audit() -> None:
    op.create_table(
        "audit",
        sequence(),
        *(text_column(name) for name in ("created_at", "actor", "ip", "action", "target", "detail")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_audit_created_at", "audit", ["created_at"])


def create_bookkeeping() -> None:
    op.create_table(
        "day_counts",
        text_column("day", primary_key=True),
        text_column("name", primary_key=True),
        sa.Column("value", sa.Float, nullable=False),
    )
    op.create_table("servers", text_column("id", primary_key=True), sa.Column("beat_at", sa.Float, nullable=False))
    op.create_table("marks", text_column("name", primary_key=True), text_column("value"))


def create_sqlite_parts() -> None:
    # Three letters find every word that begins with them: without an index of their own that reads thousands of words.
    op.execute("CREATE VIRTUAL TABLE turn_search USING fts5(words, detail=column, columnsize=0, prefix='3')")
    for verb in ("UPDATE", "DELETE"):
        op.execute(
            f"CREATE TRIGGER audit_no_{verb.lower()} BEFORE {verb} ON audit "
            "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
        )
    op.execute(  # INSERT OR REPLACE takes the place of a row without asking the trigger on DELETE
        "CREATE TRIGGER audit_no_replace BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq) "
        "BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END"
    )


def create_postgres_parts() -> None:
    op.execute(
        "CREATE TABLE turn_search ("
        "seq BIGINT PRIMARY KEY REFERENCES turns (seq) ON DELETE CASCADE, words TSVECTOR NOT NULL)"
    )
    op.execute("CREATE INDEX ix_turn_search_words ON turn_search USING gin (words)")
    op.execute(
        "CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$"
    )
    op.execute(
        "CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()"
    )
