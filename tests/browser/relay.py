"""A TCP relay before a server: what a flaky network does to connections, on demand."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Relay:
    """Passes bytes both ways. `cut` ends every connection there is; new ones are taken again."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                with self._lock:
                    self._open |= {near, far}
                for source, sink in ((near, far), (far, near)):
                    thread = threading.Thread(target=self._pass, args=(source, sink), daemon=True)
                    self._threads.append(thread)
                    thread.start()

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for end in (source, sink):
            self._shut(end)

    @staticmethod
    def _shut(end: socket.socket) -> None:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> int:
        """How many ends there were."""
        with self._lock:
            ends, self._open = self._open, set()
        for end in ends:
            self._shut(end)
            end.close()
        return len(ends)

    def close(self) -> None:
        self._shut(self._listener)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(5)
