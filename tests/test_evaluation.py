"""`refdesk eval`: the file of questions, what a question is measured on, and what all of them add up to."""

from __future__ import annotations

import io
import json
import math

import pytest

from evaluation_parts import BASKET, asked, orchard, silent, write
from refdesk.app import assistant_of
from refdesk.assistant.work import Ask
from refdesk.cli import main
from refdesk.domain.conversation import Visitor
from refdesk.errors import SettingError
from refdesk.evaluation.commands import Options, beside, run_eval
from refdesk.evaluation.figures import figures, percentile
from refdesk.evaluation.measuring import DEPTH, measure, measured
from refdesk.evaluation.questions import Question, checked, read_questions
from refdesk.evaluation.report import print_figures
from refdesk.settings import load
from refdesk.terminal import Terminal

KEYS = ["questions", "recall", "mrr10", "ndcg10", "answered", "refused", "latency_ms", "misses"]


# --- the file ---


def written(tmp_path, text):
    path = tmp_path / "questions.jsonl"
    path.write_text(text, "utf-8")
    return path


def test_a_line_may_say_more_than_it_must(tmp_path):
    line = (
        '{"question": " Why? ", "articles": ["a", "b", "a"], "tag": "t", "language": "cs", "roles": ["staff"], "id": 7}'
    )
    [question] = read_questions(written(tmp_path, f"\ufeff\n{line}\n\n"))
    assert (question.text, question.articles, question.tag, question.language) == ("Why?", ("a", "b"), "t", "cs")
    assert question.roles == {"public", "staff"}


def test_without_roles_a_question_is_the_public_s(tmp_path):
    [question] = read_questions(written(tmp_path, '{"question": "Why?", "articles": []}'))
    assert question.roles == {"public"}
    assert not question.answerable


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        '{"question": "Why?"}',
        '{"question": "Why?", "articles": "a"}',
        '{"question": "  ", "articles": []}',
        '{"question": 1, "articles": []}',
        '{"question": "Why?", "articles": [], "tag": "all"}',
        '["Why?"]',
        '{"question": "Why?", "articles": []} {}',
    ],
)
def test_a_line_that_cannot_be_meant_is_named(tmp_path, line):
    good = '{"question": "Why?", "articles": []}'
    with pytest.raises(SettingError, match=r"questions\.jsonl:3: "):
        read_questions(written(tmp_path, f"{good}\n\n{line}\n"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("question", "1"),
        ("question", '" "'),
        ("articles", '"a"'),
        ("articles", "[1]"),
        ("articles", "null"),
        ("tag", "[]"),
        ("language", "7"),
        ("language", '"English (US)"'),
        ("roles", '"staff"'),
        ("roles", "[null]"),
    ],
)
def test_so_is_the_field(tmp_path, field, value):
    fields = {"question": '"Why?"', "articles": "[]", field: value}
    line = ", ".join(f'"{name}": {text}' for name, text in fields.items())
    with pytest.raises(SettingError, match=rf"questions\.jsonl:1: .*{field}"):
        read_questions(written(tmp_path, f"{{{line}}}\n"))


@pytest.mark.parametrize("missing", ["question", "articles"])
def test_and_one_that_is_missing(tmp_path, missing):
    line = {"question": "Why?", "articles": []}
    del line[missing]
    with pytest.raises(SettingError, match=rf"questions\.jsonl:1: .*{missing}"):
        read_questions(written(tmp_path, json.dumps(line)))


def test_only_a_line_feed_ends_a_line(tmp_path):
    """JSON lets a string hold any other sign that ends a line in some editor."""
    line = '{"question": "One\u2028two\x85three", "articles": []}'
    read = read_questions(written(tmp_path, f"{line}\r\n{line}"))
    assert [question.text for question in read] == ["One\u2028two\x85three"] * 2


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xff\xfe\x00"])
def test_a_file_without_questions_is_named(tmp_path, content):
    path = tmp_path / "questions.jsonl"
    path.write_bytes(content)
    with pytest.raises(SettingError, match=r"questions\.jsonl: "):
        read_questions(path)


