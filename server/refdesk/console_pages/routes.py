"""The console's pages: every route, and what all of them do about refusals."""

from __future__ import annotations

from typing import Any

from litestar import Response, Router, get
from litestar.params import FromPath

from refdesk.api.staff import agents
from refdesk.console_pages import (
    accounts,
    administration,
    articles,
    conversation,
    conversations,
    gaps,
    overview,
    sign_in,
)
from refdesk.console_pages.problem_pages import problem_page
from refdesk.errors import RequestError


@get("/console/{rest:path}", guards=[agents], include_in_schema=False)
async def no_page(rest: FromPath[str]) -> Response[Any]:
    """What is mistyped is answered as a page, like everything here."""
    raise RequestError(404, "not_found", "There is nothing at this address.")


PAGES: list[Any] = [
    overview.overview_page,
    overview.sync_now,
    overview.sync_state,
    no_page,
    sign_in.sign_in_page,
    sign_in.sign_in,
    sign_in.sign_out,
    sign_in.choose_language,
    sign_in.console_static,
    conversations.conversation_list,
    conversations.conversation_news,
    conversation.conversation_page,
    conversation.note,
    conversation.tags,
    conversation.verdict,
    conversation.replay_page,
    conversation.receipt_page,
    conversation.receipt_json,
    accounts.account_page,
    accounts.own_password,
    accounts.new_key,
    accounts.end_key,
    accounts.staff_page,
    accounts.new_staff,
    accounts.changed_staff,
    accounts.audit_page,
    administration.settings_page,
    administration.privacy_page,
    administration.erase_page,
    administration.retention_page,
    articles.article_list,
    articles.article_page,
    articles.search_page,
    gaps.gap_list,
    gaps.gap_page,
    gaps.change_gap,
    gaps.merge_gaps,
    gaps.split_gap,
    gaps.check_gap,
    gaps.draft_gap,
]

ROUTER = Router("/", route_handlers=PAGES, exception_handlers={Exception: problem_page})
