"""The declarations of the widget's interface, read as text."""

from __future__ import annotations

import re
from pathlib import Path

TYPES = (Path(__file__).parents[1] / "widget" / "refdesk.d.ts").read_text("utf-8")


def declared(interface: str) -> list[str]:
    """The names that an interface declares."""
    body = re.search(rf"export interface {interface} {{\n(.*?)^}}", TYPES, re.MULTILINE | re.DOTALL)
    assert body
    return re.findall(r'^  "?([\w-]+)"?[?:(<]', body[1], re.MULTILINE)
