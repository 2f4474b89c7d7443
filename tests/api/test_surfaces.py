"""What is reachable without a key costs nothing, and nothing is reachable that only a developer wants."""

from __future__ import annotations

import httpx2
import pytest
from refdesk_server import SHOP

from scripted_api import ScriptedModel

FREE = ("/", "/articles", "/health/live", "/health/ready", "/v1/articles", "/v1/widget/settings", "/widget/refdesk.js",
        "/widget/refdesk.d.ts", "/schema/openapi.json", "/demo", "/static/page.css")  # fmt: skip


def test_what_anybody_may_get_asks_no_model(anonymous: httpx2.Client, model: ScriptedModel) -> None:
    for path in FREE:
        assert anonymous.get(path, headers={"origin": SHOP}).status_code == 200, path
    for _ in range(20):
        assert anonymous.post("/v1/session", json={}).status_code == 201
    assert model.bodies == []


@pytest.mark.parametrize(
    "path",
    ["/docs", "/redoc", "/schema", "/schema/swagger", "/schema/redoc", "/schema/elements", "/schema/rapidoc",
     "/schema/openapi.yaml", "/debug", "/debug/pprof", "/debug/vars", "/admin", "/.env", "/.git/config",
     "/server-status", "/actuator", "/actuator/env", "/v1/console/debug", "/unserved", "/unserved/openapi.json"],
)  # fmt: skip
def test_there_is_nothing_for_developers(anonymous: httpx2.Client, path: str) -> None:
    answer = anonymous.get(path, headers={"accept": "application/json"})
    assert answer.status_code in (401, 404), answer.text
    assert "Traceback" not in answer.text


def test_figures_want_a_key(anonymous: httpx2.Client) -> None:
    answer = anonymous.get("/metrics")
    assert answer.status_code == 401
    assert "refdesk_" not in answer.text
