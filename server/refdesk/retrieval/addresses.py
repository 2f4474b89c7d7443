"""Which article a URL points at. A URL is ours by its origin and path, compared whole: nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from refdesk.domain.articles import Article, HelpCentre

_DEFAULT_PORTS = {"http": 80, "https": 443}


_ID = "\ue000"


class _Address(NamedTuple):
    origin: tuple[str, int] | None
    """Host and port; None: relative to the site that shows the answer."""
    path: str
    query: str = ""


class Addresses:
    """Knows every canonical URL and the `article_url` pattern. `public_url` is where this server is reached."""

    def __init__(self, centre: HelpCentre, articles: Iterable[Article], public_url: str = "") -> None:
        pattern = _address(centre.article_url.replace("{id}", _ID)) or _Address(None, f"/articles/{_ID}")
        public = _address(public_url) if public_url else None
        self._own = {None, pattern.origin, public.origin if public else None}
        before, _, after = _target(pattern).partition(_ID)
        self._pattern = re.compile(f"{re.escape(before)}([^/?&]+){re.escape(after)}")
        self._canonical: dict[_Address, str] = {}
        for article in articles:
            usual = article.url == centre.article_url.replace("{id}", article.id)
            address = _address(article.url) if article.url and not usual else None
            if address is not None:
                self._canonical.setdefault(self._on_site(address), article.id)

    def named(self, url: str) -> str | None:
        """The id that the URL names, of an article that exists or not; None: the URL is none of an article."""
        address = _address(url)
        if address is None:
            return None
        exact = self._on_site(address)
        bare = exact._replace(query="")
        for candidate in (exact, bare):
            if candidate in self._canonical:
                return self._canonical[candidate]
        matches = (self._pattern.fullmatch(_target(candidate)) for candidate in (exact, bare) if not candidate.origin)
        return next((match.group(1) for match in matches if match), None)

    def _on_site(self, address: _Address) -> _Address:
        return address._replace(origin=None) if address.origin in self._own else address


def _target(address: _Address) -> str:
    return f"{address.path}?{address.query}" if address.query else address.path


def _address(url: str) -> _Address | None:
    """A fragment is no part of an article's address; a user name or another scheme makes it none."""
    try:
        parts = urlsplit(url.strip())
        origin = _origin(parts)
        path = unquote(parts.path, errors="strict")
    except ValueError:
        return None
    if "\\" in url or parts.scheme not in ("", "http", "https") or "@" in parts.netloc or (parts.scheme and not origin):
        return None
    if not path.startswith("/"):
        if not path and not origin:
            return None
        path = f"/{path}"
    return _Address(origin, path.rstrip("/") or "/", parts.query)


def _origin(parts: SplitResult) -> tuple[str, int] | None:
    """http and https are one site; their default ports are too."""
    if not parts.hostname:
        return None
    port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 443)
    return parts.hostname.lower(), 443 if port == _DEFAULT_PORTS["http"] else port
