"""Staff: signing in and out, throttling, cookies, foreign pages, keys, disabling, the audit log."""

from __future__ import annotations

import re
import sqlite3
import statistics
from collections.abc import Callable
from contextlib import closing
from typing import Any

import httpx2
import pytest
from people import (
    COOKIE,
    PASSWORD,
    audit_rows,
    cookie_of,
    log_in,
    new_account,
    new_key,
    refdesk,
    session_of,
    with_cookie,
)
from refdesk_server import PATIENCE, SHOP, STAFF_KEY, RefdeskServer
from role_matrix import BODIES, QUERIES, STATUSES


def status_with(server: RefdeskServer, cookie: str, path: str = "/v1/console/me") -> int:
    with with_cookie(server, cookie) as client:
        return client.get(path).status_code


def test_login_opens_a_session_by_a_cookie_that_only_our_pages_send(
    server: RefdeskServer, anonymous: httpx2.Client
) -> None:
    name = new_account(server)
    answer = log_in(anonymous, f" {name.upper()} ")
    assert answer.json() == {"name": name, "role": "agent"}
    flags = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
    assert {"path=/", "secure", "httponly", "samesite=strict"} <= flags
    assert not any(flag.startswith("domain") for flag in flags)
    with with_cookie(server, cookie_of(answer)) as agent:
        assert agent.get("/v1/console/me").json() == {"name": name, "role": "agent"}
    assert audit_rows(server, "login")[0]["actor"] == name


def test_a_cookie_set_before_never_becomes_valid(server: RefdeskServer, anonymous: httpx2.Client) -> None:
    name = new_account(server)
    answer = log_in(anonymous, name, cookie=f"{COOKIE}=attackerchosen; session=attackerchosen")
    value = cookie_of(answer)
    assert value != "attackerchosen"
    assert status_with(server, "attackerchosen") == 401
    again = log_in(anonymous, name, cookie=f"{COOKIE}={value}")
    assert cookie_of(again) != value
    assert status_with(server, value) == 401, "the session before ends with the new one"
    assert status_with(server, cookie_of(again)) == 200


def without_id(answer: httpx2.Response) -> str:
    return answer.text.replace(answer.json()["request_id"], "")


def test_sixth_failure_is_throttled(new_server: Callable[..., RefdeskServer]) -> None:
    """On a server of its own: the failures of one address count together."""
    server = new_server().start()
    name, free = new_account(server), new_account(server)
    with server.client() as client:
        bodies = []
        for tried in (name, "nobody-of-that-name"):
            answers = [log_in(client, tried, "wrong-password") for _ in range(6)]
            assert [answer.status_code for answer in answers] == [401] * 5 + [429]
            assert int(answers[-1].headers["retry-after"]) > 0
            bodies.append({without_id(answer) for answer in answers[:5]})
        assert bodies[0] == bodies[1]
        assert log_in(client, name).status_code == 429, "not even the right one is tried any more"
        assert [log_in(client, free).status_code for _ in range(8)] == [200] * 8, "others sign in, and that is free"
        others = [log_in(client, f"nobody-{n}", "wrong-password").status_code for n in range(11)]
        assert others == [401] * 10 + [429], "nor does trying many names help"
        assert log_in(client, free).status_code == 429


def test_a_name_that_nobody_has_looks_like_a_wrong_password(new_server: Callable[..., RefdeskServer]) -> None:
    server = new_server().start()
    name = new_account(server)
    with server.client() as client:
        log_in(client, name)
        log_in(client, "warm-up", "wrong-password")
        answers = {who: [log_in(client, who, "wrong-password") for _ in range(4)] for who in (name, "nobody")}
    bodies = {without_id(answer) for both in answers.values() for answer in both}
    assert len(bodies) == 1
    known, unknown = (statistics.median(a.elapsed.total_seconds() for a in answers[who]) for who in (name, "nobody"))
    assert 0.3 < known / unknown < 3, "neither is answered without the work of the other"
    with server.client(STAFF_KEY) as admin:
        told = admin.get("/v1/console/audit").text
    assert "nobody" not in told, "what was typed as a name may be a password"


