"""What a staff account may be called and what its password must be."""

from __future__ import annotations

import re

from refdesk.errors import RequestError

NAME = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,63}")
RESERVED = frozenset({"staff-key", "refdesk", "visitor"})
"""Names under which others stand in the audit log."""
SHORTEST, LONGEST = 10, 256
FEWEST = 5
"""Different characters."""
COMMON = frozenset(
    "password passwort heslo administrator changeme letmein welcome qwertyuiop qwertzuiop asdfghjkl iloveyou "
    "trustno refdesk secret default".split()
)


def checked_name(name: str) -> str:
    """In lower case. Raises RequestError 400."""
    found = name.strip().lower()
    if NAME.fullmatch(found) is None:
        detail = "`name`: 1 to 64 characters from a-z, 0-9 and . _ @ + -, beginning with a letter or digit."
        raise RequestError(400, "name_invalid", detail, field="name")
    return found


def new_name(name: str) -> str:
    """Of an account that is to be made; an older one keeps whatever name it has."""
    found = checked_name(name)
    if found in RESERVED:
        detail = f"`name`: the audit log means something else by {found}; choose another."
        raise RequestError(400, "name_invalid", detail, field="name")
    return found


def checked_password(password: str, name: str) -> str:
    """Raises RequestError 400 that names the rule, never the password."""
    if why := weakness(password, name):
        raise RequestError(400, "password_weak", f"`password` {why}.", field="password")
    return password


def weakness(password: str, name: str) -> str | None:
    if not SHORTEST <= len(password) <= LONGEST:
        return f"must have {SHORTEST} to {LONGEST} characters"
    if len(set(password)) < FEWEST:
        return "repeats itself"
    letters = re.sub(r"[\W\d_]", "", password.lower())
    if letters in COMMON or (not letters and password.isdigit()):
        return "is one of those that everybody tries first"
    if letters and letters == re.sub(r"[\W\d_]", "", name.lower()):
        return "is the name of the account"
    return None
