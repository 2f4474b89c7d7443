"""What every test shares."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import hypothesis
import pytest
import structlog

hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")  # how long an example takes says what else the machine does


@pytest.fixture(autouse=True)
def own_log() -> Iterator[None]:
    """A command sends the log to its own stderr, from errors on, which no test after it may find so."""
    handlers, level = logging.root.handlers[:], logging.root.level
    yield
    structlog.reset_defaults()
    logging.root.handlers[:] = handlers
    logging.root.setLevel(level)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """On CI nothing may be skipped: what a test needs is installed there, and a skip would hide that it is not."""
    report = yield
    if os.environ.get("CI") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped on CI: {report.longrepr}"
    return report


def pytest_collection_modifyitems(items):
    """Browser tests stand last: Playwright keeps its event loop running in this thread until the session ends."""
    items.sort(key=lambda item: "playwright" in item.fixturenames)
