"""What an author hides from readers must reach neither a model nor a quote: HTML comments, but for those in code."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from refdesk.corpus.blocks import INNER_FENCE, Block, inner_closing, scan_blocks
from refdesk.domain.articles import Span

_MARK = re.compile(r"\\[\\`<]|`+|<!--")
_TICKS = re.compile("`+")
_LEAD = re.compile(r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t]++)*+[ \t>]*+")
"""What may stand before a comment that begins a line; such a one may go on behind a blank line."""
_ITEM = re.compile(r"[ \t>]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_END = "-->"


def without_comments(body: str) -> str:
    """Lines keep their numbers."""
    if "<!--" not in body:
        return body
    kept, position = [], 0
    for start, end in _comments(body):
        kept += [body[position:start], "\n" * body.count("\n", start, end)]
        position = end
    return "".join([*kept, body[position:]])


def _comments(body: str) -> Iterator[Span]:
    """In order."""
    last, done = body.rfind(_END), 0
    for block in scan_blocks(body):
        if block.kind == "comment" and block.end > done:
            yield max(block.start, done), block.end
            done = block.end
        for start, end in _paragraphs(body, block):
            for span in _within(body, max(start, done), end, last):
                yield span
                done = span[1]


def _paragraphs(body: str, block: Block) -> Iterator[Span]:
    """Pieces across which no code span reaches, without code blocks."""
    if block.kind in ("fence", "code", "comment"):
        return
    if block.kind not in ("list", "quote"):
        yield from block.lines if block.kind == "table" else [(block.start, block.end)]
        return
    piece: Span | None = None
    closing: re.Pattern[str] | None = None
    for start, end in block.lines:
        line = body[start:end]
        if closing is not None:
            closing = None if closing.match(line) else closing
            continue
        opening = INNER_FENCE.match(line.lstrip("> "))
        closing = inner_closing(opening) if opening else None
        text = opening is None and bool(line.strip(" \t>"))
        if piece is not None and (not text or _ITEM.match(line)):
            yield piece
            piece = None
        if text:
            piece = (piece[0] if piece else start, end)
    if piece is not None:
        yield piece


def _within(body: str, start: int, end: int, last: int) -> Iterator[Span]:
    """`last`: where the last comment of the body ends. Code spans and escaped characters hide nothing."""
    ticks: dict[int, list[int]] = {}
    """Where a run of so many begins."""
    for run in _TICKS.finditer(body, start, end):
        ticks.setdefault(len(run[0]), []).append(run.start())
    last_here, done, line_end = body.rfind(_END, start, end), start, -1
    for mark in _MARK.finditer(body, start, end):
        at, what = mark.start(), mark[0]
        if at < done or what[0] == "\\":
            continue
        if what[0] == "`":
            alike = ticks.get(len(what), [])
            place = bisect_left(alike, mark.end())
            done = alike[place] + len(what) if place < len(alike) else done
            continue
        begins_line = at > line_end and _LEAD.fullmatch(body, body.rfind("\n", 0, at) + 1, at) is not None
        if at > line_end:
            line_end = body.find("\n", at) % (len(body) + 1)
        if at < (last if begins_line else last_here):
            done = body.index(_END, at + 2) + len(_END)
            yield at, done
