"""Moving windows: how often something was used within the last seconds, exactly, for many keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import msgspec

MAX_KEYS = 50_000
"""Beyond it the keys that were used longest ago are forgotten: memory stays bounded under a flood of addresses."""


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


class Windows:
    """`now` is seconds on any clock that only goes forward, the same one for all calls."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[deque[float], int]] = {}
        """By key: the times of its uses, oldest first, and the length of its window."""
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
            times, _ = self._seen.pop(use.key, (deque[float](), 0))
            times.append(now)
            self._seen[use.key] = (times, use.seconds)
            self.changed.add(use.key)
        while len(self._seen) > MAX_KEYS:
            self._forget(next(iter(self._seen)))
        return 0.0

    def give_back(self, uses: Sequence[Use]) -> None:
        """Takes back the last use of each: it began nothing."""
        for use in uses:
            times, _ = self._seen.get(use.key, (None, 0))
            if times:
                times.pop()
                self.changed.add(use.key)

    def kept(self, keys: Iterable[str], now: float, wall: float) -> list[Kept]:
        """The windows of these keys. `wall`: the same moment as `now`, as Unix time."""
        found = [(key, *self._seen.get(key, (deque[float](), 0))) for key in keys]
        shift = wall - now
        return [
            Kept(key, [round(time + shift, 3) for time in times], (times[-1] if times else now) + shift + seconds)
            for key, times, seconds in found
        ]

    def restore(self, kept: Iterable[Kept], now: float, wall: float) -> None:
        """What a process before this one had. A wall clock that was set back makes no use later than now."""
        for row in kept:
            times = [min(time, wall) - wall + now for time in row.times]
            if times:
                self._seen[row.key] = (deque(times), max(1, round(row.ends_at - row.times[-1])))

    def _wait(self, use: Use, now: float) -> float:
        times, _ = self._seen.get(use.key, (deque[float](), 0))
        while times and times[0] <= now - use.seconds:
            times.popleft()
        return times[len(times) - use.count] + use.seconds - now if len(times) >= use.count else 0.0

    def _forget(self, key: str) -> None:
        del self._seen[key]
        self.changed.discard(key)