async def test_articles_and_roles_must_exist_and_fit(tmp_path):
    async with orchard(tmp_path) as parts:
        snapshot = parts.library.current()
        for question, named in [
            (Question("?", ("apple",), place="f:1"), "apple"),
            (Question("?", ("prices",), place="f:1"), "prices"),
            (Question("?", roles=frozenset({"public", "boss"}), place="f:1"), "boss"),
        ]:
            with pytest.raises(SettingError, match=f"f:1: .*{named}"):
                checked([question], snapshot)
        partner = Question("?", ("prices",), roles=frozenset({"public", "partner"}), place="f:1")
        assert checked([partner], snapshot) == [partner]


async def test_an_article_may_be_named_by_its_earlier_id(tmp_path):
    moved = BASKET["pears.md"].replace("id: pears", "id: pear-storage\nredirect_from: [pears]")
    async with orchard(tmp_path, write(tmp_path / "corpus", {**BASKET, "pears.md": moved})) as parts:
        [question] = checked([Question("?", ("pears", "pear-storage"))], parts.library.current())
        assert question.articles == ("pear-storage",)


@pytest.mark.parametrize("arguments", [["none.jsonl"], [], ["none.jsonl", "--answer"], ["q.jsonl", "--price", "cheap"]])
def test_what_cannot_be_measured_ends_with_code_2(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    write(tmp_path / "corpus")
    assert main(["eval", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "error: " in printed.err
    assert not (tmp_path / "data").exists()


# --- a question ---


async def test_a_question_is_measured_as_a_turn_would_treat_it(tmp_path):
    async with orchard(tmp_path) as parts:
        visitor = Visitor(id="v_1", roles=("public",))
        await parts.store.add_visitor(visitor, b"1", "2026-01-01T00:00:00.000Z")
        for text in ("When are apple trees pruned?", "Which crates does the warehouse ship to Norway?", "Hello!"):
            one = await measured(Question(text), parts.library.current())
            run = await assistant_of(parts).start(Ask(question=text, visitor=visitor))
            await run.finished()
            stored = await parts.store.turn(run.turn_id, None)
            assert one.passes is (stored.turn.status != "insufficient")
            assert one.reason == stored.trail.reason
            if one.ms is not None:
                assert {**one.signals, "evidence_score": round(one.score, 4)} == stored.trail.signals


async def test_found_are_distinct_articles_of_those_that_the_roles_may_read(tmp_path):
    fillers = {
        f"crate-{n:02}.md": f"---\ntitle: Crate {n}\n---\n\n"
        + f"Crate {n} holds {n + 3} sorts of fruit.\n\n## More\n\nA crate.\n"
        for n in range(14)
    }
    async with orchard(tmp_path, write(tmp_path / "corpus", {**BASKET, **fillers})) as parts:
        question = Question("What does a wholesale crate hold?")
        public = await measured(question, parts.library.current())
        partner = await measured(
            Question(question.text, roles=frozenset({"public", "partner"})), parts.library.current()
        )
        assert len(public.found) == len(set(public.found)) == DEPTH
        assert "prices" not in public.found
        assert "prices" in partner.found


async def test_small_talk_passes_and_takes_no_time(tmp_path):
    async with orchard(tmp_path) as parts:
        [one] = await measure([Question("Thank you!")], parts.library.current(), silent)
        assert (one.passes, one.judged, one.ms) == (True, False, None)


# --- figures ---


def test_the_figures_are_those_of_the_books():
    found = figures(
        [
            asked("a", "a b c"),
            asked("a", "b c a d", ms=30.0),
            asked("a b", "x b a", passes=False, score=0.1),
            asked("a", "x y", ms=20.0),
            asked(tag="far", passes=False),
            asked(tag="far"),
            asked(tag="near"),
            asked(passes=False),
        ]
    )
    assert found.questions == 8
    assert found.recall == {"1": 0.25, "3": 0.75, "5": 0.75, "10": 0.75}
    assert found.mrr10 == round((1 + 1 / 3 + 1 / 2 + 0) / 4, 4)
    two = (1 / math.log2(3) + 1 / 2) / (1 + 1 / math.log2(3))
    assert found.ndcg10 == round((1 + 1 / 2 + two + 0) / 4, 4)
    assert found.answered == 0.75
    assert found.refused == {"all": 0.5, "far": 0.5, "near": 0.0}
    assert (found.latency_ms.p50, found.latency_ms.p95) == (10.0, 30.0)
    [miss] = found.misses
    assert (miss.question, miss.wanted, miss.found) == ("a?", ("a",), ("x", "y"))
    assert miss.signals == {"coverage": 0.5, "evidence_score": 0.9}


def test_a_share_of_nothing_is_nothing():
    only_right = figures([asked("a", "a")])
    assert only_right.refused == {"all": None}
    only_wrong = figures([asked(tag="far", ms=None)])
    assert only_wrong.recall == {"1": None, "3": None, "5": None, "10": None}
    assert (only_wrong.mrr10, only_wrong.ndcg10, only_wrong.answered) == (None, None, None)
    assert (only_wrong.latency_ms.p50, only_wrong.latency_ms.p95) == (None, None)


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.95, 95), (1.0, 100)])
def test_percentiles_are_measured_values(share, value):
    assert percentile(range(1, 101), share) == value


