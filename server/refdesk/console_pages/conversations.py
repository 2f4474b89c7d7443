"""The list of conversations. Every view of it is an address: filter, words and page are in the query."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
from litestar import Request, Response, get

from refdesk.api.log import MAX_Q, now
from refdesk.api.schemas import storable
from refdesk.api.services import services_of
from refdesk.api.staff import agents
from refdesk.console_pages.rendering import AnyRequest, query_of, show
from refdesk.domain.console import LogFilter, Verdict
from refdesk.domain.conversation import Kind, Status
from refdesk.domain.gate import Reason
from refdesk.errors import MODEL_ERRORS, RequestError

FIELDS = {"from": "since", "to": "until", "visitor": "visitor_id"}
"""Of the query's names those that the filter has otherwise."""
NAMES = (
    "q",
    "status",
    "grounded",
    "rating",
    "kind",
    "language",
    "reason",
    "model_error",
    "verdict",
    "tag",
    "visitor",
    "from",
    "to",
)
REASONS = (*get_args(Reason), "model_insufficient")
CHOICES: dict[str, tuple[str, ...]] = {
    "status": get_args(Status),
    "grounded": ("true", "false"),
    "rating": ("up", "down"),
    "kind": get_args(Kind),
    "verdict": get_args(Verdict),
    "reason": REASONS,
    "model_error": MODEL_ERRORS,
}
PAGE = 25
MOST_NEW = 50
LONGEST = 200


def view_of(request: AnyRequest) -> dict[str, str]:
    """What of the query is a filter. A form sends its empty fields too: they ask for nothing."""
    return {name: value for name in NAMES if (value := request.query_params.get(name, "").strip())}


def filter_of(view: dict[str, str]) -> LogFilter:
    """Raises RequestError 400."""
    for name, value in view.items():
        if len(storable(value, name)) > (MAX_Q if name == "q" else LONGEST):
            raise RequestError(400, "invalid_request", f"`{name}` is too long.", field=name)
    wanted = {FIELDS.get(name, name): value for name, value in view.items()}
    try:
        return msgspec.convert(wanted, LogFilter, strict=False)
    except msgspec.ValidationError as error:
        raise RequestError(400, "invalid_request", "The filter is not valid.") from error


@get("/console/conversations", guards=[agents], include_in_schema=False)
async def conversation_list(request: Request[Any, Any, Any]) -> Response[Any]:
    services, view = services_of(request), view_of(request)
    cursor = request.query_params.get("cursor") or None
    shown_at = now(services)
    page = await services.console.log(filter_of(view), cursor=cursor, limit=PAGE)
    return show(
        request,
        "conversations.html",
        here="conversations",
        entries=page.entries,
        view={**dict.fromkeys(NAMES, ""), **view},
        choices=CHOICES,
        query=query_of(view),
        older=None if page.next_cursor is None else query_of(view, cursor=page.next_cursor),
        cursor=cursor,
        news=query_of(view, shown=shown_at),
    )


@get("/console/conversations/news", guards=[agents], include_in_schema=False)
async def conversation_news(request: Request[Any, Any, Any]) -> Response[Any]:
    """How many conversations of the view went on since it was shown: rows never move under a reader's hand."""
    services, view = services_of(request), view_of(request)
    wanted, shown = filter_of(view), request.query_params.get("shown", "")
    since = max(shown, wanted.since or "") or None
    page = await services.console.log(msgspec.structs.replace(wanted, since=since), limit=MOST_NEW)
    more = page.next_cursor is not None
    return show(request, "news.html", count=len(page.entries), more=more, query=query_of(view))
