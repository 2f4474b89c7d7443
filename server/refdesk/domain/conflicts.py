"""Conflicts: two places that contradict each other, both verified like quotes, and what is needed to choose."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from refdesk.domain.articles import Article
from refdesk.domain.claims import Quoted, find_quote, shortened
from refdesk.domain.conversation import Conflict, Position
from refdesk.domain.trail import Trail

MOST_CONFLICTS = MOST_POSITIONS = 20
LONGEST_WORDS = 500


class VerifiedConflict(msgspec.Struct, frozen=True):
    conflict: Conflict
    quoted: tuple[Quoted, ...]


def verify_conflict(raw: object, trail: Trail) -> VerifiedConflict | None:
    """None unless two different places hold: a position that cannot be verified is no position."""
    if not isinstance(raw, dict):
        return None
    stated = raw.get("positions")
    places = [_place(position, trail) for position in stated[:MOST_POSITIONS]] if isinstance(stated, list) else []
    quoted = _apart([place for place in places if place is not None])
    if len(quoted) < 2:
        return None
    criterion = raw.get("criterion")
    named = isinstance(criterion, str) and criterion.strip()
    conflict = Conflict(
        topic=shortened(raw.get("topic"), LONGEST_WORDS),
        positions=tuple(Position(q.article.id, q.text, q.location, q.article.updated) for q in quoted),
        criterion=shortened(criterion, LONGEST_WORDS) if named else usual_criterion([q.article for q in quoted]),
    )
    return VerifiedConflict(conflict=conflict, quoted=tuple(quoted))


def verify_conflicts(raws: object, trail: Trail) -> tuple[VerifiedConflict, ...]:
    stated = raws[:MOST_CONFLICTS] if isinstance(raws, list) else []
    verified = [verify_conflict(raw, trail) for raw in stated]
    return tuple(conflict for conflict in verified if conflict is not None)


def usual_criterion(articles: Sequence[Article]) -> str:
    """What the articles themselves offer to choose by: `priority`, `date`, or the `owner` who must confirm."""
    if len({article.priority for article in articles}) > 1:
        return "priority"
    if len({article.updated for article in articles}) > 1:
        return "date"
    return "owner"


def _place(position: object, trail: Trail) -> Quoted | None:
    if not isinstance(position, dict):
        return None
    quoted = find_quote(position.get("source_id"), position.get("quote"), trail)
    return None if isinstance(quoted, str) else quoted


def _apart(places: Sequence[Quoted]) -> list[Quoted]:
    """Without those that overlap an earlier one: a place does not contradict itself."""
    kept: list[Quoted] = []
    for place in places:
        if all(place.article.id != q.article.id or place.end <= q.start or q.end <= place.start for q in kept):
            kept.append(place)
    return kept
