"""Writes the pictures of the nine states into widget/screenshots/ (run by hand, look at them, commit them)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chromium import LAUNCH
from help_stub import TAG, HelpStub
from nine_states import arabic_head, walk
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parents[2] / "widget" / "screenshots"
LOOKS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "rtl": {"lang": "ar"},
    "320px": {"width": 320, "height": 640},
    "forced-colors": {"forced_colors": "active"},
}
ONLY_SOME = {
    "rtl": {"answered", "greeting"},
    "320px": {"answered", "reader"},
    "forced-colors": {"answered", "conflict"},
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**LAUNCH)
        for name, look in LOOKS.items():
            stub = HelpStub()
            size = {"width": look.get("width", 760), "height": look.get("height", 760)}
            context = browser.new_context(
                viewport=size, color_scheme=look.get("color_scheme"), forced_colors=look.get("forced_colors")
            )
            page = context.new_page()
            page.goto(
                stub.page(csp=True, lang=look.get("lang", "en"), head=arabic_head(stub) if name == "rtl" else TAG)
            )
            for state in walk(page, stub, rtl=name == "rtl"):
                if state in ONLY_SOME.get(name, {state}):
                    page.wait_for_timeout(250)
                    page.screenshot(path=FOLDER / f"{state}-{name}.png")
            context.close()
            stub.close()
        browser.close()


if __name__ == "__main__":
    main()
