"""The browser that pages are opened in, and what axe finds on one; conftest modules import the fixtures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chromium import CHROMIUM, LAUNCH
from playwright.sync_api import Page, expect

AXE = Path(__file__).parents[2] / "widget" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
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


@pytest.fixture(scope="session")
def axe() -> str:
    if not AXE.exists():
        pytest.skip("needs axe-core (npm ci in widget/)")
    return AXE.read_text()


def without_findings(page: Page, axe: str, where: str = "") -> list[dict[str, Any]]:
    """What axe passed; it finds nothing, by WCAG 2.2 AA and best practice, shadow trees included."""
    page.evaluate(axe)
    found = page.evaluate("(tags) => axe.run({runOnly: {type: 'tag', values: tags}})", RULES)
    short = [
        {
            "id": each["id"],
            "impact": each["impact"],
            "nodes": [node["html"][:160] + " :: " + node["failureSummary"][:300] for node in each["nodes"]],
        }
        for each in found["violations"]
    ]
    assert not short, f"{where}\n{json.dumps(short, indent=1)}"
    passed: list[dict[str, Any]] = found["passes"]
    return passed
