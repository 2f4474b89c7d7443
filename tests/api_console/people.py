"""Staff and visitors as tests need them."""

from __future__ import annotations

import secrets
import subprocess
import sys
import time
from ipaddress import ip_network
from typing import Any

import httpx2
import jwt
from refdesk_server import IDENTITY_SECRET, STAFF_KEY, RefdeskServer

PASSWORD = "plum-Tractor-41-orbit"
QUESTION = "When are refunds issued?"
COOKIE = "__Host-refdesk"
ADDRESSES = ip_network("10.0.0.0/8").hosts()


def identity(subject: str, *roles: str, kid: str = "default", key: str = IDENTITY_SECRET) -> str:
    now = int(time.time())
    claims: dict[str, Any] = {"sub": subject, "aud": "Acme Help", "iat": now, "exp": now + 300, "roles": list(roles)}
    return jwt.encode(claims, key, algorithm="HS256", headers={"kid": kid})


def signed_in(server: RefdeskServer, subject: str, *roles: str, token: str | None = None) -> str:
    """The token of a session of this person; `token`: of the same browser until now."""
    with server.client(token) as client:
        answer = client.post("/v1/session", json={"identity": identity(subject, *roles)})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["token"])


def ask(client: Any, question: str = QUESTION, **body: Any) -> dict[str, Any]:
    """The turn, once it is done."""
    answer = client.post("/v1/ask", json={"question": question, **body})
    assert answer.status_code == 200, answer.text
    turn: dict[str, Any] = answer.json()
    return turn


def new_account(server: RefdeskServer, role: str = "agent") -> str:
    """The name of a new account with PASSWORD."""
    name = f"{role}-{secrets.token_hex(4)}"
    with server.client(STAFF_KEY) as admin:
        answer = admin.post("/v1/console/staff", json={"name": name, "role": role, "password": PASSWORD})
    assert answer.status_code == 201, answer.text
    return name


def new_key(server: RefdeskServer, name: str) -> str:
    with server.client(STAFF_KEY) as admin:
        answer = admin.post("/v1/console/keys", json={"name": name, "label": "test"})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["key"])


def log_in(client: httpx2.Client, name: str, password: str = PASSWORD, **headers: str) -> httpx2.Response:
    """From an address of its own where the server believes what its proxy says: failures of one address count together,
    and so would those of all tests of a server."""
    sent = {"x-forwarded-for": str(next(ADDRESSES)), **headers}
    return client.post("/v1/console/login", json={"name": name, "password": password}, headers=sent)


def cookie_of(answer: httpx2.Response) -> str:
    """The value of the session's cookie. A plain http client keeps no Secure cookie, so tests send it themselves."""
    name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
    assert name == COOKIE
    return value


def with_cookie(server: RefdeskServer, value: str, **headers: str) -> httpx2.Client:
    return server.client(cookie=f"{COOKIE}={value}", **headers)


def session_of(server: RefdeskServer, name: str, password: str = PASSWORD) -> str:
    with server.client() as client:
        answer = log_in(client, name, password)
    assert answer.status_code == 200, answer.text
    return cookie_of(answer)


def refdesk(server: RefdeskServer, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """The command line with the server's settings."""
    command = [sys.executable, "-m", "refdesk.cli", *arguments]
    return subprocess.run(
        command, input=given, env=server.environment, cwd=server.folder, capture_output=True, text=True, check=False
    )


def audit_rows(server: RefdeskServer, action: str) -> list[dict[str, Any]]:
    with server.client(STAFF_KEY) as admin:
        entries: list[dict[str, Any]] = admin.get("/v1/console/audit").json()["entries"]
    return [entry for entry in entries if entry["action"] == action]
