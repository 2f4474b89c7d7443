"""The data folder: one writing process at a time, and never a new database where a damaged one lies."""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

from refdesk.errors import DataFolderError, FolderInUse

DATABASE = "refdesk.db"
LOCK = "refdesk.lock"
UNFINISHED = ".new"
"""Suffix of a database that is still being made: it takes its place only when complete."""
MAGIC = b"SQLite format 3\x00"
APPLICATION_ID = 0x52464453
"""Marks our own SQLite files ("RFDS")."""


class FolderLock:
    """An advisory lock that the kernel gives back when the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        """Creates the folder if need be. Raises DataFolderError: not a usable folder, or another process has it."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # it holds what people wrote
            self._file = open(folder / LOCK, "a")  # noqa: SIM115 (held until close)
        except OSError as error:
            raise DataFolderError(f"data folder {folder}: cannot be used ({error.strerror})") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise FolderInUse(
                f"data folder {folder}: another Refdesk process is using it; stop that one, give this one another "
                "folder, or share a PostgreSQL database (REFDESK_DATABASE_URL)"
            ) from error

    def release(self) -> None:
        self._file.close()


def database_path(folder: Path) -> Path | None:
    """The database file, looked at from outside; None: there is none yet. Raises DataFolderError: damaged, foreign."""
    path = folder / DATABASE
    discard_unfinished(folder)
    if not path.exists():
        if path.with_name(DATABASE + "-wal").exists():
            raise DataFolderError(f"{path} is missing but its log {DATABASE}-wal is there: restore it from a backup")
        return None
    if not path.is_file():
        raise DataFolderError(f"{path} is not a file")
    try:
        check_header(path)
    except OSError as error:
        raise DataFolderError(f"{path}: cannot be read ({error.strerror})") from error
    return path


def discard_unfinished(folder: Path) -> None:
    for leftover in folder.glob(f"{DATABASE}{UNFINISHED}*"):
        leftover.unlink()


def check_header(path: Path) -> None:
    """By the SQLite file format: magic, page size and count, application id. Cheap; finds truncation too."""
    with open(path, "rb") as file:
        header = file.read(100)
    if len(header) < 100 or not header.startswith(MAGIC):
        raise DataFolderError(f"{path} is damaged or not a database: move it away or restore it from a backup")
    page_size = struct.unpack(">H", header[16:18])[0]
    pages, application_id = struct.unpack(">I", header[28:32])[0], struct.unpack(">I", header[68:72])[0]
    if application_id != APPLICATION_ID:
        raise DataFolderError(f"{path} is a database of another program: choose another data folder")
    if path.stat().st_size < pages * (65536 if page_size == 1 else page_size):
        raise DataFolderError(f"{path} is cut short: restore it from a backup")


def install(unfinished: Path, path: Path) -> None:
    """Puts a complete database in its place, durably."""
    os.replace(unfinished, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
