"""Ranking by words: what it finds, and that nothing hidden moves it."""

from __future__ import annotations

import numpy as np
import pytest
from corpora import article
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.retrieval.index import LexicalIndex
from refdesk.retrieval.lexical import View
from traced_memory import traced_memory

WORDS = ("refund", "invoice", "password", "plan", "export", "calendar", "sso", "limit")


def view_of(articles, visible=None):
    index = LexicalIndex.build(articles)
    rows = np.ones(len(index.postings.lengths), np.bool_) if visible is None else np.array(visible, np.bool_)
    return View(index.postings, rows, index.languages)


def test_a_title_word_counts_more_than_a_body_word() -> None:
    view = view_of(
        [
            article("a", "Plans", "An invoice is sent every month to the owner."),
            article("b", "Invoice", "The owner gets a mail every month from us."),
        ]
    )
    assert view.rank("invoice", "en", 10).rows.tolist() == [1, 0]


def test_of_words_that_no_passage_has_only_the_last_are_remembered() -> None:
    view = view_of([article("a", "Plans", "An invoice is sent every month to the owner.")])

    def ask(numbers: range, word: str) -> None:
        for number in numbers:
            assert not len(view.word(f"{word} {number}", 0).rows)

    with traced_memory() as held:
        ask(range(1000), "nobody wrote")
        after_few = held()
        ask(range(1000, 4000), "nobody wrote")
        ask(range(1000), "w" * 2000)
        assert held() < after_few + 20_000


def test_headings_and_synonyms_find_a_passage() -> None:
    view = view_of([article("a", "Access", "# Passwords\n\nClick the link.", synonyms=("credentials",))])
    assert view.rank("password", "en", 10).rows.tolist() == [0]
    assert view.rank("credential", "en", 10).rows.tolist() == [0]


def test_coverage_is_the_share_of_unique_content_words_in_one_passage() -> None:
    view = view_of([article("a", "Sitemap", "Опубликованные страницы.\n\nДругое.", language="ru")])
    ranking = view.rank("sitemap стоимость тарифа рублей", "ru", 10)
    assert ranking.coverage.tolist() == [0.25, 0.25]
    both = view.rank("sitemap опубликованных страниц", "ru", 10)
    assert both.coverage[0] == pytest.approx(1.0)
    assert both.coverage[1] == pytest.approx(1 / 3)


def test_selfscore_and_idf_coverage_are_shares() -> None:
    view = view_of([article("a", "Refund", "refund plan"), article("b", "Plan", "plan limit")])
    ranking = view.rank("refund plan of unicorns", "en", 10)
    assert ((ranking.selfscore > 0) & (ranking.selfscore <= 1)).all()
    assert ((ranking.idf_coverage > 0) & (ranking.idf_coverage < 1)).all()
    assert (ranking.bm25 > ranking.selfscore).all()


def test_passages_of_two_languages_are_ranked_together() -> None:
    view = view_of(
        [
            article("en", "Refunds", "A refund takes ten days."),
            article("ru", "Возврат", "Возврат денег занимает десять дней.", language="ru"),
        ]
    )
    assert view.rank("сколько занимает возврат денег", "ru", 5).rows.tolist() == [1]
    assert view.rank("how long is a refund", "en", 5).rows.tolist() == [0]


def test_stop_words_of_the_question_count_nowhere() -> None:
    view = view_of([article("en", "SSO", "Set up SSO here.")])
    assert view.rank("Jak nastavím SSO?", "cs", 5).coverage.tolist() == [0.5]


def test_a_product_name_is_found_from_any_language() -> None:
    view = view_of([article("ru", "Карта сайта", "Файл sitemap перечисляет страницы.", language="ru")])
    for question, language in (("sitemaps", "en"), ("co je sitemap", "cs"), ("サイトのsitemapとは", "ja")):
        assert view.rank(question, language, 5).rows.tolist() == [0]


def test_german_and_japanese_are_found() -> None:
    view = view_of(
        [
            article("de", "Rückerstattung", "Rückerstattungen dauern zehn Tage.", language="de"),
            article("ja", "返金", "返金には10日かかります。", language="ja"),
        ]
    )
    assert view.rank("Wie lange dauert eine Ruckerstattung?", "de", 5).rows.tolist() == [0]
    assert view.rank("返金はいつですか", "ja", 5).rows.tolist() == [1]


def test_nothing_visible_and_nothing_asked_find_nothing() -> None:
    articles = [article("a", "Refunds", "refund")]
    assert len(view_of(articles, [False]).rank("refund", "en", 5).rows) == 0
    assert len(view_of(articles).rank("how do you", "en", 5).rows) == 0
    assert len(view_of([]).rank("refund", "en", 5).rows) == 0


def test_rows_asked_for_come_whatever_they_score() -> None:
    view = view_of([article("a", "Refunds", "refund"), article("b", "Plans", "plan")])
    ranking = view.rank("refund", "en", 5, also=[1])
    assert ranking.rows.tolist() == [0, 1]
    assert ranking.coverage.tolist() == [1.0, 0.0]


def test_measuring_a_passage_gives_what_ranking_gave_it() -> None:
    one = article("a", "Refunds", "A refund takes ten days.\n\nPlans are monthly.", synonyms=("money back",))
    view = view_of([one, article("b", "Plans", "The plan has a limit.")])
    ranking = view.rank("how many days takes a refund of a plan", "en", 10)
    for place, row in enumerate(ranking.rows):
        if row < 2:
            measured = view.measure("how many days takes a refund of a plan", "en", one, one.passages[int(row)])
            assert measured == pytest.approx(ranking.signals([place])[0], abs=1e-5)


text = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)


@settings(max_examples=60)
@given(st.lists(text, min_size=1, max_size=6), st.lists(text, max_size=6), text)
def test_hidden_passages_change_no_score(shown: list[str], hidden: list[str], question: str) -> None:
    """A restricted text influences nothing: neither order nor any figure."""
    mine = [article(f"s{n}", body[:8], body) for n, body in enumerate(shown)]
    others = [article(f"h{n}", "secret", body, audience=("staff",)) for n, body in enumerate(hidden)]
    alone = view_of(mine).rank(question, "en", 50)
    together = view_of([*mine, *others], [True] * len(mine) + [False] * len(others)).rank(question, "en", 50)
    assert together.rows.tolist() == alone.rows.tolist()
    for name in ("selfscore", "bm25", "coverage", "idf_coverage"):
        assert getattr(together, name).tolist() == getattr(alone, name).tolist()
    assert together.z == alone.z
