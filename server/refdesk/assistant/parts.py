"""A long article in numbered parts, cut between sections (model.md: above 24 000 characters)."""

from __future__ import annotations

from refdesk.domain.articles import Article, Span

WHOLE_LIMIT = 24_000
"""Characters of an article that are handed over in one piece."""
PART_LIMIT = 23_500
"""A part leaves room for its header lines inside 24 000 characters."""


def article_parts(article: Article) -> list[Span]:
    """Spans that cover the whole body, in order; one span for an article that fits."""
    body = article.body
    if len(body) <= WHOLE_LIMIT:
        return [(0, len(body))]
    sections, passages = _cuts(article)
    parts: list[Span] = []
    start = 0
    while len(body) - start > PART_LIMIT:
        end = _last_within(sections, start) or _last_within(passages, start) or _line_end(body, start)
        parts.append((start, end))
        start = end
    return [*parts, (start, len(body))]


def _cuts(article: Article) -> tuple[list[int], list[int]]:
    """Where sections begin, and where passages begin, in the body."""
    sections, passages, section = [], [], None
    for passage in article.passages:
        start = passage.spans[-1][0]
        passages.append(start)
        if passage.section != section:
            sections.append(start)
            section = passage.section
    return sections, passages


def _last_within(cuts: list[int], start: int) -> int | None:
    return max((cut for cut in cuts if start < cut <= start + PART_LIMIT), default=None)


def _line_end(body: str, start: int) -> int:
    found = body.rfind("\n", start + 1, start + PART_LIMIT)
    return found + 1 if found > start else start + PART_LIMIT
