"""What limits need of a store, so that they hold after a restart and for all processes on one database together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from refdesk.domain.windows import Use


class RateWindows(Protocol):
    """Raises StorageUnavailable where uses are counted in the database and it does not answer."""

    async def open(self) -> None:
        """Reads what is left of an earlier process; without a database there is nothing left."""

    async def take(self, uses: Sequence[Use]) -> float:
        """See `domain.windows.Windows.take`: all are counted, or none. 0, or the seconds to wait."""

    async def give_back(self, uses: Sequence[Use]) -> None: ...

    async def sweep(self) -> None:
        """Windows that are over leave the database."""

    async def close(self) -> None: ...


class Charge(msgspec.Struct, frozen=True):
    """Nanodollars for one account of a day. `who`: a visitor's id; empty: the whole deployment. `cap`: how much the
    account may hold in all."""

    who: str
    amount: int
    cap: int


class SpendStore(Protocol):
    """Raises StorageUnavailable. `day` is YYYY-MM-DD, UTC."""

    async def charge(self, day: str, charges: Sequence[Charge]) -> bool:
        """All of them, or none where one would pass its cap: False."""

    async def settle(self, day: str, charges: Sequence[Charge]) -> None:
        """Adds the amounts, which may be negative, whatever the caps are."""

    async def spent(self, day: str, who: str = "") -> int: ...
