"""Taking the log out: CSV for spreadsheets, JSON lines for programs; streamed, so that its size does not matter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, get
from litestar.di import NamedDependency
from litestar.params import QueryParameter
from litestar.response import Stream

from refdesk.api import gap_export
from refdesk.api.contract import STAFF_ONLY
from refdesk.api.log import FILTER, NDJSON, attachment, logged_turns
from refdesk.api.problems import problems
from refdesk.api.services import Services, services_of
from refdesk.api.staff import admins, record
from refdesk.domain.console import LogFilter, LoggedTurn
from refdesk.text.spreadsheet import BOM, csv_line

COLUMNS = (
    "created_at", "conversation_id", "turn_id", "visitor_id", "subject", "roles", "locale", "language", "channel",
    "kind", "question", "answer", "status", "grounded", "verification", "reason", "model_error", "found", "read",
    "cited", "shown", "rating", "comment", "verdict", "model", "input_tokens", "output_tokens", "total_ms",
)  # fmt: skip

What = Annotated[Literal["conversations", "gaps"], QueryParameter(required=False)]


def row_of(logged: LoggedTurn) -> dict[str, Any]:
    """A turn with everything that is filtered, counted or argued about, by column."""
    turn, trail = logged.stored.turn, logged.stored.trail
    return {
        "created_at": turn.created_at,
        "conversation_id": turn.conversation_id,
        "turn_id": turn.id,
        "visitor_id": logged.visitor_id,
        "subject": logged.subject,
        "roles": list(trail.roles),
        "locale": trail.locale,
        "language": turn.language,
        "channel": trail.channel,
        "kind": turn.kind,
        "question": turn.question,
        "answer": turn.answer,
        "status": turn.status,
        "grounded": turn.grounded,
        "verification": turn.verification,
        "reason": trail.reason,
        "model_error": turn.model_error,
        "found": [article.id for article in trail.documents],
        "read": [article.id for article in trail.documents if article.read],
        "cited": [article.id for article in trail.documents if article.cited],
        "shown": [source.id for source in turn.sources if source.show],
        "rating": turn.feedback.rating if turn.feedback else None,
        "comment": turn.feedback.comment if turn.feedback else None,
        "verdict": logged.verdict,
        "model": trail.usage.model,
        "input_tokens": trail.usage.input_tokens,
        "output_tokens": trail.usage.output_tokens,
        "total_ms": trail.timings.get("total_ms"),
    }


def cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(value) if isinstance(value, list) else str(value)


async def csv_lines(services: Services, wanted: LogFilter) -> AsyncIterator[bytes]:
    yield (BOM + csv_line(list(COLUMNS))).encode()
    async for logged in logged_turns(services, wanted):
        row = row_of(logged)
        yield csv_line([cell(row[name]) for name in COLUMNS]).encode("utf-8", "replace")


async def json_lines(services: Services, wanted: LogFilter) -> AsyncIterator[bytes]:
    """Unchanged texts, and with them the whole sources and claims."""
    async for logged in logged_turns(services, wanted):
        turn = logged.stored.turn
        whole = {"sources": turn.sources, "claims": turn.claims, "conflicts": turn.conflicts, "evidence": turn.evidence}
        yield msgspec.json.encode({**row_of(logged), **whole}) + b"\n"


@get(
    "/v1/console/export.csv",
    guards=[admins],
    dependencies=FILTER,
    security=STAFF_ONLY,
    media_type="text/csv",
    responses=problems(401, 503),
)
async def export_csv(
    request: Request[Any, Any, Any], wanted: NamedDependency[LogFilter], what: What = "conversations"
) -> Stream:
    """One row a turn, oldest first, or one a gap; opens by a double click, and no cell is run as a formula. The filter
    is for turns; of gaps it is all."""
    services = await begun(request, wanted, what, "csv")
    if what == "gaps":
        return attachment(gap_export.csv_lines(services), "gaps.csv", "text/csv")
    return attachment(csv_lines(services, wanted), "conversations.csv", "text/csv")


@get(
    "/v1/console/export.jsonl",
    guards=[admins],
    dependencies=FILTER,
    security=STAFF_ONLY,
    media_type=NDJSON,
    responses=problems(401, 503),
)
async def export_jsonl(
    request: Request[Any, Any, Any], wanted: NamedDependency[LogFilter], what: What = "conversations"
) -> Stream:
    """One turn a line, oldest first, or one gap; the filter is for turns."""
    services = await begun(request, wanted, what, "jsonl")
    if what == "gaps":
        return attachment(gap_export.json_lines(services), "gaps.jsonl", NDJSON)
    return attachment(json_lines(services, wanted), "conversations.jsonl", NDJSON)


async def begun(request: Request[Any, Any, Any], wanted: LogFilter, what: str, kind: str) -> Services:
    """Reads one turn first: a filter that cannot be read is refused before the answer begins."""
    services = services_of(request)
    await services.console.exported(wanted, limit=1)
    await record(request, "export", what, format=kind)
    return services
