"""Every route there is, and the document that describes them."""

from __future__ import annotations

from functools import cache
from typing import Any

from litestar import Response, get

from refdesk.api import (
    accounts,
    article_figures,
    ask,
    console,
    contract,
    demo,
    export,
    gaps,
    log,
    login,
    metrics,
    pages,
    privacy,
    reading,
    rehearsals,
    stats,
    widget,
)


@cache
def openapi_text() -> str:
    """As it is committed and served."""
    return contract.document_text(HANDLERS)


@get("/schema/openapi.json", include_in_schema=False)
async def openapi() -> Response[str]:
    return Response(openapi_text(), media_type="application/vnd.oai.openapi+json; charset=utf-8")


HANDLERS: list[Any] = [
    ask.session,
    ask.ask,
    ask.events,
    ask.stop,
    reading.conversation,
    reading.erase,
    reading.turn,
    reading.feedback,
    reading.articles,
    reading.article,
    reading.search,
    privacy.export_own,
    privacy.erase_own,
    login.login,
    login.logout,
    login.me,
    login.change_password,
    accounts.staff_list,
    accounts.add_staff,
    accounts.change_staff,
    accounts.key_list,
    accounts.add_key,
    accounts.disable_key,
    accounts.audit,
    log.conversations,
    log.conversation,
    log.turn,
    log.add_note,
    log.change_tags,
    log.set_verdict,
    log.verdict_cases,
    rehearsals.replay,
    rehearsals.preview,
    rehearsals.search,
    privacy.visitors,
    privacy.export_visitor,
    privacy.erase_visitor,
    privacy.run_retention,
    stats.stats,
    gaps.gaps,
    gaps.gap,
    gaps.change,
    gaps.merge,
    gaps.split,
    gaps.check,
    gaps.draft,
    article_figures.article_figures,
    article_figures.article_days,
    export.export_csv,
    export.export_jsonl,
    console.start_sync,
    console.last_sync,
    pages.home,
    pages.article_index,
    pages.article_page,
    pages.media,
    pages.static,
    pages.favicon,
    pages.live,
    pages.ready,
    metrics.metrics,
    openapi,
    widget.widget_script,
    widget.widget_settings,
    widget.widget_check,
    demo.demo,
    demo.demo_csp,
    demo.demo_check,
    demo.demo_file,
]
