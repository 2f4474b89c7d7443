"""What the front matter says of an article, checked value by value. Whatever could widen access fails closed."""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from datetime import date
from functools import lru_cache
from typing import Literal, TypeVar

import msgspec

from refdesk.corpus.addresses import canonical_url
from refdesk.corpus.front_matter import Entry, FrontMatter
from refdesk.corpus.help_centre import language_of
from refdesk.domain.articles import BUILT_IN_ROLES, PUBLIC, STAFF, HelpCentre
from refdesk.errors import FileWithheld

ARTICLE_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")

Status = Literal["published", "draft", "archived"]
_STATUSES: tuple[Status, ...] = ("published", "draft", "archived")
Choice = TypeVar("Choice", bound=str)
_VISIBILITIES = ("link", "title")
_DATE = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[Tt ][0-9:.]{4,15}(?: ?(?:[Zz]|[+-]\d{2}:?\d{2}))?)?")
_GUARDS = ("audience", "status", "visibility")
"""Keys whose misspelling would show an article to people who must not see it."""
_ACCESS_LIKE = frozenset(
    "<< access acl allow allowed allowed_roles audiences auth authenticated confidential deny draft embargo expires"
    " expiry_date expirydate group groups hidden internal logged_in login login_required members members_only"
    " permission permissions private protected public publish publish_date publishdate published readers require_login"
    " requires_login restricted role roles secret security signed_in staff staff_only state unlisted unpublished users"
    " viewers visible visible_for visible_to".split()
)


_MIXED_SCRIPTS = re.compile(r"[a-z].*[^\x00-\u024f]|[^\x00-\u024f].*[a-z]")


class Metadata(msgspec.Struct, frozen=True):
    """Values as written; None or empty where the key is absent."""

    id: str | None
    title: str
    category: str | None
    audience: tuple[str, ...]
    status: Status
    visibility: str
    language: str | None
    translation_of: str | None
    url: str | None
    updated: str | None
    owner: str | None
    priority: float | None
    synonyms: tuple[str, ...]
    redirect_from: tuple[str, ...]
    unknown: tuple[tuple[str, int], ...]
    """Keys that mean nothing here, with their lines: served, but reported."""


def read_metadata(front: FrontMatter, centre: HelpCentre) -> Metadata:
    """Raises FileWithheld, with the line, for the first value that is not as documented."""
    keys = _Keys(front)
    unknown = _unknown_keys(front)
    return Metadata(
        id=keys.article_id("id"),
        title=" ".join((keys.text("title") or "").split()),
        category=keys.text("category"),
        audience=_audience(front.entries.get("audience"), centre),
        status=_one_of(keys, "status", _STATUSES),
        visibility=_one_of(keys, "visibility", _VISIBILITIES),
        language=_language(keys),
        translation_of=keys.article_id("translation_of"),
        url=_url(keys),
        updated=_date(keys),
        owner=keys.text("owner"),
        priority=_priority(keys),
        synonyms=keys.texts("synonyms"),
        redirect_from=_redirects(keys),
        unknown=unknown,
    )


class _Keys:
    """The entries by kind of value. A key without a value counts as absent, except for those that guard access."""

    def __init__(self, front: FrontMatter) -> None:
        self._entries = front.entries

    def text(self, key: str) -> str | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if not isinstance(entry.value, str):
            raise FileWithheld(f"`{key}` must be a text", entry.line)
        return entry.value.strip() or None

    def texts(self, key: str) -> tuple[str, ...]:
        """A list, or a single text, which counts as a list of one."""
        entry = self._entries.get(key)
        if entry is None:
            return ()
        if entry.value is None:
            raise FileWithheld(f"`{key}` must be a list of texts", entry.line)
        values = (entry.value,) if isinstance(entry.value, str) else entry.value
        return tuple(dict.fromkeys(text for value in values if (text := " ".join(value.split()))))

    def article_id(self, key: str) -> str | None:
        value = self.text(key)
        if value is not None and not ARTICLE_ID.fullmatch(value):
            raise self.wrong(key, "must be lower-case letters, digits and -, at most 64 characters")
        return value

    def has(self, key: str) -> bool:
        return key in self._entries

    def wrong(self, key: str, problem: str) -> FileWithheld:
        entry = self._entries[key]
        shown = entry.value if isinstance(entry.value, str) else ", ".join(entry.value or ())
        return FileWithheld(f"`{key}` {problem}, not {shown[:80]!r}", entry.line)


