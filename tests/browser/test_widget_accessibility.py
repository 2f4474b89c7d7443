"""No accessibility finding in any state, in any of five ways of looking at it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from help_stub import TAG, HelpStub
from nine_states import arabic_head, walk
from playwright.sync_api import Page

MODES: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "rtl": {"lang": "ar"},
    "320px": {"width": 320},
    "forced-colors": {"forced_colors": "active"},
}


@pytest.mark.parametrize("mode", MODES)
def test_nine_states_have_no_finding(page: Page, stub: HelpStub, check: Callable[[], None], mode: str) -> None:
    look = MODES[mode]
    page.set_viewport_size({"width": look.get("width", 1000), "height": 720})
    page.emulate_media(color_scheme=look.get("color_scheme"), forced_colors=look.get("forced_colors"))
    lang = look.get("lang", "en")
    page.goto(stub.page(csp=True, lang=lang, head=arabic_head(stub) if lang == "ar" else TAG))
    seen = []
    for state in walk(page, stub, rtl=lang == "ar"):
        seen.append(state)
        check()
    assert len(seen) == 9
