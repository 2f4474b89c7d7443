"""A server and a scripted model for the tests of the API and of the console; conftest modules import the fixtures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from refdesk_server import RefdeskServer

from scripted_api import ScriptedModel, scripted_model


@pytest.fixture(scope="session")
def shared_model() -> Iterator[ScriptedModel]:
    with scripted_model() as model:
        yield model


@pytest.fixture
def model(shared_model: ScriptedModel) -> ScriptedModel:
    """With an empty script: a test that says nothing expects that the model is not asked."""
    shared_model.script()
    return shared_model


@pytest.fixture
def visitor(server: RefdeskServer, model: ScriptedModel) -> Iterator[httpx2.Client]:
    with server.client(server.token()) as client:
        yield client


@pytest.fixture
def anonymous(server: RefdeskServer, model: ScriptedModel) -> Iterator[httpx2.Client]:
    with server.client() as client:
        yield client


@pytest.fixture
def new_server(tmp_path: Path) -> Iterator[Callable[..., RefdeskServer]]:
    """Makes servers of the test's own, which end with it."""
    made: list[RefdeskServer] = []

    def make(model_url: str = "", **settings: str) -> RefdeskServer:
        made.append(RefdeskServer(tmp_path / f"server-{len(made)}", model_url, **settings))
        return made[-1]

    yield make
    for server in made:
        server.kill()
