"""`GET /metrics`: the figures of this process, and of what it serves, for Prometheus. Never public: it wants a key."""

from __future__ import annotations

import hmac
from typing import Any

from litestar import Request, Response, get
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.openapi.datastructures import ResponseSpec

from refdesk import __version__
from refdesk.api.auth import bearer
from refdesk.api.contract import STAFF_ONLY
from refdesk.api.problems import problems
from refdesk.api.services import Services, services_of
from refdesk.api.staff import admitted
from refdesk.domain.measures import Figure, Sample, gauge, info
from refdesk.errors import StorageUnavailable

BREAKER = ("closed", "open", "probing")
DENSE = ("off", "starting", "building", "ready", "failed")


async def scrapers(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """A guard: whoever has the key for metrics, which opens nothing else, and staff."""
    services: Services = connection.app.state.services
    key, token = services.settings.metrics_key, bearer(connection)
    if key and token is not None and hmac.compare_digest(token.encode(), key.encode()):
        return
    await admitted(connection)


@get(
    "/metrics",
    guards=[scrapers],
    security=STAFF_ONLY,
    media_type="text/plain",
    responses={
        200: ResponseSpec(str, generate_examples=False, description="Prometheus text format", media_type="text/plain"),
        **problems(401, 503),
    },
)
async def metrics(request: Request[Any, Any, Any]) -> Response[bytes]:
    """Figures of this process and of what it serves, in Prometheus's text format."""
    services = services_of(request)
    figures = [*services.measures.figures(), *state_of(services), *await database_of(services)]
    text, media_type = services.exposition(figures, services.measures.latencies)
    return Response(text, headers={"Content-Type": media_type})  # as `media_type` it would get a second charset


def state_of(services: Services) -> list[Figure]:
    """What the process does and serves just now."""
    breaker = services.guard.breaker.state if services.guard.breaker is not None else "closed"
    return [
        info("build", "Version, and the model that is asked.", version=__version__, model=services.settings.model),
        gauge("turns_running", "Turns that run in this process.", len(services.runs.running())),
        gauge("model_calls_running", "Model calls that are being answered.", services.calls_running()),
        gauge("model_places_taken", "Questions that may ask the model now.", services.guard.slots.taken),
        gauge("model_places_awaited", "Questions that wait for such a place.", services.guard.slots.waiting),
        Figure(
            "model_breaker",
            "State of the circuit breaker before the model: 1 for the one that holds.",
            tuple(Sample((name,), name == breaker) for name in BREAKER),
            ("state",),
        ),
        gauge("stopping", "1: the process is being stopped.", services.runs.closing),
        *corpus_of(services),
    ]


def corpus_of(services: Services) -> list[Figure]:
    state, report = services.syncing.readiness(), services.syncing.last_report() or {}
    dense = state.get("dense", {"status": "off"})["status"]
    figures = [
        gauge("sync_failed", "1: the last sync failed; the articles before it are served.",
              report.get("status") == "failed"),
        Figure("dense", "State of search by meaning: 1 for the one that holds.",
               tuple(Sample((name,), name == dense) for name in DENSE), ("state",)),
    ]  # fmt: skip
    if "articles" in state:
        figures += [
            info("index", "The generation of the index that is served.", generation=state["index"]),
            gauge("articles", "Articles that are served.", state["articles"]),
            gauge("gate_threshold", "The evidence from which on a question passes.", state["gate"]["threshold"]),
        ]
    if "withheld" in report:
        withheld = len(report["withheld"])
        figures.append(gauge("articles_withheld", "Files that the last sync withheld from everyone.", withheld))
    return figures


async def database_of(services: Services) -> list[Figure]:
    """What all processes on one database have together; each of them tells it."""
    up = "1: the database answers."
    try:
        waiting, money = await services.gaps.store.events_waiting(), await spent(services)
    except StorageUnavailable:
        return [gauge("database_up", up, 0)]
    told = "Events that the webhook is still to be told."
    return [gauge("database_up", up, 1), gauge("webhook_events_waiting", told, waiting), *money]


async def spent(services: Services) -> list[Figure]:
    spending = services.guard.spending
    if spending is None or not spending.caps.day:
        return []
    today = "US dollars that the model has cost this UTC day, what running calls may yet cost included."
    return [
        gauge("spent_today_dollars", today, (await spending.spent()).usd),
        gauge("spent_today_cap_dollars", "REFDESK_SPEND_PER_DAY.", spending.caps.day),
    ]
