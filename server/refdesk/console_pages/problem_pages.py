"""Refusals as pages: whoever is not signed in is asked to sign in and then gets what was asked for."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import structlog
from litestar import Request, Response

from refdesk.api.problems import problem_of, request_id_of
from refdesk.console_pages.rendering import go_to, show
from refdesk.errors import RefdeskError

log = structlog.get_logger()

SIGN_IN = "/console/sign-in"


def problem_page(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    made, headers = problem_of(error, request_id_of(request))
    if made.status >= 500:
        unforeseen = None if isinstance(error, RefdeskError) else error
        log.error("page failed", path=request.url.path, error=type(error).__name__, exc_info=unforeseen)
    if request.headers.get("hx-request"):
        return Response(None, status_code=204)  # a piece of a page keeps what it shows
    query = request.scope["query_string"].decode("latin-1")
    address = request.url.path + (f"?{query}" if query else "")
    if made.status == 401 and request.method == "GET":
        return sign_in_first(request, address)
    answer = show(request, "problem.html", status=made.status, problem=made)
    answer.headers.update(headers)
    return answer


def sign_in_first(request: Request[Any, Any, Any], address: str) -> Response[Any]:
    """A link in a mail or a ticket system comes from another site, so the browser holds the strict cookie back: the
    page is asked for once more from here, which brings the cookie of whoever is signed in."""
    if request.headers.get("sec-fetch-site") == "cross-site":
        return show(request, "again.html", again=address)
    return go_to(f"{SIGN_IN}?next={quote(address, safe='')}")
