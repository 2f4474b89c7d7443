"""A browser, pages that embed the widget, and what every test asks of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import CHROMIUM, LAUNCH
from help_stub import HelpStub
from model_replies import refund_answer
from playwright.sync_api import Page, expect
from refdesk_server import RefdeskServer

from scripted_api import ScriptedModel, scripted_model

AXE = Path(__file__).parents[2] / "widget" / "node_modules" / "axe-core" / "axe.min.js"
PATIENCE = 20_000
"""Milliseconds after which a test that waits for something has failed: long enough for a machine that is busy."""
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def base_url() -> None:
    """Takes the place of a plugin's fixture whose form pytest is about to drop; pages are opened by full address."""


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium (apt-get install chromium)")
    return LAUNCH


@pytest.fixture
def stub() -> Iterator[HelpStub]:
    made = HelpStub()
    yield made
    made.close()


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """Whatever a test does: no error of a script, no violation of the page's policy, no cookie."""
    page.set_default_timeout(PATIENCE)
    page.add_init_script(
        "window.violations = []; document.addEventListener('securitypolicyviolation',"
        " (e) => violations.push(e.effectiveDirective + ' ' + e.blockedURI + ' ' + e.sample))"
    )
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    assert errors == []
    assert page.evaluate("window.violations ?? []") == []
    assert page.context.cookies() == []


@pytest.fixture
def check(page: Page) -> Callable[..., None]:
    """No accessibility finding, by WCAG 2.2 AA and best practice, shadow trees included."""
    if not AXE.exists():
        pytest.skip("needs axe-core (npm ci in widget/)")
    source = AXE.read_text()

    def run() -> None:
        page.evaluate(source)
        rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
        found = page.evaluate("(tags) => axe.run({runOnly: {type: 'tag', values: tags}})", rules)
        looked_inside = any("refdesk-chat" in str(node["target"]) for each in found["passes"] for node in each["nodes"])
        assert looked_inside, "axe did not look into the widget"
        short = [
            {
                "id": each["id"],
                "impact": each["impact"],
                "nodes": [node["html"][:160] + " :: " + node["failureSummary"][:300] for node in each["nodes"]],
            }
            for each in found["violations"]
        ]
        assert not short, json.dumps(short, indent=1)

    return run


# --- the real server ---


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with scripted_model() as made:
        yield made


@pytest.fixture(scope="module")
def host() -> Iterator[HelpStub]:
    """The customer's own site: another origin, which the help centre allows."""
    made = HelpStub()
    yield made
    made.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, model: ScriptedModel, host: HelpStub) -> Iterator[RefdeskServer]:
    folder = tmp_path_factory.mktemp("refdesk")
    started = RefdeskServer(folder, model.url, REFDESK_ALLOWED_ORIGINS=host.url, REFDESK_TURN_SECONDS="20")
    started.start()
    await_model(started, model)
    yield started
    assert started.stop() == 0


def await_model(server: RefdeskServer, model: ScriptedModel) -> None:
    model.script(refund_answer())
    with server.client(server.token()) as client:
        for _ in range(20):
            if client.post("/v1/ask", json={"question": "When are refunds issued?"}).json()["status"] == "answered":
                return
    raise AssertionError(f"the model is never asked:\n{server.log()}")
