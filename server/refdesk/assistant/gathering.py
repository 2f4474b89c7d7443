"""Before the model: language, kind, the application's own search, what is carried over, and the gate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from refdesk.assistant import prompts
from refdesk.assistant.followup import is_follow_up, own_words, search_queries
from refdesk.assistant.history import history_messages, tokens_of
from refdesk.assistant.kinds import classify
from refdesk.assistant.packing import BUDGET_TOKENS, pack
from refdesk.assistant.turn import Limits
from refdesk.assistant.work import Ask, TurnWork
from refdesk.domain.conversation import StoredTurn, Turn
from refdesk.domain.gate import GateDecision, Question, decide
from refdesk.ports import Snapshot
from refdesk.text.language import recognised
from refdesk.text.terms import primary


def settle_language(turn: Turn, ask: Ask, snapshot: Snapshot, earlier: Sequence[StoredTurn]) -> str | None:
    """Sets the turn's language; returns the recognised one, None where the text shows none.

    A text of no recognisable language is answered in the conversation's language, else the page's, else the default."""
    centre = snapshot.centre
    seen = recognised(turn.question, centre.languages)
    fallback = earlier[-1].turn.language if earlier else locale_language(ask.locale, centre.languages)
    turn.language = seen or fallback or centre.default_language
    return seen


def locale_language(locale: str, languages: Sequence[str]) -> str | None:
    """The corpus language that the page's locale names, if any."""
    return next((language for language in languages if primary(language) == primary(locale)), None) if locale else None


def settle_kind(turn: Turn) -> None:
    turn.kind = classify(turn.question, turn.language)


def begin(
    ask: Ask, turn: Turn, snapshot: Snapshot, earlier: Sequence[StoredTurn], limits: Limits
) -> tuple[TurnWork, str | None]:
    """What a turn works with, its language and kind settled, and the language that was recognised in the question.

    Every turn begins here, and so does every question of an evaluation: they can never differ."""
    recognised_language = settle_language(turn, ask, snapshot, earlier)
    settle_kind(turn)
    return TurnWork(ask, turn, snapshot, earlier, limits), recognised_language


async def gather(work: TurnWork, recognised_language: str | None) -> GateDecision:
    """The prefetch search and the passages carried over, then the gate's word on what was packed."""
    question, earlier = work.turn.question, work.earlier
    follow_up = is_follow_up(question, work.turn.language, earlier)
    queries = search_queries(question, follow_up, earlier)
    work.carry()
    budget = BUDGET_TOKENS - sum(tokens_of(c.passage.text(c.article.body)) for c in work.carried)
    carried = {(c.article.id, c.passage.number) for c in work.carried}
    result = await work.toolbox.prefetch(
        queries, lambda hits: pack([h for h in hits if (h.article.id, h.passage.number) not in carried], budget)
    )
    work.packed = list(result.hits)
    work.found = list(work.toolbox.hits.values())
    work.time("retrieval_ms")
    judging = time.perf_counter()
    scored = [(hit.signals, work.snapshot.evidence_score({**result.signals, **hit.signals})) for hit in work.packed]
    again = work.snapshot.measure(question, [(c.article, c.passage) for c in work.carried])
    scored += [(signals, work.snapshot.evidence_score(signals)) for signals in again]
    decision = decide(
        Question(
            kind=work.turn.kind,
            words=len(own_words(question, work.turn.language)),
            follow_up=follow_up,
            language=recognised_language,
        ),
        work.snapshot.centre.languages,
        found=len(work.found),
        packed=scored,
        threshold=work.snapshot.threshold,
    )
    work.record.signals = {**decision.signals, "evidence_score": round(decision.score, 4)}
    work.time("gate_ms", judging)
    return decision


def messages_for(work: TurnWork, system: str) -> list[dict[str, Any]]:
    """History as plain text, then one user message: evidence first, the question last."""
    messages = history_messages(work.earlier, work.snapshot, work.roles)
    blocks = []
    if work.kind == "question":
        given = [(c.article, c.passage, True) for c in work.carried]
        given += [(hit.article, hit.passage, False) for hit in work.packed]
        blocks.append(prompts.evidence_block(work.nonce, given))
    if work.ask.page:
        blocks.append(prompts.page_block(work.nonce, work.ask.page))
    blocks.append(prompts.question_block(work.turn.question))
    for text in (system, *blocks, *(str(message["content"]) for message in messages)):
        work.room.take(text)
    content = [{"type": "text", "text": block} for block in blocks]
    return [*messages, {"role": "user", "content": content}]
