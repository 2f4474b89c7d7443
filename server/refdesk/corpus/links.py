"""Where a link in an article leads: to another article of the corpus, by path, id or address, or nowhere."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

from refdesk.domain.articles import Article
from refdesk.domain.markdown_text import unescape

_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_TARGET = re.compile(
    r"\]\([ \t]*(?:<([^<>\n]+)>|([^\s<>()]*(?:\([^\s()]*\)[^\s<>()]*)*))|^ {0,3}\[[^\]\n]+\]:[ \t]*<?([^\s<>]+)",
    re.MULTILINE,
)


class ArticleIndex:
    """The articles by everything that a link may name. Access is not decided here: ask `readable_by`."""

    def __init__(self, articles: Iterable[Article]) -> None:
        self._by_path: dict[str, Article] = {}
        self._by_name: dict[str, Article] = {}
        for article in articles:
            self._by_path[article.path] = article
            self._by_name.update((earlier, article) for earlier in article.redirect_from)
            self._by_name[article.id] = article
            if article.url:
                self._by_name[article.url] = article

    def at_path(self, path: str) -> Article | None:
        """Also without `.md`, and a folder by its index or README."""
        names = (path, f"{path}.md", f"{path}/index.md", f"{path}/README.md")
        return next((self._by_path[name] for name in names if name in self._by_path), None)

    def named(self, name: str) -> Article | None:
        """By id, earlier id or canonical address."""
        return self._by_name.get(name)


def article_link(target: str, from_path: str, index: ArticleIndex) -> Article | None:
    """The article that `target`, written in the file `from_path`, leads to; its fragment does not matter."""
    address = target.partition("#")[0].partition("?")[0]
    if found := index.named(address):
        return found
    path = corpus_path(target, from_path)
    if path is None:
        return None
    if found := index.at_path(path):
        return found
    return index.named(posixpath.basename(path)) if address.startswith("/articles/") else None


def corpus_path(target: str, from_path: str) -> str | None:
    """A relative target as a path from the corpus folder; None for other addresses and for what leads out of it.

    A leading `/` is the corpus folder itself."""
    address = unquote(target.partition("#")[0].partition("?")[0])
    if not address or address.startswith("//") or "\\" in address or "\0" in address or _SCHEME.match(address):
        return None
    base = "" if address.startswith("/") else posixpath.dirname(from_path)
    path = posixpath.normpath(posixpath.join(base, address.lstrip("/")))
    return None if path.startswith("..") or path == "." else path


def is_relative(target: str) -> bool:
    return not target.startswith(("//", "#")) and _SCHEME.match(target) is None


def written_targets(markdown: str) -> Iterator[tuple[str, int]]:
    """Every link or image target as Markdown reads it, with its offset; also those in code that is still there."""
    for match in _TARGET.finditer(markdown):
        target = match[1] or match[2] or match[3]
        if target:
            yield unescape(target), match.start()
