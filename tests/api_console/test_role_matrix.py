"""Every route for every kind of caller; a new route without a row in the table fails."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from people import new_account, new_key
from refdesk_server import PATIENCE, RefdeskServer
from role_matrix import BODIES, QUERIES, STATUSES

from scripted_api import ScriptedModel

DOCUMENT = json.loads((Path(__file__).parents[2] / "openapi" / "openapi.json").read_text("utf-8"))
CALLERS = ("none", "visitor", "agent", "admin")
ELSEWHERE = {"GET /v1/widget/check": "answers with events until a page has proved that it is allowed"}


def routes() -> list[str]:
    return sorted(f"{method.upper()} {path}" for path, item in DOCUMENT["paths"].items() for method in item)


@pytest.fixture(scope="module")
def tokens(server: RefdeskServer) -> dict[str, str | None]:
    staff = {role: new_key(server, new_account(server, role)) for role in ("agent", "admin")}
    return {"none": None, **staff}


def test_every_route_has_a_row() -> None:
    assert sorted({*STATUSES, *ELSEWHERE}) == routes()


@pytest.mark.parametrize("caller", CALLERS)
@pytest.mark.parametrize("route", STATUSES)
def test_route(
    server: RefdeskServer, model: ScriptedModel, tokens: dict[str, str | None], route: str, caller: str
) -> None:
    method, path = route.split(" ")
    token = server.token() if caller == "visitor" else tokens[caller]
    with server.client(token) as client:
        address = re.sub(r"\{\w+\}", "none", path)
        answer = client.request(method, address, json=BODIES.get(route), params=QUERIES.get(route))
    assert answer.status_code == STATUSES[route][CALLERS.index(caller)], answer.text


@pytest.mark.parametrize("route", [route for route in STATUSES if route.split(" ")[0] in ("POST", "PUT", "PATCH")])
def test_nobody_learns_what_a_console_route_expects(server: RefdeskServer, route: str) -> None:
    """Who may not come in is told so before the body is looked at."""
    method, path = route.split(" ")
    if not path.startswith("/v1/console") or path.endswith("/login"):
        return
    with server.client() as client:
        answer = client.request(method, re.sub(r"\{\w+\}", "none", path), json={"nonsense": 1})
    assert answer.status_code == 401


def test_safe_methods_change_nothing(
    server: RefdeskServer, model: ScriptedModel, tokens: dict[str, str | None]
) -> None:
    with server.client(tokens["admin"]) as admin:
        await_idle(server)
        before = stored(server)
        for route in STATUSES:
            method, path = route.split(" ")
            if method != "GET" or path.endswith("/events"):
                continue
            address = re.sub(r"\{\w+\}", "none", path)
            for verb in ("GET", "HEAD", "OPTIONS"):
                headers = {"x-http-method-override": "DELETE"}
                admin.request(verb, address, params=QUERIES.get(route), headers=headers)
            assert admin.request("TRACE", address).status_code == 405
    assert stored(server) == before


def await_idle(server: RefdeskServer) -> None:
    """Until every turn of the tests before has been looked at for the docs-gap queue."""
    waiting = (
        "SELECT EXISTS (SELECT 1 FROM turns WHERE NOT looked_at) OR EXISTS"
        " (SELECT 1 FROM gap_questions WHERE gap_id IS NULL)"
    )
    end = time.monotonic() + PATIENCE
    with closing(sqlite3.connect(server.data / "refdesk.db", timeout=PATIENCE)) as database:
        while database.execute(waiting).fetchone() != (0,):
            assert time.monotonic() < end
            time.sleep(0.1)


def stored(server: RefdeskServer) -> list[str]:
    """The whole database but the audit log, which records every export."""
    with closing(sqlite3.connect(server.data / "refdesk.db", timeout=PATIENCE)) as database:
        return [
            line for line in database.iterdump() if not line.startswith(('INSERT INTO "audit"', 'INSERT INTO "sqlite_'))
        ]
