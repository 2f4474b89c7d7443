"""What limits cost a turn, and how fast one is told no: python tests/bench/limits.py [--url URL] [--turns 400]

A real server and a scripted model on loopback, one visitor after the other's answer; SQLite, or the empty PostgreSQL
under --url. Prints milliseconds, and the server's CPU per turn.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles

import httpx2
import psutil

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "api")]

from model_replies import refund_answer  # noqa: E402
from refdesk_server import RefdeskServer  # noqa: E402
from turn_events import asked  # noqa: E402

from scripted_api import Answer, ScriptedModel, answer_of, scripted_model  # noqa: E402

QUESTION = "When are refunds issued?"
MANY = "1000000"
LIMITS = {
    "REFDESK_RATE_LIMITS": "on",
    "REFDESK_TURNS_PER_VISITOR": MANY,
    "REFDESK_TURNS_PER_ADDRESS": MANY,
    "REFDESK_SESSIONS_PER_ADDRESS": MANY,
    "REFDESK_TURNS_PER_MINUTE": MANY,
}
CAPS = {"REFDESK_SPEND_PER_VISITOR": "1000", "REFDESK_SPEND_PER_DAY": "1000"}
DOWN = Answer((b"{}",), 529, {"content-type": "application/json", "x-should-retry": "false"})


def ask(client: httpx2.Client) -> httpx2.Response:
    return client.post("/v1/ask", json={"question": QUESTION})


def tell(name: str, taken: list[float], more: str = "") -> None:
    p95 = quantiles(taken, n=20)[-1]
    print(f"{name:42} p50 {median(taken):6.1f}  p95 {p95:6.1f}  max {max(taken):6.1f} ms  {more}", flush=True)


def timed(client: httpx2.Client, times: int, good: Callable[[httpx2.Response], bool]) -> list[float]:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        answer = ask(client)
        taken.append((time.perf_counter() - began) * 1000)
        assert good(answer), answer.text
    return taken


def turns(name: str, server: RefdeskServer, model: ScriptedModel, times: int) -> None:
    model.script(refund_answer())
    process = psutil.Process(server.pid)
    with server.client(server.token()) as client:
        timed(client, 50, lambda answer: answer.json()["status"] == "answered")
        before = sum(process.cpu_times()[:2])
        taken = timed(client, times, lambda answer: answer.json()["status"] == "answered")
        cpu = (sum(process.cpu_times()[:2]) - before) / times * 1000
    tell(name, taken, f"CPU {cpu:.2f} ms a turn")


def open_breaker(server: RefdeskServer, model: ScriptedModel, times: int) -> None:
    model.script(DOWN)
    with server.client(server.token()) as client:
        timed(client, 5, lambda answer: answer.json()["model_error"] == "overloaded")
        model.script(refund_answer())
        taken = timed(client, times, lambda answer: answer.json()["status"] == "evidence")
    tell("a turn while the breaker is open", taken, f"{len(model.bodies)} model calls")


def no_place(server: RefdeskServer, model: ScriptedModel, times: int) -> None:
    held, whole = threading.Event(), answer_of(refund_answer())
    model.script(Answer((*whole.chunks[:-1], held, whole.chunks[-1])))
    first, client = (server.client(server.token()) for _ in range(2))
    with first, client, asked(first, QUESTION) as reader:
        next(iter(reader))
        taken = timed(client, min(times, 100), lambda answer: answer.status_code == 503)
        held.set()
    tell("503 where no place is free", taken)


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--turns", type=int, default=400)
    arguments.add_argument("--url", default="")
    given = arguments.parse_args()
    patient = {"REFDESK_TURN_SECONDS": "60", "REFDESK_IDLE_SECONDS": "25", "REFDESK_DATABASE_URL": given.url}
    breaker = {"REFDESK_BREAKER_TURNS": "5", "REFDESK_BREAKER_SECONDS": "3600"}
    jobs: dict[str, tuple[dict[str, str], Callable[[RefdeskServer, ScriptedModel, int], None]]] = {
        "nothing": ({}, lambda *parts: turns("a turn without limits", *parts)),
        "limits": (LIMITS, lambda *parts: turns("with rate limits", *parts)),
        "caps": ({**LIMITS, **CAPS}, lambda *parts: turns("with rate limits and caps", *parts)),
        "breaker": (breaker, open_breaker),
        "places": ({"REFDESK_MODEL_CALLS": "1"}, no_place),
    }
    with tempfile.TemporaryDirectory() as folder, scripted_model() as model:
        for name, (settings, job) in jobs.items():
            server = RefdeskServer(Path(folder) / name, model.url, **patient, **settings).start()
            try:
                job(server, model, given.turns)
            finally:
                server.kill()


if __name__ == "__main__":
    main()
