"""Which passages are handed over with the question: as many of the best as fit the budget."""

from __future__ import annotations

from collections.abc import Sequence

from refdesk.assistant.history import tokens_of
from refdesk.ports import Hit

PASSAGES = 8
BUDGET_TOKENS = 6_000


def pack(hits: Sequence[Hit], budget: int = BUDGET_TOKENS, limit: int = PASSAGES) -> list[Hit]:
    """The best hits in order; one that is too long for what is left is passed over, the next may fit."""
    packed: list[Hit] = []
    for hit in hits:
        size = tokens_of(hit.text) + tokens_of(hit.article.title) + 40
        if size <= budget and len(packed) < limit:
            packed.append(hit)
            budget -= size
    return packed
