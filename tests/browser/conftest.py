"""A browser, pages that embed the widget, and what every test asks of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from browser_fixtures import PATIENCE, axe, base_url, browser_type_launch_args, without_findings
from help_stub import HelpStub
from playwright.sync_api import Page
from refdesk_server import RefdeskServer

from scripted_api import ScriptedModel, scripted_model

__all__ = ["axe", "base_url", "browser_type_launch_args"]


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
def check(page: Page, axe: str) -> Callable[..., None]:
    def run() -> None:
        passed = without_findings(page, axe)
        looked_inside = any("refdesk-chat" in str(node["target"]) for each in passed for node in each["nodes"])
        assert looked_inside, "axe did not look into the widget"

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
    yield started
    assert started.stop() == 0
