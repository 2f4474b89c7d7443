"""What readers are shown of articles: HTML, and the pictures in it.

Made in threads of its own, once for all who ask for it, and remembered: a long article takes seconds, in which
everybody else must be served."""

from __future__ import annotations

import asyncio
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import quote, unquote

from refdesk.corpus.images import Image, image_path, images_of, read_image
from refdesk.corpus.links import ArticleIndex, article_link
from refdesk.corpus.render import article_html
from refdesk.domain.articles import Article, Roles

THREADS = 2
KEPT = 16_000_000
"""Bytes of memory for HTML that is remembered."""

T = TypeVar("T")


class Edition(NamedTuple):
    """One version of the corpus."""

    generation: str
    articles: Sequence[Article]


class ArticlePages:
    """Access to the article itself is decided before; what its text leads to is decided here, by the roles."""

    def __init__(self, folder: Path) -> None:
        """`folder`: of the corpus, from which pictures are served."""
        self._folder = folder
        self._threads = ThreadPoolExecutor(THREADS, "articles")
        self._making: dict[Hashable, asyncio.Future[Any]] = {}
        self._made: OrderedDict[Hashable, str] = OrderedDict()
        self._size = 0
        self._index: tuple[str, ArticleIndex] | None = None
        self._pictures: tuple[str, Mapping[str, Roles]] | None = None

    async def html(self, edition: Edition, article: Article, roles: Roles, *, with_title: bool = True) -> str:
        """The body as sanitised HTML. A link to an article that the roles may not read is plain text, as one to an
        article that does not exist."""
        key = (edition.generation, article.id, article.version, roles, with_title)
        known = self._made.get(key)
        if known is not None:
            self._made.move_to_end(key)
            return known
        made = await self._once(key, partial(self._render, edition, article, roles, with_title))
        self._remember(key, made)
        return made

    async def image(self, edition: Edition, path: str, roles: Roles) -> Image | None:
        """A picture of the corpus folder, if an article that the roles may read shows it."""
        if self._pictures is None or self._pictures[0] != edition.generation:
            shown = await self._once(("pictures", edition.generation), partial(shown_to, edition.articles))
            self._pictures = (edition.generation, shown)
        if roles.isdisjoint(self._pictures[1].get(path, ())):
            return None
        return await self._once(("picture", path), partial(read_image, self._folder, path))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Who leaves stops nothing, and who comes meanwhile gets the same."""
        making = self._making.get(key)
        if making is None:
            making = asyncio.get_running_loop().run_in_executor(self._threads, make)
            self._making[key] = making
            making.add_done_callback(partial(self._ended, key))
        made: T = await asyncio.shield(making)
        return made

    def _ended(self, key: Hashable, made: asyncio.Future[Any]) -> None:
        self._making.pop(key, None)
        if not made.cancelled():
            made.exception()  # whoever waits for it hears of it; there may be nobody left

    def _remember(self, key: Hashable, made: str) -> None:
        if key not in self._made:
            self._made[key] = made
            self._size += sys.getsizeof(made)
        while self._size > KEPT:
            _, oldest = self._made.popitem(last=False)
            self._size -= sys.getsizeof(oldest)

    def _render(self, edition: Edition, article: Article, roles: Roles, with_title: bool) -> str:
        index = self._index
        if index is None or index[0] != edition.generation:
            index = self._index = (edition.generation, ArticleIndex(edition.articles))

        def link(target: str) -> str | None:
            found = article_link(target, article.path, index[1])
            if found is None or found.url is None or not found.readable_by(roles):
                return None
            return found.url + fragment(target)

        def image(target: str) -> str | None:
            path = image_path(target, article.path)
            return f"/media/{quote(path)}" if path else None

        return article_html(article, link, image, with_title=with_title)


def shown_to(articles: Sequence[Article]) -> Mapping[str, Roles]:
    """Of each picture the roles of those who may see it: that may read one of the articles which show it."""
    roles: defaultdict[str, set[str]] = defaultdict(set)
    for article in articles:
        for path in images_of(article):
            roles[path].update(article.audience)
    return {path: frozenset(found) for path, found in roles.items()}


def fragment(target: str) -> str:
    """Encoded once, whether the author did it or the reader of Markdown."""
    _, mark, name = target.partition("#")
    return f"#{quote(unquote(name))}" if mark else ""
