"""The browser of the machine, as every test and measurement starts it."""

from __future__ import annotations

import shutil
from typing import Any

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
LAUNCH: dict[str, Any] = {
    "executable_path": CHROMIUM,
    "headless": True,
    "args": FLAGS,
    # people's browsers have the back/forward cache
    "ignore_default_args": ["--disable-back-forward-cache"],
}
