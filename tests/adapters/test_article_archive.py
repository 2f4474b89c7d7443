"""The texts of articles as turns were given them, on SQLite and PostgreSQL."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import text
from test_console_store import ask
from test_conversation_store import ANNA

from refdesk.adapters.sql_console import TOGETHER, SqlConsole
from refdesk.adapters.sql_database import Database
from refdesk.adapters.sql_store import SqlStore
from refdesk.domain.article_then import KeptArticle
from refdesk.domain.articles import Article

NOON = "2026-02-03T12:00:00Z"
OLD = "2026-01-01T00:00:00Z"


def article(version: str, body: str = "Refunds take 14 days.", article_id: str = "refunds") -> Article:
    return Article(id=article_id, title="Refunds", body=body, language="en", audience=("partner",), version=version)


@pytest.fixture
def archive(database: Database) -> SqlConsole:
    return SqlConsole(database)


@pytest.fixture
async def store(database: Database) -> SqlStore:
    opened = SqlStore(database)
    await opened.add_visitor(ANNA, b"a" * 32, OLD)
    return opened


async def kept(archive: SqlConsole, *versions: str) -> list[bool]:
    return [await archive.kept_article("refunds", version) is not None for version in versions]


async def test_each_version_is_kept_once_and_found_by_article_and_version(
    archive: SqlConsole, database: Database
) -> None:
    await archive.keep_articles([article("v1"), article("s1", "Sales.", "sales")], at=NOON)
    await archive.keep_articles([article("v1"), article("v2", "Refunds take 30 days.")], at=NOON)
    assert await archive.kept_article("refunds", "v1") == KeptArticle("v1", "Refunds", "en", "Refunds take 14 days.")
    assert await archive.kept_article("refunds", "v2") == KeptArticle("v2", "Refunds", "en", "Refunds take 30 days.")
    assert await archive.kept_article("refunds", "v3") is None
    assert await archive.kept_article("refunds", "s1") is None, "that version is of another article"
    counted = text("SELECT count(*) FROM article_bodies")
    assert await database.read(lambda connection: connection.execute(counted).scalar()) == 3


async def test_servers_that_keep_the_same_at_the_same_time_do_not_meet(archive: SqlConsole) -> None:
    articles = [article(f"v{number}", article_id=f"a{number}") for number in range(TOGETHER + 1)]
    await asyncio.gather(*(archive.keep_articles(articles, at=NOON) for _ in range(4)))
    assert await archive.kept_article(f"a{TOGETHER}", f"v{TOGETHER}") is not None


async def test_text_that_no_database_takes_keeps_its_length(archive: SqlConsole) -> None:
    await archive.keep_articles([article("v1", "a\0b\ud800c")], at=NOON)
    found = await archive.kept_article("refunds", "v1")
    assert found is not None
    assert found.body == "a\ufffdb\ufffdc"


async def test_retention_leaves_what_is_current_and_what_a_turn_may_have_been_given(
    archive: SqlConsole, store: SqlStore
) -> None:
    await archive.keep_articles([article("v1")], at=OLD)
    await archive.keep_articles([article("v2")], at="2026-01-10T00:00:00Z")
    await archive.keep_articles([article("v3")], at=NOON)
    await ask(store, "t_1", "c_1", at="2026-01-05T00:00:00Z")
    await ask(store, "t_2", "c_2", at="2026-01-12T00:00:00Z")
    await archive.retain(since="2025-12-01T00:00:00Z")
    assert await kept(archive, "v1", "v2", "v3") == [False, True, True], "v1 was replaced days before the oldest turn"
    await archive.retain(since="2026-01-20T00:00:00Z", force=True)
    assert await kept(archive, "v2", "v3") == [False, True], "no turn is left"


async def test_what_is_current_again_and_again_stays_however_old_it_is(archive: SqlConsole, store: SqlStore) -> None:
    for day in (OLD, "2026-01-20T00:00:00Z", NOON):
        await archive.keep_articles([article("v1")], at=day)
    await ask(store, "t_1", "c_1", at=NOON)
    await archive.retain(since=OLD)
    assert await kept(archive, "v1") == [True]
