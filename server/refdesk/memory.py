"""How the process keeps house with memory: few looks for garbage, few arenas, and what is free goes back."""

from __future__ import annotations

import ctypes
import gc
import sys

GARBAGE_THRESHOLDS = (20_000, 20, 20)
"""A turn leaves next to no cycles behind, and looking for them every 700 objects is a fifth of its CPU time."""
ARENA_MAX, ARENAS = -8, 2
"""M_ARENA_MAX of glibc's malloc.h. Each thread would get an arena of its own, of which none gives back what the others
need: 40 MB with the encoders' threads."""


def keep_house() -> None:
    """At the start of a server, before it has threads."""
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    _call_libc("mallopt", ARENA_MAX, ARENAS)


def give_back() -> None:
    """After work that took much for a while: glibc keeps 25 MB of what loading the encoders took."""
    _call_libc("malloc_trim", 0)


def _call_libc(name: str, *arguments: int) -> None:
    """Does nothing where the C library has no such call."""
    call = getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
    if call is not None:
        call(*arguments)
