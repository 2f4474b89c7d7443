"""Articles by id, by audience and by translation family."""

from __future__ import annotations

import pytest
from corpora import ANONYMOUS, CENTRE, STAFF, article

from refdesk.retrieval.catalogue import Catalogue

ARTICLES = [
    article("zebra", "Zebra", "x", category="Animals"),
    article("ape", "ape", "x", category="animals"),
    article("refunds", "Refunds", "x", category="Billing", redirect_from=("old-refunds", "runbook")),
    article("refunds-ru", "Возврат", "x", category="Billing", language="ru", translation_of="refunds"),
    article("refunds-cs", "Vrácení", "x", category="Billing", language="cs", translation_of="refunds"),
    article("runbook", "Runbook", "x", category="Internal", audience=("staff",)),
]
CATALOGUE = Catalogue(CENTRE, ARTICLES)


def ids(roles=ANONYMOUS, language=None, category=None) -> list[str]:
    return [one.id for one in CATALOGUE.articles(roles, language, category)]


def test_ids_match_exactly_and_old_ones_lead_on() -> None:
    assert CATALOGUE.article("old-refunds", ANONYMOUS) is ARTICLES[2]
    assert CATALOGUE.article("Refunds", ANONYMOUS) is None
    assert CATALOGUE.article("refund", ANONYMOUS) is None


def test_an_unreadable_article_is_a_missing_one() -> None:
    assert CATALOGUE.article("runbook", ANONYMOUS) is None
    assert CATALOGUE.article("runbook", STAFF) is ARTICLES[5]
    assert "runbook" not in ids()
    assert "runbook" in ids(STAFF)
    assert CATALOGUE.article("runbook", frozenset()) is None


def test_listed_by_category_then_title() -> None:
    assert ids() == ["ape", "zebra", "refunds", "refunds-cs", "refunds-ru"]


@pytest.mark.parametrize(("language", "shown"), [("ru", "refunds-ru"), ("cs-CZ", "refunds-cs"), ("de", "refunds")])
def test_of_a_family_the_variant_in_the_language_else_the_original(language: str, shown: str) -> None:
    assert ids(language=language) == ["ape", "zebra", shown]


def test_category_is_not_case_sensitive() -> None:
    assert ids(category="ANIMALS") == ["ape", "zebra"]
    assert ids(category="none") == []
