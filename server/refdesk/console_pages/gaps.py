"""The docs-gap queue as pages: what to write next, one gap beside it, and all that can be done to it."""

from __future__ import annotations

from typing import Any

import msgspec
from litestar import Request, Response, get, post
from litestar.params import FromPath

from refdesk.api.gap_schemas import DraftRequest, GapChangeRequest, GapDetail, GapList, MergeRequest, SplitRequest
from refdesk.api.gaps import change, check, detail, draft, gaps, merge, split
from refdesk.api.schemas import storable
from refdesk.api.services import services_of
from refdesk.api.staff import agents, member_in
from refdesk.console_pages.charts import LINE_HEIGHT, LINE_WIDTH, line
from refdesk.console_pages.forms import Form, form_of, own_address
from refdesk.console_pages.rendering import AnyRequest, go_to, query_of, show
from refdesk.domain.gap_queue import CAUSES, OFF_TOPIC, STATUSES, GapFilter
from refdesk.errors import RequestError

NAMES = ("status", "cause", "assignee")
CHOICES = {"gap_status": STATUSES, "cause": CAUSES}
PAGE = 25
TOP = 5


def filter_of(view: dict[str, str]) -> GapFilter:
    """Raises RequestError 400."""
    try:
        return msgspec.convert({name: storable(value, name) for name, value in view.items()}, GapFilter)
    except msgspec.ValidationError as error:
        raise RequestError(400, "invalid_request", "The filter is not valid.") from error


async def listed(request: AnyRequest, wanted: GapFilter, *, cursor: str | None = None, limit: int = PAGE) -> GapList:
    found: GapList = await gaps.fn(request, **msgspec.structs.asdict(wanted), cursor=cursor, limit=limit)
    return found


async def top_gaps(request: AnyRequest) -> GapList:
    return await listed(request, GapFilter(), limit=TOP)


@get("/console/gaps", guards=[agents], include_in_schema=False)
async def gap_list(request: Request[Any, Any, Any]) -> Response[Any]:
    """With `gap`, that one beside the queue."""
    asked = request.query_params
    view = {name: value for name in NAMES if (value := asked.get(name, "").strip())}
    cursor, chosen = asked.get("cursor") or None, asked.get("gap", "")
    found = await listed(request, filter_of(view), cursor=cursor)
    return show(
        request,
        "gaps.html",
        here="gaps",
        gaps=found.gaps,
        out_of_scope=found.out_of_scope,
        elsewhere=query_of(view, cause=OFF_TOPIC),
        view={**dict.fromkeys(NAMES, ""), **view},
        query=query_of(view),
        row_query=query_of(view, cursor=cursor),
        older=None if found.next_cursor is None else query_of(view, cursor=found.next_cursor),
        cursor=cursor,
        gap=await detail(services_of(request), chosen) if chosen else None,
        **drawing(),
    )


@get("/console/gaps/{gap_id:str}", guards=[agents], include_in_schema=False)
async def gap_page(request: Request[Any, Any, Any], gap_id: FromPath[str]) -> Response[Any]:
    found = await detail(services_of(request), gap_id)
    return show(request, "gap_page.html", here="gaps", gap=found, **drawing())


def drawing() -> dict[str, Any]:
    return {"choices": CHOICES, "line": line, "line_size": (LINE_WIDTH, LINE_HEIGHT)}


# --- what can be done to it ------------------------------------------------------------------


def back(form: Form, gap_id: str) -> Response[Any]:
    """To where the form was, which is the queue or the gap's own page."""
    wanted = form.text("next")
    return go_to(own_address(wanted) if wanted else f"/console/gaps/{gap_id}")


@post("/console/gaps/{gap_id:str}", status_code=200, guards=[agents], include_in_schema=False)
async def change_gap(request: Request[Any, Any, Any], gap_id: FromPath[str]) -> Response[Any]:
    form, before = await form_of(request), await detail(services_of(request), gap_id)
    await change.fn(request, before.id, changes_of(form, before, member_in(request).name))
    return back(form, before.id)


def changes_of(form: Form, before: GapDetail, own_name: str) -> GapChangeRequest:
    """What the form says otherwise than the gap is. Raises RequestError 400."""
    given: dict[str, Any] = {}
    for name in ("status", "cause"):
        if (value := form.text(name)) and value != getattr(before, name):
            given[name] = value
    for name in ("assignee", "article"):
        value = form.text(name)
        if form.has(name) and value != (getattr(before, name) or ""):
            given[name] = value or None
    if form.ticked("mine"):
        given["assignee"] = own_name
    if form.text("note"):
        given["note"] = form.text("note")
    try:
        return msgspec.convert(given, GapChangeRequest)
    except msgspec.ValidationError as error:
        raise RequestError(400, "invalid_request", "That is not allowed for a gap.") from error


@post("/console/gaps/{gap_id:str}/merge", status_code=200, guards=[agents], include_in_schema=False)
async def merge_gaps(request: Request[Any, Any, Any], gap_id: FromPath[str]) -> Response[Any]:
    """Others into this one."""
    form = await form_of(request)
    await merge.fn(request, MergeRequest(into=gap_id, gaps=tuple(form.text("gaps").split())))
    return go_to(f"/console/gaps/{gap_id}")


@post("/console/gaps/{gap_id:str}/split", status_code=200, guards=[agents], include_in_schema=False)
async def split_gap(request: Request[Any, Any, Any], gap_id: FromPath[str]) -> Response[Any]:
    """The ticked questions become a gap of their own, which is shown then."""
    form = await form_of(request)
    made: GapDetail = await split.fn(request, SplitRequest(gap=gap_id, turns=form.chosen("turns")))
    return go_to(f"/console/gaps/{made.id}")


@post("/console/gaps/{gap_id:str}/check", status_code=200, guards=[agents], include_in_schema=False)
async def check_gap(request: Request[Any, Any, Any], gap_id: FromPath[str]) -> Response[Any]:
    form = await form_of(request)
    await check.fn(request, gap_id)
    return back(form, gap_id)


@post("/console/gaps/{gap_id:str}/draft", status_code=200, guards=[agents], include_in_schema=False)
async def draft_gap(request: Request[Any, Any, Any], gap_id: FromPath[str]) -> Response[Any]:
    form = await form_of(request)
    made = await draft.fn(request, gap_id, DraftRequest(model=form.ticked("model")))
    return show(request, "draft.html", here="gaps", gap_id=gap_id, made=made)
