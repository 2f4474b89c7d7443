"""Clients that never come to an end of their request: they cost neither memory nor connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest
import uvicorn
from refdesk_server import RefdeskServer

from refdesk import connections
from refdesk.api import browsers
from refdesk.connections import MAX_HEAD, BoundedConnection

HEAD = b"GET /health/live HTTP/1.1\r\nhost: localhost\r\n"
PATIENCE = 20.0
"""Seconds after which a test that waits for something has failed."""
SHORT = 0.2
"""Seconds that a request may take here."""


@pytest.mark.parametrize("piece", [b"a" * 1000, b"name: value\r\n" * 100, b"name: " + b"v" * 1000 + b"\r\n"])
def test_a_head_without_end_is_refused(server: RefdeskServer, piece: bytes) -> None:
    most = (MAX_HEAD + 2**20) // len(piece)
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(HEAD + b"x: ")
        with contextlib.suppress(ConnectionError):
            for _ in range(most):
                connection.sendall(piece)
            assert connection.recv(64).startswith(b"HTTP/1.1 400")
            while connection.recv(4096):
                pass
    assert server.serves()


def test_a_long_head_that_ends_is_read(server: RefdeskServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as connection:
        connection.sendall(HEAD + b"x: " + b"a" * (MAX_HEAD // 2))
        connection.sendall(b"a" * (MAX_HEAD // 4) + b"\r\n\r\n")
        assert connection.recv(64).startswith(b"HTTP/1.1 200")


async def slow_app(scope: Any, receive: Any, send: Any) -> None:
    """Takes longer than a request may, for the answer; reads the body first."""
    while (message := await receive()).get("more_body"):
        pass
    if message["type"] == "http.disconnect":
        return
    await asyncio.sleep(3 * SHORT)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@contextlib.asynccontextmanager
async def serving(app: Any = slow_app) -> AsyncIterator[int]:
    """The port of a server of this process."""
    config = uvicorn.Config(app, port=0, http=BoundedConnection, ws="none", lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    try:
        yield int(server.servers[0].sockets[0].getsockname()[1])
    finally:
        await server.shutdown()


async def all_that_comes(*pieces: bytes) -> bytes:
    """What the server sends until it closes the connection."""
    async with serving() as port, asyncio.timeout(PATIENCE):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        got = await reader.read()
        writer.close()
        return got


@pytest.mark.parametrize(
    "sent",
    [b"", b"\r\n", b"GET / HT", HEAD, b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\nab"],
)
def test_a_request_that_does_not_come_is_given_up(monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", SHORT)
    assert asyncio.run(all_that_comes(sent)) == b""


@pytest.mark.parametrize("rest", [b"GET / HT", b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n\r\nab"])
def test_an_answer_in_work_is_finished_and_only_then_the_next_given_up(
    monkeypatch: pytest.MonkeyPatch, rest: bytes
) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", SHORT)
    got = asyncio.run(all_that_comes(HEAD + b"\r\n" + rest))
    assert got.count(b"HTTP/1.1 200") == 1
    assert got.endswith(b"ok")


def test_a_reader_that_takes_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has not taken by then is no more than the buffers of a connection hold."""
    monkeypatch.setattr(browsers, "SEND_SECONDS", SHORT)
    piece, sent, ended = b"x" * 2**16, list[int](), asyncio.Event()

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        sending = browsers.with_headers(send, "/v1/ask", "r_1", [])
        await sending({"type": "http.response.start", "status": 200, "headers": []})
        try:
            for _ in range(10_000):
                await sending({"type": "http.response.body", "body": piece, "more_body": True})
                sent.append(len(piece))
        except TimeoutError:
            ended.set()

    async def read_nothing() -> None:
        async with serving(endless) as port, asyncio.timeout(PATIENCE):
            with socket.socket() as reader:
                reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                reader.setblocking(False)
                await asyncio.get_running_loop().sock_connect(reader, ("127.0.0.1", port))
                await asyncio.get_running_loop().sock_sendall(reader, HEAD + b"\r\n")
                await ended.wait()

    asyncio.run(read_nothing())
    assert 0 < sum(sent) < 2**23
