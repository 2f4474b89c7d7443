"""What a page loads: the widget's one file, the texts of this help centre, and the self-check with its timed stream;
and what its developer loads, the types of the page's interface."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get
from litestar.params import QueryParameter
from litestar.response import Stream

import refdesk
from refdesk.api import sse
from refdesk.api.problems import problems
from refdesk.api.services import Services, services_of
from refdesk.domain.articles import HelpCentre
from refdesk.domain.events import TurnEvent
from refdesk.settings import origin_of

CACHING = "public, max-age=300, stale-while-revalidate=86400"
"""Short: an update reaches every page within minutes, and nobody has to change a tag."""

IN_REPOSITORY = {"refdesk.js": "dist/refdesk.js", "refdesk.d.ts": "refdesk.d.ts"}
CHECK_EVENTS = 5
CHECK_PAUSE = 0.25
"""Seconds between two events of the self-check: a proxy that collects them delivers all at once."""


class WidgetContact(msgspec.Struct):
    """The operator's way to a person; empty where there is none."""

    url: str
    mail: str
    callback: str


class WidgetSettings(msgspec.Struct):
    """Texts in one language; an empty one means the widget's own."""

    name: str
    language: str
    languages: list[str]
    greeting: str
    starter_questions: list[str]
    disclosure: str
    notice: str
    contact: WidgetContact


@cache
def script(name: str) -> tuple[bytes, str]:
    """A file and its ETag. The built widget and its types are in the wheel, or in the repository that an editable
    install points to."""
    package = Path(refdesk.__file__).parent
    packed, repository = package / "widget" / name, package.parents[1] / "widget"
    if name == "check.js":
        content = files("refdesk.api").joinpath("static", name).read_bytes()
    elif packed.exists():
        content = packed.read_bytes()
    else:
        content = (repository / IN_REPOSITORY[name]).read_bytes()
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'


@get(["/widget/refdesk.js", "/widget/check.js", "/widget/refdesk.d.ts"], include_in_schema=False)
async def widget_script(request: Request[Any, Any, Any]) -> Response[bytes]:
    """For every page, isolated ones (COEP) included. What is in it is public."""
    name = request.scope["path"].rpartition("/")[2]
    content, etag = script(name)
    kind = "text/javascript" if name.endswith(".js") else "text/plain"
    headers = {"Cache-Control": CACHING, "ETag": etag, "Cross-Origin-Resource-Policy": "cross-origin"}
    known = [tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")]
    if etag in known or "*" in known:
        return Response(b"", status_code=304, headers=headers, media_type=kind)
    return Response(content, headers=headers, media_type=kind)


def language_for(wanted: str | None, centre: HelpCentre) -> str:
    """The first part of the wanted tag if the texts know it, else the help centre's own language."""
    language = (wanted or "").lower().replace("_", "-").partition("-")[0]
    written = {*centre.languages, *centre.greeting, *centre.disclosure, *centre.notice, *centre.starter_questions}
    return language if language in written else centre.default_language


def settings_in(language: str, services: Services, centre: HelpCentre) -> WidgetSettings:
    """Texts that the operator has not written stay empty: the widget has its own, in the page's language."""
    contact = centre.contact
    return WidgetSettings(
        name=centre.name,
        language=language,
        languages=list(centre.languages),
        greeting=centre.greeting.get(language, ""),
        starter_questions=centre.starter_questions.get(language, []),
        disclosure=centre.disclosure.get(language, ""),
        notice=centre.notice.get(language, ""),
        contact=WidgetContact(url=contact.url, mail=contact.mail, callback=contact.callback),
    )


@get("/v1/widget/settings", responses=problems(503))
async def widget_settings(
    request: Request[Any, Any, Any],
    language: Annotated[str | None, QueryParameter(max_length=35, required=False)] = None,
) -> WidgetSettings:
    """The texts of this help centre for a page in `language`: all that the widget shows before a question."""
    services = services_of(request)
    centre = services.retriever.current().centre
    return settings_in(language_for(language, centre), services, centre)


@get("/v1/widget/check", media_type="text/event-stream", responses=problems())
async def widget_check(
    request: Request[Any, Any, Any],
    origin: Annotated[str | None, QueryParameter(max_length=300, required=False)] = None,
) -> Stream:
    """A timed stream for the self-check: the server's time in each event, and whether `origin` may use this API."""
    services = services_of(request)
    settings = services.settings
    made = origin_of(origin) if origin else None
    allowed = made is not None and made in (settings.own_origin, *settings.allowed_origins)

    async def beats() -> AsyncIterator[bytes]:
        for number in range(1, CHECK_EVENTS + 1):
            data = {"now": services.clock.now(), "allowed": allowed if origin else None}
            yield sse.frame(TurnEvent(number=number, name="beat", data=msgspec.json.encode(data)))
            await asyncio.sleep(CHECK_PAUSE if number < CHECK_EVENTS else 0)

    return sse.stream(beats())
