"""Who is asking: visitor sessions, identity tokens signed by the customer's own backend, and the staff key.

A session token is 256 random bits and is stored hashed. Ids are never credentials.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import UTC, datetime
from typing import Any

import jwt
import msgspec
from litestar import Request

from refdesk.api.services import Services, services_of
from refdesk.domain.articles import PUBLIC, SIGNED_IN, STAFF, HelpCentre
from refdesk.domain.console import STAFF_VISITOR
from refdesk.domain.conversation import Visitor
from refdesk.errors import RequestError

MAX_IDENTITY = 8_192
MAX_LIFETIME = 24 * 3600
LEEWAY = 30
REFUSED_HEADERS = ("crit", "jwk", "jku", "x5u", "x5c", "b64", "zip")


class IdentityClaims(msgspec.Struct):
    """What of an identity token counts; strict types, so that `sub: 7` or `exp: "soon"` is refused."""

    sub: str
    aud: str
    iat: int
    exp: int
    roles: list[str] = []


def bad_identity() -> RequestError:
    """One sentence for everything that can be wrong: a forger learns nothing from it."""
    return RequestError(401, "identity_invalid", "The identity token is not valid.", field="identity")


def verify_identity(token: str, keys: dict[str, str], centre: HelpCentre, now: float) -> IdentityClaims:
    """The claims of a good token. Raises RequestError 401 for anything else, never falling back to anonymous."""
    try:
        if len(token) > MAX_IDENTITY:
            raise bad_identity()
        header = jwt.get_unverified_header(token)
        key = keys.get(header.get("kid", ""))
        if key is None or any(name in header for name in REFUSED_HEADERS):
            raise bad_identity()
        options: Any = {"require": ["sub", "aud", "exp", "iat"], "strict_aud": True}
        payload = jwt.decode(token, key, algorithms=["HS256"], audience=centre.name, leeway=LEEWAY, options=options)
        claims = msgspec.convert(payload, IdentityClaims, strict=True)
    except (jwt.PyJWTError, msgspec.ValidationError, ValueError, TypeError, RecursionError) as error:
        raise bad_identity() from error
    if not claims.sub.strip() or len(claims.sub) > 256 or claims.exp - claims.iat > MAX_LIFETIME:
        raise bad_identity()
    if claims.iat > now + LEEWAY or claims.exp <= now - LEEWAY:
        raise bad_identity()
    return claims


def roles_of(claims: IdentityClaims, centre: HelpCentre) -> tuple[str, ...]:
    """What the token grants: an undeclared role and `staff` are not, the token stays good."""
    declared = [role for role in centre.roles if role in claims.roles and role != STAFF]
    return (PUBLIC, SIGNED_IN, *declared)


def token_hash(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def bearer(request: Request[Any, Any, Any]) -> str | None:
    header = request.headers.get("authorization")
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise not_signed_in()
    return token.strip()


def not_signed_in() -> RequestError:
    return RequestError(401, "token_invalid", "The session token is not valid; open a new session.")


def is_staff_key(token: str | None, services: Services) -> bool:
    key = services.settings.staff_key
    return bool(key) and token is not None and hmac.compare_digest(token.encode(), key.encode())


async def visitor_of(request: Request[Any, Any, Any]) -> Visitor | None:
    """The visitor of the request's token; None without a token. Raises 401 for a token that means nothing."""
    token, services = bearer(request), services_of(request)
    if token is None:
        return None
    if is_staff_key(token, services):
        return staff_visitor(services)
    visitor = await services.store.visitor_by_token(token_hash(token))
    if visitor is None:
        raise not_signed_in()
    return visitor


async def required_visitor(request: Request[Any, Any, Any]) -> Visitor:
    visitor = await visitor_of(request)
    if visitor is None:
        raise RequestError(401, "token_missing", "Send the session token as `Authorization: Bearer …`.")
    return visitor


def staff_visitor(services: Services) -> Visitor:
    centre = services.retriever.current().centre
    roles = dict.fromkeys((PUBLIC, SIGNED_IN, *centre.roles, STAFF))
    return Visitor(id=staff_visitor_id(services.settings.staff_key), roles=tuple(roles))


def staff_visitor_id(key: str) -> str:
    return STAFF_VISITOR + token_hash(key).hex()[:16]


async def ensure_staff_visitor(services: Services) -> None:
    """Questions asked with the staff key belong to a visitor of their own, whom no token can reach: a key that was
    taken out of the settings must open nothing, so what is stored is the hash of no token."""
    key = services.settings.staff_key
    if not key:
        return
    unreachable = hashlib.blake2b(key.encode(), digest_size=32, person=b"staff visitor").digest()
    if await services.store.visitor_by_token(unreachable) is None:
        visitor = Visitor(id=staff_visitor_id(key), roles=())
        await services.store.add_visitor(visitor, unreachable, timestamp(services.clock.now()))


def require_staff(request: Request[Any, Any, Any]) -> None:
    if not is_staff_key(bearer(request), services_of(request)):
        raise RequestError(401, "staff_key_invalid", "Send the staff key as `Authorization: Bearer …`.")


async def open_session(services: Services, claims: IdentityClaims | None = None) -> tuple[Visitor, str]:
    centre = services.retriever.current().centre
    token = "vt_" + secrets.token_urlsafe(32)
    visitor = Visitor(
        id="v_" + secrets.token_urlsafe(16),
        roles=(PUBLIC,) if claims is None else roles_of(claims, centre),
        subject=None if claims is None else claims.sub,
    )
    await services.store.add_visitor(visitor, token_hash(token), timestamp(services.clock.now()))
    return visitor, token


def timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
