"""The docs-gap queue: gaps with their questions, what people did to them, events for a webhook, articles by day."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

SEQUENCE = sa.BigInteger().with_variant(sa.Integer, "sqlite")
STATUSES = "status IN ('open', 'in_progress', 'done', 'not_supported', 'dismissed')"
COUNTS = ("found", "read", "opened", "cited", "listed", "shown", "failed")


def upgrade() -> None:
    to_look_at = sa.text("NOT looked_at")
    op.add_column("turns", sa.Column("looked_at", sa.Boolean, nullable=False, server_default=sa.text("false")))
    op.create_index("ix_turns_to_look_at", "turns", ["seq"], sqlite_where=to_look_at, postgresql_where=to_look_at)
    create_gaps()
    create_questions()
    create_log("gap_notes", "author", "created_at", "text")
    create_log("gap_history", "at", "actor", "what", "detail")
    create_outbox()
    op.create_table(
        "article_days",
        *(sa.Column(name, sa.Text, primary_key=True, nullable=False) for name in ("day", "article_id", "language")),
        *(sa.Column(name, sa.Integer, nullable=False, server_default="0") for name in COUNTS),
    )


def text_column(name: str, *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable)


def of_gap(name: str = "gap_id", *, nullable: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.Text, sa.ForeignKey("gaps.id", ondelete="CASCADE"), nullable=nullable)


def flag(name: str) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.text("false"))


def create_gaps() -> None:
    op.create_table(
        "gaps",
        sa.Column("id", sa.Text, primary_key=True),
        text_column("created_at"),
        sa.Column("status", sa.Text, nullable=False, server_default="open"),
        text_column("cause"),
        flag("cause_by_hand"),
        text_column("assignee", nullable=True),
        text_column("article", nullable=True),
        flag("held"),
        text_column("closed_at", nullable=True),
        text_column("answered_by", nullable=True),
        of_gap("merged_into", nullable=True),
        sa.CheckConstraint(STATUSES, name="status"),
    )
    op.create_index("ix_gaps_merged_into", "gaps", ["merged_into"])


def create_questions() -> None:
    op.create_table(
        "gap_questions",
        sa.Column(
            "seq", SEQUENCE, sa.ForeignKey("turns.seq", ondelete="CASCADE"), primary_key=True, autoincrement=False
        ),
        of_gap(nullable=True),
        *(text_column(name) for name in ("wording", "asked_at", "language", "cause", "question", "body")),
    )
    op.create_index("ix_gap_questions_gap", "gap_questions", ["gap_id", "asked_at"])
    op.create_index("ix_gap_questions_wording", "gap_questions", ["wording"])
    op.create_table("gap_pins", sa.Column("wording", sa.Text, primary_key=True), of_gap())
    op.create_index("ix_gap_pins_gap_id", "gap_pins", ["gap_id"])


def create_log(name: str, *columns: str) -> None:
    """Rows that are only ever added to a gap."""
    op.create_table(
        name,
        sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
        of_gap(),
        *map(text_column, columns),
        sqlite_autoincrement=True,
    )
    op.create_index(f"ix_{name}_gap_id", name, ["gap_id"])


def create_outbox() -> None:
    op.create_table(
        "outbox",
        sa.Column("seq", SEQUENCE, primary_key=True, autoincrement=True),
        sa.Column("id", sa.Text, nullable=False, unique=True),
        text_column("created_at"),
        text_column("body"),
        sa.Column("tries", sa.Integer, nullable=False, server_default="0"),
        text_column("due_at", nullable=True),
        text_column("delivered_at", nullable=True),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_outbox_due_at", "outbox", ["due_at"])