def test_the_report_names_what_went_wrong():
    out, err = io.StringIO(), io.StringIO()
    questions = [
        asked("a", "x"),
        asked("b", "b", passes=False, reason="low_coverage"),
        asked(tag="far"),
        asked("c", "c", degraded=True),
    ]
    print_figures(figures(questions), questions, Terminal(out, err))
    text = out.getvalue()
    assert "a? → a" in text
    assert "b? (low_coverage" in text
    assert "far? (evidence" in text
    assert "33.3 %" not in text or "66.7 %" in text
    assert "1 questions were searched by words only" in err.getvalue()


# --- the whole command, with vectors ---


def test_the_json_has_exactly_the_keys(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    lines = [
        {"question": "When should I cut back my apple trees?", "articles": ["apples"]},
        {"question": "How long do plums stay in the oven?", "articles": ["plums"], "tag": "x"},
        {"question": "What does a crate cost?", "articles": ["prices"], "roles": ["partner"]},
        {"question": "How many moons does Jupiter have?", "articles": [], "tag": "far"},
    ]
    file = written(tmp_path, "\n".join(map(json.dumps, lines)))
    assert main(["eval", str(file), "--corpus", str(write(tmp_path / "corpus")), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == KEYS
    assert found["questions"] == 4
    assert found["recall"] == {"1": 1.0, "3": 1.0, "5": 1.0, "10": 1.0}
    assert found["answered"] == 1.0
    assert set(found["refused"]) == {"all", "far"}
    assert set(found["latency_ms"]) == {"p50", "p95"}
    assert found["misses"] == []
    [folder] = (tmp_path / "home" / ".cache" / "refdesk").iterdir()
    assert (folder / "vectors").exists()
    assert not list(folder.glob("refdesk.db*"))


def test_other_programs_get_json_and_no_bar(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("REFDESK_DENSE", "off")
    file = written(tmp_path, '{"question": "When are apple trees pruned?", "articles": ["apples"]}')
    arguments = ["eval", str(file), "--corpus", str(write(tmp_path / "corpus"))]
    assert main([*arguments, "--json"]) == 0
    printed = capsys.readouterr()
    assert list(json.loads(printed.out)) == KEYS
    assert printed.err == ""
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert "right article among the first 1" in printed.out
    assert "\x1b" not in printed.out + printed.err


def test_the_folder_beside_is_the_corpus_s_own(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    one, same, other = (beside(load({"REFDESK_CORPUS": name})).data for name in ("a", "./a", "b"))
    assert one == same != other


def test_answers_need_a_model(tmp_path):
    settings = load({"REFDESK_CORPUS": str(write(tmp_path / "corpus"))})
    with pytest.raises(SettingError, match="ANTHROPIC_API_KEY"):
        run_eval(settings, Terminal(io.StringIO(), io.StringIO()), tmp_path, Options(answers=True))
