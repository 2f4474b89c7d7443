"""`refdesk search --explain` and `refdesk ask`: signals, evidence, the gate's word, and vectors that are waited for."""

from __future__ import annotations

import asyncio
import io
import json
from types import SimpleNamespace

import pytest

from evaluation_parts import write
from refdesk.commands import run_ask, run_search
from refdesk.evaluation.preparing import vectors
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
    assert {"coverage", "bm25", "selfscore", "rank_words"} <= set(best["signals"])


def test_a_rank_is_shown_for_the_side_that_found_a_passage(search):
    found = json.loads(search("When are apple trees pruned?", as_json=True, explain=True))["passages"]
    assert [passage["signals"]["rank_words"] for passage in found] == list(range(1, len(found) + 1))
    assert not any("rank_meaning" in passage["signals"] for passage in found)


@pytest.mark.parametrize(("off", "words"), [(True, False), (False, True)])
def test_nobody_waits_for_vectors_that_are_not_wanted(tmp_path, monkeypatch, off, words):
    monkeypatch.setattr("refdesk.commands.dense_backend", lambda _: pytest.fail("vectors are asked for"))
    monkeypatch.setattr("refdesk.app.dense_backend", lambda _: pytest.fail("vectors are asked for"))
    given = {"REFDESK_CORPUS": str(write(tmp_path / "corpus")), "REFDESK_DATA": str(tmp_path / "data")}
    settings = load({**given, "REFDESK_DENSE": "off" if off else "on", "ANTHROPIC_API_KEY": ""})
    terminal = Terminal(io.StringIO(), io.StringIO())
    run_search(settings, terminal, "pruning", as_json=False, explain=False, words=words)
    assert run_ask(settings, terminal, "When are apple trees pruned?", as_json=False, words=words) == 0


class Building:
    """A DenseService whose vectors are there when the terminal has been told about them."""

    def __init__(self, end: dict[str, str]) -> None:
        self.state: dict[str, object] = {"status": "building", "done": 1, "total": 7}
        self.told, self._end = asyncio.Event(), end

    async def ready(self) -> None:
        await self.told.wait()
        self.state = dict(self._end)


@pytest.mark.parametrize(
    ("end", "warned"), [({"status": "ready"}, False), ({"status": "failed", "detail": "disk full"}, True)]
)
async def test_the_terminal_is_told_that_vectors_are_built_and_when_they_cannot_be_had(end, warned):
    dense, err = Building(end), io.StringIO()
    terminal = Terminal(io.StringIO(), err)
    terminal.progress = lambda done, total, what: dense.told.set()
    async with asyncio.timeout(20):
        await vectors(SimpleNamespace(dense=dense), terminal)
    assert "Vectors of this corpus are built first" in err.getvalue()
    assert ("by words only: disk full" in err.getvalue()) is warned
