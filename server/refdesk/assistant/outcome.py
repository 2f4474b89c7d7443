"""From what happened to what is said: the turn's fields and, beside them, what the console sees."""

from __future__ import annotations

from collections.abc import Sequence

import structlog

from refdesk.assistant.draft import AnswerDraft
from refdesk.assistant.extract import evidence
from refdesk.assistant.phrases import phrase
from refdesk.assistant.turn import LoopEnd
from refdesk.assistant.work import TurnWork
from refdesk.domain import claims as checking
from refdesk.domain.answer_html import checked, render
from refdesk.domain.conversation import QuotedText, Suggestion, ToolRecord, Turn
from refdesk.domain.found import found_articles
from refdesk.domain.gaps import gap_cause, is_gap
from refdesk.domain.sources import citations, derive_sources, final_kind, grounded
from refdesk.ports import Hit

log = structlog.get_logger()

SUGGESTIONS = 3
CARRIED_PER_ARTICLE = 3
UNNUMBERED_TOOLS = ("carry_over",)
"""Not a tool of the model's: shown on the ladder, not among the calls."""


def finish_answer(work: TurnWork, draft: AnswerDraft, end: LoopEnd) -> None:
    """The model has answered, or has said that the articles do not."""
    turn, verified = work.turn, draft.verified_conflicts()
    conflicts = tuple(item.conflict for item in verified)
    turn.status = "insufficient" if draft.outcome == "insufficient" else "answered"
    if draft.outcome == "clarify":
        turn.kind = "clarification"
    elif draft.outcome == "smalltalk":
        turn.kind = "smalltalk"
    elif turn.kind == "smalltalk" and work.trail.read():
        turn.kind = "question"  # it looked like small talk, and the model read articles to answer it
    turn.truncated = end.truncated or ("length" if draft.answer_cut else None)
    turn.answer, turn.missing_information = draft.text, draft.missing_information
    if turn.status == "insufficient" and not turn.answer.strip():
        turn.answer = phrase("refusal", turn.language, work.snapshot.centre)
    turn.claims, turn.conflicts = draft.claims, conflicts
    if turn.kind in ("question", "catalogue") and turn.status == "answered":
        read = checking.texts_read(work.trail)
        turn.verification = checking.verification(draft.stated, len(draft.claims), turn.answer, read, turn.question)
    else:
        turn.claims, turn.conflicts = (), ()
    quoted = [*draft.quoted, *(place.kept() for item in verified for place in item.quoted)]
    work.record.reason = "model_insufficient" if turn.status == "insufficient" else None
    settle_sources(work, draft, draft.cited)
    turn.kind = final_kind(turn.kind, turn.status, work.trail, turn.sources)
    turn.grounded = grounded(turn.status, turn.kind, turn.sources, stated=draft.stated, verified=len(draft.claims))
    if turn.status == "insufficient" or turn.kind == "clarification":
        turn.suggestions = suggestions(work.found)
    work.record.quoted = tuple(dict.fromkeys(quoted)) if turn.claims or turn.conflicts else ()
    work.record.carried = carried_on(work)
    close(work, draft)


def finish_stopped(work: TurnWork, draft: AnswerDraft | None, status: str) -> None:
    """The visitor, or the end of the server, came first: what was shown stays, marked as unfinished."""
    turn = work.turn
    turn.status = "stopped" if status == "stopped" else "interrupted"
    cited: Sequence[str] = ()
    if draft is not None:
        draft.abandon()
        turn.answer, cited = draft.text, draft.cited
    settle_sources(work, draft, cited)
    close(work, draft)


def settle_sources(work: TurnWork, draft: AnswerDraft | None, cited: Sequence[str]) -> None:
    turn = work.turn
    turn.sources = derive_sources(
        work.trail,
        cited,
        turn.claims,
        turn.conflicts,
        status=turn.status,
        kind=turn.kind,
        retrieved_at=turn.created_at,
    )


def finish_refusal(work: TurnWork, reason: str) -> None:
    """The gate refused: one fixed sentence, no model call; the reason is for staff only."""
    turn = work.turn
    turn.status, turn.answer = "insufficient", phrase("refusal", turn.language, work.snapshot.centre)
    turn.suggestions = suggestions(work.found)
    work.record.reason = reason
    close(work, None)


