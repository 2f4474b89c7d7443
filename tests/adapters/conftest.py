"""Databases for the contract suites."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fakes import MemoryStore
from postgres_fixtures import empty_postgres_url, postgres_server, postgres_template, postgres_url
from refdesk.adapters.sql_database import Database
from refdesk.adapters.sql_open import open_database
from refdesk.adapters.sql_store import SqlStore
from refdesk.adapters.sqlite_file import create
from refdesk.ports import ConversationStore

__all__ = ["empty_postgres_url", "postgres_server", "postgres_template", "postgres_url"]


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty database of the newest schema, to be copied: a migration takes longer than a test."""
    return create(tmp_path_factory.mktemp("migrated"))


@pytest.fixture
def folder(migrated: Path, tmp_path: Path) -> Path:
    shutil.copy(migrated, tmp_path / migrated.name)
    return tmp_path


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    opened = await open_database(request.getfixturevalue("folder"), url)
    yield opened
    await opened.close()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[ConversationStore]:
    if request.param == "memory":
        yield MemoryStore()
        return
    url = request.getfixturevalue("postgres_url") if request.param == "postgresql" else None
    opened = SqlStore(await open_database(request.getfixturevalue("folder"), url))
    yield opened
    await opened.close()
