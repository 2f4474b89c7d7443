"""The docs-gap queue: what is kept of an unanswered question, and a gap as writers see it."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Literal, get_args

import msgspec

from refdesk.domain.conversation import StoredTurn
from refdesk.domain.gaps import Cause

GapStatus = Literal["open", "in_progress", "done", "not_supported", "dismissed"]
STATUSES: tuple[GapStatus, ...] = get_args(GapStatus)
WAITING: tuple[GapStatus, ...] = ("open", "in_progress")
"""What writers have to do: the queue, unless another status is asked for."""
CAUSES: tuple[Cause, ...] = get_args(Cause)
OFF_TOPIC: Cause = "out_of_scope"
"""Not in the queue unless it is asked for: nobody shall write about it."""
WEEKS = 8


class Near(msgspec.Struct, frozen=True):
    """An article that came near, and why it did not answer."""

    id: str
    title: str
    why: str


class GapBody(msgspec.Struct, frozen=True):
    """What else is kept of an unanswered question."""

    missing: tuple[str, ...] = ()
    """What the model said a document would have to say."""
    near: tuple[Near, ...] = ()
    roles: tuple[str, ...] = ()
    """The visitor's."""
    versions: dict[str, str] = {}
    """Of the articles that were found."""


class Unanswered(msgspec.Struct, frozen=True):
    """A question without an answer, personal data cut out, on its way into the queue."""

    seq: int
    wording: str
    """Of questions that are worded alike: the same for all of them, and nothing of the words can be read from it."""
    asked_at: str
    language: str
    cause: Cause
    question: str
    body: GapBody


class Fresh(msgspec.Struct, frozen=True):
    """A turn that has ended and that nobody has looked at."""

    seq: int
    visitor_id: str
    stored: StoredTurn


class ArticleCount(msgspec.Struct, frozen=True):
    """How far an article came in the turns of a day, in questions of a language. `listed`: cited, though only its title
    was seen. `failed`: read for a question that found no answer."""

    day: str
    article_id: str
    language: str
    found: int = 0
    read: int = 0
    opened: int = 0
    cited: int = 0
    listed: int = 0
    shown: int = 0
    failed: int = 0


class PiledWording(msgspec.Struct, frozen=True):
    """What grouping looks at. `gap_id` None: not grouped yet."""

    wording: str
    question: str
    language: str
    gap_id: str | None
    held: bool
    """Its gap stays as it is: people have worked on it."""
    visitors: int
    pin: str | None = None
    """The gap into which people put the wording."""


class Pile(msgspec.Struct, frozen=True):
    """The wordings asked last. `version` changes with everything that is done to gaps."""

    version: int
    wordings: tuple[PiledWording, ...]


class Answer(msgspec.Struct, frozen=True):
    """An article that answers a gap today."""

    article_id: str
    title: str
    found_at: str
    by: Literal["search", "model"]


class GapEvent(msgspec.Struct, frozen=True):
    """`what`: created, status, assignee, article, cause, note, merged, split, reopened, answered, regrouped."""

    at: str
    actor: str
    what: str
    detail: dict[str, Any] = {}


class Asked(msgspec.Struct, frozen=True):
    """One question of a gap. `question` None: fewer visitors asked it than the privacy setting wants."""

    turn_id: str
    conversation_id: str
    asked_at: str
    language: str
    cause: str
    question: str | None
    wording: str
    body: GapBody
    visitors: int
    """Distinct ones who asked it in this wording."""


class GapRow(msgspec.Struct, frozen=True):
    """A gap as the store knows it."""

    id: str
    created_at: str
    status: GapStatus
    cause: Cause
    assignee: str | None
    article: str | None
    count: int
    visitors: int
    first_asked: str
    last_asked: str
    closed_at: str | None
    answered_by: Answer | None
    held: bool


class GapFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Empty: what writers have to do."""

    status: GapStatus | None = None
    cause: Cause | None = None
    assignee: str | None = None


class GapPage(msgspec.Struct, frozen=True):
    gaps: tuple[GapRow, ...]
    next_cursor: str | None
    out_of_scope: int
    """Gaps that the filter lets through but for their cause: not in the pages unless they are asked for."""


class InQueue(msgspec.Struct, frozen=True):
    """What the queue made of a turn."""

    cause: Cause
    """Of this question."""
    gap_id: str | None
    """None: it is not grouped yet."""
    gap_cause: Cause | None
    """Of the gap: most of its questions', or a person's."""


class GapChange(msgspec.Struct, frozen=True, kw_only=True):
    """What is UNSET stays."""

    status: GapStatus | msgspec.UnsetType = msgspec.UNSET
    assignee: str | msgspec.UnsetType | None = msgspec.UNSET
    article: str | msgspec.UnsetType | None = msgspec.UNSET
    cause: Cause | msgspec.UnsetType = msgspec.UNSET
    note: str | msgspec.UnsetType = msgspec.UNSET


class Regrouping(msgspec.Struct, frozen=True):
    """Which gap each wording belongs to. Ids that are new become gaps."""

    version: int
    gaps: Mapping[str, str]
    """By wording."""
    at: str
    announce: bool = False
    """Whether the webhook is told what is new and what is open again."""


class Happened(msgspec.Struct, frozen=True):
    """For the webhook; ids only, the rest is looked up when it is told."""

    event: Literal["gap.new", "gap.reopened", "feedback.down"]
    target: str
    """The gap or the turn."""
    at: str

    @property
    def id(self) -> str:
        """One for each time that something happened: telling it twice is telling it once."""
        once = self.target if self.event == "feedback.down" else f"{self.target} {self.at}"
        return "e_" + blake2b(f"{self.event} {once}".encode(), digest_size=12).hexdigest()


class OutboxItem(msgspec.Struct, frozen=True):
    seq: int
    happened: Happened
    tries: int