def finish_evidence(work: TurnWork, model_error: str, draft: AnswerDraft | None = None) -> None:
    """No answer could be had or held: verbatim sentences of what was found, marked as not an answer."""
    turn = work.turn
    turn.status, turn.model_error = "evidence", model_error
    turn.evidence = evidence(turn.question, turn.language, evidence_hits(work))
    name = "evidence" if turn.evidence else "unavailable"
    turn.answer = phrase(name, turn.language, work.snapshot.centre)
    turn.claims, turn.conflicts, turn.sources = (), (), ()
    close(work, draft)


def finish_fixed(work: TurnWork, answer: str, cited: Sequence[str]) -> None:
    """Small talk or the catalogue, answered without a model."""
    work.turn.status, work.turn.answer = "answered", answer
    settle_sources(work, None, cited)
    work.turn.grounded = grounded("answered", work.turn.kind, work.turn.sources, stated=0, verified=0)
    close(work, None)


def close(work: TurnWork, draft: AnswerDraft | None) -> None:
    """What every end has in common: the HTML and the console's record."""
    turn, record, trail = work.turn, work.record, work.trail
    settle_text(turn, draft)
    record.claims_rejected = draft.rejected if draft is not None else ()
    record.links_dropped = draft.links_dropped if draft is not None else ()
    linked = draft.cited if draft is not None else [source.id for source in turn.sources if source.cited]
    cited = citations(linked, turn.claims, turn.conflicts)
    record.documents = found_articles(trail, turn.sources, cited, status=turn.status, kind=turn.kind)
    record.tools = tuple(
        ToolRecord(
            number=number,
            tool=call.tool,
            by=call.by,
            input=call.input,
            result_ids=tuple(dict.fromkeys(given.article_id for given in call.returns)),
            error=call.error,
            started_ms=call.started_ms,
            ms=call.ms,
        )
        for number, call in enumerate(c for c in trail.calls if c.tool not in UNNUMBERED_TOOLS)
    )
    record.article_versions = {article_id: article.version for article_id, article in trail.articles.items()}
    if is_gap(turn.kind, turn.status, turn.sources):
        record.gap_cause = gap_cause(trail, hits=len(work.toolbox.hits))
    work.time("total_ms")


def settle_text(turn: Turn, draft: AnswerDraft | None) -> None:
    """The HTML. What a model wrote is looked over once more: no link may be in it that its resolver had not allowed."""
    if draft is None or turn.answer != draft.text:
        turn.answer_html = render(turn.answer)
        return
    answer, turn.answer_html = checked(turn.answer, draft.allowed)
    if answer != turn.answer:
        log.error("answer held a foreign link")
        turn.answer = answer


def suggestions(hits: Sequence[Hit]) -> tuple[Suggestion, ...]:
    """Near articles that the visitor may see, offered as topics, never as sources."""
    near = {hit.article.id: hit.article for hit in hits if hit.signals.get("coverage", 1.0) > 0}
    chosen = [article for article in near.values() if article.url][:SUGGESTIONS]
    return tuple(Suggestion(id=article.id, title=article.title, url=article.url) for article in chosen)


def evidence_hits(work: TurnWork) -> list[Hit]:
    """Passages in the order of their worth: what was packed, then what else tools found, then what was carried over."""
    packed = {(hit.article.id, hit.passage.number) for hit in work.packed}
    others = [hit for key, hit in work.toolbox.hits.items() if key not in packed]
    carried = [Hit(article=c.article, passage=c.passage, score=0.0) for c in work.carried]
    return [*work.packed, *others, *carried]


def carried_on(work: TurnWork) -> tuple[QuotedText, ...]:
    """The passages that later turns supply again: those with a verified quote; of an article cited only by link, those
    that were given of it, at most three."""
    if work.turn.status != "answered":
        return ()
    quoted_in = {quoted.article_id for quoted in work.record.quoted}
    kept: list[QuotedText] = []
    for source in work.turn.sources:
        article = work.trail.articles.get(source.id)
        if article is None or not source.cited or not source.show:
            continue
        if source.id in quoted_in:
            places = [q.start for q in work.record.quoted if q.article_id == source.id]
            passages = [p for p in article.passages if any(s <= at < e for at in places for s, e in p.spans[-1:])]
        else:
            given = work.trail.given(source.id)
            passages = [p for p in article.passages if any(s <= p.spans[-1][0] < e for s, e in given)]
            passages = passages[:CARRIED_PER_ARTICLE]
        for passage in passages:
            start, end = passage.spans[-1]
            kept.append(QuotedText(article_id=source.id, start=start, end=end, text=article.body[start:end]))
    return tuple(kept)
