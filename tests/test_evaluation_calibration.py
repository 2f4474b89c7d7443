"""`refdesk calibrate`: what thresholds trade, questions from the corpus itself, the threshold that a server uses."""

from __future__ import annotations

import asyncio
import io
import json

import msgspec
import pytest

from evaluation_parts import BASKET, asked, orchard, silent, write
from refdesk.cli import main
from refdesk.domain.gate import THRESHOLD, OwnThreshold, comparable, in_force
from refdesk.errors import SettingError
from refdesk.evaluation.calibration import best_threshold, plot, trade, trades
from refdesk.evaluation.commands import run_calibrate, table
from refdesk.evaluation.measuring import measure, measured
from refdesk.evaluation.own_questions import masked_copy, off_topic_questions, own_questions
from refdesk.evaluation.questions import Question
from refdesk.library import Library
from refdesk.settings import load
from refdesk.terminal import Terminal
from refdesk.threshold import FILE, keep_threshold, own_threshold

RIGHT = [asked("a", "a", score=score / 100) for score in range(1, 101)]
WRONG = [asked(tag="far" if number % 2 else "near", score=number / 10) for number in range(10)]


# --- what thresholds trade ---


@pytest.mark.parametrize("least", [1.0, 0.99, 0.97, 0.95, 0.9, 0.5, 0.0])
def test_the_best_threshold_is_the_highest_that_answers_enough(least):
    best = best_threshold(RIGHT, least)
    assert trade(RIGHT, best).answered >= least
    if best < 0.999:
        assert trade(RIGHT, best + 0.002).answered < least


def test_a_trade_counts_both_sides_and_every_tag():
    found = trade([*RIGHT, *WRONG], 0.5)
    assert found.answered == 0.51
    assert found.refused == {"all": 0.5, "far": 0.4, "near": 0.6}


def test_what_the_gate_does_not_judge_passes_at_any_threshold():
    free = asked("a", "a", score=0.0, judged=False)
    empty = asked("a", score=0.0, judged=True, passes=False, reason="no_hits")
    assert trade([free], 0.999).answered == 1
    assert trade([empty], 0.001).answered == 0
    assert best_threshold([free], 1.0) == 0.999
    assert best_threshold([], 0.97) == 0.999


def test_five_thresholds_one_of_them_in_force():
    found = trades([*RIGHT, *WRONG], 0.45)
    assert [one.threshold for one in found] == sorted(one.threshold for one in found)
    assert len(found) == 5
    assert [one.in_force for one in found].count(True) == 1
    assert [one.threshold for one in found if one.in_force] == [0.45]
    refused = [one.refused["all"] for one in found]
    assert refused == sorted(refused)


def test_table_and_plot_show_every_threshold_and_every_question():
    questions = [*RIGHT, *WRONG]
    found = trades(questions, 0.45)
    lines = table(found, best_threshold(questions, 0.97))
    assert len(lines) == 6
    assert "97% answered" in "".join(lines)
    assert "in force" in "".join(lines)
    drawn = plot(questions)
    assert len(drawn) == 21
    assert sum(int(line.split()[0]) for line in drawn[1:] if line[:4].strip()) == 100


# --- from the corpus itself ---


async def test_titles_are_asked_of_articles_that_have_lost_them(tmp_path):
    text = "Cooking plum jam takes sugar.\n\n## Filling hot jars\n\nFill them.\n"
    headed = f"---\nid: jam\ntitle: Cooking plum jam\n---\n\n{text}"
    async with orchard(tmp_path, write(tmp_path / "corpus", {**BASKET, "jam.md": headed})) as parts:
        snapshot = parts.library.current()
        questions, articles = own_questions(snapshot)
        assert {"Cooking plum jam", "Filling hot jars", "Growing apples"} <= {question.text for question in questions}
        async with masked_copy(snapshot, articles, None, Terminal(io.StringIO(), io.StringIO())) as copy:
            jam = copy.article("jam", frozenset({"public"}))
            assert jam is not None
            text = " ".join(passage.section + passage.text(jam.body) for passage in jam.passages) + jam.title
            assert "plum jam" not in text
            assert "Filling" not in text
            assert "takes sugar" in text
            assert len(await measure(questions, copy, silent)) == len(questions)
        assert snapshot.article("jam", frozenset({"public"})).title == "Cooking plum jam"


async def test_off_topic_questions_are_in_the_languages_of_the_corpus(tmp_path):
    async with orchard(tmp_path) as parts:
        found = off_topic_questions(parts.library.current())
        assert {question.language for question in found} == {"en"}
        assert len(found) >= 100
        assert not any(question.answerable for question in found)


# --- the threshold that is kept ---


PRUNING = Question("When are old apple trees in the orchard pruned?")


def kept(threshold: float) -> OwnThreshold:
    return OwnThreshold(threshold, "2026-01-01T00:00:00Z", "q.jsonl", 0.97, by_words=True)


def test_a_threshold_is_kept_and_forgotten(tmp_path):
    folder = tmp_path / "data"
    assert own_threshold(folder) is None
    keep_threshold(folder, kept(0.6))
    assert own_threshold(folder) == kept(0.6)
    keep_threshold(folder, None)
    keep_threshold(folder, None)
    assert own_threshold(folder) is None


