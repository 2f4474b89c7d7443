"""Request and response bodies of the console."""

from __future__ import annotations

from typing import Any

import msgspec

from refdesk.api.schemas import MAX_QUESTION, NO_NUL, Request, text_rule
from refdesk.domain.console import AuditEntry, LogEntry, StaffKey, StaffRole, Verdict

MAX_NOTE = 4_000
MAX_GAP_FIELD, MOST_AT_ONCE = 64, 200
MAX_TAG = 40
MOST_TAGS = 20
MAX_LABEL = 100


class LoginRequest(Request):
    name: str
    password: str


class PasswordRequest(Request):
    current: str
    new: str


class StaffRequest(Request):
    name: str
    role: StaffRole = "agent"
    password: str | None = None
    """None: signs in with keys only."""


class StaffChangeRequest(Request):
    """What is left out stays."""

    role: StaffRole | None = None
    password: str | None = None
    disabled: bool | None = None


class KeyRequest(Request):
    label: str
    name: str | None = None
    """Whose key; None: one's own. Another's takes an admin."""


class NoteRequest(Request):
    text: str


class TagsRequest(Request):
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class VerdictRequest(Request):
    verdict: Verdict
    note: str = ""
    articles: tuple[str, ...] = ()
    """Ids of those that answer the question."""


class ReplayRequest(Request):
    roles: list[str] | None = None
    """None: those that the visitor had."""


class PreviewRequest(Request):
    question: str
    roles: tuple[str, ...] = ()
    locale: str | None = None


class EraseRequest(Request):
    """One of them."""

    visitor_id: str | None = None
    subject: str | None = None


class RetentionRequest(Request):
    force: bool = False


class MemberResponse(msgspec.Struct):
    name: str
    role: StaffRole


class StaffResponse(msgspec.Struct):
    name: str
    role: StaffRole
    created_at: str
    disabled: bool
    has_password: bool


class StaffList(msgspec.Struct):
    staff: list[StaffResponse]


class KeyList(msgspec.Struct):
    keys: list[StaffKey]


class NewKeyResponse(msgspec.Struct):
    kid: str
    name: str
    label: str
    created_at: str
    key: str
    """Shown this once."""


class AuditResponse(msgspec.Struct):
    entries: list[AuditEntry]
    next_cursor: str | None


class LogResponse(msgspec.Struct):
    conversations: list[LogEntry]
    next_cursor: str | None


class DiffPiece(msgspec.Struct):
    op: str
    """`equal`, `insert` or `delete`."""
    text: str


class SourcesDiff(msgspec.Struct):
    added: list[str]
    removed: list[str]
    kept: list[str]


class TurnDiff(msgspec.Struct):
    same: bool
    status: list[str]
    """Before and now."""
    answer: list[DiffPiece]
    sources: SourcesDiff


class ReplayResponse(msgspec.Struct):
    before: dict[str, Any]
    now: dict[str, Any]
    diff: TurnDiff


class VisitorsResponse(msgspec.Struct):
    visitors: list[str]


class ErasedResponse(msgspec.Struct):
    erased: bool


class RetentionResponse(msgspec.Struct):
    deleted: int
    due: int
    total: int
    stopped: bool
    days: int


TEXTS: dict[str, dict[str, dict[str, Any]]] = {
    "NoteRequest": {"text": text_rule(MAX_NOTE)},
    "TagsRequest": {
        name: {"maxItems": MOST_TAGS, "items": {"type": "string", **text_rule(MAX_TAG)}} for name in ("add", "remove")
    },
    "VerdictRequest": {"note": {"pattern": NO_NUL}},
    "KeyRequest": {"label": text_rule(MAX_LABEL)},
    "PreviewRequest": {"question": text_rule(MAX_QUESTION)},
    "GapChangeRequest": {
        "note": text_rule(MAX_NOTE),
        "assignee": text_rule(MAX_GAP_FIELD),
        "article": text_rule(MAX_GAP_FIELD),
    },
    "MergeRequest": {"gaps": {"minItems": 1, "maxItems": MOST_AT_ONCE}},
    "SplitRequest": {"turns": {"minItems": 1, "maxItems": MOST_AT_ONCE}},
}
"""As in `schemas`."""
