"""Copies of the SQLite database: one of a moment while a server writes, and the way back from one."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from refdesk.adapters import migrations
from refdesk.adapters.data_folder import DATABASE, UNFINISHED, FolderLock, check_header, install
from refdesk.errors import DataFolderError

BUSY_S = 60.0
LOGS = ("-wal", "-shm", "-journal")


def back_up(folder: Path, target: Path) -> int:
    """Writes the database as it is at one moment into a file of its own, readable by its owner only; a server may go on
    writing meanwhile. Returns its size in bytes. Raises DataFolderError; an existing file is never overwritten."""
    source, unfinished = folder / DATABASE, target.with_name(target.name + UNFINISHED)
    if not source.is_file():
        raise DataFolderError(f"{folder} holds no {DATABASE}: nothing to back up")
    if target.exists():
        raise DataFolderError(f"{target} exists: name another file")
    try:
        os.close(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
        copy(source, unfinished)
        verify(unfinished)
        install(unfinished, target)
    except (OSError, sqlite3.Error) as error:
        raise DataFolderError(f"the backup {target} cannot be made ({error})") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return target.stat().st_size


def copy(source: Path, target: Path) -> None:
    """In one step: a reader of the write-ahead log keeps its moment and holds up no writer."""
    with closing(sqlite3.connect(source, timeout=BUSY_S)) as read, closing(sqlite3.connect(target)) as written:
        read.execute("PRAGMA query_only = ON")
        read.backup(written)
        written.execute("PRAGMA journal_mode = DELETE")


def restore(folder: Path, source: Path, *, replace: bool = False) -> str:
    """Puts a backup in the place of the database; no server may be running on the folder. Returns the revision of its
    schema. Raises DataFolderError: the backup is no sound database of ours or of a newer version, the folder is in
    use, or it has a database already and `replace` is not given."""
    if not source.is_file():
        raise DataFolderError(f"{source} is no file")
    check_header(source)
    lock = FolderLock(folder)
    path, unfinished = folder / DATABASE, folder / f"{DATABASE}{UNFINISHED}"
    try:
        if path.exists() and not replace:
            raise DataFolderError(f"{path} exists: --replace puts the backup in its place")
        shutil.copyfile(source, unfinished)
        unfinished.chmod(0o600)
        revision = verify(unfinished)
        flush(unfinished)
        discard(path)
        install(unfinished, path)
        return revision
    except (OSError, sqlite3.Error) as error:
        raise DataFolderError(f"the backup {source} cannot be restored ({error})") from error
    finally:
        unfinished.unlink(missing_ok=True)
        lock.release()


def verify(path: Path) -> str:
    """Reads the whole file. Returns the revision of its schema. Raises DataFolderError."""
    with closing(sqlite3.connect(path)) as database:
        found = database.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise DataFolderError(f"{path} is damaged ({found})")
        revision = database.execute("SELECT version_num FROM alembic_version").fetchone()[0]
    if revision not in migrations.KNOWN:
        raise DataFolderError(f"{path} was made by a newer version of Refdesk (schema {revision})")
    return str(revision)


def flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def discard(path: Path) -> None:
    """The database first: a log that is left without one stops a start, while a foreign log would be read into it."""
    path.unlink(missing_ok=True)
    for suffix in LOGS:
        path.with_name(path.name + suffix).unlink(missing_ok=True)
