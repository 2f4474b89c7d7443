"""A browser, pages that embed the widget, and what every test asks of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from help_stub import HelpStub
from playwright.sync_api import Page

AXE = Path(__file__).parents[2] / "widget" / "node_modules" / "axe-core" / "axe.min.js"
CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def base_url() -> None:
    """Takes the place of a plugin's fixture whose form pytest is about to drop; pages are opened by full address."""


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, Any]:
    if CHROMIUM is None:
        pytest.skip("needs Chromium (apt-get install chromium)")
    return {"executable_path": CHROMIUM, "headless": True, "args": FLAGS}


@pytest.fixture
def stub() -> Iterator[HelpStub]:
    made = HelpStub()
    yield made
    made.close()


@pytest.fixture
def page(page: Page) -> Page:
    """Collects what must stay empty: errors of scripts and violations of the page's policy."""
    page.set_default_timeout(8000)
    page.add_init_script(
        "window.violations = []; document.addEventListener('securitypolicyviolation',"
        " (e) => violations.push(e.effectiveDirective + ' ' + e.blockedURI + ' ' + e.sample))"
    )
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.errors = errors  # type: ignore[attr-defined]
    return page


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
