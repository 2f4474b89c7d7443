"""Sync, start, memory and search of the real server on corpora of generated articles.

    python tests/bench/start.py CORPUS_1K CORPUS_10K …        (folders of Markdown)

Prints one row a corpus: first sync, sync of an unchanged corpus, one changed article, start until the first answer,
resident memory after 300 searches, and the time of a search over HTTP.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

REFDESK = Path(sys.executable).with_name("refdesk")
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
SEARCHES = 300


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def fetch(url: str, body: dict[str, str] | None = None) -> dict[str, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers={"content-type": "application/json"})
    with DIRECT.open(request, timeout=60) as reply:
        return json.load(reply)


def answers(url: str) -> dict[str, Any]:
    """Empty where nobody serves."""
    try:
        return fetch(url)
    except OSError:
        return {}


def dense_status(port: int) -> str:
    """Of search by meaning; empty where nobody serves."""
    return str(answers(f"http://127.0.0.1:{port}/health/ready").get("dense", {}).get("status", ""))


def until(good: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    while not good():
        if process.poll() is not None:
            sys.exit(f"it does not start: {process.args!r}")
        time.sleep(0.1)


def timed(command: list[str], env: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def memory_mb(process: subprocess.Popen[bytes]) -> float:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def start(env: dict[str, str], port: int) -> tuple[subprocess.Popen[bytes], float]:
    """The server, and the seconds until it has answered a question."""
    started = time.perf_counter()
    process = subprocess.Popen([REFDESK, "serve", "--port", str(port)], env=env, stderr=subprocess.DEVNULL)
    while True:
        try:
            fetch(f"http://127.0.0.1:{port}/v1/ask", {"question": "How do I change my invoice?"})
            return process, time.perf_counter() - started
        except OSError:
            time.sleep(0.02)


def searches(port: int, titles: list[str]) -> list[float]:
    times = []
    for title in random.Random(7).choices(titles, k=SEARCHES):
        started = time.perf_counter()
        fetch(f"http://127.0.0.1:{port}/v1/search?q={urllib.parse.quote(title)}")
        times.append((time.perf_counter() - started) * 1000)
    return times


def measure(corpus: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "corpus")
        shutil.copytree(corpus, copy)
        env = {**os.environ, "REFDESK_CORPUS": str(copy), "REFDESK_DATA": str(Path(folder, "data"))}
        env |= {"REFDESK_RATE_LIMITS": "off", "ANTHROPIC_API_KEY": ""}
        first, unchanged = timed([str(REFDESK), "sync"], env), timed([str(REFDESK), "sync"], env)
        article = next(copy.rglob("*.md"))
        article.write_text(article.read_text() + "\nA sentence that was added.\n")
        changed = timed([str(REFDESK), "sync"], env)
        port = free_port()
        process, ready = start(env, port)
        try:
            listed = fetch(f"http://127.0.0.1:{port}/v1/articles")
            times = searches(port, [str(item["title"]) for item in listed["articles"]])
            quantiles = statistics.quantiles(times, n=20)
            print(
                f"{listed['total']:>8} articles  first sync {first:6.1f} s  unchanged {unchanged:5.2f} s  "
                f"one changed {changed:5.2f} s  start to first answer {ready:5.2f} s  "
                f"RSS {memory_mb(process):4.0f} MB  search p50 {quantiles[9]:5.1f} ms  p95 {quantiles[18]:5.1f} ms",
                flush=True,
            )
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        measure(Path(name))
