"""Runs the server: one event loop, a clean end on SIGTERM."""

from __future__ import annotations

import errno
import ipaddress
import socket
from types import FrameType
from typing import Any

import structlog
import uvicorn

from refdesk.app import Parts, create_app, open_parts
from refdesk.connections import BoundedConnection
from refdesk.errors import SettingError
from refdesk.library import Progress
from refdesk.settings import Settings

log = structlog.get_logger()

PATIENCE = 5.0
"""Seconds that running turns have to end by themselves once the server is told to stop."""
GRACE = 2
"""Seconds that connections have after that, to take what was sent to them."""


class Server(uvicorn.Server):
    """Ends with code 0 after a signal (uvicorn would die of it once more), and ends running turns in time."""

    def __init__(self, config: uvicorn.Config, parts: Parts) -> None:
        super().__init__(config)
        self._parts = parts

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True
        self._parts.runs.closing = True

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        for server in self.servers:
            log.info("serving", address=web_address(*server.sockets[0].getsockname()[:2]))

    async def shutdown(self, sockets: Any = None) -> None:
        """First the turns, while new questions still get their 503; then the connections."""
        await self._parts.runs.close(PATIENCE)
        await super().shutdown(sockets)


def web_address(host: str, port: int) -> str:
    """As one types it into a browser of this machine."""
    address = ipaddress.ip_address(host)
    if address.is_loopback or address.is_unspecified:
        host = "localhost"
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def check_address(host: str, port: int) -> None:
    """Whether one can listen there, before a corpus is read for it. Raises SettingError."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in found:
            with socket.socket(family, kind, protocol) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(address)
    except OSError as error:
        taken = error.errno in (errno.EADDRINUSE, errno.EACCES)
        why = f"cannot listen on {host} port {port}: {(error.strerror or str(error)).lower()}"
        raise SettingError("REFDESK_PORT" if taken else "REFDESK_HOST", why) from error
    except UnicodeError as error:
        raise SettingError("REFDESK_HOST", f"{host!r} is no name of a host") from error


async def serve(settings: Settings, progress: Progress | None = None) -> None:
    check_address(settings.host, settings.port)
    parts = await open_parts(settings, progress)
    config = uvicorn.Config(
        create_app(parts),
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
        lifespan="on",
        http=BoundedConnection,
        ws="none",
    )
    await Server(config, parts).serve()
