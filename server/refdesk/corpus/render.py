"""An article as HTML for readers: no HTML of its own, no foreign pictures, no link that leads where it should not."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from refdesk.corpus.addresses import canonical_url
from refdesk.corpus.headings import anchor, heading_text, same_title
from refdesk.corpus.links import is_relative
from refdesk.domain.articles import Article
from refdesk.domain.markdown_text import overloaded

Resolve = Callable[[str], str | None]
"""A target as written in the article -> the address to use; None removes the link (its text stays) or the picture
(its description stays)."""

_MAIL = re.compile(r"mailto:[^\s<>\"]+", re.IGNORECASE)
_MAX_OPENERS = 400
"""Brackets, stars and the like in one paragraph. Above it the paragraph is shown as plain text: the time to parse it
grows with their square, and no author writes so many."""
_OPENERS = re.compile(r"[\[\]!*_~`<]")
MOST_MARKS = 100_000
"""Characters of an article that may be markup. Above it the article is shown as plain text: two seconds of parsing are
enough for any page that people read."""
_ALIGN = re.compile(r"text-align:(left|right|center)")
_PLAIN_RULES = ["text", "newline", "escape"]


def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


_BLOCKS = _markdown()
_BLOCKS.core.ruler.enableOnly(["normalize", "block"])
_INLINE = _markdown()
_DESCRIBED = RendererHTML()
_PLAIN = _markdown().enable(_PLAIN_RULES)
_PLAIN.inline.ruler.enableOnly(_PLAIN_RULES)
_CLEANER = nh3.Cleaner(
    tags=set(
        "a blockquote br code del em h1 h2 h3 h4 h5 h6 hr img li ol p pre s strong table tbody td th thead tr"
        " ul".split()
    ),
    attributes={
        "a": {"href", "title"},
        "img": {"src", "alt", "title"},
        "ol": {"start"},
        "td": {"align"},
        "th": {"align"},
        **{f"h{level}": {"id"} for level in range(1, 7)},
    },
    url_schemes={"http", "https", "mailto"},
    attribute_filter=lambda tag, name, value: (
        None if name in ("href", "src") and value.strip().replace("\\", "/").startswith("//") else value
    ),
    link_rel="noopener noreferrer",
)


def article_html(article: Article, resolve_link: Resolve, resolve_image: Resolve, *, with_title: bool = True) -> str:
    """Headings get ids as on GitHub, so links to sections work. `with_title=False` leaves out a first heading that
    repeats the title, for a page that prints the title itself.

    Both functions get relative targets only: absolute http(s) and mailto links stay, every other one is dropped."""
    if overloaded(article.body, MOST_MARKS):
        return f"<pre>{escape(article.body)}</pre>\n"
    references: dict[str, Any] = {}
    tokens = _BLOCKS.parse(article.body, references)
    links = _Links(resolve_link, resolve_image)
    taken: dict[str, int] = {}
    for position, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", anchor(heading_text(tokens[position + 1].content), taken))
        elif token.type == "inline":
            token.children = links.resolved(_inline(token.content, references))
        elif token.type in ("td_open", "th_open") and (align := _ALIGN.match(str(token.attrGet("style") or ""))):
            token.attrs = {"align": align[1]}
    if not with_title and tokens and tokens[0].type == "heading_open":
        repeated = same_title(heading_text(tokens[1].content), article.title)
        tokens = tokens[3:] if repeated else tokens
    return _CLEANER.clean(_INLINE.renderer.render(tokens, _INLINE.options, {}))


def _inline(content: str, references: dict[str, Any]) -> list[Token]:
    few = sum(1 for _ in _OPENERS.finditer(content)) <= _MAX_OPENERS
    parser = _INLINE if few else _PLAIN
    tokens: list[Token] = []
    parser.inline.parse(content, parser, references, tokens)
    return _as_text(tokens)


def _as_text(tokens: list[Token]) -> list[Token]:
    """Escaped characters and entities become text: the parser leaves that to a rule for whole documents."""
    for token in tokens:
        if token.type == "text_special":
            token.type = "text"
        _as_text(token.children or [])
    return tokens


class _Links:
    def __init__(self, resolve_link: Resolve, resolve_image: Resolve) -> None:
        self._resolve_link, self._resolve_image = resolve_link, resolve_image

    def resolved(self, tokens: list[Token]) -> list[Token]:
        kept: list[Token] = []
        is_open: list[bool] = []
        for token in tokens:
            if token.type == "link_open":
                is_open.append(self._keep_link(token))
                kept.extend([token] if is_open[-1] else [])
            elif token.type == "link_close":
                kept.extend([token] if is_open.pop() else [])
            elif token.type == "image":
                kept.append(self._picture(token))
            else:
                kept.append(token)
        return kept

    def _keep_link(self, token: Token) -> bool:
        target = str(token.attrGet("href") or "")
        address: str | None
        if target.startswith("#") or _MAIL.fullmatch(target):
            address = target
        else:
            address = self._resolve_link(target) if is_relative(target) else canonical_url(target)
        if address:
            token.attrSet("href", address)
        return bool(address)

    def _picture(self, token: Token) -> Token:
        target = str(token.attrGet("src") or "")
        address = self._resolve_image(target) if is_relative(target) else None
        if address:
            token.attrSet("src", address)
            return token
        return Token("text", "", 0, content=_DESCRIBED.renderInlineAsText(token.children, _INLINE.options, {}))
