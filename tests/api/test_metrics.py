"""`/metrics`: what an operator watches, for whoever has a key, without a word of a visitor."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from model_replies import refund_answer
from prometheus_client.parser import text_string_to_metric_families
from refdesk_server import PATIENCE, STAFF_KEY, RefdeskServer
from turn_events import asked

from scripted_api import Answer, ScriptedModel, answer_of

METRICS_KEY = "C-METRICS-6f5e4d3c2b1a09f8e7d6c5b4a392817"
QUESTION = "When are refunds issued?"
OVERLOADED = Answer((b'{"type": "error", "error": {"type": "overloaded_error", "message": "C_UPSTREAM"}}',), 529,
                    {"content-type": "application/json"})  # fmt: skip
Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scraped(client: httpx2.Client) -> Series:
    answer = client.get("/metrics")
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = text_string_to_metric_families(answer.text)
    return {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}


def value(series: Series, name: str, **labels: str) -> float:
    return series.get((f"refdesk_{name}", frozenset(labels.items())), 0.0)


@pytest.fixture
def watched(new_server: Callable[..., RefdeskServer], shared_model: ScriptedModel) -> RefdeskServer:
    return new_server(shared_model.url, REFDESK_METRICS_KEY=METRICS_KEY, REFDESK_SPEND_PER_DAY="1000").start()


def test_turns_are_counted_by_what_they_came_to(watched: RefdeskServer, shared_model: ScriptedModel) -> None:
    visitor, watcher = watched.client(watched.token()), watched.client(METRICS_KEY, host="refdesk.internal:8000")
    with visitor, watcher:
        before = scraped(watcher)
        shared_model.script(refund_answer())
        assert visitor.post("/v1/ask", json={"question": QUESTION}).json()["status"] == "answered"
        shared_model.script(OVERLOADED)
        assert visitor.post("/v1/ask", json={"question": QUESTION}).json()["status"] == "evidence"
        foreign = {"question": "Do C_SECRET zebras like quantum chromodynamics lectures?"}
        refused = visitor.post("/v1/ask", json=foreign).json()
        assert refused["status"] == "insufficient"
        after = scraped(watcher)
        text = watcher.get("/metrics").text
    series = {name: number - before.get(name, 0.0) for name, number in after.items()}
    assert value(series, "turns_total", status="answered", kind="question") == 1
    assert value(series, "turns_total", status="evidence", kind="question") == 1
    assert value(series, "turns_total", status="insufficient", kind="question") == 1
    assert value(series, "turns_grounded_total") == 1
    assert value(series, "model_errors_total", kind="overloaded") == 1
    assert sum(n for (name, _), n in series.items() if name == "refdesk_refusals_total") == 1
    assert value(series, "model_calls_total") == 2
    assert value(series, "model_tokens_total", use="output") > 0
    for phase, turns in {"retrieval": 3, "gate": 3, "total": 3, "model": 2, "first_word": 1}.items():
        assert value(series, "turn_seconds_count", phase=phase) == turns
        assert value(series, "turn_seconds_bucket", phase=phase, le="+Inf") == turns
    assert value(after, "database_up") == 1
    assert value(after, "articles") > 0
    assert value(after, "dense", state="off") == 1
    assert value(after, "turns_running") == value(after, "model_calls_running") == 0
    assert not [word for word in ("C_SECRET", "zebras", "C_UPSTREAM", "C-KEY", "C-METRICS") if word in text]


def test_the_article_names_every_figure_there_is(watched: RefdeskServer) -> None:
    article = (Path(__file__).parents[2] / "corpus" / "en" / "monitoring.md").read_text("utf-8")
    with watched.client(METRICS_KEY) as watcher:
        families = [*text_string_to_metric_families(watcher.get("/metrics").text)]
    named = {family.name + "_total" * (family.type == "counter") for family in families}
    assert set(re.findall(r"`(refdesk_\w+)`", article)) == {name for name in named if name.startswith("refdesk_")}


def test_a_call_that_waits_for_the_model_is_seen(watched: RefdeskServer, shared_model: ScriptedModel) -> None:
    held = threading.Event()
    shared_model.script(Answer((held, *answer_of(refund_answer()).chunks)))
    with watched.client(watched.token()) as visitor, watched.client(METRICS_KEY) as watcher:
        with asked(visitor, QUESTION) as running:
            end = time.monotonic() + PATIENCE
            while not shared_model.bodies:
                assert time.monotonic() < end, "the model is never asked"
                time.sleep(0.02)
            series = scraped(watcher)
            assert value(series, "turns_running") == value(series, "model_calls_running") == 1
            held.set()
            assert list(running)[-1].json["status"] == "answered"
        assert value(scraped(watcher), "model_calls_running") == 0


def test_withheld_files_and_failed_syncs_are_seen(watched: RefdeskServer) -> None:
    with watched.client(STAFF_KEY) as staff:
        (watched.corpus / "broken.md").write_text("---\naudience: [nobody-knows]\n---\n\ntext\n", "utf-8")
        staff.post("/v1/console/sync", json={"wait": True})
        series = scraped(staff)
        assert value(series, "articles_withheld") == 1
        assert value(series, "sync_failed") == 0
        watched.corpus.rename(watched.corpus.with_name("elsewhere"))
        assert staff.post("/v1/console/sync", json={"wait": True}).status_code == 409
        assert value(scraped(staff), "sync_failed") == 1


def test_the_key_for_metrics_opens_nothing_else(watched: RefdeskServer) -> None:
    with watched.client(METRICS_KEY) as watcher:
        assert watcher.get("/v1/console/sync").status_code == 401
        assert watcher.post("/v1/ask", json={"question": QUESTION}).status_code == 401
    for token in (None, "wrong", watched.token(), METRICS_KEY[:-1]):
        with watched.client(token) as stranger:
            assert stranger.get("/metrics").status_code == 401


def test_without_a_key_for_metrics_staff_may_look(server: RefdeskServer) -> None:
    with server.client(STAFF_KEY) as staff, server.client("") as nobody:
        assert value(scraped(staff), "database_up") == 1
        assert nobody.get("/metrics").status_code == 401
