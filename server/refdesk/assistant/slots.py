"""How many turns may ask the model at once; who finds no place waits briefly and is then sent away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from refdesk.errors import RequestError

RETRY_AFTER_S = 2


class Slots:
    """`most` 0: any number. `seconds`: the longest wait; those who wait come in in their order."""

    def __init__(self, most: int, seconds: float) -> None:
        self._free = asyncio.Semaphore(most) if most else None
        self._seconds = seconds
        self.taken = self.waiting = 0

    async def take(self) -> Callable[[], None]:
        """Returns what gives the place free; it must be called once. Raises RequestError 503."""
        if self._free is not None:
            await self._wait(self._free)
        self.taken += 1
        return self._leave

    async def _wait(self, free: asyncio.Semaphore) -> None:
        self.waiting += 1
        try:
            async with asyncio.timeout(self._seconds if free.locked() else None):
                await free.acquire()
        except TimeoutError:
            detail = "Too many questions are being answered just now; try again."
            raise RequestError(503, "busy", detail, retry_after=RETRY_AFTER_S) from None
        finally:
            self.waiting -= 1

    def _leave(self) -> None:
        self.taken -= 1
        if self._free is not None:
            self._free.release()
