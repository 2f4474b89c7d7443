"""Building an index of vectors in a child process at low priority, seen from the server."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from refdesk.errors import DenseUnavailable
from refdesk.ports import VectorRow

Progress = Callable[[int, int], None]
"""Texts that have a vector, and all of them."""


LOCK = "lock"
"""In the folder of the indexes: one process writes there at a time."""


class VectorBuild(msgspec.Struct, frozen=True):
    """What the child is told, as one JSON argument."""

    rows: str
    """A file with a VectorRow in JSON on each line."""
    target: str
    """The folder to make; it appears when it is complete."""
    encoders: str
    """Where the converted encoders are cached."""
    cache: str
    """The file of vectors computed before."""
    previous: str = ""
    """The folder of the generation before, for a patch where little has changed."""
    threads: int = 1


class Step(msgspec.Struct, frozen=True):
    """A line that the child prints."""

    done: int
    total: int


def write_rows(rows: Iterable[VectorRow], path: Path) -> None:
    encoder = msgspec.json.Encoder()
    with path.open("wb") as file:
        file.writelines(encoder.encode(row) + b"\n" for row in rows)


async def build(asked: VectorBuild, progress: Progress = lambda done, total: None) -> None:
    """Returns when the folder is there. Cancelling ends the child; what it had embedded is kept and not done again.

    Raises DenseUnavailable."""
    command = [sys.executable, "-m", "refdesk.adapters.build_vectors", msgspec.json.encode(asked).decode()]
    try:
        child = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
    except OSError as error:
        raise DenseUnavailable(f"the vectors cannot be built: {error}") from error
    try:
        _, complaint = await asyncio.gather(_follow(child, progress), _last_words(child))
        code = await child.wait()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if code:
        raise DenseUnavailable(f"the vectors could not be built: {complaint}")


async def _follow(child: asyncio.subprocess.Process, progress: Progress) -> None:
    assert child.stdout is not None
    async for line in child.stdout:
        step = msgspec.json.decode(line, type=Step)
        progress(step.done, step.total)


async def _last_words(child: asyncio.subprocess.Process) -> str:
    """The end of what it complained of; the pipe is emptied meanwhile, or a talkative child would stop."""
    assert child.stderr is not None
    kept = b""
    async for line in child.stderr:
        kept = (kept + line)[-500:]
    return kept.decode("utf-8", "replace").strip()
