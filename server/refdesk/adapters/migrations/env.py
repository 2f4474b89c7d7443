"""Run by alembic with a connection that already is in a transaction (`sql_migrate.py`): all or nothing."""

from __future__ import annotations

from alembic import context

from refdesk.adapters.sql_tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
