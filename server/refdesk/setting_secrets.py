"""Secrets among the settings: a weak one stops the start, and no message repeats it."""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import urlsplit

from refdesk.errors import SettingError

MIN_SECRET = 32
KID = re.compile(r"[A-Za-z0-9_-]{1,32}\Z")
SAMPLE_WORDS = re.compile(
    r"change[-_ ]?me|change[-_ ]?this|replace[-_ ]?me|your[-_ ].*(secret|key|token)|placeholder|example|sample|"
    r"insert[-_ ]|password|not[-_ ]?so[-_ ]?secret|test[-_ ]?secret|supersecret",
    re.I,
)


def is_weak(secret: str) -> str | None:
    """Why a secret is refused, or None. A guessable secret is worse than none: it looks like protection."""
    if len(secret) < MIN_SECRET:
        return f"is too short ({len(secret)} characters); at least {MIN_SECRET} random ones"
    if SAMPLE_WORDS.search(secret):
        return "looks like a sample value"
    if len(set(secret)) < 10 or secret in (secret + secret)[1:-1]:
        return "repeats itself"
    steps = sum(ord(b) - ord(a) == 1 for a, b in pairwise(secret))
    if steps > 2 * len(secret) / 3:
        return "is a plain sequence of characters"
    return None


def printable(name: str, secret: str) -> str:
    """Whatever else it is, it is sent in a header."""
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise SettingError(name, "allowed: printable ASCII characters without spaces")
    return secret


def parse_model_key(name: str, value: str) -> str:
    """Somebody else made it, so nothing is asked of its strength."""
    return printable(name, value)


def checked_secret(name: str, secret: str) -> str:
    printable(name, secret)
    if why := is_weak(secret):
        raise SettingError(name, f"{why}; make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'")
    return secret


def parse_staff_key(name: str, value: str) -> str:
    return checked_secret(name, value) if value else ""


def parse_identity(name: str, value: str) -> dict[str, str]:
    """`SECRET` or `kid:SECRET,kid:SECRET` (at most two, so that one can be rotated out)."""
    if not value:
        return {}
    if ":" not in value:
        return {"default": checked_secret(name, value)}
    secrets: dict[str, str] = {}
    for item in value.split(","):
        kid, _, secret = item.strip().partition(":")
        if not KID.match(kid) or not secret or kid in secrets:
            raise SettingError(name, "allowed: one secret, or kid:secret,kid:secret with two different kids")
        secrets[kid] = checked_secret(name, secret)
    if len(secrets) > 2:
        raise SettingError(name, f"{len(secrets)} secrets are given; allowed: at most two, the new one and the old one")
    return secrets


def parse_database_url(name: str, value: str) -> str:
    """The value holds a password, so no message repeats it."""
    if not value:
        return ""
    try:
        parts = urlsplit(value)
        known = parts.scheme in ("postgresql", "postgres") and (parts.port or 1) > 0
    except ValueError:
        known, parts = False, urlsplit("")
    split_password = value.count("@") > 1 or ("@" in value and "@" not in parts.netloc)  # half of it passes for a host
    if not known or split_password or not parts.path.strip("/") or not value.isprintable() or " " in value:
        allowed = "postgresql://user:password@host[:port]/database, in the password %40 for @ and so on; empty: SQLite"
        raise SettingError(name, f"allowed: {allowed}")
    return value
