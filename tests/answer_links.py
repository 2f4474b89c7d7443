"""The links that a strict CommonMark reader finds in an answer: what any client could make of it."""

from __future__ import annotations

from markdown_it import MarkdownIt


def _strict() -> MarkdownIt:
    """Everything that could be taken for a link, whatever its destination."""
    reader = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    reader.validateLink = lambda url: True  # type: ignore[method-assign]
    reader.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return reader


_STRICT = _strict()


def links(answer: str) -> list[str]:
    """The destinations of all links and images, as written (escapes resolved, nothing encoded)."""
    inline = [child for token in _STRICT.parse(answer) if token.type == "inline" for child in token.children or ()]
    found = (token.attrGet("href") or token.attrGet("src") for token in inline)
    return [str(url) for url in found if url is not None]
