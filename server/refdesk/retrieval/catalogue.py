"""The articles of one corpus version: by id, by address, by what a visitor may see. No ranking."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from refdesk.domain.articles import Article, HelpCentre, Roles
from refdesk.retrieval.addresses import Addresses
from refdesk.text.terms import primary


class Catalogue:
    def __init__(self, centre: HelpCentre, articles: Sequence[Article], public_url: str = "") -> None:
        self.centre = centre
        self.all = tuple(articles)
        self.languages = tuple(sorted({primary(article.language) for article in articles}))
        self.audiences = frozenset(article.audience for article in articles)
        families = Counter(article.family for article in articles)
        self.translated = any(count > 1 for count in families.values())
        self._roles = frozenset(role for audience in self.audiences for role in audience)
        self._place = {old: at for at, article in enumerate(articles) for old in article.redirect_from}
        self._place |= {article.id: at for at, article in enumerate(articles)}
        self._addresses = Addresses(centre, articles, public_url)
        self._listed = lru_cache(maxsize=32)(self._list)
        self._readable = lru_cache(maxsize=64)(self._find_readable)

    def known_roles(self, roles: Roles) -> Roles:
        """Of the roles those that some article names: what an answer may be remembered by."""
        return roles & self._roles

    def article(self, article_id: str, roles: Roles) -> Article | None:
        at = self._place.get(article_id)
        return self.all[at] if at is not None and self.all[at].readable_by(roles) else None

    def articles(self, roles: Roles, language: str | None, category: str | None) -> Sequence[Article]:
        """By category, then title."""
        return self._listed(self.known_roles(roles), language, category)

    def _list(self, roles: Roles, language: str | None, category: str | None) -> Sequence[Article]:
        places = self.places(roles, category=category)
        shown = places if language is None else self.folded(places, language)
        found = (self.all[at] for at in shown)
        return tuple(sorted(found, key=lambda one: (one.category.casefold(), one.title.casefold(), one.id)))

    def places(self, roles: Roles, *, category: str | None = None, language: str | None = None) -> Sequence[int]:
        """Where in `all` the articles stand that the roles may read."""
        places = self._readable(self.known_roles(roles))
        if category is not None:
            wanted = category.casefold()
            places = [at for at in places if self.all[at].category.casefold() == wanted]
        if language is not None:
            code = primary(language)
            places = [at for at in places if primary(self.all[at].language) == code]
        return places

    def folded(self, places: Iterable[int], language: str) -> list[int]:
        """Of each translation family the variant in the language, else the original, else the first."""
        code = primary(language)
        best: dict[str, tuple[int, int]] = {}
        for at in places:
            article = self.all[at]
            rank = 0 if primary(article.language) == code else 1 if article.translation_of is None else 2
            best[article.family] = min(best.get(article.family, (rank, at)), (rank, at))
        return [at for _, at in best.values()]

    def named(self, url: str) -> str | None:
        """The id that a URL of our articles names; see Addresses."""
        return self._addresses.named(url)

    def _find_readable(self, roles: Roles) -> Sequence[int]:
        return [at for at, article in enumerate(self.all) if article.readable_by(roles)]
