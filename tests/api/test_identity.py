"""Identity tokens that the customer's backend signs: what a good one grants, and that a bad one is never anonymous."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Callable
from typing import Any

import httpx2
import jwt
import pytest
from refdesk_server import IDENTITY_SECRET, RefdeskServer

from scripted_api import ScriptedModel

DAY = 24 * 3600


def claims(**changes: Any) -> dict[str, Any]:
    now = int(time.time())
    made = {"sub": "customer-7", "aud": "Acme Help", "iat": now, "exp": now + 300, **changes}
    return {name: value for name, value in made.items() if value is not ...}


def signed(
    payload: dict[str, Any] | None = None, key: str = IDENTITY_SECRET, algorithm: str = "HS256", **header: Any
) -> str:
    return jwt.encode(payload or claims(), key, algorithm=algorithm, headers={"kid": "default", **header})


def part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def unsigned(algorithm: str) -> str:
    return f"{part({'alg': algorithm, 'typ': 'JWT', 'kid': 'default'})}.{part(claims())}."


def without_kid() -> str:
    return jwt.encode(claims(), IDENTITY_SECRET, algorithm="HS256")


def later(seconds: int) -> int:
    return int(time.time()) + seconds


BAD: dict[str, Callable[[], str]] = {
    "alg none": lambda: unsigned("none"),
    "alg None": lambda: unsigned("None"),
    "no alg": lambda: f"{part({'kid': 'default'})}.{part(claims())}.",
    "HS512": lambda: signed(key=IDENTITY_SECRET * 2, algorithm="HS512"),
    "HS512 with our key": lambda: jwt.encode(claims(), IDENTITY_SECRET.ljust(64, "0"), "HS512", {"kid": "default"}),
    "RS256 that names our key": lambda: unsigned("RS256") + "c2ln",
    "wrong key": lambda: signed(key="x" * 40),
    "empty signature": lambda: signed().rpartition(".")[0] + ".",
    "another's signature": lambda: signed().rpartition(".")[0] + "." + signed(claims(sub="b")).rpartition(".")[2],
    "expired": lambda: signed(claims(iat=later(-600), exp=later(-120))),
    "no exp": lambda: signed(claims(exp=...)),
    "no iat": lambda: signed(claims(iat=...)),
    "no aud": lambda: signed(claims(aud=...)),
    "no sub": lambda: signed(claims(sub=...)),
    "another aud": lambda: signed(claims(aud="Other Help")),
    "a list of auds": lambda: signed(claims(aud=["Acme Help", "Other Help"])),
    "aud by case": lambda: signed(claims(aud="acme help")),
    "nbf in an hour": lambda: signed(claims(nbf=later(3600))),
    "iat in an hour": lambda: signed(claims(iat=later(3600), exp=later(7200))),
    "exp in ten years": lambda: signed(claims(exp=later(3650 * DAY))),
    "a day and a minute": lambda: signed(claims(exp=later(DAY + 60))),
    "exp as text": lambda: signed(claims(exp=str(later(300)))),
    "exp a fraction": lambda: signed(claims(exp=later(300) + 0.5)),
    "exp infinite": lambda: signed_raw('{"sub":"a","aud":"Acme Help","iat":1,"exp":1e999}'),
    "exp null": lambda: signed(claims(exp=None)),
    "iat negative": lambda: signed(claims(iat=-1)),
    "empty sub": lambda: signed(claims(sub="")),
    "blank sub": lambda: signed(claims(sub=" \t")),
    "number as sub": lambda: signed_raw(json.dumps(claims(sub=7))),
    "list as sub": lambda: signed_raw(json.dumps(claims(sub=["a"]))),
    "huge sub": lambda: signed(claims(sub="a" * 5000)),
    "roles as text": lambda: signed(claims(roles="partner")),
    "roles of numbers": lambda: signed(claims(roles=[1])),
    "a list as payload": lambda: signed_raw("[1]"),
    "no JSON as payload": lambda: signed_raw("sub=a"),
    "unknown crit": lambda: signed(crit=["x-unknown"], **{"x-unknown": 1}),
    "jwk inside": lambda: signed(jwk={"kty": "oct", "k": "eHg"}),
    "jku inside": lambda: signed(jku="http://127.0.0.1:1/keys"),
    "x5u inside": lambda: signed(x5u="http://127.0.0.1:1/cert"),
    "no kid": without_kid,
    "kid a path": lambda: signed(kid="../../dev/null"),
    "kid empty": lambda: signed(kid=""),
    "kid unknown": lambda: signed(kid="other"),
    "kid by case": lambda: signed(kid="Default"),
    "kid of SQL": lambda: signed(kid="' OR 1=1 --"),
    "kid a list": lambda: f"{part({'alg': 'HS256', 'kid': ['default']})}.{part(claims())}.c2ln",
    "cut in half": lambda: signed()[: len(signed()) // 2],
    "64 kB": lambda: signed(claims(pad="a" * 40_000)),
    "empty": lambda: "",
    "blank": lambda: "   ",
    "two dots": lambda: "..",
    "no token": lambda: "not a token",
    "white space around": lambda: f" {signed()} ",
    "a Bearer in front": lambda: f"Bearer {signed()}",
    "NUL": lambda: signed() + "\x00",
    "not ASCII": lambda: signed() + "é",
    "deeply nested": lambda: signed_raw("[" * 2_000),
}


def signed_raw(payload: str) -> str:
    return jwt.api_jws.encode(payload.encode(), IDENTITY_SECRET, algorithm="HS256", headers={"kid": "default"})


@pytest.mark.parametrize("name", BAD)
def test_a_bad_identity_is_401_and_never_anonymous(anonymous: httpx2.Client, model: ScriptedModel, name: str) -> None:
    answer = anonymous.post("/v1/session", json={"identity": BAD[name]()})
    assert answer.status_code == 401, answer.text
    body = answer.json()
    assert body.pop("request_id")
    assert body == {
        "type": "about:blank",
        "title": "Not signed in",
        "status": 401,
        "code": "identity_invalid",
        "detail": "The identity token is not valid.",
        "field": "identity",
    }
    assert "token" not in body
    assert model.bodies == []


@pytest.mark.parametrize(
    ("roles", "sees"),
    [
        (..., {"sla"}), ([], {"sla"}), (["partner"], {"sla", "discounts"}), (["staff"], {"sla"}),
        (["staff", "partner"], {"sla", "discounts"}), (["undeclared"], {"sla"}), (["Partner"], {"sla"}),
        (["admin", "public", "signed-in", "*"], {"sla"}),
    ],
)  # fmt: skip
def test_roles_are_those_declared_and_never_staff(server: RefdeskServer, roles: Any, sees: set[str]) -> None:
    token = server.token(signed(claims(roles=roles)))
    with server.client(token) as visitor:
        for article in ("sla", "discounts", "runbook"):
            expected = 200 if article in sees else 404
            assert visitor.get(f"/v1/articles/{article}").status_code == expected
            assert visitor.get(f"/articles/{article}").status_code == expected


@pytest.mark.parametrize("extra", [{"role": "staff"}, {"admin": True}, {"scope": "staff"}, {"role": ["staff"]}])
def test_other_claims_name_no_role(server: RefdeskServer, extra: dict[str, Any]) -> None:
    with server.client(server.token(signed(claims(**extra)))) as visitor:
        assert visitor.get("/v1/articles/sla").status_code == 200
        assert visitor.get("/v1/articles/runbook").status_code == 404


def test_a_whole_day_is_allowed(server: RefdeskServer) -> None:
    now = int(time.time())
    assert server.token(signed(claims(iat=now, exp=now + DAY)))


def test_an_identity_is_no_session_token(anonymous: httpx2.Client) -> None:
    answer = anonymous.get("/v1/articles", headers={"authorization": f"Bearer {signed()}"})
    assert answer.status_code == 401
