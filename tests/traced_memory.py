"""How much memory a piece of Python takes and keeps."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def traced_memory() -> Iterator[Callable[[], int]]:
    """Gives what tells the bytes that were allocated within and are still held."""

    def held() -> int:
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    gc.collect()
    tracemalloc.start()
    try:
        yield held
    finally:
        tracemalloc.stop()
