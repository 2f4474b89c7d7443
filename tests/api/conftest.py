"""One server and one scripted model for all tests that do not end a server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from refdesk_server import RefdeskServer
from server_fixtures import anonymous, model, new_server, shared_model, visitor

from scripted_api import ScriptedModel

__all__ = ["anonymous", "model", "new_server", "shared_model", "visitor"]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, shared_model: ScriptedModel) -> Iterator[RefdeskServer]:
    started = RefdeskServer(tmp_path_factory.mktemp("refdesk"), shared_model.url).start()
    yield started
    assert started.stop() == 0
