"""The table of provenance.md, row by row, and what must hold for every trail."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trails import BODIES, article, full, part, passage, title, trail

from refdesk.domain.conversation import Claim, Conflict, Position
from refdesk.domain.found import found_articles
from refdesk.domain.sources import citations, derive_sources, final_kind, grounded
from refdesk.domain.trail import Form

QUOTE = "Gift cards are not refunded."


def claim(article_id="refund-window", quote=QUOTE):
    return Claim("x", "fact", article_id, "Section", quote, "exact")


def sources(read, linked=(), claims=(), conflicts=(), status="answered", kind="question"):
    return derive_sources(
        read, linked, claims, conflicts, status=status, kind=kind, retrieved_at="2026-01-01T00:00:00Z"
    )


def brief(entries):
    return [(s.id, s.basis, s.cited, s.show) for s in entries]


A, B = "refund-window", "refund-old"


@pytest.mark.parametrize(
    ("read", "linked", "expected"),
    [
        (trail(full(A)), [], [(A, "opened", False, True)]),
        (trail(full(A)), [A], [(A, "opened", True, True)]),
        (trail(part(A)), [A], [(A, "part", True, True)]),
        (trail(part(A)), [], []),
        (trail(part(A, 0), part(A, 1)), [], [(A, "opened", False, True)]),
        (trail(passage(A)), [A], [(A, "search", True, True)]),
        (trail(passage(A)), [], []),
        (trail(passage(A, 0), passage(A, 1)), [], []),
        (trail(title(A)), [A], [(A, "listing", True, False)]),
        (trail(title(A)), [], []),
        (trail(passage(A, from_turn="t_1")), [A], [(A, "earlier_turn", True, True)]),
        (trail(passage(A, from_turn="t_1")), [], []),
        (trail(passage(A, from_turn="t_1"), passage(A)), [A], [(A, "search", True, True)]),
        (trail(passage(A, from_turn="t_1"), full(A)), [A], [(A, "opened", True, True)]),
        (trail(title(A), passage(A, from_turn="t_1")), [A], [(A, "earlier_turn", True, True)]),
        (trail(linked_before=(A,)), [A], [(A, "listing", True, False)]),
        (trail(linked_before=(A,)), [], []),
        (trail(passage(A), linked_before=(A,)), [A], [(A, "search", True, True)]),
        (trail(), [A], []),
        (trail(passage(A)), [A + "x"], []),
        (trail(full("empty")), [], []),
        (trail(full("empty")), ["empty"], [("empty", "listing", True, False)]),
        (trail(passage(A), full(A), title(A)), [A, A], [(A, "opened", True, True)]),
        (trail(passage(A), full(B)), [A, B], [(B, "opened", True, True), (A, "search", True, True)]),
        (trail(full(B), full(A)), [A], [(B, "opened", False, True), (A, "opened", True, True)]),
    ],
)
def test_the_table(read, linked, expected):
    assert brief(sources(read, linked)) == expected


def test_only_a_carried_passage_names_its_turn():
    assert sources(trail(passage(A, from_turn="t_1")), [A])[0].from_turn == "t_1"
    assert not isinstance(sources(trail(passage(A, from_turn="t_1"), passage(A)), [A])[0].from_turn, str)


def test_a_failed_call_has_read_nothing():
    read = trail(full(A))
    read.calls[0].error = "timeout"
    assert sources(read, [A]) == ()


def test_a_verified_quote_cites_and_comes_after_the_links():
    conflict = Conflict("t", (Position("faq", "In Frankfurt", "", ""), Position(B, "x", "", "")), "date")
    entries = sources(trail(passage(A), passage(B), passage("faq")), [B], [claim()], [conflict])
    assert brief(entries) == [(B, "search", True, True), (A, "search", True, True), ("faq", "search", True, True)]
    assert entries[1].excerpt == QUOTE
    assert entries[1].section == "Section"
    assert entries[2].url is None


def test_an_inference_that_quotes_nothing_cites_nothing():
    unquoted = Claim("x", "inference", A, "", None, None, (0,))
    assert sources(trail(passage(A)), [], [unquoted]) == ()


def test_the_excerpt_is_the_articles_text_without_its_heading():
    (entry,) = sources(trail(passage(A, 1)), [A])
    assert entry.excerpt.startswith("Open **Billing → Invoices**")
    assert entry.section == "How to ask"
    (opened,) = sources(trail(passage(A, 1), full(A)), [A])
    assert opened.excerpt.startswith("Refunds are possible")
    (listed,) = sources(trail(title(A)), [A])
    assert (listed.excerpt, listed.section) == ("", "")


@pytest.mark.parametrize(
    ("status", "kind"), [("insufficient", "question"), ("answered", "smalltalk"), ("answered", "clarification")]
)
def test_refusals_greetings_and_questions_back_show_nothing(status, kind):
    read = trail(full(A), passage(B), title("faq"))
    assert sources(read, [], [claim()], status=status, kind=kind) == ()
    linked = sources(read, ["faq", A], [claim()], status=status, kind=kind)
    assert brief(linked) == [(A, "opened", True, False), ("faq", "listing", True, False)]


def test_evidence_has_no_sources_and_a_stopped_answer_those_it_links():
    assert sources(trail(full(A)), [A], status="evidence") == ()
    assert brief(sources(trail(full(A), full(B)), [A], status="stopped")) == [(A, "opened", True, True)]


def test_grounded():
    shown, listed = sources(trail(full(A))), sources(trail(title(A)), [A])
    hidden_page = sources(trail(title("faq")), ["faq"])
    assert grounded("answered", "question", shown, stated=0, verified=0)
    assert grounded("answered", "catalogue", listed, stated=0, verified=0)
    assert not grounded("answered", "question", listed, stated=0, verified=0)
    assert not grounded("answered", "catalogue", hidden_page, stated=0, verified=0)
    assert not grounded("answered", "question", shown, stated=2, verified=0)
    assert not grounded("insufficient", "question", shown, stated=0, verified=0)
    assert not grounded("answered", "question", (), stated=0, verified=0)


def test_only_listed_titles_make_it_a_catalogue_turn():
    listing, mixed = trail(title(A), title(B)), trail(title(A), full(B))
    assert final_kind("question", "answered", listing, sources(listing, [A, B])) == "catalogue"
    assert final_kind("question", "answered", mixed, sources(mixed, [A])) == "question"
    assert final_kind("question", "answered", listing, ()) == "question"
    assert final_kind("question", "insufficient", listing, sources(listing, [A], status="insufficient")) == "question"
    before = trail(linked_before=(A,))
    assert final_kind("question", "answered", before, sources(before, [A])) == "question"


def test_one_source_two_tools():
    read = trail(passage(A), full(A), passage(A, 1))
    cited = citations([A], [], [])
    (entry,) = found_articles(read, sources(read, [A]), cited, status="answered", kind="question")
    assert (entry.tools, entry.calls, entry.forms) == (("search", "get_document"), (0, 1, 2), ("passage", "full"))
    assert entry.reason == "Opened in full and cited: the answer rests on it, so it is shown."


@pytest.mark.parametrize(
    ("given_form", "linked", "status", "reason"),
    [
        (full(A), [], "answered", "Opened in full, not cited: opening it is the provenance, so it is shown."),
        (passage(A), [], "answered", "Found by search, not cited: retrieved is not used."),
        (
            part(A),
            [],
            "answered",
            "Opened in some of its parts only, not cited: some parts without a citation are no provenance.",
        ),
        (
            title(A),
            [A],
            "answered",
            "Listed by title only and cited: its link works, but it is not shown because nothing of it was read.",
        ),
        (
            title(A),
            [],
            "answered",
            "Listed by title only, not cited: a title that was seen is not a text that was read.",
        ),
        (
            full(A),
            [],
            "insufficient",
            "Opened in full, not cited: checked, silent on the question; a refusal shows no source.",
        ),
        (full(A), [], "evidence", "Opened in full, not cited: there is no answer that could have used it."),
        (
            passage(A, from_turn="t"),
            [],
            "answered",
            "Supplied again from an earlier turn, not cited: retrieved is not used.",
        ),
        (
            full("empty"),
            [],
            "answered",
            "Returned without any text, not cited: a title that was seen is not a text that was read.",
        ),
    ],
)
def test_one_plain_sentence_each(given_form, linked, status, reason):
    read = trail(given_form)
    entries = sources(read, linked, status=status)
    (found,) = found_articles(read, entries, citations(linked, [], []), status=status, kind="question")
    assert found.reason == reason


IDS = st.sampled_from([*BODIES])
RETURNS = st.one_of(
    IDS.map(title),
    IDS.map(full),
    st.builds(
        lambda i, n, t: passage(i, n if i == A else 0, t), IDS, st.integers(0, 1), st.sampled_from([None, "t_1"])
    ),
    st.builds(lambda i, n: part(i, n if i == A else 0), IDS, st.integers(0, 1)),
)
TRAILS = st.builds(
    lambda returns, before: trail(*returns, linked_before=tuple(before)), st.lists(RETURNS, max_size=8), st.sets(IDS)
)
STATUSES = st.sampled_from(["answered", "insufficient", "evidence", "stopped", "interrupted", "failed"])
KINDS = st.sampled_from(["question", "catalogue", "smalltalk", "clarification"])


def check_every_rule(read, linked, status, kind):
    quoted = [claim(i, None) if i not in read.read() else claim(i, article(i).body.split("\n")[0]) for i in linked[:1]]
    entries = sources(read, linked, quoted, status=status, kind=kind)
    cited = citations(linked, quoted, [])
    ids = [s.id for s in entries]
    assert len(set(ids)) == len(ids)
    assert set(ids) <= set(read.found()) | set(read.linked_before)
    assert {s.id for s in entries if s.show} <= set(read.read())
    if status != "evidence":
        assert {i for i in linked if i in read.found() or i in read.linked_before} <= set(ids)
    if status == "insufficient" or kind in ("smalltalk", "clarification"):
        assert not any(s.show for s in entries)
    elif status == "answered":
        assert {s.id for s in entries if s.show} == {i for i in read.read() if i in cited or read.form(i) is Form.FULL}
        assert ids[: len(read.opened())] == read.opened()
    assert all(s.excerpt in BODIES[s.id] and (s.excerpt or not s.show) for s in entries)
    assert all((s.basis == "earlier_turn") == isinstance(s.from_turn, str) for s in entries)
    found = found_articles(read, entries, cited, status=status, kind=kind)
    assert [f.id for f in found] == read.found()
    assert {f.id for f in found if f.show} == {s.id for s in entries if s.show}
    assert all(f.reason.endswith(".") and "None" not in f.reason for f in found)


@given(TRAILS, st.lists(IDS | st.just("nowhere"), max_size=5), STATUSES, KINDS)
def test_every_trail(read, linked, status, kind):
    check_every_rule(read, linked, status, kind)


@pytest.mark.long
@settings(max_examples=10_000)
@given(TRAILS, st.lists(IDS | st.just("nowhere"), max_size=5), STATUSES, KINDS)
def test_ten_thousand_trails(read, linked, status, kind):
    check_every_rule(read, linked, status, kind)