def test_logout_ends_the_session(server: RefdeskServer) -> None:
    cookie = session_of(server, new_account(server))
    with with_cookie(server, cookie, origin=server.url) as agent:
        answer = agent.post("/v1/console/logout")
    assert answer.status_code == 204
    assert "max-age=0" in answer.headers["set-cookie"].lower()
    assert status_with(server, cookie) == 401


def test_new_password_ends_the_other_sessions(server: RefdeskServer) -> None:
    name = new_account(server)
    here, elsewhere = session_of(server, name), session_of(server, name)
    with with_cookie(server, here, origin=server.url) as agent:
        wrong = agent.post("/v1/console/password", json={"current": "not-it", "new": "pear-Kettle-77-moon"})
        weak = agent.post("/v1/console/password", json={"current": PASSWORD, "new": "short"})
        changed = agent.post("/v1/console/password", json={"current": PASSWORD, "new": "pear-Kettle-77-moon"})
    assert (wrong.status_code, weak.status_code, changed.status_code) == (401, 400, 204)
    assert "short" not in weak.text
    assert status_with(server, elsewhere) == status_with(server, here) == 401
    assert status_with(server, cookie_of(changed)) == 200
    with server.client() as client:
        assert log_in(client, name).status_code == 401
        assert log_in(client, name, "pear-Kettle-77-moon").status_code == 200


def test_disabling_ends_sessions_and_keys_at_once(server: RefdeskServer, admin: httpx2.Client) -> None:
    name = new_account(server)
    cookie, key = session_of(server, name), new_key(server, name)
    with server.client(key) as by_key:
        assert by_key.get("/v1/console/me").json()["name"] == name
        assert by_key.get("/v1/articles/runbook").status_code == 200, "a staff key reads what staff may read"
        assert by_key.get("/v1/search", params={"q": "duty desk"}).json()["passages"][0]["signals"]
        assert admin.patch(f"/v1/console/staff/{name}", json={"disabled": True}).json()["disabled"]
        assert by_key.get("/v1/articles").status_code == 401
        with with_cookie(server, cookie, origin=server.url) as by_cookie:
            for route in [route for route in STATUSES if "/v1/console/" in route and not route.endswith("/login")]:
                method, path = route.split(" ")
                address = re.sub(r"\{\w+\}", "none", path)
                for client in (by_key, by_cookie):
                    answer = client.request(method, address, json=BODIES.get(route), params=QUERIES.get(route))
                    assert answer.status_code == 401, route
    with server.client() as client:
        assert log_in(client, name).status_code == 401


def test_a_key_is_shown_once_and_can_be_taken_back(server: RefdeskServer, admin: httpx2.Client) -> None:
    name = new_account(server)
    key = new_key(server, name)
    assert key not in admin.get("/v1/console/keys").text
    kid = key.removeprefix("rk_").partition("_")[0]
    with server.client(key) as agent:
        own = agent.get("/v1/console/keys").json()["keys"]
        assert [listed["kid"] for listed in own] == [kid]
        another = agent.post("/v1/console/keys", json={"label": "second"}).json()
        foreign = agent.post("/v1/console/keys", json={"label": "x", "name": new_account(server)})
        assert foreign.status_code == 403
        assert agent.delete(f"/v1/console/keys/{another['kid']}").status_code == 204
        with server.client(another["key"]) as second:
            assert second.get("/v1/console/me").status_code == 401
    with server.client(key[:-1] + ("A" if key[-1] != "A" else "B")) as forged:
        assert forged.get("/v1/console/me").status_code == 401
    with server.client(new_key(server, new_account(server))) as other:
        assert other.delete(f"/v1/console/keys/{kid}").status_code == 404, "another's key is not there"


