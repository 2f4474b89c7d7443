"""The resolved answer as safe HTML."""

from __future__ import annotations

import re
from collections.abc import Collection
from html import escape, unescape
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from refdesk.domain.markdown_text import overloaded

_ALLOWED = re.compile(r"(?:https?://|mailto:|/(?![/\\])|#)", re.I)
_NEVER = ("html_block", "html_inline", "image", "reference", "lheading")
"""Raw HTML and images by principle; the others because they make hostile text slow or take a marker over. Indented code
stays on although an answer never has any: without that rule markdown-it-py lets any indented line close a fence."""
_AS_IT_IS = ";/?:@&=+$,-_.!~*'()#%"
_BRACKETS = re.compile(r"\\.|[\[\]<]", re.S)
_MOST_MARKS = 3_000
"""Characters of an answer that may be markup. Above it the HTML is the text alone: they cost time, some make fifteen
times their length of HTML, and the 4 000 tokens that a model may write hold fewer."""
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable(list(_NEVER))
    reader.validateLink = _acceptable  # type: ignore[method-assign]
    reader.normalizeLink = _encoded  # type: ignore[method-assign]
    return reader


def _acceptable(url: str) -> bool:
    return _ALLOWED.match(url) is not None


def _encoded(url: str) -> str:
    """Encoded once, and the host as it is written, so that the address is the one in `answer`."""
    return quote(url, safe=_AS_IT_IS)


_READER = _reader()


def render(answer: str) -> str:
    """HTML without any tag or attribute of the model's own."""
    return _plain(answer) if overloaded(answer, _MOST_MARKS) else _html(_READER.parse(answer))


def checked(answer: str, allowed: Collection[str]) -> tuple[str, str]:
    """The answer and its HTML, from one parse; both without any link if one is not allowed. The resolver never lets one
    through (its property test shows it); this stands behind it all the same."""
    if overloaded(answer, _MOST_MARKS):
        return answer, _plain(answer)
    tokens = _READER.parse(answer)
    urls = {str(token.attrGet("href")) for token in _inline(tokens) if token.type == "link_open"}
    if urls <= set(allowed) or urls <= {_encoded(url) for url in allowed}:
        return answer, _html(tokens)
    safe = _without_links(answer)
    return safe, render(safe)


def _plain(answer: str) -> str:
    text = escape(unescape(_ESCAPED.sub(r"\1", answer)))
    return "<p>" + text.replace("\n", "<br>\n") + "</p>\n"


def _html(tokens: list[Token]) -> str:
    for token in _inline(tokens):
        if token.type == "link_open":
            token.attrSet("rel", "noopener nofollow")
    return str(_READER.renderer.render(tokens, _READER.options, {}))


def _without_links(answer: str) -> str:
    return _BRACKETS.sub(lambda match: match[0] if len(match[0]) > 1 else f"\\{match[0]}", answer)


def _inline(tokens: list[Token]) -> list[Token]:
    return [child for token in tokens if token.type == "inline" for child in token.children or ()]
