"""Turn and conversation: the values of the public API (api.md), and what only the console sees."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Kind = Literal["question", "catalogue", "smalltalk", "clarification"]
Status = Literal["running", "answered", "insufficient", "evidence", "stopped", "interrupted", "failed"]
Verification = Literal["full", "partial", "none"]
Basis = Literal["opened", "part", "search", "earlier_turn", "listing"]


class Source(msgspec.Struct, frozen=True):
    id: str
    title: str
    url: str | None
    section: str
    excerpt: str
    language: str
    updated_at: str
    version: str
    retrieved_at: str
    cited: bool
    basis: Basis
    show: bool
    from_turn: str | msgspec.UnsetType | None = msgspec.UNSET


class Claim(msgspec.Struct, frozen=True):
    """A verified claim. `quote` is the article's own text; offsets are in its body, kept for the console and reader."""

    text: str
    kind: Literal["fact", "inference"]
    source_id: str | None
    location: str
    quote: str | None
    match: Literal["exact", "normalized"] | None
    premises: tuple[int, ...] = ()
    step: str | None = None


class RejectedClaim(msgspec.Struct, frozen=True):
    text: str
    kind: str
    source_id: str | None
    quote: str | None
    why: str


class Position(msgspec.Struct, frozen=True):
    source_id: str
    quote: str
    location: str
    updated_at: str


class Conflict(msgspec.Struct, frozen=True):
    topic: str
    positions: tuple[Position, ...]
    criterion: str


class EvidenceItem(msgspec.Struct, frozen=True):
    source_id: str
    title: str
    url: str | None
    section: str
    quote: str


class Suggestion(msgspec.Struct, frozen=True):
    id: str
    title: str
    url: str | None


class Feedback(msgspec.Struct, frozen=True):
    rating: Literal["up", "down"]
    comment: str = ""


class Turn(msgspec.Struct, kw_only=True):
    """What a visitor sees of one question, the same in stream, JSON, reload and export."""

    id: str
    conversation_id: str
    created_at: str
    question: str
    kind: Kind = "question"
    language: str = "en"
    status: Status = "running"
    grounded: bool = False
    verification: Verification = "none"
    truncated: Literal["length", "tool_rounds", "deadline"] | None = None
    model_error: str | None = None
    answer: str = ""
    answer_html: str = ""
    sources: tuple[Source, ...] = ()
    claims: tuple[Claim, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    missing_information: tuple[str, ...] = ()
    evidence: tuple[EvidenceItem, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    feedback: Feedback | None = None


class FoundArticle(msgspec.Struct, frozen=True):
    """One article on the ladder found, read, cited, shown, with a sentence why it stopped there."""

    id: str
    title: str
    version: str
    forms: tuple[str, ...]
    calls: tuple[int, ...]
    tools: tuple[str, ...]
    read: bool
    cited: bool
    source: bool
    show: bool
    reason: str


class ToolRecord(msgspec.Struct, frozen=True):
    number: int
    tool: str
    by: str
    input: dict[str, Any]
    result_ids: tuple[str, ...]
    error: str | None
    started_ms: float
    ms: float


class Usage(msgspec.Struct):
    """Tokens of all model calls of the turn."""

    model: str = ""
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


class QuotedText(msgspec.Struct, frozen=True):
    """A text of an article that the answer rests on: what `changed_since` and carry-over look at."""

    article_id: str
    start: int
    end: int
    text: str


class TurnTrail(msgspec.Struct, kw_only=True):
    """What only the console sees of a turn; stored beside it."""

    reason: str | None = None
    gap_cause: str | None = None
    documents: tuple[FoundArticle, ...] = ()
    tools: tuple[ToolRecord, ...] = ()
    claims_rejected: tuple[RejectedClaim, ...] = ()
    links_dropped: tuple[str, ...] = ()
    usage: Usage = msgspec.field(default_factory=Usage)
    timings: dict[str, float] = {}
    article_versions: dict[str, str] = {}
    quoted: tuple[QuotedText, ...] = ()
    carried: tuple[QuotedText, ...] = ()
    """Passages that a later turn supplies again (provenance.md, carry-over)."""
    signals: dict[str, float] = {}
    generation: str = ""
    roles: tuple[str, ...] = ()
    """The visitor's roles when the turn ran."""
    channel: str = ""
    """How it was asked: `widget`, `stream`, `json`."""
    locale: str = ""
    """Of the page on which it was asked, as the client told it."""


class Visitor(msgspec.Struct, frozen=True):
    """Who asks. `id` is never a credential; the token is, and is stored hashed."""

    id: str
    roles: tuple[str, ...]
    subject: str | None = None
    """`sub` of the identity token; None: anonymous."""


class Conversation(msgspec.Struct, frozen=True):
    id: str
    visitor_id: str
    created_at: str


class StoredTurn(msgspec.Struct):
    turn: Turn
    trail: TurnTrail