@pytest.mark.parametrize(
    "content", ["", "nonsense", '{"threshold": "high"}', '{"threshold": 7, "set_at": "", "questions": ""}']
)
def test_a_file_that_makes_no_sense_leaves_the_built_in_one(tmp_path, content):
    (tmp_path / FILE).write_text(content, "utf-8")
    assert own_threshold(tmp_path) is None


async def test_the_running_server_takes_the_owner_s_threshold_at_a_sync_and_keeps_it_over_a_restart(tmp_path):
    """The corpus did not change: the same generation gets another threshold."""
    corpus, data = write(tmp_path / "corpus"), tmp_path / "data"
    running = Library(corpus, data)
    await running.open()
    generation = running.current().generation
    assert running.readiness()["gate"] == {"threshold": THRESHOLD, "evidence": "words", "own": None}
    assert (await measured(PRUNING, running.current())).passes
    keep_threshold(data, kept(0.999))
    await running.sync()
    restarted = Library(corpus, data)
    await restarted.open()
    for library in (running, restarted):
        gate = library.readiness()["gate"]
        assert (gate["threshold"], gate["own"]["threshold"], gate["own"]["questions"]) == (0.999, 0.999, "q.jsonl")
        assert library.current().generation == generation
        assert (await measured(PRUNING, library.current())).reason == "low_coverage"
    keep_threshold(data, None)
    await running.sync()
    assert running.readiness()["gate"]["own"] is None
    assert (await measured(PRUNING, running.current())).passes


async def test_a_new_generation_has_the_owner_s_threshold_too(tmp_path):
    corpus, data = write(tmp_path / "corpus"), tmp_path / "data"
    library = Library(corpus, data)
    await library.open()
    keep_threshold(data, kept(0.7))
    write(corpus, {"quinces.md": "---\ntitle: Quinces\n---\n\nQuinces make jelly.\n"})
    await library.sync()
    assert library.current().threshold == 0.7


async def test_an_evaluation_measures_the_gate_that_visitors_meet(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REFDESK_DENSE", "off")
    monkeypatch.setenv("REFDESK_DATA", str(tmp_path / "data"))
    file = tmp_path / "q.jsonl"
    file.write_text(json.dumps({"question": PRUNING.text, "articles": ["apples"]}), "utf-8")
    arguments = ["eval", str(file), "--corpus", str(write(tmp_path / "corpus")), "--json"]
    for threshold, answered in ((0.1, 1.0), (0.999, 0.0)):
        keep_threshold(tmp_path / "data", kept(threshold))
        assert await asyncio.to_thread(main, arguments) == 0
        assert json.loads(capsys.readouterr().out)["answered"] == answered


def test_a_threshold_chosen_on_one_kind_of_evidence_leaves_the_other_where_it_was():
    """Chosen with vectors, it must not refuse by words what the built-in threshold lets through, nor the reverse."""
    for by_words, other in ((True, False), (False, True)):
        own = msgspec.structs.replace(kept(0.8), by_words=by_words)
        assert comparable(0.6, own, by_words=by_words) == 0.6
        for score in (0.0, 0.1, THRESHOLD - 0.01, THRESHOLD, THRESHOLD + 0.01, 0.9, 1.0):
            stretched = comparable(score, own, by_words=other)
            assert (stretched >= in_force(own)) is (score >= THRESHOLD)
            assert 0 <= stretched <= 1


@pytest.mark.parametrize("choice", ["high", "0", "1", "-0.5", "nan"])
def test_what_is_no_threshold_is_refused(tmp_path, choice):
    settings = load({"REFDESK_CORPUS": str(write(tmp_path / "corpus")), "REFDESK_DATA": str(tmp_path / "data")})
    with pytest.raises(SettingError, match="--set"):
        run_calibrate(settings, Terminal(io.StringIO(), io.StringIO()), None, choice=choice, as_json=False)
    assert not (tmp_path / "data").exists()


def test_titles_alone_choose_no_threshold(tmp_path, capsys):
    arguments = ["--corpus", str(write(tmp_path / "corpus")), "--data", str(tmp_path / "data")]
    assert main(["calibrate", "--set", "best", *arguments]) == 2
    assert "needs questions of visitors" in capsys.readouterr().err


# --- the whole command, with vectors ---


def test_questions_choose_a_threshold_that_health_then_names(tmp_path, capsys):
    lines = [
        {"question": "When should I cut back my apple trees?", "articles": ["apples"]},
        {"question": "How long do plums stay in the oven?", "articles": ["plums"]},
        {"question": "How many moons does Jupiter have?", "articles": [], "tag": "far"},
    ]
    file = tmp_path / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    arguments = ["--corpus", str(write(tmp_path / "corpus")), "--data", str(tmp_path / "data")]
    assert main(["calibrate", str(file), *arguments, "--json", "--set", "best"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert set(found) == {"best", "in_force", "thresholds"}
    assert found["in_force"] == THRESHOLD
    assert f"{found['best']:.3f}" in printed.err
    assert own_threshold(tmp_path / "data").threshold == found["best"]
    assert main(["calibrate", str(file), *arguments, "--set", "default"]) == 0
    assert "in force" in capsys.readouterr().out
    assert own_threshold(tmp_path / "data") is None
