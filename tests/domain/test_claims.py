"""A claim holds if its quote stands in what was read; whatever else a model writes is rejected with a reason."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trails import BODIES, full, part, passage, title, trail

from refdesk.domain.claims import (
    FOLDED,
    Verified,
    Waiting,
    finalise,
    rejected,
    settle,
    texts_read,
    unread_numbers,
    verification,
    verify,
    verify_all,
)
from refdesk.domain.conversation import RejectedClaim

QUOTE = "Refunds are possible within 30 days of purchase."
READ = trail(passage("refund-window"), title("faq"), full("empty"))


def fact(**changes):
    stated = {
        "text": "Refunds for 30 days.",
        "kind": "fact",
        "source_id": "refund-window",
        "quote": QUOTE,
        "premises": [],
    }
    return stated | changes


def inference(*premises, **changes):
    return {
        "text": "Later there is none.",
        "kind": "inference",
        "premises": list(premises),
        "step": "A last day.",
    } | changes


def test_a_fact_is_located():
    verdict = verify(fact(), READ)
    assert isinstance(verdict, Verified)
    assert (verdict.claim.quote, verdict.claim.match, verdict.claim.location) == (QUOTE, "exact", "")
    kept = verdict.quoted.kept()
    assert BODIES["refund-window"][kept.start : kept.end] == kept.text == QUOTE


def test_where_a_long_article_says_it_beyond_what_was_given():
    """Looked up word for word only: folding megabytes for a hint would cost every visitor time."""
    read = trail(part("refund-window"))
    body = BODIES["refund-window"] + "\n\n" + "Filler of a very long article. " * (FOLDED // 30)
    read.articles["refund-window"] = msgspec.structs.replace(read.articles["refund-window"], body=body)
    for quote, word in (("It takes 1,000 steps.", "not given"), ("It **takes** 1,000 steps.", "word for word")):
        verdict = verify(fact(text="x", quote=quote), read)
        assert isinstance(verdict, RejectedClaim)
        assert word in verdict.why


def test_the_section_is_the_location_and_the_articles_text_is_shown():
    verdict = verify(
        fact(text="x", quote="Open Billing → Invoices and press Request refund."), trail(full("refund-window"))
    )
    assert verdict.claim.location == "How to ask"
    assert verdict.claim.quote == "Open **Billing → Invoices** and press *Request refund*."
    assert verdict.claim.match == "normalized"


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        (fact(quote="Refunds are possible within 90 days of purchase."), "word for word"),
        (fact(text="x", quote="Open **Billing → Invoices** and press"), "not given"),
        (fact(source_id="refund-windov"), "no tool returned"),
        (fact(source_id="refund-old"), "no tool returned"),
        (fact(source_id="faq", quote="In Frankfurt, with daily backups kept for 35 days."), "title"),
        (fact(source_id="empty"), "title"),
        (fact(source_id=None), "source_id"),
        (fact(source_id=["refund-window"]), "source_id"),
        (fact(quote="30"), "too short"),
        (fact(quote=None), "quote"),
        (fact(quote=7), "quote"),
        (fact(quote=""), "no quote"),
        (fact(quote="x" * 10**6), "paragraph"),
        (fact(text="Refunds take 5 days."), "number 5"),
        (fact(text="Refunds for 3 days."), "number 3"),
        (fact(text=""), "text"),
        (fact(text=None), "text"),
        (fact(text="x" * 10**6), "too long"),
        (fact(kind="guess"), "kind"),
        (fact(kind=["fact"]), "kind"),
        (inference(), "premises"),
        (inference(True), "premises"),
        (inference(-1), "premises"),
        (inference("0"), "premises"),
        (inference(1.0), "premises"),
        (inference(0), "own premise"),
        (inference(0, premises=None), "premises"),
        (inference(0, premises=list(range(1000))), "premises"),
        ("a string", "object"),
        (None, "object"),
        ([], "object"),
    ],
)
def test_what_does_not_hold_is_rejected_with_a_reason(raw, word):
    verdict = verify(raw, READ)
    assert isinstance(verdict, RejectedClaim)
    assert word in verdict.why
    assert len(msgspec.json.encode(verdict)) < 3000


def test_a_half_surrogate_can_be_stored():
    verdicts = verify_all([fact(text="a \ud800 b"), fact(kind="\udfff", quote="\ud800")], READ)
    assert msgspec.json.encode([verdicts[0].claim, verdicts[1]])


def test_numbers_compare_as_numbers():
    whole = trail(full("refund-window"))
    assert isinstance(verify(fact(text="It is 1000 steps.", quote="It takes 1,000 steps."), whole), Verified)
    assert isinstance(verify(fact(text="It is 1 step.", quote="It takes 1,000 steps."), whole), RejectedClaim)
    assert isinstance(verify(fact(text="30 days, see [x](doc:a-99)."), whole), Verified)


def test_what_an_article_writes_with_entities_is_quoted_and_counted_as_a_reader_sees_it():
    quote, words = "Up to 1 000 users at AT&T pay €5.", "Up to 1&nbsp;000 users at AT&amp;T pay &#8364;5."
    read = trail(full("faq"))
    read.articles["faq"] = msgspec.structs.replace(read.articles["faq"], body=words)
    read.calls[0].returns = (msgspec.structs.replace(read.calls[0].returns[0], spans=((0, len(words)),)),)
    verdict = verify(fact(text="AT&T: 1,000 users, €5.", source_id="faq", quote=quote), read)
    assert isinstance(verdict, Verified), verdict
    assert (verdict.claim.quote, verdict.claim.match) == (words, "normalized")
    wrong = verify(fact(text="AT&T pays 8364.", source_id="faq", quote=quote), read)
    assert isinstance(wrong, RejectedClaim)
    assert "8364" in wrong.why


def test_a_quote_may_cross_two_given_passages_of_one_paragraph_only():
    read = trail(passage("refund-window", 0), passage("refund-window", 1))
    assert isinstance(
        verify(fact(text="x", quote="Gift cards are not refunded.\n\n## How to ask"), read), RejectedClaim
    )


def test_inferences_rest_on_verified_facts():
    verdicts = verify_all(
        [fact(), inference(0), fact(quote="not there at all"), inference(2), inference(1), inference(9)], READ
    )
    assert [type(v) is Verified for v in verdicts] == [True, True, False, False, False, False]
    assert [v.why for v in rejected(verdicts)][1:] == [
        "premise 2 was rejected",
        "premise 1 is not a fact",
        "premise 9 does not exist",
    ]


def test_an_inference_needs_no_quote_but_a_given_one_must_hold():
    facts = [verify(fact(), READ)]
    assert verify(inference(0), READ, facts).claim.source_id is None
    assert verify(inference(0, quote="", source_id=""), READ, facts).claim.quote is None
    assert verify(inference(0, source_id="refund-window", quote=QUOTE), READ, facts).claim.quote == QUOTE
    assert verify(inference(0, source_id="refund-window"), READ, facts).claim.source_id == "refund-window"
    for changes in ({"quote": "not in the article"}, {"source_id": "nowhere"}, {"source_id": "faq"}):
        assert isinstance(verify(inference(0, **{"source_id": "refund-window"} | changes), READ, facts), RejectedClaim)


def test_an_inference_before_its_fact_waits():
    first = verify(inference(1), READ)
    assert isinstance(first, Waiting)
    settled = settle([first, verify(fact(), READ, [first])])
    assert all(isinstance(verdict, Verified) for verdict in settled)
    assert [claim.premises for claim in finalise(settled)] == [(1,), ()]
    assert isinstance(settle([first])[0], RejectedClaim)


def test_premises_are_renumbered_to_what_is_returned():
    claims = finalise(
        verify_all([fact(quote="not there at all"), fact(), inference(1), inference(0), inference(1, 1)], READ)
    )
    assert [claim.premises for claim in claims] == [(), (0,), (0,)]


def test_verification():
    texts = texts_read(READ)
    assert verification(1, 1, "30 days ([Refund](doc:refund-window)).", texts, "") == "full"
    assert verification(2, 1, "30 days.", texts, "") == "partial"
    assert verification(1, 1, "30 days, 45 for annual plans.", texts, "") == "partial"
    assert verification(1, 1, "30 days, 45 for annual plans.", texts, "and 45?") == "full"
    assert verification(0, 0, "30 days.", texts, "") == "none"
    assert verification(1, 0, "30 days.", texts, "") == "none"
    assert unread_numbers("35 days since 2025-05-12", texts, "") == ["35"], (
        "a listed article's date was given, not its text"
    )


RAW = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from([QUOTE, "refund-window", "fact"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
STATED = st.fixed_dictionaries(
    {},
    optional={
        "text": RAW | st.just("so"),
        "kind": RAW | st.sampled_from(["fact", "inference"]),
        "source_id": RAW | st.sampled_from([*BODIES, "nowhere"]),
        "quote": RAW | st.just(QUOTE),
        "premises": RAW | st.lists(st.integers(-1, 6), max_size=3),
        "step": RAW,
    },
)
SOUND = st.sampled_from([fact(), inference(0), inference(1, 0), fact(source_id="sitemap")])


@given(st.lists(STATED | RAW | SOUND, max_size=6), st.sampled_from([READ, trail(part("refund-window")), trail()]))
def test_any_list_gives_claims_that_stand_in_what_was_read(raws, read):
    outcomes = verify_all(raws, read)
    claims = finalise(outcomes)
    assert len(claims) + len(rejected(outcomes)) == len(raws)
    assert msgspec.json.encode((claims, rejected(outcomes)))
    for claim in claims:
        assert claim.kind == "fact" or claim.premises
        assert all(claims[premise].kind == "fact" for premise in claim.premises)
        if claim.quote is not None:
            given_text = [read.articles[claim.source_id].body[s:e] for s, e in read.given(claim.source_id)]
            assert any(claim.quote in text for text in given_text)
            assert claim.source_id in read.read()
