"""Rate limits that outlive a process, and what a day's model calls have cost."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "rate_windows",
        sa.Column("key", sa.Text, primary_key=True, nullable=False),
        sa.Column("times", sa.ARRAY(sa.Float).with_variant(sa.JSON(), "sqlite"), nullable=False),
        sa.Column("ends_at", sa.Float, nullable=False),
    )
    op.create_table(
        "spending",
        sa.Column("day", sa.Text, primary_key=True, nullable=False),
        sa.Column("who", sa.Text, primary_key=True, nullable=False),
        sa.Column("nanodollars", sa.BigInteger, nullable=False),
    )
