"""A turn that found no answer, looked at once more: what it asked without personal data, why it failed, what came near.
Only searches; no model is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

from refdesk.api.console_turn import everybody
from refdesk.domain.articles import PUBLIC, Article, Roles
from refdesk.domain.conversation import FoundArticle, StoredTurn
from refdesk.domain.gap_queue import Fresh, GapBody, Near, Unanswered
from refdesk.domain.gap_wordings import Wording
from refdesk.domain.gaps import Cause
from refdesk.ports import Hit, Snapshot
from refdesk.text.redaction import redact

WIDE = 20
"""Passages that the second, wider search returns for each language of the help centre."""
MOST_NEAR = 5
MOST_MISSING, LONGEST_MISSING = 5, 300
OFF_TOPIC_NEAR = 0.1
"""Nearness (see retrieval/baselines.py) up to which a question is no nearer to any article than general ones are."""
FEW_WORDS = 0.2
"""Share of the best possible word score up to which the words do not say otherwise."""


class Best(NamedTuple):
    """The best passage of a search as the gate sees it."""

    article: Article
    score: float


async def unanswered(fresh: Fresh, snapshot: Snapshot) -> Unanswered:
    turn, trail = fresh.stored.turn, fresh.stored.trail
    question = redact(turn.question)
    cause, named = await cause_of(question, fresh.stored, snapshot)
    near = [*named, *(Near(found.id, found.title, found.reason) for found in nearest(trail.documents))]
    by_id = {entry.id: entry for entry in reversed(near)}
    body = GapBody(
        missing=tuple(redact(sentence)[:LONGEST_MISSING] for sentence in turn.missing_information[:MOST_MISSING]),
        near=tuple(by_id[name] for name in dict.fromkeys(entry.id for entry in near))[:MOST_NEAR],
        roles=trail.roles,
        versions=trail.article_versions,
    )
    return Unanswered(
        seq=fresh.seq,
        wording=wording_id(question, turn.language, turn.id),
        asked_at=turn.created_at,
        language=turn.language,
        cause=cause,
        question=question,
        body=body,
    )


def wording_id(question: str, language: str, turn_id: str) -> str:
    key = Wording.of(question, language).key or turn_id
    return blake2b(key.encode("utf-8", "replace"), digest_size=12).hexdigest()


def nearest(found: Iterable[FoundArticle]) -> list[FoundArticle]:
    """Those whose text was read first, those opened above all."""
    return sorted(found, key=lambda article: (-("full" in article.forms), -article.read))


async def cause_of(question: str, stored: StoredTurn, snapshot: Snapshot) -> tuple[Cause, list[Near]]:
    """The turn's own cause, unless today's articles tell more: one that answers and was not read, one that the visitor
    may not read, or none that is anywhere near."""
    own: Cause = stored.trail.gap_cause or "nothing_found"  # type: ignore[assignment]
    roles = frozenset((*stored.trail.roles, PUBLIC))
    mine = await wide_search(question, roles, snapshot)
    read = {found.id for found in stored.trail.documents if found.read}
    best_read = max((one.score for one in mine.best if one.article.id in read), default=0.0)
    missed = beyond(mine.best, max(best_read, snapshot.threshold), {*read})
    if missed is not None:
        return "missed", [Near(missed.id, missed.title, "A wider search finds it, and it was not read.")]
    all_of_them = await wide_search(question, everybody(snapshot), snapshot)
    best_mine = max((one.score for one in mine.best), default=0.0)
    hidden = [one for one in all_of_them.best if not one.article.readable_by(roles)]
    restricted = beyond(hidden, max(best_mine, snapshot.threshold), set())
    if restricted is not None:
        return "restricted", [Near(restricted.id, restricted.title, "The visitor's roles may not read it.")]
    return ("out_of_scope" if own != "opened_but_silent" and all_of_them.far else own), []


def beyond(found: Sequence[Best], score: float, but: set[str]) -> Article | None:
    """The best article above a score."""
    others = [one for one in found if one.score >= score and one.article.id not in but]
    return max(others, key=lambda one: one.score).article if others else None


class Wide(NamedTuple):
    best: list[Best]
    """One for each passage found."""
    far: bool
    """No passage is nearer than general questions are; known only where search by meaning serves."""


async def wide_search(question: str, roles: Roles, snapshot: Snapshot) -> Wide:
    """In all languages together, and in each, so that no language crowds another out. Words of the question that no
    article has count against every language: articles of another one cannot tell, and anything would come near."""
    languages = snapshot.centre.languages
    best: list[Best] = []
    hits: list[Hit] = []
    own: dict[str, float] = {}
    for language in (None, *(languages if len(languages) > 1 else ())):
        result = await snapshot.search(question, roles, language=language, limit=WIDE)
        own = own or result.signals
        signals = {**own, **result.signals}
        hits += result.hits
        best += [Best(hit.article, snapshot.evidence_score({**signals, **hit.signals})) for hit in result.hits]
    near = [hit.signals["near"] for hit in hits if "near" in hit.signals]
    words = max((hit.signals.get("selfscore", 0.0) for hit in hits), default=0.0)
    return Wide(best, far=bool(near) and max(near) <= OFF_TOPIC_NEAR and words <= FEW_WORDS)
