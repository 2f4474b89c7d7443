"""A browser that is signed in to the console of a real server, with a canary to which hostile texts point."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import CHROMIUM, LAUNCH
from people import new_account
from playwright.sync_api import Page, expect
from refdesk_server import RefdeskServer
from seeded import hostile_article
from signing_in import Canary, sign_in

from scripted_api import ScriptedModel, scripted_model

AXE = Path(__file__).parents[2] / "widget" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PATIENCE = 20_000
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
def canary() -> Iterator[Canary]:
    made = Canary()
    yield made
    made.close()


@pytest.fixture(scope="session")
def model() -> Iterator[ScriptedModel]:
    with scripted_model() as made:
        yield made


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory, model: ScriptedModel, canary: Canary) -> Iterator[RefdeskServer]:
    started = RefdeskServer(tmp_path_factory.mktemp("console"), model.url)
    (started.corpus / "hostile.md").write_text(hostile_article(canary.url), "utf-8")
    started.start()
    yield started
    assert started.stop() == 0


@pytest.fixture(scope="session")
def boss(server: RefdeskServer) -> str:
    return new_account(server, "admin")


@pytest.fixture
def page(page: Page, canary: Canary) -> Iterator[Page]:
    """Whatever a test does: no error of a script, no violation of the page's policy, no visit to the canary."""
    page.set_default_timeout(PATIENCE)
    page.add_init_script(
        "document.addEventListener('securitypolicyviolation', (e) => console.error('violation '"
        " + e.effectiveDirective + ' ' + e.blockedURI))"
    )
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if "violation" in said.text else None)
    yield page
    assert wrong == []
    assert canary.visits == 0


@pytest.fixture
def signed_in(page: Page, server: RefdeskServer, boss: str) -> Page:
    sign_in(page, server.url, boss)
    return page


@pytest.fixture
def check(page: Page) -> Callable[[], None]:
    """No accessibility finding, by WCAG 2.2 AA and best practice, light and dark."""
    if not AXE.exists():
        pytest.skip("needs axe-core (npm ci in widget/)")
    source = AXE.read_text()

    def run() -> None:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.evaluate(source)
            found = page.evaluate("(tags) => axe.run({runOnly: {type: 'tag', values: tags}})", RULES)
            assert len(found["passes"]) > 10
            short = [
                {
                    "id": each["id"],
                    "nodes": [node["html"][:160] + node["failureSummary"][:200] for node in each["nodes"]],
                }
                for each in found["violations"]
            ]
            assert not short, f"{scheme} {page.url}\n{json.dumps(short, indent=1)}"

    return run
