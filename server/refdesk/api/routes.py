"""Every route there is, and the document that describes them."""

from __future__ import annotations

from functools import cache
from typing import Any

from litestar import Response, get

from refdesk.api import ask, console, contract, demo, pages, reading, widget


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
    console.console_conversation,
    console.start_sync,
    console.last_sync,
    pages.home,
    pages.article_index,
    pages.article_page,
    pages.media,
    pages.static,
    pages.live,
    pages.ready,
    openapi,
    widget.widget_script,
    widget.widget_settings,
    widget.widget_check,
    demo.demo,
    demo.demo_csp,
    demo.demo_check,
    demo.demo_file,
]
