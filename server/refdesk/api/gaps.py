"""The docs-gap queue: what to write next, as staff work on it."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from litestar import Request, get, patch, post
from litestar.params import FromPath, FromQuery, JSONBody, QueryParameter

from refdesk.api.console_schemas import MAX_GAP_FIELD, MAX_NOTE, MOST_AT_ONCE
from refdesk.api.contract import STAFF_ONLY
from refdesk.api.gap_schemas import (
    AskedResponse,
    DraftRequest,
    DraftResponse,
    GapChangeRequest,
    GapDetail,
    GapList,
    MergeRequest,
    SplitRequest,
)
from refdesk.api.log import PAGE, Text, now
from refdesk.api.members import SETTINGS_KEY
from refdesk.api.problems import problems
from refdesk.api.schemas import checked_text, may_be_id
from refdesk.api.services import Services, services_of
from refdesk.api.staff import agents, member_in, record
from refdesk.domain.gap_ids import new_gap_id
from refdesk.domain.gap_queue import Asked, GapChange, GapFilter, GapRow, GapStatus
from refdesk.domain.gap_view import GapView, gap_view, hide_rare
from refdesk.domain.gaps import Cause
from refdesk.errors import RequestError

MOST_ASKED = 200


def no_gap() -> RequestError:
    return RequestError(404, "gap_not_found", "There is no such gap.")


@get("/v1/console/gaps", guards=[agents], security=STAFF_ONLY, responses=problems(401, 503))
async def gaps(
    request: Request[Any, Any, Any],
    *,
    status: FromQuery[GapStatus | None] = None,
    cause: FromQuery[Cause | None] = None,
    assignee: Text = None,
    cursor: Text = None,
    limit: Annotated[int, QueryParameter(ge=1, le=200, required=False)] = PAGE,
) -> GapList:
    """What most visitors asked without an answer first. Without a status what is open or in progress, and without a
    cause everything but what is out of scope."""
    services = services_of(request)
    wanted = GapFilter(status=status, cause=cause, assignee=assignee)
    page = await services.gaps.store.gaps(wanted, cursor=cursor, limit=limit)
    asked = await services.gaps.store.asked([row.id for row in page.gaps])
    views = [view_of(services, row, asked[row.id]) for row in page.gaps]
    return GapList(gaps=views, next_cursor=page.next_cursor, out_of_scope=page.out_of_scope)


def view_of(services: Services, row: GapRow, asked: list[Asked]) -> GapView:
    return gap_view(row, asked, k=services.settings.gaps_k, now=now(services))


@get("/v1/console/gaps/{gap_id:str}", guards=[agents], security=STAFF_ONLY, responses=problems(401, 404, 503))
async def gap(request: Request[Any, Any, Any], gap_id: FromPath[str]) -> GapDetail:
    """One gap with its questions, notes and history. The id of a gap that was merged stands for the one it went to."""
    return await detail(services_of(request), gap_id)


async def detail(services: Services, gap_id: str) -> GapDetail:
    store = services.gaps.store
    row = await store.gap(gap_id) if may_be_id(gap_id) else None
    if row is None:
        raise no_gap()
    asked = (await store.asked([row.id]))[row.id]
    view = view_of(services, row, asked)
    shown = hide_rare(asked[:MOST_ASKED], services.settings.gaps_k)
    return GapDetail(
        **{name: getattr(view, name) for name in GapView.__struct_fields__},
        asked=[as_asked(question) for question in shown],
        notes=await store.notes(row.id),
        history=await store.history(row.id),
    )


def as_asked(question: Asked) -> AskedResponse:
    return AskedResponse(**{name: getattr(question, name) for name in AskedResponse.__struct_fields__})


@patch(
    "/v1/console/gaps/{gap_id:str}",
    guards=[agents],
    security=STAFF_ONLY,
    responses=problems(401, 404, 413, 415, 503),
)
async def change(request: Request[Any, Any, Any], gap_id: FromPath[str], data: JSONBody[GapChangeRequest]) -> GapDetail:
    """Status, assignee, article, cause, and a note, which is only ever added. `done` without an article takes the one
    that answers it today, if there is one."""
    services = services_of(request)
    row = await services.gaps.store.gap(gap_id) if may_be_id(gap_id) else None
    if row is None:
        raise no_gap()
    wanted = await checked_change(services, row, data)
    if not await services.gaps.store.change_gap(row.id, wanted, actor=member_in(request).name, at=now(services)):
        raise no_gap()
    changed = [name for name in GapChange.__struct_fields__ if getattr(wanted, name) is not msgspec.UNSET]
    await record(request, "gap_changed", gap_id, fields=changed)
    services.gaps.wake()
    return await detail(services, gap_id)


async def checked_change(services: Services, row: GapRow, data: GapChangeRequest) -> GapChange:
    """Raises RequestError 400."""
    note, article, assignee = data.note, data.article, data.assignee
    if isinstance(note, str):
        note = checked_text(note, "note", MAX_NOTE)
    if isinstance(article, str):
        article = checked_text(article, "article", MAX_GAP_FIELD)
    if isinstance(assignee, str) and assignee != SETTINGS_KEY:
        account = await services.console.staff_account(checked_text(assignee, "assignee", MAX_GAP_FIELD))
        if account is None:
            raise RequestError(400, "staff_unknown", "`assignee` names nobody with an account.", field="assignee")
    confirmed = data.status == "done" and article is msgspec.UNSET and row.article is None
    if confirmed and row.answered_by is not None:
        article = row.answered_by.article_id
    return GapChange(status=data.status, assignee=assignee, article=article, cause=data.cause, note=note)


# --- corrections of the grouping --------------------------------------------------------------


@post(
    "/v1/console/gaps/merge",
    status_code=200,
    guards=[agents],
    security=STAFF_ONLY,
    responses=problems(401, 404, 413, 415, 503),
)
async def merge(request: Request[Any, Any, Any], data: JSONBody[MergeRequest]) -> GapDetail:
    """They ask the same: their questions, notes and history become those of `into`, for good."""
    services = services_of(request)
    check_many(data.gaps, "gaps")
    named = (data.into, *data.gaps)
    known = all(map(may_be_id, named)) and await services.gaps.store.merge_gaps(
        data.into, data.gaps, actor=member_in(request).name, at=now(services)
    )
    if not known:
        raise no_gap()
    await record(request, "gaps_merged", data.into, gaps=list(data.gaps))
    services.gaps.wake()
    return await detail(services, data.into)


@post(
    "/v1/console/gaps/split",
    status_code=200,
    guards=[agents],
    security=STAFF_ONLY,
    responses=problems(401, 404, 413, 415, 503),
)
async def split(request: Request[Any, Any, Any], data: JSONBody[SplitRequest]) -> GapDetail:
    """Some of its questions ask something else: they become a gap of their own, for good."""
    services = services_of(request)
    check_many(data.turns, "turns")
    store, new_id = services.gaps.store, new_gap_id()
    if not may_be_id(data.gap) or await store.gap(data.gap) is None:
        raise no_gap()
    turns = [turn_id for turn_id in data.turns if may_be_id(turn_id)]
    made = await store.split_gap(data.gap, turns, new_id, actor=member_in(request).name, at=now(services))
    if made is None:
        told = "`turns` must name some questions of the gap, and leave some that are worded otherwise."
        raise RequestError(400, "nothing_to_split", told, field="turns")
    await record(request, "gap_split", data.gap, to=new_id)
    services.gaps.wake()
    return await detail(services, made)


def check_many(ids: tuple[str, ...], field: str) -> None:
    if not 1 <= len(ids) <= MOST_AT_ONCE:
        raise RequestError(400, "wrong_number", f"`{field}`: 1 to {MOST_AT_ONCE} ids are expected.", field=field)


# --- today's articles ---------------------------------------------------------------------------


@post(
    "/v1/console/gaps/{gap_id:str}/check",
    status_code=200,
    guards=[agents],
    security=STAFF_ONLY,
    responses=problems(401, 404, 413, 415, 503),
)
async def check(request: Request[Any, Any, Any], gap_id: FromPath[str]) -> GapDetail:
    """Whether an article answers it today: what is done for every gap after a sync, now."""
    services = services_of(request)
    found = await detail(services, gap_id)
    await services.gaps.recheck([found.id])
    return await detail(services, found.id)


@post(
    "/v1/console/gaps/{gap_id:str}/draft",
    status_code=200,
    guards=[agents],
    security=STAFF_ONLY,
    responses=problems(401, 404, 413, 415, 503),
)
async def draft(
    request: Request[Any, Any, Any], gap_id: FromPath[str], data: JSONBody[DraftRequest | None] = None
) -> DraftResponse:
    """An article to begin with, in Markdown with front matter. With `model` the sentences of the nearest articles that
    belong into it, word for word, and what a person must fill in."""
    services = services_of(request)
    found = await detail(services, gap_id)
    markdown, by_model, error = await services.gaps.draft(found, with_model=data is not None and data.model)
    return DraftResponse(markdown=markdown, by="model" if by_model else "outline", model_error=error)
