"""What every test shares."""

from __future__ import annotations

import os

import pytest


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
