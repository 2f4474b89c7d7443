"""Gaps: real questions that no article answered, and why, known from the turn's own sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from refdesk.domain.console import STAFF_VISITOR
from refdesk.domain.conversation import Kind, Source, Status, Turn
from refdesk.domain.trail import Trail

Cause = Literal["nothing_found", "weak_evidence", "opened_but_silent", "missed", "restricted", "out_of_scope"]
TELLING: tuple[Cause, ...] = (
    "missed",
    "restricted",
    "opened_but_silent",
    "weak_evidence",
    "nothing_found",
    "out_of_scope",
)


def common_cause(counts: Mapping[str, int]) -> Cause:
    """Of a gap, from how many of its questions had which: the most frequent, and of two the more telling one."""
    return max(TELLING, key=lambda cause: (counts.get(cause, 0), -TELLING.index(cause)))


def is_gap(kind: Kind, status: Status, sources: Sequence[Source]) -> bool:
    """A question that was refused, or answered with nothing read to show. Whose, see `is_unanswered`."""
    silent = status == "answered" and not any(source.show for source in sources)
    return kind == "question" and (status == "insufficient" or silent)


def is_unanswered(turn: Turn, visitor_id: str) -> bool:
    """A visitor's gap: staff who ask are trying the assistant out, and a model that fails says nothing of articles."""
    tested = visitor_id.startswith(STAFF_VISITOR)
    return not tested and turn.model_error is None and is_gap(turn.kind, turn.status, turn.sources)


def gap_cause(
    trail: Trail,
    *,
    hits: int,
    restricted: bool = False,
    missed_by: str | None = None,
    out_of_scope: bool = False,
) -> Cause:
    """The most telling cause. `hits`: passages that ranking returned, packed or not.

    Not visible in the turn itself: `restricted` (another role's article answers), `missed_by` (the article that a
    repaired, translated or wider search finds), `out_of_scope` (far from the whole corpus, or a person said so)."""
    if restricted:
        return "restricted"
    if missed_by is not None:
        return "missed"
    if out_of_scope:
        return "out_of_scope"
    if trail.opened():
        return "opened_but_silent"
    return "weak_evidence" if hits or trail.read() else "nothing_found"
