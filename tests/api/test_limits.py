"""Rate limits: moving windows, and what counts as one client."""

from __future__ import annotations

import pytest

from refdesk.api import limits
from refdesk.api.limits import Limit, Limiter, client_key
from refdesk.errors import RequestError

THREE = Limit("three a minute", 3, 60)


class Clock:
    at = 1_000.0

    def monotonic(self) -> float:
        return self.at

    def now(self) -> float:
        return self.at


def refused(limiter: Limiter, key: str, limit: Limit = THREE) -> int | None:
    """Seconds to wait; None: let through."""
    try:
        limiter.check(limit, key)
    except RequestError as error:
        return error.retry_after if (error.status, error.code) == (429, "rate_limited") else -1
    return None


def test_the_window_moves_and_says_when_it_opens() -> None:
    clock = Clock()
    limiter = Limiter(clock, enabled=True)
    for second in (0, 10, 20):
        clock.at = 1_000.0 + second
        assert refused(limiter, "a") is None
    for second, wait in ((20, 41), (59, 2), (59.9, 1)):
        clock.at = 1_000.0 + second
        found = refused(limiter, "a")
        assert found is not None
        assert wait <= found <= wait + 1
    clock.at = 1_060.0
    assert refused(limiter, "a") is None
    assert refused(limiter, "a") is not None
    clock.at = 1_070.0
    assert refused(limiter, "a") is None


def test_what_is_refused_does_not_count_and_each_key_and_limit_counts_alone() -> None:
    clock = Clock()
    limiter = Limiter(clock, enabled=True)
    assert [refused(limiter, "a") is None for _ in range(10)] == [True] * 3 + [False] * 7
    assert refused(limiter, "b") is None
    assert refused(limiter, "a", Limit("another", 1, 60)) is None
    clock.at += 60
    assert refused(limiter, "a") is None


def test_a_use_that_began_nothing_is_given_back() -> None:
    limiter = Limiter(Clock(), enabled=True)
    for _ in range(10):
        limiter.check(THREE, "a")
        limiter.give_back(THREE, "a")
    limiter.give_back(THREE, "nobody")
    assert [refused(limiter, "a") is None for _ in range(4)] == [True, True, True, False]


def test_switched_off_it_refuses_nothing() -> None:
    limiter = Limiter(Clock(), enabled=False)
    assert [refused(limiter, "a") for _ in range(10)] == [None] * 10


def test_a_flood_of_keys_fills_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_KEYS", 100)
    limiter = Limiter(Clock(), enabled=True)
    for number in range(1_000):
        assert refused(limiter, str(number)) is None
        limiter.check(Limit("asked again and again", 10_000, 60), "steady")
    assert len(limiter._seen) <= 100


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("2001:DB8:1:2::1", "2001:db8:1:2:0::9", True),
        ("unknown", "unknown", True),
    ],
)
def test_one_client_is_an_ipv4_address_or_a_network_of_64_bits(one: str, other: str, same: bool) -> None:
    assert (client_key(one) == client_key(other)) is same
