"""The texts of articles as turns were given them: kept once for each version. Jobs, see sql_database.

No row says which turn was given which version: a version is needed as long as there are turns from the days on which it
was the current one, which `seen_at` tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import Connection, delete, func, select, text, update

from refdesk.adapters.sql_tables import article_bodies, article_versions, clean_text, turns, utc_text
from refdesk.domain.article_then import KeptArticle
from refdesk.domain.articles import Article

AGAIN = timedelta(hours=12)
"""So old is `seen_at` before it is written once more."""
SPARE = timedelta(days=3)
"""A server says daily which versions are current: one that was away for two days loses nothing."""

ADD_VERSION = text(
    "INSERT INTO article_versions (version, article_id, seen_at) VALUES (:version, :article_id, :seen_at)"
    " ON CONFLICT (version) DO NOTHING"
)
ADD_BODY = text(
    "INSERT INTO article_bodies (version, title, language, body) VALUES (:version, :title, :language, :body)"
    " ON CONFLICT (version) DO NOTHING"
)


def keep(connection: Connection, articles: Sequence[Article], at: str) -> None:
    """That these are current. Few enough for the parameters of one statement."""
    versions = [article.version for article in articles]
    held = select(article_versions.c.version).where(article_versions.c.version.in_(versions))
    known = set(connection.execute(held).scalars())
    if new := [article for article in articles if article.version not in known]:
        connection.execute(ADD_VERSION, [version_row(article, at) for article in new])
        connection.execute(ADD_BODY, [body_row(article) for article in new])
    old = (article_versions.c.version.in_(known), article_versions.c.seen_at < ago(at, AGAIN))
    connection.execute(update(article_versions).where(*old).values(seen_at=at))


def version_row(article: Article, at: str) -> dict[str, str]:
    return {"version": article.version, "article_id": clean_text(article.id), "seen_at": utc_text(at)}


def body_row(article: Article) -> dict[str, str]:
    return {name: clean_text(getattr(article, name)) for name in ("version", "title", "language", "body")}


def one(connection: Connection, article_id: str, version: str) -> KeptArticle | None:
    joined = article_versions.join(article_bodies)
    wanted = (article_versions.c.version == version, article_versions.c.article_id == article_id)
    row = connection.execute(select(article_bodies).select_from(joined).where(*wanted)).first()
    return None if row is None else KeptArticle(**row._mapping)


def forget(connection: Connection, since: str) -> int:
    """Those that were current only before the oldest turn that is left; without turns, before `since`."""
    oldest: str = connection.execute(select(func.min(turns.c.created_at))).scalar() or since
    gone = delete(article_versions).where(article_versions.c.seen_at < ago(oldest, SPARE))
    return connection.execute(gone).rowcount


def ago(moment: str, span: timedelta) -> str:
    return (datetime.fromisoformat(utc_text(moment)) - span).isoformat()
