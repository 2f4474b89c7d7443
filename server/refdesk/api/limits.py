"""Rate limits: moving windows per visitor and per address."""

from __future__ import annotations

import ipaddress
from collections import deque

import msgspec

from refdesk.errors import RequestError
from refdesk.ports import Clock


class Limit(msgspec.Struct, frozen=True):
    name: str
    count: int
    seconds: int


TURNS_PER_VISITOR = Limit("turns of one visitor", 20, 60)
TURNS_PER_ADDRESS = Limit("turns of one address", 60, 60)
SESSIONS_PER_ADDRESS = Limit("sessions of one address", 30, 60)
MAX_KEYS = 50_000
"""Beyond it the oldest keys are forgotten: memory stays bounded under a flood of addresses."""


class Limiter:
    def __init__(self, clock: Clock, *, enabled: bool) -> None:
        self._clock, self._enabled = clock, enabled
        self._seen: dict[tuple[str, str], deque[float]] = {}

    def check(self, limit: Limit, key: str) -> None:
        """Counts one use. Raises RequestError 429 with the seconds after which it is worth another try."""
        if not self._enabled:
            return
        now = self._clock.monotonic()
        times = self._seen.pop((limit.name, key), None) or deque()
        while times and times[0] <= now - limit.seconds:
            times.popleft()
        self._seen[(limit.name, key)] = times
        if len(self._seen) > MAX_KEYS:
            del self._seen[next(iter(self._seen))]
        if len(times) >= limit.count:
            wait = max(1, int(times[0] + limit.seconds - now) + 1)
            raise RequestError(429, "rate_limited", f"Too many requests. Try again in {wait} s.", retry_after=wait)
        times.append(now)

    def give_back(self, limit: Limit, key: str) -> None:
        """Takes back the last use: it began nothing."""
        times = self._seen.get((limit.name, key))
        if times:
            times.pop()


def client_key(address: str) -> str:
    """One client: an IPv4 address, or the /64 of an IPv6 address (a household has that many addresses)."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address):
        if ip.ipv4_mapped:
            return str(ip.ipv4_mapped)
        return str(ipaddress.ip_network((ip, 64), strict=False))
    return str(ip)
