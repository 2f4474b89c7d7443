"""What to search for when a question leans on the turns before it: the topic is carried, an old one is dropped."""

from __future__ import annotations

from collections.abc import Sequence

from refdesk.domain.conversation import StoredTurn
from refdesk.text.terms import content_words, surface_words

FEW_WORDS = 2
"""With at most so many content words of its own a question is understood from the conversation."""
SOME_WORDS = 4
"""Up to so many, if it also points back."""
MAX_QUERY = 500

POINTING = frozenset(
    """and but also it its that this those these they them he she then there same instead otherwise
    и а но ещё еще тоже это этот эта эти его её ее их он она они оно там тогда такой такая
    a ale taky také take i to ten ta ty ho jej ji je jim tam tak potom jinak stejně stejne
    und aber auch das es sie dann et mais aussi ça cela y pero también eso""".split()
)
"""Words that point at something said before, when a question begins with them or is short and holds one."""


def own_words(question: str, language: str) -> list[str]:
    return content_words(question, language)


def is_follow_up(question: str, language: str, earlier: Sequence[StoredTurn]) -> bool:
    """Whether the question cannot be understood without the turns before it."""
    if not any(stored.turn.kind in ("question", "clarification") for stored in earlier):
        return False
    own, words = own_words(question, language), surface_words(question)
    if len(own) <= FEW_WORDS:
        return True
    points = bool(words) and (words[0] in POINTING or any(word in POINTING for word in words[1:]))
    return len(own) <= SOME_WORDS and points


def topic(earlier: Sequence[StoredTurn]) -> str:
    """The last question that stands on its own feet; a follow-up of it carries no topic of its own."""
    questions = [stored.turn for stored in earlier if stored.turn.kind in ("question", "clarification")]
    for turn in reversed(questions):
        if len(own_words(turn.question, turn.language)) > FEW_WORDS:
            return turn.question
    return questions[-1].question if questions else ""


def search_queries(question: str, follow_up: bool, earlier: Sequence[StoredTurn]) -> list[str]:
    """The question; for a follow-up first the question together with its topic."""
    before = topic(earlier) if follow_up else ""
    if not before:
        return [question]
    room = max(0, MAX_QUERY - len(question) - 1)
    return [f"{before[:room]} {question}", question]
