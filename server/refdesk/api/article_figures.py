"""Articles as writers need them: what visitors' turns found, read, cited and showed of each, by day."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from litestar import Request, get
from litestar.params import FromPath

from refdesk.api.console_turn import everybody
from refdesk.api.contract import STAFF_ONLY
from refdesk.api.gap_schemas import ArticleDays, ArticleFiguresList
from refdesk.api.log import From, To
from refdesk.api.problems import problems
from refdesk.api.services import Services, services_of
from refdesk.api.staff import agents
from refdesk.api.stats import DAYS, day_of
from refdesk.corpus.instructions import instructions
from refdesk.domain.article_signals import ArticleFigures, figures_of
from refdesk.domain.gap_queue import ArticleCount
from refdesk.text.terms import primary

MOST_REMEMBERED = 16_384


@get("/v1/console/articles", guards=[agents], security=STAFF_ONLY, responses=problems(401, 503))
async def article_figures(request: Request[Any, Any, Any], since: From = None, until: To = None) -> ArticleFiguresList:
    """Every article that turns found in these days, and every one that addresses a model; without days, the last
    thirty. Those read for most questions without an answer first."""
    services = services_of(request)
    first, last = days_of(services, since, until)
    by_article: dict[str, list[ArticleCount]] = {}
    for count in await services.gaps.store.article_totals(since=first, until=last):
        by_article.setdefault(count.article_id, []).append(count)
    figures = await asyncio.to_thread(figures_of_all, services, by_article)
    order = sorted(figures, key=lambda article: (-article.failed, -article.read, -article.found, article.id))
    return ArticleFiguresList(since=first, until=last, articles=order)


@get(
    "/v1/console/articles/{article_id:str}/days",
    guards=[agents],
    security=STAFF_ONLY,
    responses=problems(401, 503),
)
async def article_days(
    request: Request[Any, Any, Any], article_id: FromPath[str], since: From = None, until: To = None
) -> ArticleDays:
    """One article day by day and language by language; what a day cited is counted once for each turn."""
    services = services_of(request)
    first, last = days_of(services, since, until)
    days = await services.gaps.store.article_counts(article_id, since=first, until=last)
    return ArticleDays(since=first, until=last, days=days)


def days_of(services: Services, since: str | None, until: str | None) -> tuple[str, str]:
    today = datetime.fromtimestamp(services.clock.now(), UTC)
    first = day_of(since, "from") or (today - timedelta(days=DAYS - 1)).strftime("%Y-%m-%d")
    return first, day_of(until, "to") or today.strftime("%Y-%m-%d")


@lru_cache(maxsize=MOST_REMEMBERED)
def orders_in(body: str) -> tuple[str, ...]:
    """Sentences that address a model: looked for once in every body, for it takes longer than all the rest."""
    return tuple(text for text, _ in instructions(body))


def figures_of_all(services: Services, counts: Mapping[str, Sequence[ArticleCount]]) -> list[ArticleFigures]:
    snapshot = services.retriever.current()
    articles = {article.id: article for article in snapshot.articles(everybody(snapshot))}
    families: dict[str, set[str]] = {}
    for article in articles.values():
        families.setdefault(article.family, set()).add(primary(article.language))
    languages = {primary(language) for language in snapshot.centre.languages}
    found = []
    for article_id in dict.fromkeys((*counts, *articles)):
        known = articles.get(article_id)
        orders = orders_in(known.body) if known is not None else ()
        if article_id in counts or orders:
            translated = families[known.family] if known is not None else set()
            own = counts.get(article_id, ())
            found.append(figures_of(article_id, own, known, translated=translated, languages=languages, orders=orders))
    return found
