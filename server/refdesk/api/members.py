"""Members of staff as requests show them: by an API key, by the cookie of a session, or by the key of the settings.

An API key reads `rk_KID_SECRET`; it is shown once and kept as a hash, like the token of a session.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

import msgspec

from refdesk.api.services import Services
from refdesk.api.times import timestamp
from refdesk.domain.console import StaffAccount, StaffKey, StaffRole

KEY_TAG = "rk_"
SETTINGS_KEY = "staff-key"
"""The name under which whoever holds REFDESK_STAFF_KEY acts, as an admin."""


class Member(msgspec.Struct, frozen=True):
    name: str
    role: StaffRole
    session: bytes | None = None
    """Hash of the session's token, where the request came with its cookie."""


def secret_hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def new_key(name: str, label: str, at: str) -> tuple[StaffKey, str]:
    """The key's record, and the key itself, which is nowhere else."""
    kid, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    return StaffKey(kid=kid, name=name, label=label, created_at=at), f"{KEY_TAG}{kid}_{secret}"


def is_staff_key(token: str | None, services: Services) -> bool:
    """Whether it is the key of the settings."""
    key = services.settings.staff_key
    return bool(key) and token is not None and hmac.compare_digest(token.encode(), key.encode())


async def member_by_token(token: str, services: Services) -> Member | None:
    if is_staff_key(token, services):
        return Member(SETTINGS_KEY, "admin")
    if not token.startswith(KEY_TAG):
        return None
    kid = token.removeprefix(KEY_TAG).partition("_")[0]
    account = await services.console.staff_by_key(kid, secret_hash(token))
    return None if account is None else member(account)


async def member_by_session(token: str, services: Services) -> Member | None:
    now, hashed = timestamp(services.clock.now()), secret_hash(token)
    account = await services.console.staff_by_session(hashed, now=now)
    return None if account is None else member(account, hashed)


def member(account: StaffAccount, session: bytes | None = None) -> Member:
    return Member(account.name, account.role, session)
