"""What the HTTP server leaves without a bound: how much of a request's head it keeps, and how long a request may take.

Without them one client that never ends a header fills the memory and holds up everybody (the parser copies what it has
with every piece), and clients that say nothing keep their connections for ever.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD = 64 * 1024
"""Bytes of a request line with headers, beyond those that came in one piece with its beginning."""
REQUEST_SECONDS = 30.0
"""From a connection, or from the first byte on one that is kept alive, to the last byte of the request."""


class BoundedConnection(HttpToolsProtocol):
    """Closes a connection whose request does not come to an end; what is being answered is left alone."""

    _head: int | None = None
    """Bytes of an unfinished head so far; None: none has begun, or it is complete."""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deadline is None and self._answers_nothing():
            self._await_request()
        begun = self._head
        super().data_received(data)
        if begun is None or self._head is None:
            return
        self._head += len(data)
        if self._head > MAX_HEAD and not self.transport.is_closing():
            self.send_400_response("The head of the request is too long.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head = 0
        if self._deadline is None:
            self._await_request()

    def on_headers_complete(self) -> None:
        self._head = None
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._arrived()
        super().on_message_complete()

    def _answers_nothing(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _await_request(self) -> None:
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._give_up)

    def _arrived(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if self.pipeline or (self._head is not None and not self._answers_nothing()):
            self._await_request()  # it came while another is being answered, which may take long
        else:
            self._deadline = None
            self.transport.close()
