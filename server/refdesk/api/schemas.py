"""Request and response bodies. Unknown request fields are refused by name; responses are the domain's own values."""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec

from refdesk.domain.conversation import Turn
from refdesk.errors import RequestError

MAX_QUESTION = 2_000
MAX_COMMENT = 2_000
ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What an id of ours can look like; anything else is not even looked up."""
LOCALE = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,4}")
"""A language tag as pages and browsers name it."""
NO_NUL = "^[^\\u0000]*$"
_UNSEEN = "\\s\\u0000-\\u001f\\u007f-\\u00a0\\u00ad\\u200b-\\u200f\\u2028-\\u202f\\u2060-\\u206f\\ufeff"
"""White space, control characters, and what has no width."""
NOT_BLANK = f"^[^\\u0000]*[^{_UNSEEN}][^\\u0000]*$"
VISIBLE = re.compile(f"[^{_UNSEEN}]")


class Request(msgspec.Struct, forbid_unknown_fields=True):
    pass


class Page(Request):
    """Where the visitor is: untrusted, a hint for the model."""

    url: str = ""
    title: str = ""


class AskRequest(Request):
    question: str
    conversation_id: str | None = None
    locale: str | None = None
    page: Page | None = None


class SessionRequest(Request):
    identity: str | None = None


class FeedbackRequest(Request):
    rating: Literal["up", "down"]
    comment: str = ""


class SyncRequest(Request):
    wait: bool = False
    force: bool = False


class SessionResponse(msgspec.Struct):
    token: str


class AskedTurn(Turn, kw_only=True):
    """The turn; `token` only where this request opened the session."""

    token: str | msgspec.UnsetType = msgspec.UNSET


class ConversationResponse(msgspec.Struct):
    id: str
    created_at: str
    turns: list[Turn]


class ArticleSummary(msgspec.Struct):
    id: str
    title: str
    url: str | None
    category: str
    language: str
    updated_at: str


class ArticleList(msgspec.Struct):
    articles: list[ArticleSummary]
    total: int
    next_cursor: str | None


class ArticleResponse(ArticleSummary):
    version: str
    body: str
    """Markdown."""
    html: str
    """The body as sanitised HTML."""


class FoundPassage(msgspec.Struct, omit_defaults=True):
    id: str
    title: str
    url: str | None
    section: str
    excerpt: str
    language: str
    updated_at: str
    score: float | None = None
    """Staff only, like `signals`."""
    signals: dict[str, float] = {}


class SearchResponse(msgspec.Struct):
    passages: list[FoundPassage]
    searched: list[str]
    """What was really searched: the question, and a repaired form of it if there was one."""


def text_rule(longest: int) -> dict[str, Any]:
    """`checked_text` as the OpenAPI document says it."""
    return {"minLength": 1, "maxLength": longest, "pattern": NOT_BLANK}


TEXTS: dict[str, dict[str, dict[str, Any]]] = {
    "AskRequest": {"question": text_rule(MAX_QUESTION)},
    "FeedbackRequest": {"comment": {"maxLength": MAX_COMMENT, "pattern": NO_NUL}},
    "Page": {"url": {"pattern": NO_NUL}, "title": {"pattern": NO_NUL}},
}
"""What the handlers ask of texts, for the OpenAPI document; lengths count after trimming."""


def may_be_id(text: str) -> bool:
    return ID.fullmatch(text) is not None


def locale_of(text: str | None) -> str:
    """What is no language tag says nothing, and is kept nowhere: it could be anything about anybody."""
    return text if text and LOCALE.fullmatch(text) else ""


def checked_text(value: str, field: str, longest: int) -> str:
    """Trimmed text of 1 to `longest` characters that every database can hold; a problem naming the field otherwise."""
    text = value.strip()
    if not VISIBLE.search(text):
        raise RequestError(400, f"{field}_blank", f"`{field}` must not be blank.", field=field)
    if len(text) > longest:
        detail = f"`{field}` has {len(text)} characters; at most {longest} are allowed."
        raise RequestError(400, f"{field}_too_long", detail, field=field)
    return storable(text, field)


def storable(text: str, field: str) -> str:
    if "\x00" in text or any(0xD800 <= ord(char) < 0xE000 for char in text):
        detail = f"`{field}` holds a NUL character or half of a surrogate pair; remove it."
        raise RequestError(400, f"{field}_invalid", detail, field=field)
    return text
