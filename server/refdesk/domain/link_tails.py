"""What may stand behind a closing bracket: the destination of a link, or of a reference definition.

Every reading ends in one of three ways, decided by the text alone: it matches, it fails, or more text is needed.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from refdesk.domain.markdown_text import GUARD, unescape

_SPACE = re.compile(rf"[ \t\n{GUARD}]*")
_ANGLE = re.compile(r"<((?:[^<>\n\\]|\\.)*)(>?)", re.S)
_BARE = re.compile(r"(?:[^ \t\n\\()]|\\[^ \t\n])+")
_CLOSERS = {'"': '"', "'": "'", "(": ")"}
_DEEPEST = 4
"""Parentheses inside one another in a destination; with more it is none. (Readers allow 32, nobody writes five.)"""


class Tail(NamedTuple):
    """`end` is the offset behind it. `url` None: the text is no such thing."""

    end: int
    url: str | None = None


def link_tail(text: str, start: int, limit: int) -> Tail | None:
    """`(destination "title")` at `start`, looking no further than `limit`; None: it goes on beyond the text."""
    at = _after_space(text, start + 1, limit)
    if at >= limit:
        return None
    url = ""
    if text[at] != ")":
        destination = _destination(text, at, limit)
        if destination is None or destination.url is None:
            return destination
        url = destination.url
        title = _title(text, destination.end, limit)
        if title is None:
            return None
        at = _after_space(text, title, limit)
        if at >= limit:
            return None
    return Tail(at + 1, url) if text[at] == ")" else Tail(at)


def definition_tail(text: str, start: int, limit: int, *, ended: bool) -> Tail | None:
    """What follows `[label]:` in a reference definition, with its line break. `ended`: the text ends at `limit`."""
    at = _after_space(text, start, limit)
    if at >= limit:
        return Tail(at) if ended else None
    destination = _destination(text, at, limit)
    if destination is None and ended and text[at] != "<":
        return Tail(limit, _url(text[at:limit]))
    if destination is None or destination.url is None:
        return Tail(limit) if destination is None and ended else destination
    first = _line_end(text, destination.end, limit, ended=ended)
    title = _title(text, destination.end, limit)
    last = first if title == destination.end else None
    if title is not None and title > destination.end:
        last = _line_end(text, title, limit, ended=ended)
    if (title is None or last is None) and not ended:
        return None
    end = max(first or -1, last or -1)
    return Tail(destination.end) if end < 0 else Tail(end, destination.url)


def looks_like_url(url: str) -> bool:
    return re.search(r"[/:#]|\w\.\w\w", url) is not None


def _after_space(text: str, at: int, limit: int) -> int:
    match = _SPACE.match(text, at, limit)
    return match.end() if match else at


def _line_end(text: str, at: int, limit: int, *, ended: bool) -> int | None:
    """The offset behind the line break, -1 if something comes before it, None if more text is needed."""
    while at < limit and text[at] in " \t":
        at += 1
    if at >= limit:
        return at if ended else None
    return at + 1 if text[at] == "\n" else -1


def _url(written: str) -> str:
    return unescape(written.replace(GUARD, ""))


def _destination(text: str, at: int, limit: int) -> Tail | None:
    if text[at] == "<":
        match = _ANGLE.match(text, at, limit)
        assert match is not None
        if match[2]:
            return Tail(match.end(), _url(match[1]))
        rest = text[match.end() : limit]
        return None if rest in ("", "\\") else Tail(match.end())
    start, depth = at, 0
    while at < limit:
        run = _BARE.match(text, at, limit)
        if run is not None:
            at = run.end()
            continue
        if text[at] == "(":
            depth += 1
        elif text[at] == ")" and depth:
            depth -= 1
        elif text[at] != "\\" or at + 1 >= limit:
            break
        if depth > _DEEPEST:
            return Tail(at)
        at += 1
    if at >= limit or (text[at] == "\\" and at + 1 >= limit):
        return None
    return Tail(at, _url(text[start:at])) if at > start and not depth else Tail(at)


def _title(text: str, at: int, limit: int) -> int | None:
    """The offset behind a title that is separated by white space; `at` if there is none."""
    start = _after_space(text, at, limit)
    if start >= limit:
        return None
    closer = _CLOSERS.get(text[start])
    if closer is None or start == at:
        return at
    position = start + 1
    while position < limit:
        char = text[position]
        if char == closer:
            return position + 1
        if char == "(" and closer == ")":
            return at
        position += 2 if char == "\\" else 1
    return None
