"""Errors as whoever made the request can read them: a problem document, or for a person in a browser a page."""

from __future__ import annotations

from html import escape
from typing import Any

from litestar import Request, Response

from refdesk.api.page_frame import page, page_language, word
from refdesk.api.problems import handle
from refdesk.api.services import services_of
from refdesk.domain.articles import HelpCentre
from refdesk.errors import CorpusError

FOR_PROGRAMS = ("/v1/", "/health/", "/metrics", "/static/", "/media/", "/widget/")


def answer(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    told = handle(request, error)
    if not is_person(request):
        return told
    made = error_page(request, told.status_code or 500)
    made.headers.update(told.headers)
    return made


def is_person(request: Request[Any, Any, Any]) -> bool:
    """A browser that opens an address; whoever takes anything (`*/*`) is a program."""
    return (
        request.method in ("GET", "HEAD")
        and not request.url.path.startswith(FOR_PROGRAMS)
        and "text/html" in request.headers.get("accept", "").lower()
    )


def error_page(request: Request[Any, Any, Any], status: int) -> Response[Any]:
    """Says no more than the status does: what is missing and what may not be read are the same page."""
    try:
        centre = services_of(request).retriever.current().centre
    except CorpusError:
        centre = HelpCentre(name="")
    language = page_language(request, centre)
    text = word("not_found" if status == 404 else "unavailable" if status in (429, 503) else "failed", language)
    body = (
        f'<main><p><a href="/">{escape(centre.name) or "/"}</a></p><h1>{text}</h1>'
        f'<p><a href="/articles">{word("all_articles", language)}</a></p></main>'
    )
    return page(centre.name, body, language=language, status=status)
