"""The whole loop on questions: with the model, the checks of its claims, and the sources that are shown."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from refdesk.app import Parts, assistant_of
from refdesk.assistant.asking import Assistant
from refdesk.assistant.work import Ask
from refdesk.domain.articles import Roles
from refdesk.domain.conversation import Turn, TurnTrail, Usage, Visitor
from refdesk.evaluation.figures import Latency, latency, mean, share
from refdesk.evaluation.prices import Price, price_of
from refdesk.evaluation.questions import ALL, Question

AT_ONCE = 4
"""Turns that run at the same time."""


class Answered(msgspec.Struct, frozen=True):
    question: Question
    turn: Turn
    trail: TurnTrail

    @property
    def sources(self) -> tuple[str, ...]:
        """As shown under the answer."""
        return tuple(source.id for source in self.turn.sources if source.show)

    @property
    def sourced(self) -> bool:
        return self.turn.status == "answered" and self.turn.grounded and bool(self.sources)

    @property
    def right(self) -> set[str]:
        return set(self.sources) & set(self.question.articles)

    @property
    def is_fault(self) -> bool:
        """Not what the question's line asks for."""
        return not self.right if self.question.answerable else self.turn.status == "answered"


class Fault(msgspec.Struct, frozen=True):
    question: str
    wanted: tuple[str, ...]
    sources: tuple[str, ...]
    status: str
    reason: str | None


class AnswerFigures(msgspec.Struct, frozen=True):
    """`answers` of the JSON of `refdesk eval --answer`."""

    sourced: float | None
    """Share of answerable questions answered with a source shown."""
    citation_precision: float | None
    """Of the sources shown under answerable questions, the share that answers them."""
    citation_recall: float | None
    """Of the articles wanted by the questions that were answered, the share that was shown."""
    quotes_verified: float | None
    """Of the claims that the model stated, the share that held."""
    wrong_refusals: dict[str, float | None]
    """Share of answerable questions refused: all, by the gate, by the model."""
    refused: dict[str, float | None]
    """Share of unanswerable questions that got no answer: all, and by tag."""
    failures: dict[str, int]
    """Turns without an answer of the model, by cause."""
    model_calls: float | None
    """Per question."""
    tokens: dict[str, int]
    cost_usd: float | None
    """None: no price is known for the model."""
    latency_ms: Latency
    faults: tuple[Fault, ...]


async def answer(
    questions: Sequence[Question], parts: Parts, progress: Callable[[int, int, str], None]
) -> list[Answered]:
    visitors = await _visitors(questions, parts)
    assistant, room = assistant_of(parts), asyncio.Semaphore(AT_ONCE)
    done = 0

    async def one(question: Question) -> Answered:
        nonlocal done
        async with room:
            answered = await answered_by(assistant, parts, question, visitors[question.roles])
        done += 1
        progress(done, len(questions), "answering questions")
        return answered

    return list(await asyncio.gather(*map(one, questions)))


async def _visitors(questions: Sequence[Question], parts: Parts) -> dict[Roles, Visitor]:
    visitors = {}
    for number, roles in enumerate(dict.fromkeys(question.roles for question in questions)):
        visitors[roles] = Visitor(id=f"v_evaluation_{number}", roles=tuple(sorted(roles)))
        await parts.store.add_visitor(visitors[roles], f"evaluation {number}".encode(), "1970-01-01T00:00:00.000Z")
    return visitors


async def answered_by(assistant: Assistant, parts: Parts, question: Question, visitor: Visitor) -> Answered:
    run = await assistant.start(Ask(question=question.text, visitor=visitor, locale=question.language))
    await run.finished()
    stored = await parts.store.turn(run.turn_id, None)
    assert stored is not None
    return Answered(question, stored.turn, stored.trail)


def answer_figures(answered: Sequence[Answered], price: Price | None) -> AnswerFigures:
    right = [one for one in answered if one.question.answerable]
    wrong = [one for one in answered if not one.question.answerable]
    given = [one for one in right if one.turn.status == "answered"]
    claims = [(len(one.turn.claims), len(one.trail.claims_rejected)) for one in answered]
    shown, wanted = sum(len(one.sources) for one in right), sum(len(one.question.articles) for one in given)
    usages = [one.trail.usage for one in answered]
    return AnswerFigures(
        sourced=share(one.sourced for one in right),
        citation_precision=ratio(sum(len(one.right) for one in right), shown),
        citation_recall=ratio(sum(len(one.right) for one in given), wanted),
        quotes_verified=ratio(sum(held for held, _ in claims), sum(held + not_held for held, not_held in claims)),
        wrong_refusals=wrong_refusals(right),
        refused=unanswered(wrong),
        failures=dict(Counter(failure(one) for one in answered if failure(one))),
        model_calls=mean(float(usage.calls) for usage in usages),
        tokens={name: sum(getattr(usage, f"{name}_tokens") for usage in usages) for name in TOKENS},
        cost_usd=cost(usages, price),
        latency_ms=latency([one.trail.timings["total_ms"] for one in answered if "total_ms" in one.trail.timings]),
        faults=tuple(map(fault, (one for one in answered if one.is_fault))),
    )


TOKENS = ("input", "output", "cache_read", "cache_write")


def wrong_refusals(answerable: Sequence[Answered]) -> dict[str, float | None]:
    by_model = [one.trail.reason == "model_insufficient" for one in answerable]
    refused = [one.turn.status == "insufficient" for one in answerable]
    by_gate = [all_ and not model for all_, model in zip(refused, by_model, strict=True)]
    return {ALL: share(refused), "gate": share(by_gate), "model": share(by_model)}


def unanswered(unanswerable: Sequence[Answered]) -> dict[str, float | None]:
    shares = {ALL: share(one.turn.status == "insufficient" for one in unanswerable)}
    for tag in dict.fromkeys(one.question.tag for one in unanswerable if one.question.tag):
        shares[tag] = share(one.turn.status == "insufficient" for one in unanswerable if one.question.tag == tag)
    return shares


def failure(one: Answered) -> str:
    return "failed" if one.turn.status == "failed" else one.turn.model_error or ""


def fault(one: Answered) -> Fault:
    reason = one.trail.reason or failure(one) or None
    return Fault(one.question.text, one.question.articles, one.sources, one.turn.status, reason)


def cost(usages: Sequence[Usage], price: Price | None) -> float | None:
    """US dollars. Each turn at its own model's price, unless one price is given for all."""
    prices = [price or price_of(usage.model) for usage in usages if usage.calls]
    if None in prices:
        return None
    spent = [usage for usage in usages if usage.calls]
    return round(sum(p.cost(usage) for p, usage in zip(prices, spent, strict=True) if p is not None), 6)


def ratio(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None