def _audience(entry: Entry | None, centre: HelpCentre) -> tuple[str, ...]:
    """Only a list of declared roles opens anything: a bare word, a typo or an empty list withholds the file."""
    if entry is None:
        return (PUBLIC,)
    known = dict.fromkeys((*BUILT_IN_ROLES, *centre.roles, STAFF))
    if not isinstance(entry.value, tuple):
        raise FileWithheld("`audience` must be a list of roles in brackets, such as [public]", entry.line)
    if not entry.value:
        raise FileWithheld("`audience` is empty: name the roles that may read it, or leave the key out", entry.line)
    for role in entry.value:
        if role not in known:
            raise FileWithheld(f"`audience` names {role[:80]!r}; the roles are {', '.join(known)}", entry.line)
    return tuple(sorted(set(entry.value)))


def _one_of(keys: _Keys, key: str, choices: tuple[Choice, ...]) -> Choice:
    if not keys.has(key):
        return choices[0]
    value = keys.text(key)
    for choice in choices:
        if value == choice:
            return choice
    raise keys.wrong(key, f"must be one of {', '.join(choices)}")


def _language(keys: _Keys) -> str | None:
    value = keys.text("language")
    if value is None:
        return None
    language = language_of(value)
    if language is None:
        raise keys.wrong("language", "must be a language code such as en")
    return language


def _url(keys: _Keys) -> str | None:
    value = keys.text("url")
    if value is None:
        return None
    url = canonical_url(value)
    if url is None:
        raise keys.wrong("url", "must be an http(s) address without a user name, or begin with a single /")
    return url


def _date(keys: _Keys) -> str | None:
    value = keys.text("updated")
    if value is None:
        return None
    match = _DATE.fullmatch(value)
    try:
        return date.fromisoformat(match[1]).isoformat() if match else _no_date(keys)
    except ValueError:
        return _no_date(keys)


def _no_date(keys: _Keys) -> str:
    raise keys.wrong("updated", "must be a date such as 2026-02-03")


def _priority(keys: _Keys) -> float | None:
    value = keys.text("priority")
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise keys.wrong("priority", "must be a number")
    return number


def _redirects(keys: _Keys) -> tuple[str, ...]:
    redirects = keys.texts("redirect_from")
    if not all(ARTICLE_ID.fullmatch(redirect) for redirect in redirects):
        raise keys.wrong("redirect_from", "must be a list of earlier ids")
    return redirects


def _unknown_keys(front: FrontMatter) -> tuple[tuple[str, int], ...]:
    """Raises for a key that looks as if it were to keep readers away: ignoring it would show them the article."""
    unknown = []
    for key, entry in front.entries.items():
        if key in Metadata.__struct_fields__ and key != "unknown":
            continue
        if meant := _guard_meant(key):
            raise FileWithheld(f"`{key[:80]}` looks like an access rule, but means nothing: use `{meant}`", entry.line)
        unknown.append((key, entry.line))
    return tuple(unknown)


@lru_cache(maxsize=1024)
def _guard_meant(key: str) -> str | None:
    plain = unicodedata.normalize("NFKC", key).strip().casefold().replace("-", "_").replace(" ", "_")
    if _MIXED_SCRIPTS.search(plain):
        return "audience"  # look-alike letters
    if plain in _ACCESS_LIKE:
        return (
            "status" if plain.startswith(("draft", "publish", "unpublish", "embargo", "expir", "state")) else "audience"
        )
    return next(iter(difflib.get_close_matches(plain, _GUARDS, 1, 0.75)), None)
