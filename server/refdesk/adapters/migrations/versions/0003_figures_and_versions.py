"""The day of a turn as a column with indexes for the overview, and the texts of articles as turns were given them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

FIGURES = ("status", "kind", "language", "reason", "model_error", "grounded", "rating", "model")
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")


def upgrade() -> None:
    op.add_column("turns", sa.Column("day", sa.Text, nullable=False, server_default=""))
    op.execute("UPDATE turns SET day = substr(created_at, 1, 10)")
    op.create_index("ix_turns_figures", "turns", ["day", *FIGURES, *TOKENS])
    op.create_index("ix_turns_first_word", "turns", ["day", "first_word", "status"])
    op.create_index("ix_turns_total", "turns", ["day", "total", "status"])
    op.create_table(
        "article_versions",
        sa.Column("version", sa.Text, primary_key=True, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("article_id", "seen_at")),
    )
    version = sa.ForeignKey("article_versions.version", ondelete="CASCADE")
    op.create_table(
        "article_bodies",
        sa.Column("version", sa.Text, version, primary_key=True, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("title", "language", "body")),
    )
