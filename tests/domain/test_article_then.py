"""An article as an answer used it, beside the article of today."""

from __future__ import annotations

import json

import pytest

from refdesk.domain.article_then import article_then, quotes_of
from refdesk.domain.articles import Article, Passage
from refdesk.domain.conversation import Claim, EvidenceItem, QuotedText, Source, StoredTurn, Turn, TurnTrail
from refdesk.domain.receipt import digest, receipt


def article(body: str, *passages: tuple[int, int]) -> Article:
    cut = tuple(Passage("a", number, "", (span,)) for number, span in enumerate(passages or ((0, len(body)),)))
    return Article(id="a", title="A", body=body, language="en", audience=("public",), version="2", passages=cut)


def claim(text: str, quote: str | None, source_id: str | None = "a") -> Claim:
    return Claim(text, "fact", source_id, "Steps", quote, "exact")


def stored(*claims: Claim, **trail: object) -> StoredTurn:
    source = Source("a", "A", None, "", "", "en", "2026-01-01", "1", "2026-02-01T00:00:00Z", True, "opened", True)
    turn = Turn(
        id="t", conversation_id="c", created_at="2026-02-01T00:00:00Z", question="q", answer="x", claims=claims,
        sources=(source,), status="answered",
    )  # fmt: skip
    return StoredTurn(turn, TurnTrail(**trail))  # type: ignore[arg-type]


def test_the_quotes_of_an_article_stand_once_and_those_of_claims_first() -> None:
    turn = stored(
        claim("1", "two"), claim("2", "one"), claim("3", "two"), claim("4", "other", "b"), claim("5", None),
        quoted=(QuotedText("a", 0, 5, "three"), QuotedText("a", 0, 3, "one"), QuotedText("b", 0, 1, "x")),
    )  # fmt: skip
    assert quotes_of(turn, "a") == ["two", "one", "three"]


def test_evidence_counts_as_quoted() -> None:
    turn = stored()
    turn.turn.evidence = (EvidenceItem("a", "A", None, "", "held up"),)
    assert quotes_of(turn, "a") == ["held up"]


@pytest.mark.parametrize(
    ("quote", "body", "marked"),
    [
        ("Refunds take 14 days.", "Before. Refunds take 14 days. After.", "Refunds take 14 days."),
        ("Refunds take 14 days.", "Before. Refunds take **14** days. After.", "Refunds take **14** days."),
        ("one para\n\nand another", "x one para\n\nand another", "one para\n\nand another"),
    ],
)
def test_a_quote_that_stands_is_marked_in_todays_body(quote: str, body: str, marked: str) -> None:
    made = article_then([quote], article(body))
    assert [text for text, number in made.body if number == 0] == [marked]
    assert "".join(text for text, _ in made.body) == body
    assert made.quotes[0].diff == ()


def test_a_quote_that_is_gone_is_compared_with_the_passage_that_is_most_like_it() -> None:
    body = "Cats purr at night.\n\nRefunds take 30 days here."
    made = article_then(["Refunds take 14 days here."], article(body, (0, 19), (21, len(body))))
    quote = made.quotes[0]
    assert quote.stands is None
    assert ("delete", "14") in quote.diff
    assert ("insert", "30") in quote.diff
    assert made.body == ((body, None),)


def test_a_quote_like_nothing_has_no_comparison_and_an_article_that_is_gone_no_body() -> None:
    assert article_then(["zzz"], article("Cats purr.")).quotes[0].diff == ()
    gone = article_then(["zzz"], None)
    assert (gone.body, gone.quotes[0].stands) == ((), None)


def test_quotes_that_overlap_never_repeat_a_character() -> None:
    body = "one two three four"
    made = article_then(["two three", "three four", "one"], article(body))
    assert "".join(text for text, _ in made.body) == body
    assert [number for _, number in made.body if number is not None] == [2, 0]


def test_a_receipt_ties_each_sentence_to_its_text_and_version() -> None:
    made = receipt(stored(claim("It takes 14 days.", "Takes 14 days."), article_versions={"a": "1"}))
    assert made["statements"] == [
        {
            "sentence": "It takes 14 days.", "kind": "fact", "quote": "Takes 14 days.", "match": "exact",
            "location": "Steps", "article": "a", "title": "A", "version": "1", "premises": [],
        }
    ]  # fmt: skip
    assert [source["article"] for source in made["shown_sources"]] == ["a"]


def test_a_receipt_that_was_changed_no_longer_has_its_digest() -> None:
    made = json.loads(json.dumps(receipt(stored(claim("It takes 14 days.", "Takes 14 days.")))))
    told = made.pop("sha256")
    assert digest(made) == told
    made["statements"][0]["quote"] = "Takes 15 days."
    assert digest(made) != told
