"""How far each article came in visitors' turns, by day and language of the question. Jobs, see sql_database.

Counted when a turn is finished, in the same transaction: a count is as durable as its turn, outlives it, and costs
nobody a second look at it."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import ColumnElement, Connection, func, select

from refdesk.adapters.sql_sums import Adding
from refdesk.adapters.sql_tables import article_days
from refdesk.domain.article_signals import FIGURES
from refdesk.domain.gap_queue import ArticleCount

ADDING = Adding(article_days)


def add(connection: Connection, counts: Iterable[ArticleCount]) -> None:
    """In order of their keys: two turns that end at once never wait for each other in a circle."""
    ordered = sorted(counts, key=lambda count: (count.day, count.article_id, count.language))
    columns = article_days.columns.keys()
    ADDING.add(connection, [[getattr(count, column) for column in columns] for count in ordered])


def of_article(connection: Connection, article_id: str, since: str, until: str) -> list[ArticleCount]:
    """Days both included, in order."""
    chosen = select(article_days).where(article_days.c.article_id == article_id, *within(since, until))
    rows = connection.execute(chosen.order_by(article_days.c.day, article_days.c.language)).mappings()
    return [ArticleCount(**row) for row in rows]


def totals(connection: Connection, since: str, until: str) -> list[ArticleCount]:
    """Of every article in each language: the sums of the days, both included."""
    whose = (article_days.c.article_id, article_days.c.language)
    sums = [func.sum(article_days.c[name]).label(name) for name in FIGURES]
    chosen = select(*whose, *sums).where(*within(since, until)).group_by(*whose).order_by(*whose)
    return [ArticleCount(day="", **row) for row in connection.execute(chosen).mappings()]


def never_cited(connection: Connection, since: str, until: str, least: int, limit: int) -> list[tuple[str, int]]:
    opened, cited = func.sum(article_days.c.opened), func.sum(article_days.c.cited)
    chosen = select(article_days.c.article_id, opened).where(*within(since, until)).group_by(article_days.c.article_id)
    chosen = chosen.having(opened >= least, cited == 0).order_by(opened.desc(), article_days.c.article_id)
    return [(article_id, int(count)) for article_id, count in connection.execute(chosen.limit(limit))]


def within(since: str, until: str) -> tuple[ColumnElement[bool], ...]:
    return article_days.c.day >= since, article_days.c.day <= until
