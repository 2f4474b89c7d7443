"""What the links of an answer may point at: the found articles, and the links that stand in what was read."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from itertools import islice
from typing import NamedTuple
from urllib.parse import unquote

from refdesk.domain.articles import Article
from refdesk.domain.markdown_text import unescape

_ABSOLUTE = re.compile(r"(?:https?://|mailto:)\S", re.I)
_SECTION = re.compile(r"›|(?<= )>(?= |$)")
_MARKS = re.compile(r"\*+|~~|(?<!\w)_+|_+(?!\w)")
_WRITTEN = re.compile(r"(?:https?://|mailto:)[^\s<>\"`]+", re.I)
_MAIL = re.compile(r"<([\w.!#$%&'*+/=?^`{|}~-]+@[\w.-]+)>", re.ASCII)
_LINK_MARKS = ("://", "@", "mailto:")
"""A text without any of them holds no link."""
_TAILS = ".,;:!?'*_~"
_LONGEST = 1000
"""Characters of a link that can be part of an answer: no construct of one is longer."""
_MOST_ENDS = 8
"""Closing brackets of an address that are looked at: more are written only to cost memory."""


def title_key(text: str) -> str:
    """Titles are equal when their keys are: NFKC, case-folded, runs of white space collapsed (provenance.md)."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())


def links_written(text: str) -> set[str]:
    """The absolute links that appear verbatim in a text: bare, in angle brackets, or as a Markdown destination. Of an
    address whose end is open to doubt (a closing parenthesis, a full stop) every reading is in the set."""
    folded = text.lower()
    if not any(mark in folded for mark in _LINK_MARKS):
        return set()
    found = {f"mailto:{match[1]}" for match in _MAIL.finditer(text)}
    for match in _WRITTEN.finditer(text):
        url = match[0][:_LONGEST]
        ends = islice((index for index, char in enumerate(url) if char in ")]"), _MOST_ENDS)
        for end in (len(url), *ends):
            found.update((url[:end], url[:end].rstrip(_TAILS)))
    return found


def _unnamed(url: str) -> str | None:
    return None


class Marked(NamedTuple):
    text: str
    """The marker as it is read: without escapes, without marks of emphasis if the title has none."""
    articles: tuple[Article, ...]


class LinkTable:
    """Fixed while an answer is written. `named` says which id a URL names if it is the URL of an article of ours,
    existing or not (None: it is none of ours); `read` holds the absolute links of the texts that the model read."""

    def __init__(
        self,
        articles: Iterable[Article],
        *,
        named: Callable[[str], str | None] = _unnamed,
        read: frozenset[str] = frozenset(),
    ) -> None:
        self._articles = {article.id: article for article in articles}
        self._named = named
        self._read = read
        self._titles: dict[str, list[Article]] = {}
        for article in self._articles.values():
            self._titles.setdefault(title_key(article.title), []).append(article)

    @property
    def allowed(self) -> frozenset[str]:
        """Every destination that a link of the answer may have."""
        return self._read | {article.url for article in self._articles.values() if article.url}

    def target(self, url: str) -> Article | str | None:
        """Of a link's destination: the article that it cites, or the link itself if it was read, or None."""
        scheme, colon, rest = url.partition(":")
        if colon and scheme.lower() == "doc":
            return self._articles.get(rest) or self._articles.get(unquote(rest))
        named = self._named(url)
        if named is not None:
            return self._articles.get(named)
        return url if url in self._read and _ABSOLUTE.match(url) else None

    def marked(self, marker: str) -> Marked | None:
        """The articles that a bracket marker names, by title or by title and section; the title decides."""
        if not self._titles:
            return None
        plain = unescape(marker)
        for text in dict.fromkeys((marker, plain, _MARKS.sub("", plain))):
            articles = self._by_key(title_key(text))
            if articles:
                return Marked(text, tuple(articles))
        return None

    def _by_key(self, key: str) -> list[Article]:
        if key in self._titles:
            return self._titles[key]
        ends = [match.start() for match in _SECTION.finditer(key)]
        titles = (key[:end].rstrip() for end in reversed(ends))
        return next((self._titles[title] for title in titles if title in self._titles), [])
