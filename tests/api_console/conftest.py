"""One server and one scripted model for the tests of the console; a PostgreSQL where two servers share one."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2
import pytest
from gap_parts import database_url, kind, shared_database, word
from refdesk_server import STAFF_KEY, RefdeskServer
from server_fixtures import anonymous, model, new_server, shared_model, visitor

from postgres_fixtures import postgres_server, postgres_template, postgres_url
from scripted_api import ScriptedModel

__all__ = ["anonymous", "model", "new_server", "shared_model", "visitor"]
__all__ += ["database_url", "kind", "shared_database", "word"]
__all__ += ["postgres_server", "postgres_template", "postgres_url"]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, shared_model: ScriptedModel) -> Iterator[RefdeskServer]:
    settings = {"REFDESK_TRUSTED_PROXIES": "127.0.0.1"}  # people.log_in says where it comes from
    started = RefdeskServer(tmp_path_factory.mktemp("console"), shared_model.url, **settings).start()
    yield started
    assert started.stop() == 0


@pytest.fixture
def admin(server: RefdeskServer, model: ScriptedModel) -> Iterator[httpx2.Client]:
    """Whoever holds the key of the settings."""
    with server.client(STAFF_KEY) as client:
        yield client
