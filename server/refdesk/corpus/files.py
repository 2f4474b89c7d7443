"""The files of a corpus folder: which there are, and their text, never outside the folder or waiting for a pipe."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from refdesk.errors import CorpusError, FileGone, FileWithheld

MARKDOWN_SUFFIXES = (".md", ".markdown")
MAX_FILE_BYTES = 4 * 1024 * 1024
"""A larger file is withheld: no article that people read is that long, and one such file would starve the others."""

_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
"""Links were resolved before, so one in the place of the file or of its folder was put there meanwhile."""
_BYTE_ORDER_MARKS = (b"\xff\xfe", b"\xfe\xff")
_LOOKS = 3
_ANYBODY_READS = stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH

T = TypeVar("T")
Problem = tuple[str, FileWithheld]
"""A path relative to the corpus folder, and why it is not served."""


class Text(NamedTuple):
    text: str
    """With line ends as `\\n`, without a byte order mark."""
    modified: float
    """Seconds since 1970."""


class Bytes(NamedTuple):
    data: bytes
    modified: float


def scan(root: Path) -> tuple[list[str], list[Problem]]:
    """Paths of the Markdown files, sorted, relative with `/`; and everything that cannot be one.

    Hidden files and folders are skipped silently. Links to folders are not followed, so no loop can occur. Raises
    FileGone where one of them goes meanwhile."""
    paths: list[str] = []
    problems: list[Problem] = []
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            entries = _while_listed(root, folder, partial(_entries, root / folder))
        except FileWithheld as problem:
            problems.append((printable(folder) or ".", problem))
            continue
        for entry in entries:
            relative = f"{folder}/{entry.name}" if folder else entry.name
            try:
                kind = _while_listed(root, relative, partial(_kind, root, entry, relative))
            except FileWithheld as problem:
                problems.append((printable(relative), problem))
                continue
            if kind == "folder":
                folders.append(relative)
            elif kind == "article":
                paths.append(relative)
    return sorted(paths), sorted(problems, key=lambda problem: problem[0])


def read_text(root: Path, relative: str) -> Text:
    """Raises FileWithheld, FileGone."""
    data, modified = _while_listed(root, relative, partial(_read, root, relative))
    if data.startswith(_BYTE_ORDER_MARKS):
        raise FileWithheld("the file is UTF-16 or UTF-32: save it as UTF-8", 1)
    if (position := data.find(b"\0")) >= 0:
        raise FileWithheld("the file holds NUL bytes: it is binary or not UTF-8", data.count(b"\n", 0, position) + 1)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileWithheld("the file is not UTF-8: save it as UTF-8", data.count(b"\n", 0, error.start) + 1) from None
    return Text(text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text, modified)


def _read(root: Path, relative: str) -> Bytes:
    path = os.path.join(root, relative)
    return read_bytes(inside(root, relative) if os.path.islink(path) else path, MAX_FILE_BYTES)


def inside(root: Path, relative: str) -> Path:
    """The real place of a file of the corpus. Raises FileWithheld where a link leads out of the folder, FileGone."""
    try:
        real = Path(os.path.realpath(root / relative))
    except OSError as error:  # of reading a link: those of /proc refuse it for ever
        if error.errno != errno.EACCES and Path(error.filename).is_relative_to(root):
            raise FileGone("a link is gone") from None
        raise FileWithheld(f"the link leads nowhere: {os.strerror(error.errno or 0)}") from None
    if not real.is_relative_to(root):
        raise FileWithheld("the link leads out of the corpus folder")
    return real


def read_bytes(path: str | Path, limit: int) -> Bytes:
    """Opened without following a link and without waiting, so that a pipe put in place meanwhile cannot hang a sync.

    Raises FileWithheld, FileGone."""
    try:
        descriptor = os.open(path, _READ_FLAGS)
    except OSError as error:
        if error.errno in GONE:
            raise FileGone("the file is gone") from None
        raise FileWithheld(f"the file cannot be read: {os.strerror(error.errno or 0)}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise FileWithheld("not a regular file")
        if not status.st_mode & _ANYBODY_READS:
            raise FileWithheld("the file's mode lets nobody read it")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(limit + 1) if status.st_size <= limit else b""
    finally:
        os.close(descriptor)
    if max(status.st_size, len(data)) > limit:
        raise FileWithheld(f"the file is larger than {limit // 1024} KiB")
    return Bytes(data, status.st_mtime)


def corpus_root(folder: Path) -> Path:
    """The real folder. Raises CorpusError where there is none."""
    try:
        real = Path(os.path.realpath(folder))
        mode = real.stat().st_mode
    except (OSError, ValueError):
        raise CorpusError(f"corpus folder {folder}: it does not exist; name a folder of Markdown files") from None
    if not stat.S_ISDIR(mode):
        raise CorpusError(f"corpus folder {folder}: it is not a folder")
    return real


def printable(path: str) -> str:
    """A file name may hold bytes that are no text; a report must not."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")


def _while_listed(root: Path, relative: str, look: Callable[[], T]) -> T:
    """What stays in its folder's list and is gone whenever it is looked for is withheld: a name that a network drive
    cannot open, a folder that is not mounted. Else it would be read anew for ever."""
    for _ in range(_LOOKS):
        try:
            return look()
        except FileGone:
            if not _is_listed(root / relative):
                raise
    raise FileWithheld("its folder lists it, but it is not there")


def _is_listed(path: Path) -> bool:
    try:
        with os.scandir(path.parent) as entries:
            return any(entry.name == path.name for entry in entries)
    except OSError:
        return False


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        if not os.lstat(folder).st_mode & _ANYBODY_READS:
            raise FileWithheld("the folder's mode lets nobody read it")
        with os.scandir(folder) as entries:
            return [entry for entry in entries if not entry.name.startswith(".")]
    except OSError as error:
        if error.errno in GONE:
            raise FileGone("the folder is gone") from None
        raise FileWithheld(f"the folder cannot be read: {os.strerror(error.errno or 0)}") from None


def _kind(root: Path, entry: os.DirEntry[str], relative: str) -> str:
    """`folder`, `article` or `other` (a picture, say). Special files and links that lead nowhere good are problems."""
    if printable(entry.name) != entry.name:
        raise FileWithheld("the file name is not UTF-8")
    is_markdown = entry.name.lower().endswith(MARKDOWN_SUFFIXES)
    if entry.is_symlink():
        return _link_kind(root, relative, is_markdown)
    if entry.is_dir(follow_symlinks=False):
        return "folder"
    if not entry.is_file(follow_symlinks=False):
        if _is_gone(root / relative):
            raise FileGone("the file is gone")
        raise FileWithheld("not a regular file: a pipe, socket or device")
    return "article" if is_markdown else "other"


def _is_gone(path: Path) -> bool:
    """Not what is merely out of reach, in a folder without permission: that would be gone at every try."""
    try:
        os.lstat(path)
    except OSError as error:
        return error.errno in GONE
    return False


def _link_kind(root: Path, relative: str, is_markdown: bool) -> str:
    try:
        mode = os.stat(inside(root, relative)).st_mode
    except OSError as error:
        if error.errno in GONE and (_is_gone(root / relative) or os.path.exists(root / relative)):
            raise FileGone("the link changed") from None
        raise FileWithheld(f"the link leads nowhere: {os.strerror(error.errno or 0)}") from None
    if stat.S_ISDIR(mode):
        raise FileWithheld("links to folders are not followed")
    if not stat.S_ISREG(mode):
        raise FileWithheld("the link does not lead to a regular file")
    return "article" if is_markdown else "other"
