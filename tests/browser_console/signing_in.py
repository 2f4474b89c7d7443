"""Signing in as people do, and a listener that nobody should visit."""

from __future__ import annotations

import socket
import threading

from people import PASSWORD
from playwright.sync_api import Page, expect


class Canary:
    """Listens, and counts who comes: nobody should."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.visits = 0
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                visitor, _ = self._socket.accept()
            except OSError:
                return
            self.visits += 1
            visitor.close()

    def close(self) -> None:
        self._socket.close()


def sign_in(page: Page, url: str, name: str) -> None:
    page.goto(f"{url}/console")
    page.get_by_role("textbox", name="Name").fill(name)
    page.locator("#password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
