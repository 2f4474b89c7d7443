"""Pages from templates: whole HTML documents that need no script, under a policy that allows nothing from elsewhere.

What visitors, articles and the model wrote is only ever text here: every value is escaped, nothing of it is fetched.
"""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from litestar import Request, Response
from litestar.response import Redirect
from markupsafe import Markup

from refdesk.api.members import Member
from refdesk.console_pages.texts import LANGUAGES, text_in
from refdesk.domain.answer_html import render as answer_html

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {"Content-Security-Policy": POLICY, "Referrer-Policy": "same-origin"}
LANGUAGE_COOKIE = "__Host-refdesk-language"
STATIC = {
    "console.css": "text/css",
    "htmx.min.js": "text/javascript",
    "htmx.LICENSE.txt": "text/plain",
}
AnyRequest = Request[Any, Any, Any]
NAVIGATION: tuple[tuple[str, str], ...] = (
    ("overview", "/console"),
    ("conversations", "/console/conversations"),
    ("gaps", "/console/gaps"),
    ("articles", "/console/articles"),
    ("account", "/console/account"),
)
"""Name of the text, and address."""
FOR_ADMINS = (("admin", "/console/staff"),)


@cache
def static_file(name: str) -> bytes:
    return files("refdesk.console_pages").joinpath("static", name).read_bytes()


@cache
def zipped(name: str) -> bytes:
    return gzip.compress(static_file(name), 9, mtime=0)


@cache
def static_address(name: str) -> str:
    """Another address for another content, so that a browser may keep it."""
    return f"/console/static/{name}?v={hashlib.sha256(static_file(name)).hexdigest()[:12]}"


def query_of(values: dict[str, Any], **changed: Any) -> str:
    """A query string; what is None or empty is left out."""
    wanted = {**values, **changed}
    return urlencode({name: value for name, value in wanted.items() if value not in (None, "")})


def milliseconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.0f} ms" if value < 1000 else f"{value / 1000:.1f} s"


def minutes(moment: str) -> str:
    """An RFC 3339 moment as people read it; UTC."""
    return moment[:16].replace("T", " ")


def answer_markup(text: str) -> Markup:
    """An answer's Markdown, without any tag or attribute of the model's own."""
    return Markup(answer_html(text))  # noqa: S704 - `domain.answer_html` makes nothing but safe HTML


def made_environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("refdesk.console_pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals.update(asset=static_address, query_of=query_of, languages=LANGUAGES)
    environment.filters.update(ms=milliseconds, minutes=minutes, answer=answer_markup)
    return environment


ENVIRONMENT = made_environment()


def language_of(request: AnyRequest) -> str:
    """The language that was chosen, else the first of the browser's that there is."""
    chosen = request.cookies.get(LANGUAGE_COOKIE)
    if chosen in LANGUAGES:
        return chosen
    for item in request.headers.get("accept-language", "")[:200].split(","):
        tag = item.partition(";")[0].strip().lower()[:2]
        if tag in LANGUAGES:
            return tag
    return "en"


def show(request: AnyRequest, template: str, *, status: int = 200, here: str = "", **values: Any) -> Response[str]:
    """A whole page. `here`: the part of the console that it belongs to."""
    language = language_of(request)
    query = request.scope["query_string"].decode("latin-1")
    member: Member | None = getattr(request.state, "member", None)
    html = ENVIRONMENT.get_template(template).render(
        t=text_in(language),
        language=language,
        member=member,
        navigation=NAVIGATION + (FOR_ADMINS if member is not None and member.role == "admin" else ()),
        here=here,
        address=request.url.path + (f"?{query}" if query else ""),
        **values,
    )
    return Response(html, status_code=status, media_type="text/html", headers=HEADERS)


def go_to(address: str) -> Redirect:
    """After a form, so that reloading what comes next sends nothing again."""
    return Redirect(address, status_code=303)
