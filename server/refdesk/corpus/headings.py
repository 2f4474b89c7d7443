"""Headings as people read them: without Markdown marks, and the anchors that links to them use."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from markdown_it import MarkdownIt

_MARKS = re.compile(r"[*_`\[\]!<&\\]")
_MAX_PARSED = 500
"""Characters. Inline Markdown is parsed in worse than linear time, and a longer heading is none."""
_INLINE = MarkdownIt("commonmark", {"html": False})
_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]")


@lru_cache(maxsize=4096)
def heading_text(markdown: str) -> str:
    """The words of a heading: emphasis, code ticks and links reduced to their text, images to their description."""
    if len(markdown) > _MAX_PARSED or not _MARKS.search(markdown):
        return " ".join(markdown.split())
    tokens = _INLINE.parseInline(markdown)[0].children or []
    return " ".join("".join(" " if token.type == "softbreak" else token.content for token in tokens).split())


def same_title(heading: str, title: str) -> bool:
    return _compared(heading) == _compared(title)


def anchor(heading: str, taken: dict[str, int]) -> str:
    """The id of a heading's element, as GitHub makes it; a repeated one is numbered. `taken` is updated."""
    base = _NOT_IN_ANCHOR.sub("", heading.strip().lower()).replace(" ", "-") or "section"
    number = taken.get(base, -1) + 1
    taken[base] = number
    return f"{base}-{number}" if number else base


def _compared(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
