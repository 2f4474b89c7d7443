"""What a visitor may still see of an earlier turn: what the role may not see now is not replayed."""

from __future__ import annotations

from html import escape

import msgspec

from refdesk.assistant.history import used_ids
from refdesk.assistant.phrases import phrase
from refdesk.domain.articles import Roles
from refdesk.domain.conversation import StoredTurn, Turn
from refdesk.ports import Snapshot


def visible_turn(stored: StoredTurn, snapshot: Snapshot, roles: Roles) -> Turn:
    """The turn itself where everything that its answer rests on may be read now; else the question with a fixed
    sentence in place of answer, sources, claims and quotes. Staff see the stored turn as it was."""
    turn = stored.turn
    rests_on = [*used_ids(stored), *(item.source_id for item in turn.evidence)]
    if any(snapshot.article(article_id, roles) is None for article_id in rests_on):
        return withheld(turn, phrase("withheld", turn.language, snapshot.centre))
    suggestions = tuple(near for near in turn.suggestions if snapshot.article(near.id, roles) is not None)
    if suggestions == turn.suggestions:
        return turn
    return msgspec.structs.replace(turn, suggestions=suggestions)


def withheld(turn: Turn, sentence: str) -> Turn:
    return Turn(
        id=turn.id,
        conversation_id=turn.conversation_id,
        created_at=turn.created_at,
        question=turn.question,
        kind=turn.kind,
        language=turn.language,
        status="insufficient" if turn.status in ("answered", "evidence") else turn.status,
        answer=sentence,
        answer_html=f"<p>{escape(sentence)}</p>",
        feedback=turn.feedback,
    )


def names_readable_only(stored: StoredTurn, snapshot: Snapshot, roles: Roles) -> bool:
    """Whether the turn's steps, which name every article that was found, may be told again."""
    return all(snapshot.article(found.id, roles) is not None for found in stored.trail.documents)
