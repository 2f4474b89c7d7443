"""Evidence: verbatim, relevant, both sides of a contradiction."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.assistant.extract import LONGEST_PAIR, evidence
from refdesk.assistant.sentences import LONGEST
from refdesk.domain.articles import Article, Passage
from refdesk.ports import Hit


def hit(article_id: str, body: str, *, section: str = "", language: str = "en", url: str | None = "/x") -> Hit:
    passage = Passage(article_id, 0, section, ((0, len(body)),))
    article = Article(article_id, article_id, body, language, ("public",), "v1", url=url, passages=(passage,))
    return Hit(article, passage, 1.0)


NEW = hit("refund-window", "Refunds are possible within 30 days of purchase. Gift cards are not refunded.")
OLD = hit("refund-old", "Refunds are possible within 14 days of purchase. This page describes the policy of 2023.")
KEYS = hit("api-keys", "Create a key under **Settings → API**. A key is shown once. Rotate keys every 90 days.")
FAQ = hit(
    "faq", "The two latest versions of Chrome, Firefox, Safari and Edge.", section="Which browsers are supported?"
)


def test_the_sentence_that_answers_comes_first() -> None:
    items = evidence("How often should I rotate keys?", "en", [NEW, KEYS])
    assert items[0].source_id == "api-keys"
    assert "Rotate keys every 90 days." in items[0].quote


def test_a_heading_can_be_what_matches() -> None:
    assert evidence("Which browsers are supported?", "en", [NEW, FAQ])[0].quote.startswith("The two latest versions")


def test_a_table_row_is_found_by_its_header_and_quoted_alone() -> None:
    table = hit(
        "limits", "| object | free plan | Scale plan |\n|---|---|---|\n| projects | 3 | 200 |\n| seats | 5 | 500 |"
    )
    items = evidence("How many seats has the Scale plan?", "en", [table])
    assert items[0].quote == "| seats | 5 | 500 |"


def test_a_piece_of_a_long_table_knows_the_header_it_repeats() -> None:
    head = "| object | free plan | Scale plan |\n|---|---|---|\n"
    body = head + "".join(f"| thing {n} | {n} | {n * 7} |\n" for n in range(30)) + "| seats | 5 | 500 |\n"
    row = body.index("| seats")
    passage = Passage("limits", 1, "", ((0, len(head)), (row, len(body))))
    article = Article("limits", "limits", body, "en", ("public",), "v", url="/x", passages=(passage,))
    items = evidence("How many seats has the Scale plan?", "en", [Hit(article, passage, 1.0)])
    assert [item.quote for item in items] == ["| seats | 5 | 500 |"]


def test_code_of_a_passage_that_repeats_its_fence_is_no_text() -> None:
    body = "```sh\n# Install. Now\npip install refdesk\n```\n"
    start, end = body.index("pip"), body.index("```\n", 5)
    passage = Passage("code", 1, "", ((0, 6), (start, end), (end, len(body))))
    article = Article("code", "code", body, "en", ("public",), "v", url="/x", passages=(passage,))
    assert [i.quote for i in evidence("pip install", "en", [Hit(article, passage, 1.0)])] == ["pip install refdesk"]


def test_both_sides_of_different_numbers_are_quoted_one_after_the_other() -> None:
    filler = [hit(f"f{n}", f"Refunds after purchase, possible case {word}.") for n, word in enumerate("abcdefg")]
    items = evidence("How many days after purchase are refunds possible?", "en", [NEW, *filler, OLD], limit=1)
    assert [item.source_id for item in items] == ["refund-window", "refund-old"]


def test_what_two_articles_say_alike_is_quoted_once() -> None:
    copy = hit("copy", NEW.article.body)
    items = evidence("Within how many days are refunds possible?", "en", [NEW, copy])
    assert len({item.quote for item in items}) == len(items)


def test_nothing_in_nothing_out() -> None:
    assert evidence("Anything?", "en", []) == ()
    assert evidence("Anything?", "en", [hit("empty", "# Only a heading\n")]) == ()


def test_another_language_falls_back_to_the_order_of_the_hits() -> None:
    items = evidence("Сколько дней действует возврат?", "ru", [NEW, KEYS])
    assert items[0].source_id == "refund-window"
    assert "30 days" in items[0].quote


def test_cosines_decide_where_words_do_not() -> None:
    items = evidence(
        "Как часто менять ключи?", "ru", [NEW, KEYS], similarity=lambda texts: [float("Rotate" in t) for t in texts]
    )
    assert "Rotate keys" in items[0].quote


def test_an_article_without_a_page_has_no_url() -> None:
    assert evidence("days", "en", [hit("titled", "Within 3 days.", url=None)])[0].url is None


@settings(max_examples=60)
@given(st.lists(st.text(alphabet="ab1 .?!\n|-#*`", max_size=400), max_size=4), st.text(max_size=60))
def test_every_quote_is_in_its_article_and_short(bodies: list[str], question: str) -> None:
    hits = [hit(f"a{number}", body) for number, body in enumerate(bodies)]
    texts = {found.article.id: found.article.body for found in hits}
    for item in evidence(question, "en", hits):
        assert item.quote in texts[item.source_id]
        assert len(item.quote) <= max(LONGEST, LONGEST_PAIR)
