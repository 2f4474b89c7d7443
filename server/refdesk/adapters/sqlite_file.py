"""The SQLite file: made aside and put in place when complete, checked at every start, opened with the right pragmas."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, QueuePool, StaticPool, create_engine, exc

from refdesk.adapters import migrations
from refdesk.adapters.data_folder import APPLICATION_ID, DATABASE, UNFINISHED, database_path, install
from refdesk.adapters.sql_database import first_line
from refdesk.errors import DataFolderError, StorageUnavailable

BUSY_MS = 4000
"""How long a write waits for a lock that another program holds; waiting behind another write at most doubles it."""
LOG_LIMIT = 16 * 1024 * 1024
SCAN_LIMIT = 8 * 1024 * 1024
"""Up to this size the whole file is checked at start (some 20 ms); a larger one in its header and table roots only."""


class Locked(StorageUnavailable):
    """The transaction could not even begin."""


def open_file(folder: Path) -> Path:
    """The path of a sound database of this version's schema. Raises DataFolderError."""
    try:
        path = database_path(folder) or create(folder)
        engine = connect(path)
        try:
            with engine.connect() as connection:
                verify(connection, path)
        finally:
            engine.dispose()
    except (exc.DBAPIError, sqlite3.Error, StorageUnavailable, OSError) as error:
        cause = error.orig if isinstance(error, exc.DBAPIError) else error
        raise DataFolderError(f"{folder / DATABASE}: damaged or not usable ({first_line(cause)})") from error
    return path


def create(folder: Path) -> Path:
    unfinished = folder / f"{DATABASE}{UNFINISHED}"
    engine = connect(unfinished, journal="DELETE")
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.commit()
            upgrade(connection)
    finally:
        engine.dispose()
    install(unfinished, folder / DATABASE)
    return folder / DATABASE


def upgrade(connection: Connection) -> None:
    """alembic costs a start 0.3 s, so it is loaded only when there is something to migrate."""
    migrate: Callable[[Connection], None] = importlib.import_module("refdesk.adapters.sql_migrate").migrate
    with connection.begin():
        migrate(connection)


def verify(connection: Connection, path: Path) -> None:
    """Soundness, then the schema's revision; an older one is brought up to date. Raises DataFolderError."""
    if path.stat().st_size <= SCAN_LIMIT:
        found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
        if found != "ok":
            raise DataFolderError(f"{path} is damaged: restore it from a backup")
    tables = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars().all()
    if "alembic_version" not in tables:
        raise DataFolderError(f"{path} has no schema version: damaged, restore it from a backup")
    for name in tables:
        connection.exec_driver_sql(f'SELECT 1 FROM "{name}" LIMIT 1')  # noqa: S608 (reads the root page)
    revision = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    connection.rollback()
    if revision not in migrations.KNOWN:
        raise DataFolderError(f"{path} was made by a newer version of Refdesk (schema {revision})")
    if revision != migrations.HEAD:
        upgrade(connection)


def connect(path: Path, *, readers: int = 0, journal: str = "WAL", checkpoints: bool = True) -> Engine:
    """An engine of one writing connection, or of some that only read."""

    def creator() -> sqlite3.Connection:
        connection = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
        connection.execute(f"PRAGMA journal_mode = {journal}")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA journal_size_limit = {LOG_LIMIT}")
        if not checkpoints:
            connection.execute("PRAGMA wal_autocheckpoint = 0")
        if readers:
            connection.execute("PRAGMA query_only = ON")
        return connection

    if readers:
        pool: dict[str, Any] = {"poolclass": QueuePool, "pool_size": readers, "max_overflow": 0}
    else:
        pool = {"poolclass": StaticPool}
    engine = create_engine("sqlite://", creator=creator, hide_parameters=True, **pool)
    engine.dialect.do_begin = partial(begin, "BEGIN" if readers else "BEGIN IMMEDIATE")  # type: ignore[method-assign]
    return engine


def begin(statement: str, connection: Any) -> None:
    """Explicitly: the driver's own way begins too late and too weakly, and loses concurrent updates. Not as a listener
    to the engine's `begin`: with any listener every statement pays for all events."""
    try:
        connection.execute(statement)
    except sqlite3.Error as error:
        raise Locked(f"database: {first_line(error)}") from error


def truncate_log(path: Path) -> None:
    """Empties the write-ahead log, which holds earlier contents. Raises StorageUnavailable while it is being read."""
    connection = sqlite3.connect(path, timeout=1.0, isolation_level=None)
    try:
        busy = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    except sqlite3.Error as error:
        raise StorageUnavailable(f"database: {first_line(error)}") from error
    finally:
        connection.close()
    if busy:
        raise StorageUnavailable("database: its log is being read")
