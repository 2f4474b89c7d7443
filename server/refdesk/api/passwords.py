"""Passwords of staff: hashed with argon2id, one or two at a time, and as slowly for a name that nobody has."""

from __future__ import annotations

import asyncio

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

AT_ONCE = 2
"""Each takes 64 MiB and a core for a tenth of a second."""
NOBODY = "$argon2id$v=19$m=65536,t=3,p=4$pQqVoO9PykR9CXcVhuXSpQ$4W0xOVYpuDjvGowAq1CHqW3W00sBdmR1TDqBOMqZbdU"
"""Verified where there is no account, so that the time tells nothing."""


class Passwords:
    def __init__(self) -> None:
        self._hasher = PasswordHasher(time_cost=3, memory_cost=65_536, parallelism=4)
        self._turn = asyncio.Semaphore(AT_ONCE)

    def hash(self, password: str) -> str:
        """Blocking."""
        return self._hasher.hash(password)

    async def hashed(self, password: str) -> str:
        async with self._turn:
            return await asyncio.to_thread(self.hash, password)

    async def matches(self, password: str, known: str | None) -> bool:
        """`known` None: there is no such account, or it has no password."""
        async with self._turn:
            good = await asyncio.to_thread(self._verify, known or NOBODY, password)
        return good and known is not None

    def _verify(self, known: str, password: str) -> bool:
        try:
            return self._hasher.verify(known, password)
        except (Argon2Error, InvalidHashError, UnicodeEncodeError):
            return False
