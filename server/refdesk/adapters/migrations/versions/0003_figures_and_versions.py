"""Day counts of all turns instead of deleted ones only, and the texts of articles as turns were given them."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

KINDS = ("status", "kind", "language", "reason", "model_error")
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
DAY = "substr(created_at, 1, 10)"


def upgrade() -> None:
    for name, value, which in counted():
        op.execute(
            f"INSERT INTO day_counts (day, name, value) SELECT {DAY}, {name}, {value} FROM turns"  # noqa: S608 - ours
            f" WHERE status <> 'running' AND {which} GROUP BY 1, 2"
            " ON CONFLICT (day, name) DO UPDATE SET value = day_counts.value + excluded.value"
        )
    create_articles()


def counted() -> Iterator[tuple[str, str, str]]:
    """Name, value and condition of every figure: until now they were counted of what is stored when they were read."""
    yield "'turns'", "count(*)", "seq > 0"
    for column in KINDS:
        yield f"'{column}:' || {column}", "count(*)", f"{column} <> ''"
    yield "'grounded'", "count(*)", "grounded"
    yield "'no_source'", "count(*)", "NOT grounded AND status = 'answered' AND kind = 'question'"
    yield "'feedback:' || rating", "count(*)", "rating <> ''"
    yield "'turns:' || model", "count(*)", "model <> ''"
    for column in TOKENS:
        yield f"'{column}:' || model", f"sum({column})", "model <> ''"
    for column in ("first_word", "total"):
        yield f"'{column}_ms<=' || {column}", "count(*)", f"{column} <> ''"


def create_articles() -> None:
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
