"""Question repair: accents and one slip of the hand, only by words that the visitor may see."""

from __future__ import annotations

import pytest
from corpora import STAFF, article

from refdesk.retrieval.vocabulary import Vocabulary

ARTICLES = [
    article("cs", "Vrácení peněz", "Peníze vrátíme za objednávku do deseti dnů. Články.", language="cs"),
    article("en", "Refunds", "A refund of the invoice takes ten days. The application stays."),
    article("secret", "Runbook", "Zirconium protocol", audience=("staff",)),
]
PUBLIC = frozenset({"public"})


def repair(question: str, language: str, known: bool = False, roles=PUBLIC) -> str | None:
    return Vocabulary.of(ARTICLES).visible(roles).repair(question, language, lambda word: known)


@pytest.mark.parametrize(
    ("question", "language", "repaired"),
    [
        ("vracení penez za objednavku", "cs", "vrácení peněz za objednávku"),
        ("Refnud of an invoice?", "en", "refund of an invoice?"),
        ("invoise", "en", "invoice"),
        ("aplication", "en", "application"),
        ("refundd", "en", "refund"),
        ("refund of the invoice", "en", None),
        ("zxqv blorp wibbly", "en", None),
        ("tan days", "en", None),
        ("", "en", None),
    ],
)
def test_repair(question: str, language: str, repaired: str | None) -> None:
    assert repair(question, language) == repaired


def test_a_word_known_in_some_form_may_gain_accents_only() -> None:
    assert repair("penize refnud", "cs", known=True) == "peníze refnud"


def test_many_unknown_words_are_another_subject() -> None:
    assert repair("refnud invoise aplication", "en") == "refund invoice aplication"


def test_a_hidden_word_repairs_nothing() -> None:
    assert repair("zirconum", "en") is None
    assert repair("zirconum", "en", roles=STAFF) == "zirconium"


def test_changed_articles_change_the_words() -> None:
    changed = Vocabulary.of(ARTICLES).changed([ARTICLES[1]], [article("en", "Billing", "The invoice")])
    assert changed.visible(PUBLIC).repair("refnud", "en", lambda word: False) is None
    assert changed.visible(PUBLIC).repair("biling", "en", lambda word: False) == "billing"
    assert Vocabulary.of(ARTICLES).visible(PUBLIC).repair("refnud", "en", lambda word: False) == "refund"
