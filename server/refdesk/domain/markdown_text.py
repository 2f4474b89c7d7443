"""Characters of Markdown: what has to be escaped where, and how a destination is written so that all readers agree."""

from __future__ import annotations

import re
from urllib.parse import quote

from markdown_it.common.utils import unescapeAll

INVISIBLE = "\u200b"
"""Zero width space: stands where something was removed and its neighbours would have become markup together."""

GUARD = "\x00"
"""Mark in the text between block scanner and resolver: the next character must be escaped. Input never holds it."""

STRUCTURE = frozenset(" \t\n>-+*_=#~`|:0123456789.)")
"""Characters that can open a block. The first other character of a line ends its structure."""

_MARKS = re.compile(r"[\n|*_~`<>\[\]!\\&#=+\-]")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_SPACES = "\x0b\x0c\x85"
_LABEL = re.compile(r"[\\`*_\[\]|~!]")
_TEXT = re.compile(r"[\\`*\[\]!]")
_PLAIN_DESTINATION = re.compile(r"[\w\-./:?#@!$'*+,;=%~&]+", re.ASCII)
_UNSAFE = re.compile(r"[<>\\|\x00-\x1f\x7f]")
_ENTITY = re.compile(r"&(?=#?\w+;)", re.ASCII)


def overloaded(text: str, most: int) -> bool:
    """Whether more characters than `most` may be markup: parsing costs 10 to 25 µs for each."""
    return len(text) > most and len(text) - len(_MARKS.sub("", text)) > most


def without_controls(text: str) -> str:
    """No control characters on anybody's screen, and no lone surrogate, which no encoder takes."""
    return _CONTROLS.sub(_replaced, text) if _CONTROLS.search(text) else text


def _replaced(match: re.Match[str]) -> str:
    char = match[0]
    return " " if char in _SPACES else "\ufffd" if char >= "\ud800" else ""


def escape_label(text: str) -> str:
    """A title as the text of a link, on one line, also inside a table cell."""
    escaped = _LABEL.sub(r"\\\g<0>", " ".join(without_controls(text).split()))
    return _ENTITY.sub("&amp;", escaped).replace("<", "&lt;")


def escape_text(text: str) -> str:
    """An address as ordinary text."""
    return _TEXT.sub(r"\\\g<0>", text).replace("<", "&lt;")


def destination(url: str) -> str:
    """The URL between the parentheses of a link. Written so that it reads back as the same URL: nothing in it is
    encoded that may stand there, because an encoding would be encoded again by the renderer."""
    safe = _UNSAFE.sub(lambda match: quote(match[0], safe=""), url)
    safe = _ENTITY.sub("&amp;", safe)
    return safe if _PLAIN_DESTINATION.fullmatch(safe) else f"<{safe}>"


def unescape(text: str) -> str:
    """Backslash escapes and entities resolved, as CommonMark does in destinations."""
    return unescapeAll(text)
