"""The circuit breaker as a table of states: what opens it, who probes, and what a probe's end means."""

from __future__ import annotations

import pytest

from refdesk.assistant.breaker import Breaker
from refdesk.errors import ModelFailure

DOWN, OVERLOADED = ModelFailure("unavailable", "no connection"), ModelFailure("overloaded", "529")
SPENT = ModelFailure("rate_limited", "the spend limit", status=429, permanent=True)


class Clock:
    at = 100.0

    def now(self) -> float:
        raise AssertionError("a wall clock may be set")

    def monotonic(self) -> float:
        return self.at


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker(clock, turns=3, seconds=10)


def turns(breaker: Breaker, *ends: ModelFailure | None) -> None:
    for end in ends:
        breaker.end(end, probe=breaker.admit())


def refused(breaker: Breaker) -> str | None:
    try:
        breaker.abandon(probe=breaker.admit())
    except ModelFailure as failure:
        return failure.kind
    return None


def test_failures_in_a_row_open_it_and_it_says_what_failed(breaker: Breaker) -> None:
    turns(breaker, DOWN, DOWN, None, DOWN, DOWN)
    assert breaker.state == "closed"
    turns(breaker, OVERLOADED)
    assert breaker.state == "open"
    assert [refused(breaker) for _ in range(3)] == ["overloaded"] * 3


@pytest.mark.parametrize("kind", ["invalid_response", "refused", "budget", "not_configured", "unverified"])
def test_what_a_service_that_is_there_does_opens_nothing(breaker: Breaker, kind: str) -> None:
    turns(breaker, *[ModelFailure(kind)] * 20)
    turns(breaker, DOWN, DOWN, ModelFailure(kind), DOWN, DOWN)
    assert breaker.state == "closed"


@pytest.mark.parametrize("kind", ["unavailable", "overloaded", "rate_limited", "timeout"])
def test_every_kind_of_outage_counts(breaker: Breaker, kind: str) -> None:
    turns(breaker, *[ModelFailure(kind)] * 3)
    assert refused(breaker) == kind


def test_a_spend_limit_opens_it_at_once(breaker: Breaker) -> None:
    turns(breaker, SPENT)
    assert refused(breaker) == "rate_limited"


def test_one_turn_probes_after_the_cool_down_and_its_success_closes_it(breaker: Breaker, clock: Clock) -> None:
    turns(breaker, *[DOWN] * 3)
    clock.at += 9.9
    assert refused(breaker) == "unavailable"
    clock.at += 0.1
    assert breaker.admit() is True
    assert breaker.state == "probing"
    assert refused(breaker) == "unavailable"
    breaker.end(None, probe=True)
    assert breaker.state == "closed"
    turns(breaker, DOWN, DOWN)
    assert breaker.state == "closed"


def test_a_probe_that_fails_opens_it_again_for_as_long(breaker: Breaker, clock: Clock) -> None:
    turns(breaker, *[DOWN] * 3)
    clock.at += 10
    turns(breaker, OVERLOADED)
    clock.at += 9
    assert refused(breaker) == "overloaded"
    clock.at += 1
    turns(breaker, ModelFailure("invalid_response"))
    assert breaker.state == "closed"


def test_a_probe_that_is_stopped_leaves_it_to_the_next_turn(breaker: Breaker, clock: Clock) -> None:
    turns(breaker, *[DOWN] * 3)
    clock.at += 10
    breaker.abandon(probe=breaker.admit())
    assert breaker.state == "open"
    assert breaker.admit() is True


def test_turns_from_before_it_opened_change_nothing(breaker: Breaker) -> None:
    before = [breaker.admit() for _ in range(5)]
    assert before == [False] * 5
    for _ in range(4):
        breaker.end(DOWN, probe=False)
    breaker.end(None, probe=False)
    assert breaker.state == "open"


def test_it_can_be_switched_off(clock: Clock) -> None:
    breaker = Breaker(clock, turns=0, seconds=10)
    turns(breaker, *[DOWN] * 50, SPENT)
    assert breaker.state == "closed"
