"""Which gap a group of wordings is: ids stay with their questions when everything is grouped anew."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Sequence

import msgspec


class Member(msgspec.Struct, frozen=True):
    """A wording before it is grouped anew."""

    gap_id: str | None
    """None: it is new."""
    owner: str | None
    """The gap that it shall not leave."""
    weight: int
    """Visitors who asked it."""


def new_gap_id() -> str:
    return "g_" + secrets.token_urlsafe(12)


def named(groups: Sequence[int], members: Sequence[Member]) -> list[str]:
    """For each wording the id of its gap. A group that has an owner is that gap; any other is the gap from which most
    of its visitors come, where that one has not gone to another group with more of them; else it is a new gap."""
    names: dict[int, str] = {}
    claims: Counter[tuple[int, str]] = Counter()
    for group, member in zip(groups, members, strict=True):
        if member.owner is not None:
            names[group] = member.owner
        if member.gap_id is not None:
            claims[group, member.gap_id] += member.weight
    taken = set(names.values()) | {member.owner for member in members if member.owner is not None}
    for (group, gap_id), _ in sorted(claims.items(), key=lambda claim: (-claim[1], claim[0])):
        if group not in names and gap_id not in taken:
            names[group] = gap_id
            taken.add(gap_id)
    for group in groups:
        if group not in names:
            names[group] = new_gap_id()
    return [names[group] for group in groups]
