"""`refdesk search --explain`: signals, evidence and the gate's word."""

from __future__ import annotations

import io
import json

import pytest

from evaluation_parts import write
from refdesk.commands import run_search
from refdesk.settings import load
from refdesk.terminal import Terminal


@pytest.fixture
def search(tmp_path):
    settings = load({"REFDESK_CORPUS": str(write(tmp_path / "corpus")), "REFDESK_DATA": str(tmp_path / "data")})

    def run(query: str, **options: bool) -> str:
        out = io.StringIO()
        given = {"as_json": False, "explain": False, **options}
        assert run_search(settings, Terminal(out, io.StringIO()), query, words=True, **given) == 0
        return out.getvalue()

    return run


def test_the_gate_says_whether_it_lets_the_question_through(search):
    shown = search("When are apple trees pruned?", explain=True)
    assert "Growing apples" in shown
    assert "evidence 1.000" in shown or "evidence 0." in shown
    assert "Gate: lets it through (threshold 0." in shown
    assert "Gate: refuses (" in search("Which moons orbit distant Jupiter today?", explain=True)
    assert "Gate: does not judge it" in search("Thank you!", explain=True)


def test_the_json_holds_figures_only_where_they_are_asked_for(search):
    plain = json.loads(search("When are apple trees pruned?", as_json=True))
    assert set(plain) == {"searched", "passages"}
    assert "signals" not in plain["passages"][0]
    explained = json.loads(search("When are apple trees pruned?", as_json=True, explain=True))
    assert set(explained["gate"]) == {"threshold", "verdict"}
    best = explained["passages"][0]
    assert best["evidence_score"] >= explained["gate"]["threshold"]
    assert {"coverage", "bm25", "selfscore"} <= set(best["signals"])
