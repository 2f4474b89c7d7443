"""Figures for the overview, from the sums per day that outlive the turns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from litestar import Request, get

from refdesk.api.contract import STAFF_ONLY
from refdesk.api.log import From, To
from refdesk.api.problems import problems
from refdesk.api.services import Services, services_of
from refdesk.api.staff import agents
from refdesk.domain.console import DayCounts
from refdesk.domain.conversation import Usage
from refdesk.domain.prices import Price, price_of
from refdesk.errors import RequestError

DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
DAYS = 30
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")

Counts = Mapping[str, float]
Prices = Mapping[str, Price]


class Latency(msgspec.Struct):
    """Milliseconds, as the upper end of the bucket that holds the turn; null: no turn, or longer than any bucket."""

    p50: float | None
    p95: float | None


class ModelUse(msgspec.Struct):
    model: str
    turns: int
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    cost_usd: float | None
    """By REFDESK_PRICES and the list prices; null for a model without one."""


class Figures(msgspec.Struct):
    turns: int
    answered: int
    grounded: int
    no_source: int
    """Answered questions that show no source."""
    by_status: dict[str, int]
    by_kind: dict[str, int]
    insufficient: dict[str, int]
    """By reason."""
    evidence: dict[str, int]
    """By model error."""
    languages: dict[str, int]
    feedback: dict[str, int]
    first_word_ms: Latency
    total_ms: Latency
    models: list[ModelUse]


class DayFigures(Figures):
    day: str


class Spending(msgspec.Struct):
    """Of this UTC day, in US dollars, what running calls may yet cost included."""

    day: str
    usd: float
    cap_usd: float


class StatsResponse(msgspec.Struct):
    since: str
    until: str
    """Both days included, UTC."""
    total: Figures
    days: list[DayFigures]
    spending: Spending | None
    """Of today; null where what is spent in a day is not capped."""


@get("/v1/console/stats", guards=[agents], security=STAFF_ONLY, responses=problems(401, 503))
async def stats(
    request: Request[Any, Any, Any],
    since: From = None,
    until: To = None,
) -> StatsResponse:
    """Rates and counts from day to day, both included; without days, the last thirty."""
    services = services_of(request)
    today = datetime.fromtimestamp(services.clock.now(), UTC)
    first = day_of(since, "from") or (today - timedelta(days=DAYS - 1)).strftime("%Y-%m-%d")
    last = day_of(until, "to") or today.strftime("%Y-%m-%d")
    prices = services.settings.prices
    days = await services.console.day_counts(since=first, until=last)
    return StatsResponse(
        since=first,
        until=last,
        total=Figures(**figures(summed(days), prices)),
        days=[DayFigures(day=day.day, **figures(day.counts, prices)) for day in days],
        spending=await spending_of(services),
    )


async def spending_of(services: Services) -> Spending | None:
    spending = services.guard.spending
    if spending is None or not spending.caps.day:
        return None
    spent = await spending.spent()
    return Spending(spent.day, round(spent.usd, 6), spent.cap_usd)


def day_of(text: str | None, field: str) -> str | None:
    if text is None:
        return None
    try:
        datetime.fromisoformat(text)
    except ValueError:
        text = ""
    if DATE.match(text) is None:
        raise RequestError(400, "invalid_time", f"`{field}`: a day is expected, as 2026-02-03.", field=field)
    return text[:10]


def summed(days: Sequence[DayCounts]) -> dict[str, float]:
    total: dict[str, float] = {}
    for day in days:
        for name, value in day.counts.items():
            total[name] = total.get(name, 0) + value
    return total


def figures(counts: Counts, prices: Prices) -> dict[str, Any]:
    """`prices`: the operator's own."""
    status, reason = by(counts, "status"), by(counts, "reason")
    return {
        "turns": int(counts.get("turns", 0)),
        "answered": status.get("answered", 0),
        "grounded": int(counts.get("grounded", 0)),
        "no_source": int(counts.get("no_source", 0)),
        "by_status": status,
        "by_kind": by(counts, "kind"),
        "insufficient": reason,
        "evidence": by(counts, "model_error"),
        "languages": by(counts, "language"),
        "feedback": by(counts, "feedback"),
        "first_word_ms": latency(counts, "first_word_ms"),
        "total_ms": latency(counts, "total_ms"),
        "models": [model_use(counts, model, prices) for model in sorted(by(counts, "turns"))],
    }


def by(counts: Counts, name: str) -> dict[str, int]:
    start = f"{name}:"
    return {key.removeprefix(start): int(value) for key, value in sorted(counts.items()) if key.startswith(start)}


def latency(counts: Counts, name: str) -> Latency:
    start = f"{name}<="
    buckets = sorted((float(key.removeprefix(start)), value) for key, value in counts.items() if key.startswith(start))
    return Latency(p50=quantile(buckets, 0.5), p95=quantile(buckets, 0.95))


def quantile(buckets: Sequence[tuple[float, float]], share: float) -> float | None:
    wanted, seen = share * sum(count for _, count in buckets), 0.0
    for bound, count in buckets:
        seen += count
        if seen >= wanted and count:
            return None if bound == float("inf") else bound
    return None


def model_use(counts: Counts, model: str, prices: Prices) -> ModelUse:
    used = {name: int(counts.get(f"{name}:{model}", 0)) for name in TOKENS}
    price = price_of(model, prices)
    cost = None if price is None else round(price.cost(Usage(model=model, **used)), 6)
    return ModelUse(model=model, turns=int(counts.get(f"turns:{model}", 0)), cost_usd=cost, **used)
