"""`refdesk staff`: accounts and keys from the machine that has the database, also while a server runs.

A password comes from a prompt or standard input, never from the command line, which every user of the machine sees.
"""

from __future__ import annotations

import asyncio
import getpass
import time
from typing import Any, TextIO

import msgspec

from refdesk.adapters.sql_console import SqlConsole
from refdesk.adapters.sql_open import open_beside
from refdesk.api.members import new_key, secret_hash
from refdesk.api.passwords import Passwords
from refdesk.api.times import timestamp
from refdesk.domain.console import AuditEntry, StaffAccount, StaffRole
from refdesk.domain.passwords import checked_name, checked_password, new_name
from refdesk.errors import RequestError, SettingError
from refdesk.settings import Settings
from refdesk.terminal import Terminal

ACTIONS = ("add", "list", "disable", "enable", "password", "role", "key", "disable-key")


class StaffOrder(msgspec.Struct, frozen=True):
    """What the command line asks for. `name`: of the account; of the key where one is disabled."""

    action: str
    name: str = ""
    role: StaffRole | None = None
    label: str = "command line"
    keys_only: bool = False
    as_json: bool = False


def run_staff(settings: Settings, terminal: Terminal, order: StaffOrder, stdin: TextIO) -> int:
    """Raises SettingError, RequestError, DataFolderError."""
    if order.action != "list" and not order.name:
        raise SettingError("NAME", f"is missing: refdesk staff {order.action} NAME")
    if order.action == "role" and order.role is None:
        raise SettingError("--role", "is missing: agent or admin")
    name = order.name
    if name and order.action != "disable-key":
        name = new_name(name) if order.action == "add" else checked_name(name)
    password = None
    if order.action == "password" or (order.action == "add" and not order.keys_only):
        password = checked_password(read_password(stdin), name)
    return asyncio.run(carried_out(settings, terminal, msgspec.structs.replace(order, name=name), password))


def read_password(stdin: TextIO) -> str:
    if not stdin.isatty():
        return stdin.readline().rstrip("\r\n")
    password = getpass.getpass("Password: ")
    if getpass.getpass("Once more: ") != password:
        raise SettingError("password", "the two are not the same")
    return password


async def carried_out(settings: Settings, terminal: Terminal, order: StaffOrder, password: str | None) -> int:
    database = await open_beside(settings.data, settings.database_url)
    try:
        return await Staff(SqlConsole(database), terminal).do(order, password)
    finally:
        await database.close()


class Staff:
    def __init__(self, console: SqlConsole, terminal: Terminal) -> None:
        self._console, self._terminal = console, terminal

    async def do(self, order: StaffOrder, password: str | None) -> int:
        hashed = None if password is None else Passwords().hash(password)
        if order.action == "list":
            await self._list(as_json=order.as_json)
        elif order.action == "add":
            await self._add(order, hashed)
        elif order.action == "key":
            await self._key(order)
        elif order.action == "disable-key":
            await self._done(await self._console.disable_staff_key(order.name), "key_disabled", order.name)
        else:
            await self._change(order, hashed)
        return 0

    async def _list(self, *, as_json: bool) -> None:
        accounts, keys = await self._console.staff_accounts(), await self._console.staff_keys()
        for account in accounts:
            own = [key for key in keys if key.name == account.name and not key.disabled]
            if as_json:
                shown = {"name": account.name, "role": account.role, "disabled": account.disabled}
                self._terminal.data(msgspec.json.encode({**shown, "keys": own}).decode())
                continue
            state = "  disabled" if account.disabled else ""
            self._terminal.line(f"{account.name}  {account.role}{state}", "bold")
            for key in own:
                self._terminal.line(f"  key {key.kid}  {key.label}  {key.created_at}")

    async def _add(self, order: StaffOrder, hashed: str | None) -> None:
        role: StaffRole = order.role or "agent"
        account = StaffAccount(name=order.name, role=role, created_at=now(), password_hash=hashed)
        if not await self._console.add_staff(account):
            raise SettingError("NAME", f"{order.name} is taken")
        await self._done(True, "staff_added", order.name, role=role)

    async def _change(self, order: StaffOrder, hashed: str | None) -> None:
        changes: dict[str, dict[str, Any]] = {
            "disable": {"disabled": True},
            "enable": {"disabled": False},
            "password": {"password_hash": hashed},
            "role": {"role": order.role},
        }
        action = {"disable": "staff_disabled", "enable": "staff_enabled", "password": "password_set",
                  "role": "role_changed"}[order.action]  # fmt: skip
        changed = await self._console.change_staff(order.name, **changes[order.action])
        detail = {"role": order.role} if order.action == "role" else {}
        await self._done(changed, action, order.name, **detail)

    async def _key(self, order: StaffOrder) -> None:
        key, secret = new_key(order.name, order.label, now())
        made = await self._console.add_staff_key(key, secret_hash(secret))
        await self._done(made, "key_made", key.kid, name=order.name)
        self._terminal.data(secret)
        self._terminal.warn("this is shown once: keep it where secrets are kept")

    async def _done(self, good: bool, action: str, target: str, **detail: Any) -> None:
        """Raises RequestError where there was nothing to do it to."""
        if not good:
            raise RequestError(404, "staff_not_found", f"there is no {order_name(action)} {target}")
        entry = AuditEntry(
            created_at=now(), actor=f"command line ({user()})", ip="", action=action, target=target, detail=detail
        )
        await self._console.add_audit(entry)
        if action != "key_made":
            self._terminal.line(f"{target}: {action.replace('_', ' ')}")


def order_name(action: str) -> str:
    return "key" if action == "key_disabled" else "account"


def now() -> str:
    return timestamp(time.time())


def user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