def test_no_secret_of_staff_is_stored_or_logged(server: RefdeskServer) -> None:
    name = new_account(server)
    secrets = PASSWORD, session_of(server, name), new_key(server, name)
    stored = b"".join(path.read_bytes() for path in server.data.glob("refdesk.db*"))
    assert b"$argon2id$" in stored
    for secret in secrets:
        assert secret.encode() not in stored
        assert secret not in server.log()


@pytest.mark.parametrize("name", ["REFDESK_STAFF_KEY", "REFDESK_IDENTITY_SECRET"])
@pytest.mark.parametrize(
    "secret", ["admin", "123456", "changeme-changeme-changeme-changeme", "hT3vQ9zLw7RkX2mB8nPcY5sD1fGj6aU"]
)
def test_a_weak_secret_stops_the_start(new_server: Callable[..., RefdeskServer], name: str, secret: str) -> None:
    """The last one is random, and a character too short."""
    server = new_server(**{name: secret})
    with pytest.raises(AssertionError, match="the server ended with 2"):
        server.start()
    assert f"{name}: " in server.log()
    assert secret not in server.log()


# --- foreign pages ---------------------------------------------------------------------------


@pytest.mark.parametrize("origin", ["https://evil.test", SHOP, "null", "http://127.0.0.1:1", "http://["])
@pytest.mark.parametrize("kind", ["application/json", "text/plain", "application/x-www-form-urlencoded", None])
def test_no_other_page_writes_with_the_cookie(
    server: RefdeskServer, admin: httpx2.Client, origin: str, kind: str | None
) -> None:
    name = new_account(server, "admin")
    cookie = session_of(server, name)
    headers = {"origin": origin, **({"content-type": kind} if kind else {})}
    body = b'{"name": "made-by-csrf", "role": "admin", "password": "plum-Tractor-41-orbit"}'
    with with_cookie(server, cookie) as client:
        answer = client.post("/v1/console/staff", content=body, headers=headers)
        assert answer.status_code in (403, 415)
        for path in ("/v1/console/logout", "/v1/console/login"):
            assert client.post(path, content=b"{}", headers=headers).status_code in (403, 415)
    assert "made-by-csrf" not in admin.get("/v1/console/staff").text
    assert status_with(server, cookie) == 200


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"origin": "OWN"}, 201),
        ({"sec-fetch-site": "same-origin"}, 201),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"origin": "OWN", "sec-fetch-site": "cross-site"}, 403),
        ({}, 201),
    ],
)
def test_our_own_pages_and_programs_write(server: RefdeskServer, headers: dict[str, str], expected: int) -> None:
    given = {name: value.replace("OWN", server.url) for name, value in headers.items()}
    with with_cookie(server, session_of(server, new_account(server)), **given) as agent:
        assert agent.post("/v1/console/keys", json={"label": "x"}).status_code == expected


def test_a_page_of_the_widget_reads_nothing_with_the_cookie(server: RefdeskServer) -> None:
    with with_cookie(server, session_of(server, new_account(server)), origin=SHOP) as agent:
        answer = agent.get("/v1/console/me")
    assert "access-control-allow-credentials" not in answer.headers


# --- accounts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "password", ["", "admin", "123456", "changeme", "aaaaaaaaaaaaaa", "changeme1234", "1234567890"]
)
def test_weak_passwords_are_refused(server: RefdeskServer, admin: httpx2.Client, password: str) -> None:
    answer = admin.post("/v1/console/staff", json={"name": "weak", "password": password})
    assert answer.status_code == 400
    assert answer.json()["field"] == "password"
    assert "weak" not in admin.get("/v1/console/staff").text


@pytest.mark.parametrize("name", ["", " ", "staff-key", "Refdesk", "visitor", "a b", "a\nb", "é", "x" * 65, "-a"])
def test_odd_names_are_refused(admin: httpx2.Client, name: str) -> None:
    assert admin.post("/v1/console/staff", json={"name": name}).status_code == 400


def test_a_name_is_given_once(server: RefdeskServer, admin: httpx2.Client) -> None:
    name = new_account(server)
    assert admin.post("/v1/console/staff", json={"name": name.upper()}).json()["code"] == "name_taken"


