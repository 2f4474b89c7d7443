"""Request and response bodies of the docs-gap queue."""

from __future__ import annotations

from typing import Literal

import msgspec

from refdesk.api.schemas import Request
from refdesk.domain.article_signals import ArticleFigures
from refdesk.domain.console import Note
from refdesk.domain.gap_queue import ArticleCount, GapEvent, GapStatus
from refdesk.domain.gap_view import GapView
from refdesk.domain.gaps import Cause


class GapChangeRequest(Request):
    """What is left out stays."""

    status: GapStatus | msgspec.UnsetType = msgspec.UNSET
    assignee: str | msgspec.UnsetType | None = msgspec.UNSET
    """The name of an account; null: nobody."""
    article: str | msgspec.UnsetType | None = msgspec.UNSET
    """The id of the article that answers it, or of one still to come."""
    cause: Cause | msgspec.UnsetType = msgspec.UNSET
    note: str | msgspec.UnsetType = msgspec.UNSET


class MergeRequest(Request):
    into: str
    gaps: tuple[str, ...]


class SplitRequest(Request):
    gap: str
    turns: tuple[str, ...]
    """Ids of turns; every question that is worded like one of them goes with it."""


class DraftRequest(Request):
    model: bool = False


class AskedResponse(msgspec.Struct):
    turn_id: str
    conversation_id: str
    asked_at: str
    language: str
    cause: str
    question: str | None
    """Null: fewer visitors asked it than the privacy setting wants."""


class GapDetail(GapView, frozen=True):
    asked: list[AskedResponse]
    """The newest first, at most two hundred."""
    notes: list[Note]
    history: list[GapEvent]


class GapList(msgspec.Struct):
    gaps: list[GapView]
    next_cursor: str | None
    out_of_scope: int
    """Gaps that are left out since their cause is `out_of_scope`: ask for this cause to see them. 0 with any cause."""


class DraftResponse(msgspec.Struct):
    markdown: str
    by: Literal["outline", "model"]
    model_error: str | None
    """Why the model's part is missing."""


class ArticleFiguresList(msgspec.Struct):
    since: str
    until: str
    """Both days included, UTC."""
    articles: list[ArticleFigures]


class ArticleDays(msgspec.Struct):
    since: str
    until: str
    days: list[ArticleCount]
