"""What a server does without being asked: looks for turns that shall stop, and deletes what is too old."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import structlog

from refdesk.api.privacy import DAY, figures, retain
from refdesk.api.services import Services
from refdesk.api.times import timestamp
from refdesk.domain.console import AuditEntry
from refdesk.errors import StorageUnavailable

log = structlog.get_logger()

STOP_EVERY_S = 0.5
LOOK_EVERY_S = 60.0
"""By the wall clock, looked at often: a machine may have slept."""
FIRST_AFTER_S = 2.0


@asynccontextmanager
async def background(services: Services) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(for_ever(job, services)) for job in JOBS]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def for_ever(job: Callable[[Services], Awaitable[None]], services: Services) -> None:
    """A job that ends with an error begins again."""
    while True:
        try:
            await job(services)
        except StorageUnavailable as error:
            log.warning("background job waits", job=job.__name__, error=str(error))
        except Exception as error:
            log.error("background job failed", job=job.__name__, error=type(error).__name__, exc_info=error)
        await asyncio.sleep(LOOK_EVERY_S)


async def watch_stops(services: Services) -> None:
    """Of this process's turns those that another process was asked to stop, or whose conversation it erased."""
    while True:
        await asyncio.sleep(STOP_EVERY_S)
        running = [run.turn_id for run in services.runs.running()]
        if not running:
            continue
        with suppress(StorageUnavailable):
            for turn_id in await services.store.to_stop(running):
                run = services.runs.get(turn_id)
                if run is not None:
                    services.runs.stop(run)


async def sweep_limits(services: Services) -> None:
    """Also where nobody asks any more. All limits are in the same store."""
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        await services.limiter.sweep()


async def tend_gaps(services: Services) -> None:
    await services.gaps.run()


async def retain_daily(services: Services) -> None:
    await asyncio.sleep(FIRST_AFTER_S)
    while True:
        await services.syncing.keep_versions()
        done = await retain(services)
        if done.deleted or done.stopped:
            await tell(services, "retention" if done.deleted else "retention_stopped", figures(done))
        await a_day(services)


async def a_day(services: Services) -> None:
    """By the wall clock; a clock that is set back ends it too."""
    last = services.clock.now()
    while 0 <= services.clock.now() - last < DAY:  # noqa: ASYNC110 (nothing tells when a clock was set)
        await asyncio.sleep(LOOK_EVERY_S)


async def tell(services: Services, action: str, detail: dict[str, int]) -> None:
    at = timestamp(services.clock.now())
    await services.console.add_audit(
        AuditEntry(created_at=at, actor="refdesk", ip="", action=action, target="", detail=detail)
    )


JOBS = (watch_stops, retain_daily, sweep_limits, tend_gaps)
