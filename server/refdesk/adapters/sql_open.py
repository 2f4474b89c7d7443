"""Which database: PostgreSQL where a URL names one, else SQLite in the data folder."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from pathlib import Path

from refdesk.adapters.sql_database import Database
from refdesk.adapters.sqlite_database import SqliteDatabase
from refdesk.errors import FolderInUse, SettingError

SCHEMES = ("postgresql://", "postgres://")


async def open_beside(folder: Path, url: str | None = None) -> Database:
    """For a command that writes a row or two: also while a server has the data folder."""
    try:
        return await open_database(folder, url)
    except FolderInUse:
        return await asyncio.to_thread(SqliteDatabase, folder, beside=True)


async def open_database(folder: Path, url: str | None = None) -> Database:
    """Raises DataFolderError (SQLite: damaged, foreign, in use; either: made by a newer version) and SettingError.

    A PostgreSQL server that does not answer is no error here: it may come up later."""
    if not url:
        return await asyncio.to_thread(SqliteDatabase, folder)
    if not url.startswith(SCHEMES):
        raise SettingError("REFDESK_DATABASE_URL", "must begin with postgresql://")
    # psycopg and SQLAlchemy's asyncio cost a start 0.3 s, so an installation on SQLite does not load them.
    opened: Callable[[str], Database] = importlib.import_module("refdesk.adapters.postgres_database").PostgresDatabase
    return opened("postgresql+psycopg://" + url.partition("://")[2])
