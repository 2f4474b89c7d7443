"""`refdesk backup` and `refdesk restore`: the conversations on SQLite as one file, and back."""

from __future__ import annotations

from pathlib import Path

from refdesk.adapters.sqlite_backup import back_up, restore
from refdesk.errors import SettingError
from refdesk.settings import Settings
from refdesk.terminal import Terminal


def run_backup(settings: Settings, terminal: Terminal, target: Path) -> int:
    """Also while a server runs. Raises DataFolderError, SettingError."""
    only_sqlite(settings, "pg_dump")
    size = back_up(settings.data, target)
    terminal.line(f"{target}: {size / 1e6:.1f} MB")
    return 0


def run_restore(settings: Settings, terminal: Terminal, source: Path, *, replace: bool) -> int:
    """Raises DataFolderError, SettingError."""
    only_sqlite(settings, "pg_restore")
    revision = restore(settings.data, source, replace=replace)
    terminal.line(f"{source} is in place (schema {revision})")
    return 0


def only_sqlite(settings: Settings, tool: str) -> None:
    if settings.database_url:
        raise SettingError("REFDESK_DATABASE_URL", f"is set: the conversations are in PostgreSQL, use {tool}")
