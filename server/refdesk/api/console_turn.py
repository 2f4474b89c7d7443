"""A turn as staff see it: the visitor's turn, its evidence trail, and what became of its articles since."""

from __future__ import annotations

from typing import Any

import msgspec

from refdesk.domain.articles import BUILT_IN_ROLES, STAFF, Roles
from refdesk.domain.conversation import StoredTurn
from refdesk.ports import Snapshot

HIDDEN = ("carried",)
"""Texts that only the next turn needs."""


def console_turn(stored: StoredTurn, snapshot: Snapshot) -> dict[str, Any]:
    """Titles and quotes are those of the day of the answer; `changed_since` says where that is no longer so."""
    seen = msgspec.to_builtins(stored.trail)
    trail = {name: value for name, value in seen.items() if name not in HIDDEN}
    return {**msgspec.to_builtins(stored.turn), **trail, "changed_since": changed_since(stored, snapshot)}


def changed_since(stored: StoredTurn, snapshot: Snapshot) -> dict[str, str]:
    """By article id: `changed` (another text, audience or title) or `deleted`; what is as it was is left out."""
    roles = everybody(snapshot)
    versions = {**stored.trail.article_versions, **{source.id: source.version for source in stored.turn.sources}}
    changes = {}
    for article_id, version in versions.items():
        today = snapshot.article(article_id, roles)
        if today is None:
            changes[article_id] = "deleted"
        elif today.version != version:
            changes[article_id] = "changed"
    return changes


def everybody(snapshot: Snapshot) -> Roles:
    """Every role there is: staff see every article."""
    return frozenset((*BUILT_IN_ROLES, *snapshot.centre.roles, STAFF))
