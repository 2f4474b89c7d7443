"""Signing in to the console and out again.

Every sign-in makes a new token; what a browser sends before never becomes one. A wrong name costs what a wrong password
costs, in time, body and audit rows.
"""

from __future__ import annotations

import secrets
from typing import Any

from litestar import Request, Response, get, post
from litestar.datastructures import Cookie
from litestar.params import JSONBody

from refdesk.api.console_schemas import LoginRequest, MemberResponse, PasswordRequest
from refdesk.api.contract import STAFF_ONLY
from refdesk.api.limits import Limit, client_key
from refdesk.api.members import secret_hash
from refdesk.api.problems import problems
from refdesk.api.services import Services, services_of
from refdesk.api.staff import COOKIE, agents, client_address, member_in, own_pages, record
from refdesk.api.times import timestamp
from refdesk.domain.console import StaffAccount
from refdesk.domain.passwords import checked_password
from refdesk.errors import RequestError

SESSION_SECONDS = 12 * 3600
FAILURES = Limit("failed sign-ins of one account from one address", 5, 300)
FAILURES_OF_ADDRESS = Limit("failed sign-ins from one address", 20, 300)
MAX_NAME = 64


def wrong_credentials() -> RequestError:
    return RequestError(401, "login_failed", "The name or the password is wrong.")


@post("/v1/console/login", status_code=200, guards=[own_pages], responses=problems(401, 413, 415, 429, 503))
async def login(request: Request[Any, Any, Any], data: JSONBody[LoginRequest]) -> Response[MemberResponse]:
    """Opens a session; its cookie is the answer's."""
    services = services_of(request)
    account = await authenticated(request, services, data.name.strip().lower()[:MAX_NAME], data.password)
    if old := request.cookies.get(COOKIE):
        await services.console.close_staff_session(secret_hash(old))
    cookie = await opened_session(services, account.name)
    await record(request, "login", account.name, actor=account.name)
    return Response(MemberResponse(account.name, account.role), cookies=[cookie])


async def authenticated(request: Request[Any, Any, Any], services: Services, name: str, password: str) -> StaffAccount:
    """Raises RequestError 429 after too many failures, and 401. An attempt counts as a failure until it is none."""
    address = client_key(client_address(request))
    counted = (FAILURES.use(f"{address} {name}"), FAILURES_OF_ADDRESS.use(address))
    await services.logins.take(*counted)
    account = await services.console.staff_account(name)
    known = account.password_hash if account is not None and not account.disabled else None
    if not await services.passwords.matches(password, known) or account is None:
        await record(request, "login_failed", name if account is not None else "", actor="")
        raise wrong_credentials()
    await services.logins.give_back(*counted)
    return account


async def opened_session(services: Services, name: str) -> Cookie:
    token, now = "st_" + secrets.token_urlsafe(32), services.clock.now()
    await services.console.open_staff_session(
        secret_hash(token), name, at=timestamp(now), expires_at=timestamp(now + SESSION_SECONDS)
    )
    return session_cookie(token, SESSION_SECONDS)


def session_cookie(token: str, seconds: int) -> Cookie:
    return Cookie(key=COOKIE, value=token, max_age=seconds, path="/", secure=True, httponly=True, samesite="strict")


@post("/v1/console/logout", status_code=204, guards=[agents], security=STAFF_ONLY, responses=problems(401, 415, 503))
async def logout(request: Request[Any, Any, Any]) -> Response[None]:
    """Ends the session of the cookie; a key stays what it is."""
    session = member_in(request).session
    if session is not None:
        await services_of(request).console.close_staff_session(session)
        await record(request, "logout", member_in(request).name)
    return Response(None, status_code=204, cookies=[session_cookie("", 0)])


@get("/v1/console/me", guards=[agents], security=STAFF_ONLY, responses=problems(401, 503))
async def me(request: Request[Any, Any, Any]) -> MemberResponse:
    member = member_in(request)
    return MemberResponse(member.name, member.role)


@post(
    "/v1/console/password",
    status_code=204,
    guards=[agents],
    security=STAFF_ONLY,
    responses=problems(401, 413, 415, 429, 503),
)
async def change_password(request: Request[Any, Any, Any], data: JSONBody[PasswordRequest]) -> Response[None]:
    """One's own. Ends every session of the account; the one that asked gets a new cookie."""
    services, member = services_of(request), member_in(request)
    await authenticated(request, services, member.name, data.current)
    hashed = await services.passwords.hashed(checked_password(data.new, member.name))
    await services.console.change_staff(member.name, password_hash=hashed)
    await record(request, "password_changed", member.name)
    cookies = [await opened_session(services, member.name)] if member.session is not None else []
    return Response(None, status_code=204, cookies=cookies)
