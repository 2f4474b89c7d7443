"""The trail of a turn: which tool call handed which article, in which form, to the model.

The record is made where a tool result is built (provenance.md); everything about sources is derived from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any, Literal

import msgspec

from refdesk.domain.articles import Article, Span

_SIGN = re.compile(r"\S")


class Form(IntEnum):
    """How much of an article the model saw, weakest first."""

    TITLE = 0
    PASSAGE = 1
    PART = 2
    FULL = 3

    @property
    def label(self) -> Literal["title", "passage", "part", "full"]:
        return LABELS[self.value]


LABELS: tuple[Literal["title", "passage", "part", "full"], ...] = ("title", "passage", "part", "full")


class ToolReturn(msgspec.Struct, frozen=True):
    """One (article, form) pair that a tool call handed to the model, with the places of the text in the body."""

    article_id: str
    form: Form
    spans: tuple[Span, ...] = ()
    """What of the body was given: empty for a title."""
    section: str = ""
    from_turn: str | None = None
    """The earlier turn whose passage is supplied again."""


class ToolCall(msgspec.Struct):
    """One tool run. Number 0 is the application's prefetch search where there is one."""

    number: int
    tool: str
    input: dict[str, Any]
    by: str = "model"
    """`model` or `application` (prefetch, carry-over)."""
    returns: tuple[ToolReturn, ...] = ()
    error: str | None = None
    started_ms: float = 0.0
    """Since the turn began."""
    ms: float = 0.0


class Trail(msgspec.Struct):
    """What happened in one turn. `articles` are the very versions that were handed over."""

    calls: list[ToolCall] = []
    articles: dict[str, Article] = {}
    linked_before: dict[str, Article] = {}
    """Articles only linked in earlier turns of the conversation, still readable: linkable, never shown."""

    def returns(self) -> dict[str, list[tuple[ToolCall, ToolReturn]]]:
        """By article, in the order of finding. A call that failed has read nothing."""
        found: dict[str, list[tuple[ToolCall, ToolReturn]]] = {}
        for call, given in self._all():
            found.setdefault(given.article_id, []).append((call, given))
        return found

    def forms(self) -> dict[str, Form]:
        """The strongest form of each found article, in the order of finding; FULL also when all parts were given.

        A return without any text of the article (an empty body) has read nothing: TITLE."""
        return {article_id: self._form([given for _, given in of]) for article_id, of in self.returns().items()}

    def form(self, article_id: str) -> Form | None:
        """None: not found in this turn."""
        given = self.returns_of(article_id)
        return self._form(given) if given else None

    def found(self) -> list[str]:
        """Ids in the order in which tools first returned them: the whitelist for links."""
        return list(dict.fromkeys(given.article_id for _, given in self._all()))

    def read(self) -> list[str]:
        return [article_id for article_id, form in self.forms().items() if form >= Form.PASSAGE]

    def opened(self) -> list[str]:
        """In the order of the calls that opened them."""
        order = dict.fromkeys(given.article_id for _, given in self._all() if given.form >= Form.PART)
        return [article_id for article_id in order if self.form(article_id) is Form.FULL]

    def given(self, article_id: str) -> list[Span]:
        """The places of the body that the model was given in this turn, merged and in order."""
        return self._spans(self.returns_of(article_id))

    def texts(self) -> list[str]:
        """What the model was given of bodies in this turn, in the order of finding."""
        return [
            self.articles[article_id].body[start:end]
            for article_id, of in self.returns().items()
            for start, end in self._spans([given for _, given in of])
        ]

    def returns_of(self, article_id: str) -> list[ToolReturn]:
        return [given for _, given in self._all() if given.article_id == article_id]

    def _all(self) -> Iterator[tuple[ToolCall, ToolReturn]]:
        return ((call, given) for call in self.calls if call.error is None for given in call.returns)

    def _spans(self, of_one_article: Sequence[ToolReturn]) -> list[Span]:
        article = self.articles.get(of_one_article[0].article_id) if of_one_article else None
        spans = [span for given in of_one_article for span in given.spans]
        return merge_spans(spans, article.body) if article is not None else []

    def _form(self, of_one_article: Sequence[ToolReturn]) -> Form:
        form = max((given.form for given in of_one_article if self._has_text(given)), default=Form.TITLE)
        return Form.FULL if form is Form.PART and self._covers_body(of_one_article) else form

    def _has_text(self, given: ToolReturn) -> bool:
        article = self.articles.get(given.article_id)
        return article is not None and any(_SIGN.search(article.body, start, end) for start, end in given.spans)

    def _covers_body(self, of_one_article: Sequence[ToolReturn]) -> bool:
        body = self.articles[of_one_article[0].article_id].body
        parts = [span for given in of_one_article if given.form is Form.PART for span in given.spans]
        at = 0
        for start, end in merge_spans(parts, body):
            if _SIGN.search(body, at, start):
                return False
            at = max(at, end)
        return not _SIGN.search(body, at)


def merge_spans(spans: list[Span], body: str) -> list[Span]:
    """Sorted, overlapping ones joined, and neighbours between which only white space lies."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and (start <= merged[-1][1] or not _SIGN.search(body, merged[-1][1], start)):
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
