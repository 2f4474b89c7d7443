"""What the webhook is told: each event once it is due, later again where nobody took it, and after a day no more."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec
import structlog

from refdesk.domain.gap_queue import Happened
from refdesk.domain.gap_view import gap_view
from refdesk.gap_ports import GapStore
from refdesk.settings import Settings

log = structlog.get_logger()

AT_ONCE = 20
PAUSES = (10, 60, 300, 1_800, 7_200, 21_600, 57_600)
"""Seconds after each try that failed; after the last one the event is given up: a day in all."""


class Receiver(Protocol):
    async def deliver(self, event_id: str, body: bytes, *, at: int) -> bool: ...


def timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def deliver_due(store: GapStore, receiver: Receiver, clock: Callable[[], float], settings: Settings) -> None:
    for item in await store.due_events(now=timestamp(clock()), limit=AT_ONCE):
        body = msgspec.json.encode(await told(store, item.happened, clock(), settings))
        taken = await receiver.deliver(item.happened.id, body, at=int(clock()))
        pause = PAUSES[item.tries] if item.tries < len(PAUSES) else None
        if not taken and pause is None:
            log.error("webhook event given up", event_id=item.happened.id, event_name=item.happened.event)
        await store.event_tried(
            item.seq,
            delivered_at=timestamp(clock()) if taken else None,
            due_at=None if taken or pause is None else timestamp(clock() + pause),
        )


async def told(store: GapStore, happened: Happened, now: float, settings: Settings) -> dict[str, Any]:
    """The event with what is true of it now. Of questions only what the queue itself would show."""
    event = {"id": happened.id, "event": happened.event, "created_at": happened.at}
    if happened.event == "feedback.down":
        return {**event, "turn_id": happened.target}
    row = await store.gap(happened.target)
    if row is None:
        return {**event, "gap": {"id": happened.target}}
    asked = (await store.asked([row.id]))[row.id]
    view = gap_view(row, asked, k=settings.gaps_k, now=timestamp(now))
    return {**event, "gap": msgspec.to_builtins(view), "link": f"{settings.public_url}/console/gaps/{row.id}"}
