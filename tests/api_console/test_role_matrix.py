"""Every route for every kind of caller; a new route without a row in the table fails."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import pytest
from gap_parts import eventually, gaps
from model_replies import refund_answer
from page_matrix import PAGES
from people import ask, new_account, new_key
from refdesk_server import PATIENCE, STAFF_KEY, RefdeskServer
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
    """On every address of API and console, with ids that are there and with ids that are not."""
    ids = real_ids(server, model)
    routes = {route: QUERIES.get(route) for route in (*STATUSES, *PAGES) if route.startswith("GET ")}
    found = 0
    with server.client(tokens["admin"]) as admin:
        await_idle(server)
        before = stored(server)
        for route, query in routes.items():
            path = route.removeprefix("GET ")
            if path.endswith("/events"):
                continue
            for address in {path.format_map(ids), path.format_map(NOWHERE)}:
                for verb in ("GET", "HEAD", "OPTIONS"):
                    for _ in range(3):
                        headers = {"x-http-method-override": "DELETE"}
                        answer = admin.request(verb, address, params=query, headers=headers)
                        found += "{" in path and verb == "GET" and answer.status_code == 200
                assert admin.request("TRACE", address).status_code == 405
    assert found >= 3 * 9, "most of the real ids lead somewhere"
    assert stored(server) == before


def real_ids(server: RefdeskServer, model: ScriptedModel) -> dict[str, str]:
    """What the addresses name, as it is there."""
    model.script(refund_answer())
    with server.client(server.token()) as client, server.client(STAFF_KEY) as staff:
        ask(client, "When are refunds issued?")
        turn = ask(client, "Zyx wvut srqpo jklm?")
        gap = eventually(lambda: gaps(staff))[0]
        talk = staff.get(f"/v1/console/conversations/{turn['conversation_id']}").json()
        name = new_account(server)
        kid = new_key(server, name).removeprefix("rk_").partition("_")[0]
    return {
        "conversation_id": turn["conversation_id"], "turn_id": turn["id"], "gap_id": gap["id"], "article_id": "refunds",
        "visitor_id": talk["visitor_id"], "name": "console.css", "kid": kid, "rest": "none",
    }  # fmt: skip


NOWHERE = defaultdict(lambda: "none")


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