def test_a_role_changes_at_once(server: RefdeskServer, admin: httpx2.Client) -> None:
    name = new_account(server)
    cookie = session_of(server, name)
    assert status_with(server, cookie, "/v1/console/staff") == 403
    admin.patch(f"/v1/console/staff/{name}", json={"role": "admin"})
    assert status_with(server, cookie, "/v1/console/staff") == 200
    assert audit_rows(server, "role_changed")[0]["detail"] == {"before": "agent", "role": "admin"}


def test_audit_log_tells_who_did_what(server: RefdeskServer, admin: httpx2.Client) -> None:
    name = new_account(server)
    new_key(server, name)
    admin.post("/v1/console/sync", json={"wait": True, "force": True})
    admin.get("/v1/console/export.csv")
    with server.client() as client:
        log_in(client, name, "wrong-password")
    page = admin.get("/v1/console/audit").json()
    newest = [(entry["action"], entry["actor"], entry["target"]) for entry in page["entries"][:5]]
    assert newest[0] == ("login_failed", "", name)
    assert newest[1] == ("export", "staff-key", "conversations")
    assert newest[2] == ("sync_forced", "staff-key", "")
    assert [action for action, _, _ in newest[3:]] == ["key_made", "staff_added"]
    assert page["entries"][0]["ip"].startswith("10.")
    assert all(entry["ip"] == "127.0.0.1" for entry in page["entries"][1:5])
    assert PASSWORD not in admin.get("/v1/console/audit").text


@pytest.mark.parametrize(
    "change",
    ["UPDATE audit SET actor = 'nobody'", "DELETE FROM audit",
     "REPLACE INTO audit SELECT seq, created_at, 'nobody', ip, action, target, detail FROM audit"],
)  # fmt: skip
def test_the_database_itself_refuses_to_change_the_audit_log(
    server: RefdeskServer, admin: httpx2.Client, change: str
) -> None:
    new_account(server)
    before = admin.get("/v1/console/audit").json()
    refused = pytest.raises(sqlite3.IntegrityError, match="append-only")
    with closing(sqlite3.connect(server.data / "refdesk.db", timeout=PATIENCE)) as database, refused, database:
        database.execute(change)
    assert admin.get("/v1/console/audit").json() == before


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_no_route_changes_the_audit_log(admin: httpx2.Client, method: str) -> None:
    for path in ("/v1/console/audit", "/v1/console/audit/1"):
        assert admin.request(method, path, json={}).status_code in (404, 405)


# --- the command line ------------------------------------------------------------------------


def test_the_command_works_beside_the_running_server(server: RefdeskServer) -> None:
    made = refdesk(server, "staff", "add", "Olga", "--role", "admin", given=f"{PASSWORD}\n")
    assert made.returncode == 0, made.stderr
    cookie = session_of(server, "olga")
    key = refdesk(server, "staff", "key", "olga").stdout.strip()
    with server.client(key) as admin:
        assert admin.get("/v1/console/staff").status_code == 200
    listed = refdesk(server, "staff", "list").stdout
    assert "olga  admin" in listed
    assert key not in listed
    assert refdesk(server, "staff", "disable", "olga").returncode == 0
    assert status_with(server, cookie) == 401
    with server.client(key) as admin:
        assert admin.get("/v1/console/me").status_code == 401
    assert audit_rows(server, "staff_disabled")[0]["target"] == "olga"


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (("add", "pavel"), "123456\n"), (("add", "pavel"), ""), (("add",), ""), (("disable", "nobody"), ""),
        (("key", "nobody"), ""), (("role", "nobody"), ""), (("disable-key", "nothing"), ""),
    ],
)  # fmt: skip
def test_the_command_refuses_what_is_wrong(server: RefdeskServer, arguments: Any, given: str) -> None:
    done = refdesk(server, "staff", *arguments, given=given)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert "123456" not in done.stderr
