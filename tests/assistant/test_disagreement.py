"""The same statement with different numbers; what only looks like it."""

from __future__ import annotations

import pytest

from refdesk.assistant.disagreement import conflicting_numbers
from refdesk.domain.articles import Article, Passage
from refdesk.ports import Hit


def hits(first: str, second: str, language: str = "en", family: str | None = None) -> list[Hit]:
    found = []
    for name, body in (("one", first), ("two", second)):
        passage = Passage(name, 0, "", ((0, len(body)),))
        article = Article(name, name, body, language, ("public",), "v", translation_of=family, passages=(passage,))
        found.append(Hit(article, passage, 1.0))
    return found


@pytest.mark.parametrize(
    ("first", "second", "language"),
    [
        ("Refunds are possible within 30 days of purchase.", "Refunds are possible within 14 days of purchase.", "en"),
        (
            "Refunds are possible within thirty days of purchase.",
            "Refunds are possible within 14 days of purchase.",
            "en",
        ),
        (
            "You can request a refund within 14 days after purchase.",
            "Refunds are possible within 30 days of purchase.",
            "en",
        ),
        ("The API allows 600 requests per minute for each key.", "Each key may send 1,000 requests per minute.", "en"),
        ("A seat costs €12 a month.", "A seat costs €15 a month.", "en"),
        ("The fee of a transfer is 1.5 %.", "The fee of a transfer is 2%.", "en"),
        (
            "Заявки рассматриваются в течение трёх рабочих дней.",
            "Заявки рассматриваются в течение 5 рабочих дней.",
            "ru",
        ),
        ("Peníze vracíme do 14 dnů od nákupu.", "Peníze vracíme do 30 dnů od nákupu.", "cs"),
    ],
)
def test_different_numbers_for_the_same_thing(first: str, second: str, language: str) -> None:
    ((one, other),) = conflicting_numbers(hits(first, second, language))
    assert (one.text, other.text) == (first, second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Refunds are possible within 30 days of purchase.", "Refunds are possible within thirty days of purchase."),
        ("The API allows 1000 requests per minute.", "The API allows 1,000 requests per minute."),
        ("Backups are kept for 35 days.", "Deleted projects stay in the bin for 14 days."),
        ("Install the app on Windows 10 devices first.", "Install the app on Windows 11 devices first."),
        ("Export takes 2 clicks and 30 seconds of time.", "Export takes 2 clicks and 4 menus of time."),
    ],
)
def test_no_contradiction(first: str, second: str) -> None:
    assert conflicting_numbers(hits(first, second)) == ()


def test_translations_of_one_article_do_not_contradict_each_other() -> None:
    pair = hits("Refunds are possible within 30 days.", "Refunds are possible within 14 days.", family="refunds")
    assert conflicting_numbers(pair) == ()
