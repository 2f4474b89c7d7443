"""What is in force, and whose data is whose: settings, texts, a visitor's data, retention. For admins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from litestar import Request, Response, get, post

from refdesk.api.console_schemas import EraseRequest, RetentionRequest
from refdesk.api.privacy import MAX_SUBJECT, erase_visitor, run_retention
from refdesk.api.schemas import may_be_id, storable
from refdesk.api.services import Services, services_of
from refdesk.api.staff import admins
from refdesk.console_pages.forms import form_of
from refdesk.console_pages.rendering import show
from refdesk.domain.conversation import Conversation
from refdesk.errors import RequestError
from refdesk.settings import SETTINGS, Setting, Settings, origin_of

TEXTS = ("greeting", "disclosure", "refusal")
ADDRESSES = ("gaps_webhook_url",)
"""Settings whose path may hold a token: only the origin is shown."""


class Shown(msgspec.Struct, frozen=True):
    """A setting in force. `value` None: a secret, of which only `given` is told."""

    env: str
    meaning: str
    value: str | None
    given: bool


@get("/console/settings", guards=[admins], include_in_schema=False)
async def settings_page(request: Request[Any, Any, Any]) -> Response[Any]:
    services = services_of(request)
    centre = services.retriever.current().centre
    return show(
        request,
        "settings.html",
        here="admin",
        settings=[shown(setting, services.settings) for setting in SETTINGS],
        centre=centre,
        centre_texts={
            name: {language: services.assistant.phrase(name, language, centre) for language in centre.languages}
            for name in TEXTS
        },
        threshold=services.retriever.current().threshold,
    )


def shown(setting: Setting, settings: Settings) -> Shown:
    value = getattr(settings, setting.field)
    told = None if setting.secret else origin_of(value) or "" if setting.field in ADDRESSES else plain(value)
    return Shown(setting.env, setting.help, told, bool(value))


def plain(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{model}={price.input:g}/{price.output:g}" for model, price in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value) if not isinstance(value, Path) else value.as_posix()


# --- privacy ---------------------------------------------------------------------------------


@get("/console/privacy", guards=[admins], include_in_schema=False)
async def privacy_page(request: Request[Any, Any, Any]) -> Response[Any]:
    """Finds a visitor by the subject of the identity token, or by the visitor's id."""
    services = services_of(request)
    wanted = storable(request.query_params.get("who", "").strip(), "who")
    if len(wanted) > MAX_SUBJECT:
        raise RequestError(400, "invalid_request", "`who` is too long.", field="who")
    found = await visitors_named(services, wanted) if wanted else {}
    days = services.settings.retention_days
    return show(request, "privacy.html", here="admin", who=wanted, found=found, done=None, erased=False, days=days)


async def visitors_named(services: Services, who: str) -> dict[str, list[Conversation]]:
    """Their conversations, by visitor."""
    ids = await services.console.visitors_of(who)
    if may_be_id(who) and who not in ids:
        ids = [*ids, who]
    found = {visitor_id: await services.console.conversations_of(visitor_id) for visitor_id in ids}
    return {name: talks for name, talks in found.items() if talks or name != who}


@post("/console/privacy/erase", status_code=200, guards=[admins], include_in_schema=False)
async def erase_page(request: Request[Any, Any, Any]) -> Response[Any]:
    """Only with the box ticked that says it is for good."""
    form, days = await form_of(request), services_of(request).settings.retention_days
    if not form.ticked("sure"):
        raise RequestError(400, "not_sure", "Tick the box that says it is for good.", field="sure")
    await erase_visitor.fn(request, EraseRequest(visitor_id=form.text("visitor_id")))
    return show(request, "privacy.html", here="admin", who="", found={}, done=None, erased=True, days=days)


@post("/console/privacy/retention", status_code=200, guards=[admins], include_in_schema=False)
async def retention_page(request: Request[Any, Any, Any]) -> Response[Any]:
    form = await form_of(request)
    done = await run_retention.fn(request, RetentionRequest(force=form.ticked("force")))
    return show(request, "privacy.html", here="admin", who="", found={}, done=done, erased=False, days=done.days)
