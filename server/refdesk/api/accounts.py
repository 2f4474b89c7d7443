"""Staff accounts, their keys and the audit log."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Request, delete, get, patch, post
from litestar.params import FromPath, JSONBody, QueryParameter

from refdesk.api.console_schemas import (
    MAX_LABEL,
    AuditResponse,
    KeyList,
    KeyRequest,
    NewKeyResponse,
    StaffChangeRequest,
    StaffList,
    StaffRequest,
    StaffResponse,
)
from refdesk.api.contract import STAFF_ONLY
from refdesk.api.members import SETTINGS_KEY, Member, new_key, secret_hash
from refdesk.api.problems import problems
from refdesk.api.schemas import checked_text
from refdesk.api.services import services_of
from refdesk.api.staff import admins, agents, member_in, record
from refdesk.api.times import timestamp
from refdesk.domain.console import StaffAccount
from refdesk.domain.passwords import checked_password, new_name
from refdesk.errors import RequestError


def shown(account: StaffAccount) -> StaffResponse:
    return StaffResponse(
        name=account.name,
        role=account.role,
        created_at=account.created_at,
        disabled=account.disabled,
        has_password=account.password_hash is not None,
    )


def no_account() -> RequestError:
    return RequestError(404, "staff_not_found", "There is no such account.")


@get("/v1/console/staff", guards=[admins], security=STAFF_ONLY, responses=problems(401, 503))
async def staff_list(request: Request[Any, Any, Any]) -> StaffList:
    accounts = await services_of(request).console.staff_accounts()
    return StaffList(staff=[shown(account) for account in accounts])


@post(
    "/v1/console/staff",
    status_code=201,
    guards=[admins],
    security=STAFF_ONLY,
    responses=problems(401, 409, 413, 415, 503),
)
async def add_staff(request: Request[Any, Any, Any], data: JSONBody[StaffRequest]) -> StaffResponse:
    services, name = services_of(request), new_name(data.name)
    hashed = None
    if data.password is not None:
        hashed = await services.passwords.hashed(checked_password(data.password, name))
    account = StaffAccount(name=name, role=data.role, created_at=timestamp(services.clock.now()), password_hash=hashed)
    if not await services.console.add_staff(account):
        raise RequestError(409, "name_taken", "`name` is taken.", field="name")
    await record(request, "staff_added", name, role=data.role)
    return shown(account)


@patch(
    "/v1/console/staff/{name:str}",
    guards=[admins],
    security=STAFF_ONLY,
    responses=problems(401, 404, 413, 415, 503),
)
async def change_staff(
    request: Request[Any, Any, Any], name: FromPath[str], data: JSONBody[StaffChangeRequest]
) -> StaffResponse:
    """Disabling ends the account's sessions and keys at once, a new password its sessions."""
    services = services_of(request)
    before = await services.console.staff_account(name)
    if before is None:
        raise no_account()
    hashed = None
    if data.password is not None:
        hashed = await services.passwords.hashed(checked_password(data.password, name))
    await services.console.change_staff(name, role=data.role, password_hash=hashed, disabled=data.disabled)
    if data.role is not None and data.role != before.role:
        await record(request, "role_changed", name, before=before.role, role=data.role)
    if data.disabled is not None and data.disabled != before.disabled:
        await record(request, "staff_disabled" if data.disabled else "staff_enabled", name)
    if hashed is not None:
        await record(request, "password_set", name)
    after = await services.console.staff_account(name)
    return shown(after or before)


# --- keys ------------------------------------------------------------------------------------


@get("/v1/console/keys", guards=[agents], security=STAFF_ONLY, responses=problems(401, 503))
async def key_list(request: Request[Any, Any, Any]) -> KeyList:
    """An admin sees everybody's, an agent the own ones; never the keys themselves."""
    member = member_in(request)
    found = await services_of(request).console.staff_keys(None if member.role == "admin" else member.name)
    return KeyList(keys=found)


@post(
    "/v1/console/keys",
    status_code=201,
    guards=[agents],
    security=STAFF_ONLY,
    responses=problems(401, 404, 413, 415, 503),
)
async def add_key(request: Request[Any, Any, Any], data: JSONBody[KeyRequest]) -> NewKeyResponse:
    """A key acts with its account's role. It is in this answer only."""
    services, member = services_of(request), member_in(request)
    name = owner_of(data, member)
    key, secret = new_key(name, checked_text(data.label, "label", MAX_LABEL), timestamp(services.clock.now()))
    if not await services.console.add_staff_key(key, secret_hash(secret)):
        raise no_account()
    await record(request, "key_made", key.kid, name=name)
    return NewKeyResponse(kid=key.kid, name=name, label=key.label, created_at=key.created_at, key=secret)


def owner_of(data: KeyRequest, member: Member) -> str:
    if data.name is not None and data.name != member.name and member.role != "admin":
        raise RequestError(403, "admin_only", "Only an admin may make a key for another account.", field="name")
    if data.name is None and member.name == SETTINGS_KEY:
        raise RequestError(400, "name_missing", "`name`: for which account is the key?", field="name")
    return data.name if data.name is not None else member.name


@delete(
    "/v1/console/keys/{kid:str}",
    status_code=204,
    guards=[agents],
    security=STAFF_ONLY,
    responses=problems(401, 404, 503),
)
async def disable_key(request: Request[Any, Any, Any], kid: FromPath[str]) -> None:
    """For good, and at once."""
    services, member = services_of(request), member_in(request)
    listed = await services.console.staff_keys(None if member.role == "admin" else member.name)
    if kid not in {key.kid for key in listed}:
        raise RequestError(404, "key_not_found", "There is no such key.")
    await services.console.disable_staff_key(kid)
    await record(request, "key_disabled", kid)


# --- audit log -------------------------------------------------------------------------------


@get("/v1/console/audit", guards=[admins], security=STAFF_ONLY, responses=problems(401, 503))
async def audit(
    request: Request[Any, Any, Any],
    cursor: Annotated[str | None, QueryParameter(max_length=100, required=False)] = None,
) -> AuditResponse:
    """Newest first. No route changes or deletes an entry."""
    page = await services_of(request).console.audit(cursor=cursor)
    return AuditResponse(entries=list(page.entries), next_cursor=page.next_cursor)
