"""An article as an answer used it, beside the article of today."""

from __future__ import annotations

import json

import pytest

from refdesk.domain.article_then import MOST_LINES, MOST_WORDS, KeptArticle, article_then, changes, quotes_of
from refdesk.domain.articles import Article, Passage
from refdesk.domain.conversation import Claim, EvidenceItem, QuotedText, Source, StoredTurn, Turn, TurnTrail
from refdesk.domain.receipt import digest, receipt


def article(body: str, *passages: tuple[int, int]) -> Article:
    cut = tuple(Passage("a", number, "", (span,)) for number, span in enumerate(passages or ((0, len(body)),)))
    return Article(id="a", title="A", body=body, language="en", audience=("public",), version="2", passages=cut)


def kept(body: str) -> KeptArticle:
    return KeptArticle(version="1", title="A", language="en", body=body)


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
    made = article_then([quote], None, article(body))
    assert [text for text, number in made.body if number == 0] == [marked]
    assert "".join(text for text, _ in made.body) == body
    assert made.quotes[0].diff == ()


def test_a_quote_that_is_gone_is_compared_with_the_passage_that_is_most_like_it() -> None:
    body = "Cats purr at night.\n\nRefunds take 30 days here."
    made = article_then(["Refunds take 14 days here."], None, article(body, (0, 19), (21, len(body))))
    quote = made.quotes[0]
    assert quote.stands is None
    assert ("delete", "14") in quote.diff
    assert ("insert", "30") in quote.diff
    assert made.body == ((body, None),)


def test_a_quote_like_nothing_has_no_comparison_and_an_article_that_is_gone_no_body() -> None:
    assert article_then(["zzz"], None, article("Cats purr.")).quotes[0].diff == ()
    gone = article_then(["zzz"], None, None)
    assert (gone.body, gone.quotes[0].stands) == ((), None)


def test_quotes_that_overlap_never_repeat_a_character() -> None:
    body = "one two three four"
    made = article_then(["two three", "three four", "one"], None, article(body))
    assert "".join(text for text, _ in made.body) == body
    assert [number for _, number in made.body if number is not None] == [2, 0]


def test_a_quote_is_marked_in_the_whole_article_of_that_day_with_the_changes_since() -> None:
    before, now = "# A\n\nRefunds take 14 days.\n\nEnd.\n", "# A\n\nRefunds take 30 days.\n\nEnd.\n"
    made = article_then(["Refunds take 14 days."], kept(before), article(now))
    assert made.of_that_day
    assert "".join(text for text, _ in made.body) == before
    assert [text for text, number in made.body if number == 0] == ["Refunds take 14 days."]
    assert made.marked == {0}
    assert made.quotes[0].stands is None
    assert [piece for piece in made.changes if piece[0] != "equal"] == [("delete", "14"), ("insert", "30")]


def test_of_an_article_that_is_gone_or_has_the_same_text_the_whole_of_that_day_is_left_and_no_change() -> None:
    for today in (None, article("Same.")):
        made = article_then(["Same."], kept("Same."), today)
        assert (made.of_that_day, made.body, made.changes) == (True, (("Same.", 0),), ())


def restored(pieces: tuple[tuple[str, str], ...], lines: list[str], op: str) -> str:
    """The one of the two texts to which `op` belongs, what was left out being taken from its lines."""
    text = ""
    for kind, piece in pieces:
        if kind == "skip":
            at = text.count("\n")
            text += "".join(lines[at : at + int(piece)])
        elif kind in ("equal", op):
            text += piece
    return text


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("".join(f"line {n}\n" for n in range(60)), "".join(f"line {n}\n" for n in range(60) if n not in (7, 40))),
        ("a\n" * 400, "a\n" * 200 + "b\n" + "a\n" * 200),
        ("x\n" * MOST_LINES, "y\n"),
        ("word " * MOST_WORDS + "\nend\n", "other " * MOST_WORDS + "\nend\n"),
        ("no line end", "no line end either"),
        ("", "new\n"),
        ("old\n", ""),
    ],
)  # fmt: skip
def test_changes_make_up_both_texts(before: str, now: str) -> None:
    pieces = changes(before, now)
    assert restored(pieces, before.splitlines(keepends=True), "delete") == before
    assert restored(pieces, now.splitlines(keepends=True), "insert") == now


def test_long_stretches_without_a_change_are_left_out() -> None:
    before = [f"line {n}\n" for n in range(60)]
    now = [*before[:30], "new\n", *before[31:]]
    pieces = changes("".join(before), "".join(now))
    assert [piece for piece in pieces if piece[0] == "skip"] == [("skip", "28"), ("skip", "27")]
    assert sum(text.count("\n") for op, text in pieces if op == "equal") <= 5


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
