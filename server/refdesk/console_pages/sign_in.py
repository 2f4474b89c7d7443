"""Signing in with a page, out again, and the language of the pages."""

from __future__ import annotations

import ipaddress
from typing import Any

from litestar import Request, Response, get, post
from litestar.datastructures import Cookie
from litestar.params import FromPath

from refdesk.api.console_schemas import LoginRequest
from refdesk.api.login import login, logout
from refdesk.api.problems import Problem, problem_of, request_id_of
from refdesk.api.services import services_of
from refdesk.api.staff import agents, member_of, own_pages
from refdesk.console_pages.forms import form_of, own_address
from refdesk.console_pages.problem_pages import SIGN_IN
from refdesk.console_pages.rendering import LANGUAGE_COOKIE, STATIC, AnyRequest, go_to, show, static_file, zipped
from refdesk.console_pages.texts import LANGUAGES
from refdesk.errors import RequestError

YEAR = 365 * 24 * 3600


@get("/console/sign-in", include_in_schema=False)
async def sign_in_page(request: Request[Any, Any, Any]) -> Response[Any]:
    wanted = own_address(request.query_params.get("next", ""))
    if await member_of(request, services_of(request)) is not None:
        return go_to(wanted)
    return shown(request, wanted)


def shown(request: AnyRequest, wanted: str, name: str = "", problem: Problem | None = None) -> Response[str]:
    status = 200 if problem is None else problem.status
    unsafe = is_unsafe(request)
    return show(request, "sign_in.html", status=status, wanted=wanted, name=name, problem=problem, unsafe=unsafe)


def is_unsafe(request: AnyRequest) -> bool:
    """Whether the browser will drop the session's cookie, which is for https and for the machine itself only. A proxy
    may have taken the https off: a browser sends `Sec-Fetch-Site` only where it was on."""
    if request.url.scheme == "https" or services_of(request).settings.public_url.startswith("https:"):
        return False
    name = request.url.hostname or ""
    own = name == "localhost" or name.endswith(".localhost") or is_loopback(name)
    return not own and "sec-fetch-site" not in request.headers


def is_loopback(name: str) -> bool:
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


@post("/console/sign-in", status_code=200, guards=[own_pages], include_in_schema=False)
async def sign_in(request: Request[Any, Any, Any]) -> Response[Any]:
    """A refusal is the page once more, with what was wrong and the name that was typed."""
    form = await form_of(request)
    name, wanted = form.text("name"), own_address(form.text("next"))
    try:
        entered = await login.fn(request, LoginRequest(name=name, password=form.secret("password")))
    except RequestError as error:
        refused, headers = problem_of(error, request_id_of(request))
        answer = shown(request, wanted, name[:64], refused)
        answer.headers.update(headers)
        return answer
    return with_cookies(go_to(wanted), entered)


@post("/console/sign-out", status_code=200, guards=[agents], include_in_schema=False)
async def sign_out(request: Request[Any, Any, Any]) -> Response[Any]:
    return with_cookies(go_to(SIGN_IN), await logout.fn(request))


def with_cookies(answer: Response[Any], made: Response[Any]) -> Response[Any]:
    for cookie in made.cookies:
        answer.set_cookie(cookie)
    return answer


@post("/console/language", status_code=200, guards=[own_pages], include_in_schema=False)
async def choose_language(request: Request[Any, Any, Any]) -> Response[Any]:
    form = await form_of(request)
    answer = go_to(own_address(form.text("next")))
    if (wanted := form.text("language")) in LANGUAGES:
        cookie = Cookie(
            key=LANGUAGE_COOKIE, value=wanted, path="/", max_age=YEAR, secure=True, httponly=True, samesite="lax"
        )
        answer.set_cookie(cookie)
    return answer


@get("/console/static/{name:str}", include_in_schema=False)
async def console_static(request: Request[Any, Any, Any], name: FromPath[str]) -> Response[bytes]:
    """For everybody: the sign-in page needs them."""
    if name not in STATIC:
        raise RequestError(404, "not_found", "There is nothing at this address.")
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(static_file(name), media_type=STATIC[name], headers=headers)
    return Response(zipped(name), media_type=STATIC[name], headers={**headers, "Content-Encoding": "gzip"})
