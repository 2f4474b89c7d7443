"""Rate limits: who may ask how often, as moving windows, and how much at once."""

from __future__ import annotations

import ipaddress
import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b

import msgspec

from refdesk.domain.windows import Use
from refdesk.errors import RequestError
from refdesk.limit_ports import RateWindows
from refdesk.settings import Settings

MINUTE = 60
AT_ONCE_RETRY_S = 2


class Limit(msgspec.Struct, frozen=True):
    """`count` uses of one key in any `seconds`; 0: as many as one likes."""

    name: str
    count: int
    seconds: int = MINUTE

    def use(self, key: str = "") -> Use:
        """The key is hashed: it may be an address or a name, and it is stored."""
        hashed = blake2b(f"{self.name}\0{key}".encode("utf-8", "replace"), digest_size=16).hexdigest()
        return Use(hashed, self.count, self.seconds)


class TurnLimits:
    """Those of a deployment."""

    def __init__(self, settings: Settings) -> None:
        self.of_visitor = Limit("turns of a visitor", settings.turns_per_visitor)
        self.of_address = Limit("turns of an address", settings.turns_per_address)
        self.of_all = Limit("turns of all", settings.turns_per_minute)
        self.sessions = Limit("sessions of an address", settings.sessions_per_address)
        self.searches = Limit("searches of an address", settings.searches_per_minute)
        self.at_once = settings.turns_at_once


class Limiter:
    def __init__(self, windows: RateWindows, *, enabled: bool) -> None:
        self._windows, self._enabled = windows, enabled
        self._busy: dict[str, Counter[str]] = {}
        """By visitor, what holds a place."""

    async def take(self, *uses: Use) -> None:
        """Counts them. Raises RequestError 429 with the seconds after which it is worth another try, counting none."""
        if not self._enabled:
            return
        wait = await self._windows.take(bounded(uses))
        if wait > 0:
            seconds = max(1, math.ceil(wait))
            raise RequestError(
                429, "rate_limited", f"Too many requests. Try again in {seconds} s.", retry_after=seconds
            )

    async def give_back(self, *uses: Use) -> None:
        """What they were for began nothing."""
        if self._enabled:
            await self._windows.give_back(bounded(uses))

    async def sweep(self) -> None:
        """Nobody's address stays stored, not even hashed, longer than a limit needs it."""
        await self._windows.sweep()

    def enter(self, visitor_id: str, what: str, most: int) -> Callable[[], None]:
        """Takes one of a visitor's places; the same thing twice takes one. Returns what gives it free. Raises
        RequestError 429."""
        busy = self._busy.setdefault(visitor_id, Counter())
        if self._enabled and most and what not in busy and len(busy) >= most:
            detail = f"No more than {most} questions of one visitor are answered at once; try again."
            raise RequestError(429, "too_many_at_once", detail, retry_after=AT_ONCE_RETRY_S)
        busy[what] += 1
        return partial(self._leave, visitor_id, what)

    def _leave(self, visitor_id: str, what: str) -> None:
        busy = self._busy[visitor_id]
        busy[what] -= 1
        if not busy[what]:
            del busy[what]
        if not busy:
            del self._busy[visitor_id]


def bounded(uses: Sequence[Use]) -> list[Use]:
    return [use for use in uses if use.count]


def client_key(address: str) -> str:
    """One client: an IPv4 address, or the /64 of an IPv6 address (a household has that many addresses)."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped:
            return str(ip.ipv4_mapped)
        return str(ipaddress.ip_network((int(ip), 64), strict=False))
    return str(ip)
