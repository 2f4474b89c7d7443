"""What differs between an answer of then and one of now, for people to read."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from refdesk.domain.conversation import Turn

WORD = re.compile(r"\s+|[^\s]+")
LONGEST = 3_000
"""Pieces of an answer that are compared one by one: the effort grows with their square."""

Piece = tuple[str, str]
"""`equal`, `delete` or `insert`, and the text."""


def differing(before: str, now: str) -> list[Piece]:
    """Word by word. The `equal` and `delete` pieces make up the text before, `equal` and `insert` the one now."""
    old, new = WORD.findall(before), WORD.findall(now)
    if before == now:
        return [("equal", now)] if now else []
    if len(old) + len(new) > LONGEST:
        return [(op, text) for op, text in (("delete", before), ("insert", now)) if text]
    pieces: list[Piece] = []
    for op, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if op == "equal":
            pieces.append((op, "".join(new[new_from:new_to])))
            continue
        pieces += [(kind, "".join(words)) for kind, words in
                   (("delete", old[old_from:old_to]), ("insert", new[new_from:new_to])) if words]  # fmt: skip
    return pieces


def shown_sources(turn: Turn) -> list[str]:
    return [source.id for source in turn.sources if source.show]
