"""Moving windows: how often something was used within the last seconds, exactly, for many keys."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence

import msgspec

MAX_KEYS = 50_000
"""Beyond it the keys that were used longest ago are forgotten: memory stays bounded (16 MB) under a flood of
addresses."""


class Use(msgspec.Struct, frozen=True):
    """One use under a key, of which any `seconds` may see `count`."""

    key: str
    count: int
    seconds: int


class Kept(msgspec.Struct, frozen=True):
    """What of a key outlives a process: when it was used, oldest first, and when the last use leaves its window. Unix
    time, seconds."""

    key: str
    times: list[float]
    ends_at: float


class Window(msgspec.Struct):
    """A key's uses that still count."""

    times: array[float] = msgspec.field(default_factory=lambda: array("d"))
    """Oldest first; an array, as most windows hold one or two."""
    seconds: int = 0
    until: float = 0.0
    """When the last use that was counted leaves, given back or not."""


class Windows:
    """`now` is seconds on any clock that only goes forward, the same one for all calls."""

    def __init__(self) -> None:
        self._seen: dict[str, Window] = {}
        """By key, the one that was used longest ago first."""
        self.changed: set[str] = set()
        """Keys used since somebody last looked."""

    def __len__(self) -> int:
        return len(self._seen)

    def take(self, uses: Sequence[Use], now: float) -> float:
        """Counts all of them and returns 0, or none and returns the seconds after which it is worth another try."""
        wait = max((self._wait(use, now) for use in uses), default=0.0)
        if wait > 0:
            return wait
        for use in uses:
            window = self._seen[use.key] = self._seen.pop(use.key, Window())
            window.times.append(now)
            window.seconds, window.until = use.seconds, now + use.seconds
            self.changed.add(use.key)
        self._forget_old(now)
        return 0.0

    def give_back(self, uses: Sequence[Use]) -> None:
        """Takes back the last use of each: it began nothing."""
        for use in uses:
            window = self._seen.get(use.key)
            if window is not None and window.times:
                window.times.pop()
                self.changed.add(use.key)

    def kept(self, keys: Iterable[str], now: float, wall: float) -> list[Kept]:
        """The windows of these keys. `wall`: the same moment as `now`, as Unix time."""
        found = [(key, self._seen.get(key, Window())) for key in keys]
        shift = wall - now
        return [
            Kept(
                key,
                [round(time + shift, 3) for time in window.times],
                (window.times[-1] if window.times else now) + shift + window.seconds,
            )
            for key, window in found
        ]

    def restore(self, kept: Iterable[Kept], now: float, wall: float) -> None:
        """What a process before this one had. A wall clock that was set back makes no use later than now."""
        for row in kept:
            times = [min(time, wall) - wall + now for time in row.times]
            if times:
                seconds = max(1, round(row.ends_at - row.times[-1]))
                self._seen[row.key] = Window(array("d", times), seconds, times[-1] + seconds)

    def _wait(self, use: Use, now: float) -> float:
        window = self._seen.get(use.key)
        if window is None:
            return 0.0
        times = window.times
        del times[: bisect_right(times, now - use.seconds)]
        return times[len(times) - use.count] + use.seconds - now if len(times) >= use.count else 0.0

    def _forget_old(self, now: float) -> None:
        """Those whose windows are over, and what is too much. What is stored of a window ends with it, too."""
        while self._seen:
            key, window = next(iter(self._seen.items()))
            if len(self._seen) <= MAX_KEYS and window.until > now:
                return
            del self._seen[key]
            self.changed.discard(key)
