"""A real server in a process of its own, with a corpus and a data folder of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
from help_centre import write_corpus

STAFF_KEY = "C-ADMIN-9f8e7d6c5b4a39281706f5e4d3c2b1a0"
IDENTITY_SECRET = "C-HMAC-1a2b3c4d5e6f708192a3b4c5d6e7f809"
MODEL_KEY = "C-KEY-77aa88bb99cc"
SHOP = "https://shop.example.com"
MODEL_LOADED = "model can be asked"
"""In the log."""
PATIENCE = 40.0
"""Seconds after which a test that waits for something has failed."""
VECTORS_PATIENCE = 300.0
"""The same for encoders that are converted first: on a machine with much other work that takes minutes."""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class RefdeskServer:
    """Its log is one file over all starts."""

    def __init__(self, folder: Path, model_url: str = "", **settings: str) -> None:
        self.folder, self.corpus, self.data = folder, folder / "corpus", folder / "data"
        self.log_file = folder / "server.log"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("REFDESK_", "ANTHROPIC_"))},
            "REFDESK_CORPUS": str(self.corpus),
            "REFDESK_DATA": str(self.data),
            "REFDESK_LOG": "json",
            "REFDESK_STAFF_KEY": STAFF_KEY,
            "REFDESK_IDENTITY_SECRET": IDENTITY_SECRET,
            "REFDESK_ALLOWED_ORIGINS": SHOP,
            "REFDESK_RATE_LIMITS": "off",
            "REFDESK_BREAKER_TURNS": "0",
            "REFDESK_DENSE": "off",
            "REFDESK_TURN_SECONDS": "6",
            "REFDESK_IDLE_SECONDS": "2",
            "REFDESK_HEARTBEAT_SECONDS": "0.3",
            "ANTHROPIC_API_KEY": MODEL_KEY if model_url else "",
            "ANTHROPIC_BASE_URL": model_url,
            **settings,
        }
        if not self.corpus.exists():
            write_corpus(self.corpus)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self, *, model_loaded: bool = True) -> RefdeskServer:
        """Returns once it serves and, where it has a model, can ask it: the adapter is loaded behind the open port,
        which takes a busy machine more seconds than a turn has."""
        command, said_before = [sys.executable, "-m", "refdesk.cli", "serve", "--port", str(self.port)], len(self.log())
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, cwd=self.folder)
        self._wait_until("does not serve", self.serves)
        if model_loaded and self.environment["ANTHROPIC_API_KEY"]:
            self._wait_until("loads no model", lambda: MODEL_LOADED in self.log()[said_before:])
        return self

    def _wait_until(self, fault: str, good: Callable[[], bool]) -> None:
        assert self._process is not None
        for _ in range(int(PATIENCE / 0.05)):
            try:
                code = self._process.wait(0.05)
            except subprocess.TimeoutExpired:
                if good():
                    return
            else:
                raise AssertionError(f"the server ended with {code}:\n{self.log()}")
        raise AssertionError(f"the server {fault}:\n{self.log()}")

    def serves(self) -> bool:
        try:
            with httpx2.Client(trust_env=False) as client:
                return client.get(f"{self.url}/health/live").status_code == 200
        except httpx2.TransportError:
            return False

    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    def wait(self) -> int:
        """The exit code."""
        assert self._process is not None
        return self._process.wait(PATIENCE)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(PATIENCE)

    def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return self.wait()

    def client(self, token: str | None = None, **headers: str) -> httpx2.Client:
        given = {"authorization": f"Bearer {token}"} if token else {}
        return httpx2.Client(base_url=self.url, headers={**given, **headers}, timeout=PATIENCE, trust_env=False)

    def token(self, identity: str | None = None) -> str:
        with self.client() as client:
            answer = client.post("/v1/session", json={"identity": identity})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["token"])

    def await_vectors(self) -> dict[str, Any]:
        """What `/health/ready` says once search by meaning serves. A server that has not been heard yet may answer
        later."""
        end = time.monotonic() + VECTORS_PATIENCE
        ready: dict[str, Any] = {}
        with self.client() as client:
            while ready.get("dense") != {"status": "ready"}:
                assert ready.get("dense", {}).get("status") != "failed", ready
                assert time.monotonic() < end, f"no vectors:\n{self.log()}"
                time.sleep(0.2)
                with suppress(httpx2.TransportError):
                    ready = client.get("/health/ready").json()
        return ready

    def log(self) -> str:
        return self.log_file.read_text("utf-8") if self.log_file.exists() else ""

    def log_records(self, name: str = "") -> Iterator[dict[str, Any]]:
        """Every line must be one JSON object."""
        for line in self.log().split("\n")[:-1]:
            record = json.loads(line)
            assert isinstance(record, dict), line
            if not name or record.get("event") == name:
                yield record
