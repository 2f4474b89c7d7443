"""Accounts, keys, audit log, settings, texts and privacy as pages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import httpx2
import pytest
from model_replies import refund_answer
from people import PASSWORD, ask, audit_rows, cookie_of, log_in, new_account, session_of, signed_in, with_cookie
from refdesk_server import IDENTITY_SECRET, MODEL_KEY, STAFF_KEY, RefdeskServer

from refdesk.console_pages.texts import TEXTS
from refdesk.settings import SETTINGS
from scripted_api import ScriptedModel

NEW_PASSWORD = "quilt-Anchor-77-mango"
WEBHOOK = "https://hooks.example.com/secret-path-token"


@pytest.fixture
def boss(server: RefdeskServer) -> Iterator[httpx2.Client]:
    with with_cookie(server, session_of(server, new_account(server, "admin"))) as client:
        yield client


def test_an_own_password_is_changed_and_this_session_goes_on(server: RefdeskServer) -> None:
    name = new_account(server)
    before = session_of(server, name)
    with with_cookie(server, before) as agent:
        refused = agent.post("/console/account/password", data={"current": "wrong", "new": NEW_PASSWORD})
        assert refused.status_code == 401
        assert TEXTS["login_failed"][0] in refused.text
        weak = agent.post("/console/account/password", data={"current": PASSWORD, "new": "short"})
        assert weak.status_code == 400
        answer = agent.post("/console/account/password", data={"current": PASSWORD, "new": NEW_PASSWORD})
        assert answer.status_code == 303
        assert agent.get("/v1/console/me").status_code == 401, "the old session is over"
    with with_cookie(server, cookie_of(answer)) as agent:
        assert agent.get("/v1/console/me").json()["name"] == name
    with server.client() as client:
        assert log_in(client, name, NEW_PASSWORD).status_code == 200


def test_a_key_is_shown_once_and_disabled_for_good(server: RefdeskServer) -> None:
    name = new_account(server)
    with with_cookie(server, session_of(server, name)) as agent:
        page = agent.post("/console/account/keys", data={"label": "<b>ticket system"})
        key = re.search(r"<pre[^>]*>(rk_[^<]+)</pre>", page.text)
        assert key is not None
        listed = agent.get("/console/account").text
        assert key[1] not in listed
        assert "&lt;b&gt;ticket system" in listed
        with server.client(key[1]) as program:
            assert program.get("/v1/console/me").json()["name"] == name
            kid = key[1].split("_")[1]
            assert agent.post(f"/console/account/keys/{kid}/disable", data={}).status_code == 303
            assert program.get("/v1/console/me").status_code == 401


def test_an_agent_makes_no_key_for_another_and_ends_none(server: RefdeskServer, boss: httpx2.Client) -> None:
    other = new_account(server)
    made = boss.post("/console/account/keys", data={"label": "x", "name": other})
    assert made.status_code == 200
    kid = made.text.split("rk_")[1].split("_")[0]
    with with_cookie(server, session_of(server, new_account(server))) as agent:
        assert agent.post("/console/account/keys", data={"label": "x", "name": other}).status_code == 403
        assert agent.post(f"/console/account/keys/{kid}/disable", data={}).status_code == 404


def test_accounts_are_made_changed_and_disabled(server: RefdeskServer, boss: httpx2.Client) -> None:
    name = new_account(server) + "x"
    made = boss.post("/console/staff", data={"name": name, "role": "agent", "password": PASSWORD})
    assert (made.status_code, made.headers["location"]) == (303, "/console/staff")
    with with_cookie(server, session_of(server, name)) as person:
        assert person.get("/console/audit").status_code == 403
        boss.post(f"/console/staff/{name}", data={"role": "admin", "password": ""})
        assert person.get("/console/audit").status_code == 200, "the password stays, and so the session"
        boss.post(f"/console/staff/{name}", data={"role": "admin", "password": "", "disabled": "on"})
        assert person.get("/console/audit").status_code == 303
    assert boss.post("/console/staff", data={"name": name, "role": "king"}).status_code == 400
    assert boss.post("/console/staff", data={"name": name, "role": "agent"}).status_code == 409
    actions = {entry["action"] for action in ("staff_added", "role_changed", "staff_disabled")
               for entry in audit_rows(server, action) if entry["target"] == name}  # fmt: skip
    assert actions == {"staff_added", "role_changed", "staff_disabled"}
    page = boss.get("/console/audit").text
    assert page.count(f"<bdi>{name}</bdi>") >= 3


def test_the_audit_log_has_pages_that_join(boss: httpx2.Client) -> None:
    for number in range(101):
        boss.post("/console/account/keys", data={"label": f"k{number}"})
    first = boss.get("/console/audit").text
    older = re.search(r'<a rel="next" href="([^"]+)"', first)
    assert older is not None
    second = boss.get(older[1]).text
    moments = [re.findall(r'<time datetime="([^"]+)"', page) for page in (first, second)]
    assert moments[0][-1] >= moments[1][0]
    assert len(moments[0]) == 100


def test_settings_in_force_are_shown_without_any_secret(new_server: Callable[..., RefdeskServer]) -> None:
    server = new_server(
        "http://127.0.0.1:9",
        REFDESK_GAPS_WEBHOOK_URL=WEBHOOK,
        REFDESK_GAPS_WEBHOOK_SECRET=IDENTITY_SECRET[::-1],
        REFDESK_RETENTION_DAYS="77",
        REFDESK_METRICS_KEY=STAFF_KEY[::-1],
        REFDESK_PERSONA="Be <b>kind</b>.",
        REFDESK_PRICES="claude-haiku-5-5=0.10/0.50",
        REFDESK_TRUSTED_PROXIES="10.0.0.0/8",
    ).start()
    with server.client(STAFF_KEY) as admin:
        page = admin.get("/console/settings").text
    assert all(setting.env in page for setting in SETTINGS)
    for secret in (STAFF_KEY, STAFF_KEY[::-1], IDENTITY_SECRET, IDENTITY_SECRET[::-1], MODEL_KEY, "secret-path-token"):
        assert secret not in page
    assert page.count(TEXTS["secret_set"][0]) == sum(s.secret for s in SETTINGS) - 1
    assert page.count(TEXTS["secret_unset"][0]) == 1, "the database is SQLite"
    assert "<bdi>77</bdi>" in page
    assert "<bdi>claude-haiku-5-5=0.1/0.5</bdi>" in page
    assert "<bdi>10.0.0.0/8</bdi>" in page
    assert "https://hooks.example.com" in page
    assert "Be &lt;b&gt;kind" in page


def test_the_texts_of_the_help_centre_are_shown(boss: httpx2.Client) -> None:
    page = boss.get("/console/settings").text
    assert "I could not find an answer to this in our help centre." in page
    assert "Odpověď na tuto otázku jsem v našem centru nápovědy nenašel." in page


def test_a_visitor_is_found_exported_and_erased(
    server: RefdeskServer, boss: httpx2.Client, model: ScriptedModel
) -> None:
    model.script(refund_answer())
    with server.client(signed_in(server, "erase <me>")) as visitor:
        turn = ask(visitor)
        page = boss.get("/console/privacy", params={"who": "erase <me>"}).text
        link = re.search(r'href="(/v1/console/visitors/(v_[^/]+)/export)"', page)
        assert link is not None
        assert boss.get("/console/privacy", params={"who": link[2]}).text.count(link[1]) == 1
        kept = boss.get(link[1]).json()
        assert [found["id"] for found in kept["conversations"][0]["turns"]] == [turn["id"]]
        unsure = boss.post("/console/privacy/erase", data={"visitor_id": link[2]})
        assert unsure.status_code == 400
        assert visitor.get(f"/v1/turns/{turn['id']}").status_code == 200
        assert (
            TEXTS["erased"][0] in boss.post("/console/privacy/erase", data={"visitor_id": link[2], "sure": "on"}).text
        )
        assert visitor.get(f"/v1/turns/{turn['id']}").status_code == 401
    assert TEXTS["nobody"][0] in boss.get("/console/privacy", params={"who": "erase <me>"}).text
    assert boss.post("/console/privacy/erase", data={"visitor_id": link[2], "sure": "on"}).status_code == 404


def test_retention_tells_what_it_did(boss: httpx2.Client) -> None:
    page = boss.post("/console/privacy/retention", data={})
    assert page.status_code == 200
    assert TEXTS["retention_done"][0].format(deleted=0, due=0) in page.text
