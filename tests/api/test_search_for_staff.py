"""What /v1/search shows: passages to everybody, the figures behind their order and the gate's measure to staff."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable

import httpx2
import pytest
from refdesk_server import STAFF_KEY, RefdeskServer

from refdesk.commands import run_ask, run_search
from refdesk.settings import load
from refdesk.terminal import Terminal
from scripted_api import ScriptedModel

COVERED, OFF_TOPIC = "When are refunds issued?", "Which rivers flow through Vienna and Belgrade?"
WORDS = {"coverage", "idf_coverage", "bm25", "selfscore", "rank_words", "z", "unknown", "strange"}
GATE = {"evidence_score", "threshold"}


def passages(client: httpx2.Client, question: str) -> list[dict[str, object]]:
    answer = client.get("/v1/search", params={"q": question})
    assert answer.status_code == 200
    return list(answer.json()["passages"])


def test_visitors_get_passages_without_figures(visitor: httpx2.Client, anonymous: httpx2.Client) -> None:
    for client in (visitor, anonymous):
        found = passages(client, COVERED)
        assert found[0]["id"] == "refunds"
        assert all(not passage.keys() & {"signals", "score"} for passage in found)


def test_staff_see_signals_ranks_and_the_gate_s_measure(server: RefdeskServer) -> None:
    with server.client(STAFF_KEY) as staff:
        found = passages(staff, COVERED)
        threshold = staff.get("/health/ready").json()["gate"]["threshold"]
    first = dict(found[0]["signals"])  # type: ignore[call-overload]
    assert first.keys() == WORDS | GATE
    assert (first["rank_words"], first["threshold"]) == (1, threshold)
    assert [passage["score"] for passage in found] == sorted((passage["score"] for passage in found), reverse=True)


@pytest.mark.parametrize("question", [COVERED, OFF_TOPIC, "Is a gift card refunded?", "Where is the ledger of Mars?"])
def test_a_question_passes_where_one_passage_reaches_the_threshold(
    server: RefdeskServer, model: ScriptedModel, question: str
) -> None:
    with server.client(STAFF_KEY) as staff:
        signals = [dict(passage["signals"]) for passage in passages(staff, question)]  # type: ignore[call-overload]
        status = staff.post("/v1/ask", json={"question": question}).json()["status"]
    reached = any(one["evidence_score"] >= one["threshold"] for one in signals)
    assert reached is (status != "insufficient")


def test_the_command_line_judges_as_the_server_does_once_vectors_serve(
    new_server: Callable[..., RefdeskServer],
) -> None:
    server = new_server(REFDESK_DENSE="on").start()
    assert server.await_vectors()["gate"]["evidence"] == "vectors"
    settings = load({"REFDESK_CORPUS": str(server.corpus), "REFDESK_DATA": str(server.data)})
    with server.client() as client, server.client(STAFF_KEY) as staff:
        for question in (COVERED, OFF_TOPIC):
            turn = client.post("/v1/ask", json={"question": question}).json()
            seen = {p["id"]: dict(p["signals"]) for p in reversed(passages(staff, question))}  # type: ignore[call-overload]
            out = io.StringIO()
            run_ask(settings, Terminal(out, io.StringIO()), question, as_json=True)
            assert json.loads(out.getvalue())["status"] == turn["status"]
            out = io.StringIO()
            run_search(settings, Terminal(out, io.StringIO()), question, as_json=True, explain=True)
            explained = json.loads(out.getvalue())
            assert ("refuses" in explained["gate"]["verdict"]) is (turn["status"] == "insufficient")
            best = explained["passages"][0]
            assert {"near", "cosine", "title_cosine", "rank_meaning"} <= best["signals"].keys()
            assert best["evidence_score"] == pytest.approx(seen[best["id"]]["evidence_score"], abs=2e-3)


def test_a_threshold_that_is_set_beside_the_server_serves_from_the_next_sync_and_after_a_restart(
    new_server: Callable[..., RefdeskServer],
) -> None:
    server = new_server().start()

    def set_threshold(choice: str) -> None:
        command = [sys.executable, "-m", "refdesk.cli", "calibrate", "--set", choice]
        subprocess.run(command, env=server.environment, check=True, stdout=subprocess.DEVNULL)

    def judged() -> tuple[float, str]:
        with server.client(STAFF_KEY) as staff:
            gate = staff.get("/health/ready").json()["gate"]
            assert passages(staff, COVERED)[0]["signals"]["threshold"] == gate["threshold"]  # type: ignore[index]
            return gate["threshold"], staff.post(
                "/v1/ask", json={"question": "When are refunds issued for broken lamps?"}
            ).json()["status"]

    built_in = judged()
    assert built_in[1] == "evidence"
    set_threshold("0.999")
    assert judged() == built_in
    with server.client(STAFF_KEY) as staff:
        report = staff.post("/v1/console/sync", json={"wait": True}).json()
    assert report["gate"]["own"]["threshold"] == report["gate"]["threshold"] == 0.999
    assert judged() == (0.999, "insufficient")
    assert server.stop() == 0
    server.start()
    assert judged() == (0.999, "insufficient")
    set_threshold("default")
    with server.client(STAFF_KEY) as staff:
        assert staff.post("/v1/console/sync", json={"wait": True}).json()["gate"]["own"] is None
    assert judged() == built_in
