"""Who is asking: visitor sessions, identity tokens signed by the customer's own backend, and the staff key.

A session token is 256 random bits and is stored hashed. Ids are never credentials.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import jwt
import msgspec
import structlog
from litestar import Request
from litestar.connection import ASGIConnection

from refdesk.api.members import KEY_TAG, SETTINGS_KEY, Member, is_staff_key, member_by_token, secret_hash
from refdesk.api.services import Services, services_of
from refdesk.api.times import timestamp
from refdesk.domain.articles import BUILT_IN_ROLES, PUBLIC, SIGNED_IN, STAFF, HelpCentre
from refdesk.domain.console import STAFF_VISITOR
from refdesk.domain.conversation import Visitor
from refdesk.errors import RequestError

log = structlog.get_logger()

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


def bearer(connection: ASGIConnection[Any, Any, Any, Any]) -> str | None:
    header = connection.headers.get("authorization")
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise not_signed_in()
    return token.strip()


def not_signed_in() -> RequestError:
    return RequestError(401, "token_invalid", "The session token is not valid; open a new session.")


async def visitor_of(request: Request[Any, Any, Any]) -> Visitor | None:
    """The visitor of the request's token; None without a token. Raises 401 for a token that means nothing."""
    token, services = bearer(request), services_of(request)
    if token is None:
        return None
    if is_staff_key(token, services) or token.startswith(KEY_TAG):
        member = await member_by_token(token, services)
        if member is None:
            raise not_signed_in()
        return staff_visitor(services, member)
    now = timestamp(services.clock.now())
    visitor = await services.store.visitor_by_token(secret_hash(token), now=now)
    if visitor is None:
        raise not_signed_in()
    return visitor


async def required_visitor(request: Request[Any, Any, Any]) -> Visitor:
    visitor = await visitor_of(request)
    if visitor is None:
        raise RequestError(401, "token_missing", "Send the session token as `Authorization: Bearer …`.")
    return visitor


def staff_visitor(services: Services, member: Member) -> Visitor:
    """Questions asked with a staff key belong to a visitor of their own, one for each account; it is stored with the
    first of them."""
    centre = services.retriever.current().centre
    seed = services.settings.staff_key if member.name == SETTINGS_KEY else member.name
    visitor_id = STAFF_VISITOR + secret_hash(seed).hex()[:16]
    return Visitor(id=visitor_id, roles=tuple(dict.fromkeys((*BUILT_IN_ROLES, *centre.roles, STAFF))))


def hash_to_store(visitor: Visitor, token: str | None) -> bytes | None:
    """With a question, what of the visitor's token is stored; None: it is stored already. The visitor of a staff key
    gets the hash of no token: a key that was taken out of the settings must open nothing."""
    if token is not None:
        return secret_hash(token)
    if visitor.id.startswith(STAFF_VISITOR):
        return hashlib.blake2b(visitor.id.encode(), digest_size=32, person=b"staff visitor").digest()
    return None


def newcomer() -> tuple[Visitor, str]:
    """An anonymous visitor and the token that will speak for it, still to be stored."""
    return Visitor(id=new_visitor_id(), roles=(PUBLIC,)), new_token()


async def sign_in(services: Services, claims: IdentityClaims, earlier: Visitor | None) -> str:
    """The token of the person whom the claims name; `earlier`: the visitor of the same browser until now."""
    centre, now, token = services.retriever.current().centre, services.clock.now(), new_token()
    named = Visitor(id=new_visitor_id(), roles=roles_of(claims, centre), subject=claims.sub)
    anonymous = earlier is not None and earlier.subject is None and not earlier.id.startswith(STAFF_VISITOR)
    visitor = await services.console.sign_in(
        named,
        secret_hash(token),
        at=timestamp(now),
        expires_at=timestamp(now + MAX_LIFETIME),
        earlier=earlier.id if earlier is not None and anonymous else None,
    )
    if dropped := sorted(set(claims.roles) - set(visitor.roles)):
        log.warning("roles not granted", visitor_id=visitor.id, roles=[role[:64] for role in dropped[:10]])
    return token


async def visitor_if_known(request: Request[Any, Any, Any]) -> Visitor | None:
    """The visitor of the request's token; None also for a token that means nothing any more."""
    try:
        return await visitor_of(request)
    except RequestError:
        return None


def new_visitor_id() -> str:
    return "v_" + secrets.token_urlsafe(16)


def new_token() -> str:
    return "vt_" + secrets.token_urlsafe(32)
