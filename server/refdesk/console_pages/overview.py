"""The overview: how the help centre does, each figure a way to the conversations behind it."""

from __future__ import annotations

import asyncio
from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
from litestar import Request, Response, get, post

from refdesk.api.article_figures import days_of
from refdesk.api.console import start_sync
from refdesk.api.console_turn import everybody
from refdesk.api.pages import model_state
from refdesk.api.services import Services, services_of
from refdesk.api.staff import agents
from refdesk.api.stats import DAYS, DayFigures, Figures, StatsResponse, figures, stats
from refdesk.console_pages.charts import HEIGHT, WIDTH, stacked
from refdesk.console_pages.gaps import top_gaps
from refdesk.console_pages.rendering import go_to, query_of, show
from refdesk.domain.article_signals import OFTEN_OPENED

PERIODS = (7, 30, 90)
MOST_LISTED = 10
LONGEST = timedelta(days=400)
WITHOUT_SOURCE = {"status": "answered", "kind": "question", "grounded": "false"}


class Card(msgspec.Struct, frozen=True):
    """A figure, and the query of the list behind it."""

    name: str
    count: int
    share: float | None
    query: str


@get("/console", guards=[agents], include_in_schema=False)
async def overview_page(request: Request[Any, Any, Any]) -> Response[Any]:
    services = services_of(request)
    given = {name: request.query_params.get(name) or None for name in ("from", "to")}
    told: StatsResponse
    told, unused, first_gaps = await asyncio.gather(
        stats.fn(request, since=given["from"], until=given["to"]),
        never_cited(services, given["from"], given["to"]),
        top_gaps(request),
    )
    within = {"from": told.since, "to": next_day(told.until)}
    days = every_day(told)
    return show(
        request,
        "overview.html",
        here="overview",
        told=told,
        within=within,
        cards=cards(told.total, within),
        cost=cost_of(told.total),
        unpriced=[model.model for model in told.total.models if model.cost_usd is None],
        days=[(day, query_of({"from": day.day, "to": next_day(day.day)}), cost_of(day)) for day in reversed(days)],
        segments=stacked([parts(day) for day in days]),
        most=max((day.turns for day in days), default=0),
        size=(WIDTH, HEIGHT),
        periods=periods(services),
        never_cited=unused,
        gaps=first_gaps.gaps,
        out_of_scope=first_gaps.out_of_scope,
        model=services.settings.model if services.settings.anthropic_api_key else None,
        model_state=model_state(services),
        state=services.syncing.readiness(),
        **sync_values(services),
    )


async def never_cited(services: Services, since: str | None, until: str | None) -> list[tuple[str, str, int]]:
    """Id, title (of one that is gone the id) and how often it was opened."""
    first, last = days_of(services, since, until)
    store, snapshot = services.gaps.store, services.retriever.current()
    found = await store.never_cited(since=first, until=last, least=OFTEN_OPENED, limit=MOST_LISTED)
    known = [(article_id, snapshot.article(article_id, everybody(snapshot)), opened) for article_id, opened in found]
    return [(article_id, article.title if article else article_id, opened) for article_id, article, opened in known]


def cards(total: Figures, within: dict[str, str]) -> list[Card]:
    """The first one is all turns; shares are of it."""
    wanted: list[tuple[str, int, dict[str, str]]] = [
        ("all_turns", total.turns, {}),
        ("f.answered", total.answered, {"status": "answered"}),
        ("f.insufficient", total.by_status.get("insufficient", 0), {"status": "insufficient"}),
        ("f.evidence", total.by_status.get("evidence", 0), {"status": "evidence"}),
        ("f.no_source", total.no_source, WITHOUT_SOURCE),
        ("f.up", total.feedback.get("up", 0), {"rating": "up"}),
        ("f.down", total.feedback.get("down", 0), {"rating": "down"}),
    ]
    return [
        Card(name, count, count / total.turns if total.turns and view else None, query_of({**view, **within}))
        for name, count, view in wanted
    ]


def parts(day: Figures) -> dict[str, int]:
    answered, refused = day.answered, day.by_status.get("insufficient", 0)
    return {"answered": answered, "insufficient": refused, "other": day.turns - answered - refused}


def cost_of(figures: Figures) -> float | None:
    """US dollars, without the models that have no list price; None: no other was used."""
    known = [model.cost_usd for model in figures.models if model.cost_usd is not None]
    return sum(known) if known else None


def every_day(told: StatsResponse) -> list[DayFigures]:
    """With those on which nobody asked, as long as the period is one that a chart can show."""
    first, last = date.fromisoformat(told.since), date.fromisoformat(told.until)
    if not timedelta() <= last - first <= LONGEST:
        return told.days
    known = {day.day: day for day in told.days}
    wanted = [str(first + timedelta(days=number)) for number in range((last - first).days + 1)]
    return [known.get(day) or DayFigures(day=day, **figures({}, {})) for day in wanted]


def next_day(day: str) -> str:
    """The list's filter ends before a moment, the figures' with a day."""
    last = date.fromisoformat(day)
    return str(last + timedelta(days=1)) if last < date.max else day


def periods(services: Services) -> list[tuple[int, str]]:
    today = datetime.fromtimestamp(services.clock.now(), UTC).date()
    return [
        (count, query_of({"from": str(today - timedelta(days=count - 1)), "to": str(today)}) if count != DAYS else "")
        for count in PERIODS
    ]


# --- sync ------------------------------------------------------------------------------------


def sync_values(services: Services) -> dict[str, Any]:
    return {"running": services.syncing.under_way(), "report": services.syncing.last_report() or {"status": "none"}}


@post("/console/sync", status_code=200, guards=[agents], include_in_schema=False)
async def sync_now(request: Request[Any, Any, Any]) -> Response[Any]:
    await start_sync.fn(request)
    return go_to("/console#sync")


@get("/console/sync", guards=[agents], include_in_schema=False)
async def sync_state(request: Request[Any, Any, Any]) -> Response[Any]:
    """The piece of the overview that says how a sync gets on."""
    return show(request, "sync.html", **sync_values(services_of(request)))
