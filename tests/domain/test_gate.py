"""The gate refuses without evidence, and only where it can judge."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.domain.gate import THRESHOLD, Question, competent, decide, evidence_score, lexical_evidence

ASKED = Question(kind="question", words=4, follow_up=False, language="en")
CORPUS = ("en", "pt-BR")


def lexical(coverage, idf_coverage, selfscore=0.3):
    return lexical_evidence({"coverage": coverage, "idf_coverage": idf_coverage, "selfscore": selfscore})


@pytest.mark.parametrize(
    ("question", "judged"),
    [
        (ASKED, True),
        (Question("catalogue", 4, False, "en"), False),
        (Question("smalltalk", 1, False, "en"), False),
        (Question("question", 2, True, "en"), False),
        (Question("question", 3, True, "en"), True),
        (Question("question", 1, False, "en"), True),
        (Question("question", 4, False, "ru"), False),
        (Question("question", 4, False, "pt"), True),
        (Question("question", 4, False, None), True),
    ],
)
def test_where_it_is_competent(question, judged):
    assert competent(question, CORPUS) is judged


@pytest.mark.parametrize(
    ("found", "packed", "reason"),
    [
        (0, [], "no_hits"),
        (3, [], "context_budget"),
        (3, [({"coverage": 0.1}, 0.1), ({"coverage": 0.2}, 0.2)], "low_coverage"),
        (3, [({}, math.nan)], "low_coverage"),
        (3, [({"coverage": 0.1}, 0.1), ({"coverage": 0.9}, 0.5)], None),
    ],
)
def test_reasons(found, packed, reason):
    decision = decide(ASKED, CORPUS, found=found, packed=packed, threshold=0.5)
    assert (decision.passes, decision.reason) == (reason is None, reason)
    foreign = decide(Question("question", 4, False, "ru"), CORPUS, found=found, packed=packed, threshold=0.5)
    assert (foreign.passes, foreign.reason) == (True, None)


def test_the_best_passage_decides_and_its_signals_are_kept():
    decision = decide(
        ASKED, CORPUS, found=2, packed=[({"coverage": 0.9}, 0.8), ({"coverage": 0.2}, 0.2)], threshold=0.5
    )
    assert (decision.score, decision.signals) == (0.8, {"coverage": 0.9})


@pytest.mark.parametrize(
    ("coverage", "idf_coverage", "passes"),
    [
        (0.0, 0.0, False),
        (0.25, 0.15, False),
        (0.25, 1.0, False),
        (0.2, 0.2, False),
        (1 / 3, 0.2, False),
        (0.5, 0.4, True),
        (0.4, 0.6, True),
        (1.0, 1.0, True),
    ],
)
def test_without_vectors_shared_words_decide(coverage, idf_coverage, passes):
    assert (lexical(coverage, idf_coverage) >= THRESHOLD) is passes


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_more_of_a_signal_never_lowers_the_score(coverage, rare, bm25, more):
    assert 0 <= lexical(coverage, rare, bm25) <= 1
    assert lexical(max(coverage, more), rare, bm25) >= lexical(coverage, rare, bm25)
    assert lexical(coverage, max(rare, more), bm25) >= lexical(coverage, rare, bm25)


def test_the_logistic_score():
    assert evidence_score({}, {}) == 0.5
    assert evidence_score({"a": 1.0}, {"a": 2.0, "bias": -1.0}) == pytest.approx(1 / (1 + math.exp(-1)))
    assert evidence_score({"a": 1e9}, {"a": -1e9}) == 0.0
