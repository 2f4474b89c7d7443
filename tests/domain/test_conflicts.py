"""A conflict has two verified sides in two places, or it is none."""

import msgspec
import pytest
from trails import article, full, passage, title, trail

from refdesk.domain.conflicts import MOST_CONFLICTS, usual_criterion, verify_conflicts

READ = trail(full("refund-window"), passage("refund-old"), title("faq"))
NEW = {"source_id": "refund-window", "quote": "Refunds are possible within 30 days of purchase."}
OLD = {"source_id": "refund-old", "quote": "Refunds are possible within 14 days of purchase."}
OTHER = {"source_id": "refund-window", "quote": "Gift cards are not refunded."}
FALSE = {"source_id": "refund-old", "quote": "Refunds are possible within 7 days of purchase."}


def conflict(*positions, **changes):
    return {"topic": "refund period", "positions": list(positions), "criterion": "the newer article"} | changes


def test_both_sides_with_dates():
    (verified,) = verify_conflicts([conflict(NEW, OLD)], READ)
    assert [p.updated_at for p in verified.conflict.positions] == ["2025-05-12", "2023-01-09"]
    assert verified.conflict.criterion == "the newer article"
    assert [q.kept().text for q in verified.quoted] == [NEW["quote"], OLD["quote"]]


def test_one_article_may_contradict_itself_in_two_places_only():
    assert len(verify_conflicts([conflict(NEW, OTHER)], READ)) == 1
    assert verify_conflicts([conflict(NEW, NEW), conflict(NEW, NEW | {"quote": "possible within 30 days"})], READ) == ()


def test_a_false_side_is_no_side():
    assert verify_conflicts([conflict(NEW, FALSE)], READ) == ()
    (verified,) = verify_conflicts([conflict(NEW, FALSE, OLD)], READ)
    assert [p.source_id for p in verified.conflict.positions] == ["refund-window", "refund-old"]


@pytest.mark.parametrize(
    "raws",
    [None, "x", [None], [{}], [conflict()], [conflict(NEW, None)], [conflict(NEW, 3)], [{"positions": {"a": 1}}]],
)
def test_anything_else_is_none(raws):
    assert verify_conflicts(raws, READ) == ()


def test_a_missing_criterion_is_what_the_articles_offer():
    (verified,) = verify_conflicts([conflict(NEW, OLD, criterion=" ", topic=None)], READ)
    assert (verified.conflict.criterion, verified.conflict.topic) == ("date", "")
    ranked = msgspec.structs.replace(article("refund-old"), priority=2.0)
    assert usual_criterion([article("refund-window"), ranked]) == "priority"
    assert usual_criterion([article("refund-window")] * 2) == "owner"


def test_a_flood_of_conflicts_is_cut():
    assert len(verify_conflicts([conflict(NEW, OLD)] * 1000, READ)) == MOST_CONFLICTS
