"""A browser that is signed in to the console of a real server, with a canary to which hostile texts point."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from browser_fixtures import PATIENCE, axe, base_url, browser_type_launch_args, without_findings
from people import new_account
from playwright.sync_api import Page
from refdesk_server import RefdeskServer
from seeded import hostile, hostile_article
from signing_in import Canary, sign_in

from full_log import fill, known_articles
from scripted_api import ScriptedModel, scripted_model

__all__ = ["axe", "base_url", "browser_type_launch_args"]


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
    """With a log of 10,000 conversations, hostile ones among them."""
    started = RefdeskServer(tmp_path_factory.mktemp("console"), model.url)
    (started.corpus / "hostile.md").write_text(hostile_article(canary.url), "utf-8")
    started.data.mkdir()
    filling = fill(started.data, known_articles(started.corpus), per_conversation=2, hostile=hostile(canary.url))
    with ThreadPoolExecutor() as beside:  # in this thread Playwright may have its event loop
        beside.submit(asyncio.run, filling).result()
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
def check(page: Page, axe: str) -> Callable[[], None]:
    """Light and dark."""

    def run() -> None:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            assert len(without_findings(page, axe, f"{scheme} {page.url}")) > 10

    return run
