"""Whether the help centre of today answers a gap: its questions are searched again after every sync.

Search and gate decide, or the assistant with its model where the operator says so. An article counts only if it is new
or changed since the question was asked, or was not found then: the same text fails the same way.
"""

from __future__ import annotations

from collections.abc import Sequence

from refdesk.assistant.asking import Assistant
from refdesk.assistant.rehearsal import rehearse
from refdesk.domain.articles import PUBLIC
from refdesk.domain.gap_queue import Answer, Asked
from refdesk.domain.turn_diff import shown_sources
from refdesk.errors import RequestError
from refdesk.ports import Snapshot

SAMPLES = 3
"""Wordings of a gap that are tried, the newest first; more than half of them must be answered, by one article."""


def samples(asked: Sequence[Asked]) -> list[Asked]:
    wordings: dict[str, Asked] = {}
    for question in asked:
        wordings.setdefault(question.wording, question)
    return list(wordings.values())[:SAMPLES]


async def answered_by(
    asked: Sequence[Asked], snapshot: Snapshot, assistant: Assistant | None, *, now: str
) -> Answer | None:
    """`assistant` None: search and gate decide."""
    tried = samples(asked)
    found: dict[str, int] = {}
    for question in tried:
        article_id = await searched(question, snapshot)
        if article_id is not None and assistant is not None:
            article_id = await asked_again(question, assistant)
        if article_id is not None:
            found[article_id] = found.get(article_id, 0) + 1
    best = max(found, key=lambda name: found[name], default=None)
    if best is None or found[best] * 2 <= len(tried):
        return None
    article = snapshot.article(best, frozenset((PUBLIC, *tried[0].body.roles)))
    if article is None:
        return None
    return Answer(article.id, article.title, found_at=now, by="search" if assistant is None else "model")


async def searched(question: Asked, snapshot: Snapshot) -> str | None:
    """The article that the gate would let answer it."""
    result = await snapshot.search(question.question or "", frozenset((PUBLIC, *question.body.roles)))
    scored = [(snapshot.evidence_score({**result.signals, **hit.signals}), hit.article) for hit in result.hits]
    fit = [(score, article) for score, article in scored if score >= snapshot.threshold]
    if not fit:
        return None
    article = max(fit, key=lambda one: one[0])[1]
    return None if question.body.versions.get(article.id) == article.version else article.id


async def asked_again(question: Asked, assistant: Assistant) -> str | None:
    try:
        outcome = await rehearse(assistant, question.question or "", (PUBLIC, *question.body.roles))
    except RequestError:
        return None
    shown = shown_sources(outcome.turn)
    return shown[0] if outcome.turn.status == "answered" and outcome.turn.grounded and shown else None
