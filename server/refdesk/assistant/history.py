"""What earlier turns bring into this one: plain messages, passages read again, links that still work.

Every article is looked up afresh with the roles the visitor has now (provenance.md, carry-over).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from refdesk.assistant import prompts
from refdesk.domain.articles import Article, Passage, Roles
from refdesk.domain.conversation import QuotedText, StoredTurn
from refdesk.ports import Snapshot

HISTORY_TURNS = 10
HISTORY_TOKENS = 8_000
CARRY_TURNS = 3
CARRY_PER_ARTICLE = 3


class Carried(msgspec.Struct, frozen=True):
    """A passage of an earlier turn, supplied again in this one."""

    article: Article
    passage: Passage
    from_turn: str


def tokens_of(text: str) -> int:
    """An estimate that errs on the safe side for every script: a token is about four bytes of UTF-8."""
    return len(text.encode()) // 4 + 1


def history_messages(turns: Sequence[StoredTurn], snapshot: Snapshot, roles: Roles) -> list[dict[str, Any]]:
    """The last turns as alternating plain messages, newest kept first within the token budget."""
    messages: list[dict[str, Any]] = []
    room = HISTORY_TOKENS
    for stored in reversed(turns[-HISTORY_TURNS:]):
        answer = _answer_of(stored, snapshot, roles)
        room -= tokens_of(stored.turn.question) + tokens_of(answer)
        if room < 0:
            break
        messages[:0] = [
            {"role": "user", "content": stored.turn.question},
            {"role": "assistant", "content": answer},
        ]
    return messages


def _answer_of(stored: StoredTurn, snapshot: Snapshot, roles: Roles) -> str:
    turn = stored.turn
    if any(snapshot.article(article_id, roles) is None for article_id in used_ids(stored)):
        return prompts.HISTORY_REMOVED
    if turn.status == "evidence":
        return prompts.HISTORY_EVIDENCE
    if turn.status in ("stopped", "interrupted", "failed", "running"):
        return prompts.HISTORY_STOPPED
    return turn.answer.strip() or prompts.HISTORY_STOPPED


def used_ids(stored: StoredTurn) -> list[str]:
    """Articles whose text or title the answer of that turn may repeat: of one that cites nothing, all it had read."""
    turn = stored.turn
    if not turn.sources:
        return [document.id for document in stored.trail.documents if document.read]
    claimed = [claim.source_id for claim in turn.claims if claim.source_id]
    conflicting = [position.source_id for conflict in turn.conflicts for position in conflict.positions]
    return list(dict.fromkeys([*(source.id for source in turn.sources), *claimed, *conflicting]))


def carried_passages(turns: Sequence[StoredTurn], snapshot: Snapshot, roles: Roles) -> list[Carried]:
    """What the last three turns cited, newest turn first; only where the text stands unchanged in today's article."""
    carried: dict[tuple[str, int], Carried] = {}
    for stored in reversed(turns[-CARRY_TURNS:]):
        for quoted in stored.trail.carried:
            article = snapshot.article(quoted.article_id, roles)
            if article is None or article.id != quoted.article_id:
                continue
            passage = _passage_of(article, quoted)
            if passage is not None:
                carried.setdefault((article.id, passage.number), Carried(article, passage, stored.turn.id))
    return list(carried.values())


def _passage_of(article: Article, quoted: QuotedText) -> Passage | None:
    if article.body[quoted.start : quoted.end] != quoted.text:
        return None
    return next((p for p in article.passages if any(s <= quoted.start < e for s, e in p.spans[-1:])), None)


def linked_before(turns: Sequence[StoredTurn], snapshot: Snapshot, roles: Roles) -> dict[str, Article]:
    """Articles that earlier answers link to and that may still be read."""
    found = {}
    for stored in turns:
        for source in stored.turn.sources:
            article = snapshot.article(source.id, roles)
            if article is not None and article.id == source.id and source.cited:
                found[source.id] = article
    return found
