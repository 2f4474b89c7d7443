"""Bringing a database to the schema of this version. Imported only when there is something to do: alembic is slow."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from refdesk.adapters import migrations


def migrate(connection: Connection) -> None:
    """Runs every missing script inside the transaction that the connection is in; killed, it leaves nothing."""
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    config.attributes["connection"] = connection
    command.upgrade(config, migrations.HEAD)
