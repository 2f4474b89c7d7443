"""One's own account, and everybody's for an admin: passwords, roles, keys, and the audit log."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
from litestar import Request, Response, get, post
from litestar.params import FromPath

from refdesk.api.accounts import add_key, add_staff, audit, change_staff, disable_key, key_list, staff_list
from refdesk.api.console_schemas import KeyRequest, PasswordRequest, StaffChangeRequest, StaffRequest
from refdesk.api.login import change_password
from refdesk.api.members import SETTINGS_KEY
from refdesk.api.staff import admins, agents, member_in
from refdesk.console_pages.forms import Form, form_of
from refdesk.console_pages.rendering import go_to, query_of, show
from refdesk.console_pages.sign_in import with_cookies
from refdesk.domain.console import StaffRole
from refdesk.errors import RequestError

ROLES = get_args(StaffRole)


# --- one's own -------------------------------------------------------------------------------


@get("/console/account", guards=[agents], include_in_schema=False)
async def account_page(request: Request[Any, Any, Any]) -> Response[Any]:
    """An admin sees everybody's keys here."""
    keys = (await key_list.fn(request)).keys
    has_account = member_in(request).name != SETTINGS_KEY
    return show(request, "account.html", here="account", keys=keys, has_account=has_account)


@post("/console/account/password", status_code=200, guards=[agents], include_in_schema=False)
async def own_password(request: Request[Any, Any, Any]) -> Response[Any]:
    form = await form_of(request)
    wanted = PasswordRequest(current=form.secret("current"), new=form.secret("new"))
    return with_cookies(go_to("/console/account"), await change_password.fn(request, wanted))


@post("/console/account/keys", status_code=200, guards=[agents], include_in_schema=False)
async def new_key(request: Request[Any, Any, Any]) -> Response[Any]:
    """The page that shows the key, this once."""
    form = await form_of(request)
    made = await add_key.fn(request, KeyRequest(label=form.text("label"), name=form.text("name") or None))
    return show(request, "new_key.html", here="account", made=made)


@post("/console/account/keys/{kid:str}/disable", status_code=200, guards=[agents], include_in_schema=False)
async def end_key(request: Request[Any, Any, Any], kid: FromPath[str]) -> Response[Any]:
    await disable_key.fn(request, kid)
    return go_to("/console/account")


# --- everybody's -----------------------------------------------------------------------------


@get("/console/staff", guards=[admins], include_in_schema=False)
async def staff_page(request: Request[Any, Any, Any]) -> Response[Any]:
    found = (await staff_list.fn(request)).staff
    return show(request, "staff.html", here="admin", staff=found, roles=ROLES)


@post("/console/staff", status_code=200, guards=[admins], include_in_schema=False)
async def new_staff(request: Request[Any, Any, Any]) -> Response[Any]:
    form = await form_of(request)
    given = {"name": form.text("name"), "role": form.text("role"), "password": form.secret("password") or None}
    await add_staff.fn(request, checked(given, StaffRequest))
    return go_to("/console/staff")


@post("/console/staff/{name:str}", status_code=200, guards=[admins], include_in_schema=False)
async def changed_staff(request: Request[Any, Any, Any], name: FromPath[str]) -> Response[Any]:
    await change_staff.fn(request, name, checked(staff_changes(await form_of(request)), StaffChangeRequest))
    return go_to("/console/staff")


def staff_changes(form: Form) -> dict[str, Any]:
    """What the form holds; an empty password stays what it was."""
    given: dict[str, Any] = {"role": form.text("role") or None, "password": form.secret("password") or None}
    return {**given, "disabled": form.ticked("disabled")} if form.has("role") else given


def checked(given: dict[str, Any], kind: type[Any]) -> Any:
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise RequestError(400, "invalid_request", "That is not allowed for an account.") from error


@get("/console/audit", guards=[admins], include_in_schema=False)
async def audit_page(request: Request[Any, Any, Any]) -> Response[Any]:
    cursor = request.query_params.get("cursor") or None
    page = await audit.fn(request, cursor=cursor)
    older = None if page.next_cursor is None else query_of({"cursor": page.next_cursor})
    return show(request, "audit.html", here="admin", entries=page.entries, cursor=cursor, older=older)
