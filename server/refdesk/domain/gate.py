"""The gate: whether what was packed for the model can answer the question at all. Without evidence, no model call.

It looks at the passages that were really packed, those carried over included, and refuses only where it is competent
(provenance.md, "Refusal"; what was measured: retrieval.md, "The gate").
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import msgspec

from refdesk.domain.conversation import Kind

Signals = Mapping[str, float]
Reason = Literal["no_hits", "context_budget", "low_coverage"]

ENOUGH_WORDS = 3
"""Content words from which on a follow-up can be judged by its own words."""

COVERAGE, IDF_COVERAGE, SELFSCORE = "coverage", "idf_coverage", "selfscore"
THRESHOLD = 0.45
"""For both kinds of evidence, by words and with vectors, unless the owner has chosen one."""
STRETCH = 1.25
"""For `lexical_evidence`."""


class OwnThreshold(msgspec.Struct, frozen=True):
    """The owner's choice (`refdesk calibrate`)."""

    threshold: float
    """An evidence score, above 0 and below 1."""
    set_at: str
    questions: str
    """What it was chosen on."""
    answered: float | None = None
    """The share of answerable questions that passed it then."""
    by_words: bool = False
    """Chosen where no vectors served: it counts for that kind of evidence."""


class Question(msgspec.Struct, frozen=True):
    """What the gate must know of a question. `words`: its own unique content words, without those of earlier turns."""

    kind: Kind
    words: int
    follow_up: bool
    language: str | None
    """None: no recognisable language, which counts as the default one."""


class GateDecision(msgspec.Struct, frozen=True):
    passes: bool
    reason: Reason | None = None
    """For operators only; never told to a visitor."""
    score: float = 0.0
    """Of the best passage; compared with the threshold, never shown as a probability."""
    signals: dict[str, float] = {}
    """Of the best passage."""


def competent(question: Question, languages: Collection[str]) -> bool:
    """Whether the gate may refuse this question. `languages`: those the corpus is written in, of any region."""
    if question.kind != "question":
        return False
    if question.follow_up and question.words < ENOUGH_WORDS:
        return False
    known = {primary_tag(language) for language in languages}
    return question.language is None or not known or primary_tag(question.language) in known


def decide(
    question: Question,
    languages: Collection[str],
    *,
    found: int,
    packed: Sequence[tuple[Signals, float]],
    threshold: float,
) -> GateDecision:
    """`found`: passages that ranking returned; `packed`: signals and evidence score of each one that fitted, carried
    over ones included. Equal to the threshold passes."""
    signals, score = max(packed, key=lambda one: one[1], default=({}, 0.0))
    if not competent(question, languages):
        return GateDecision(True, None, score, dict(signals))
    reason: Reason | None = None
    if not packed:
        reason = "context_budget" if found else "no_hits"
    elif not score >= threshold:  # so a score that is no number refuses
        reason = "low_coverage"
    return GateDecision(reason is None, reason, score, dict(signals))


def evidence_score(signals: Signals, weights: Mapping[str, float]) -> float:
    """Logistic combination of the signals, 0 to 1; `bias` among the weights is the constant. A missing signal is 0."""
    total = weights.get("bias", 0.0)
    total += sum(weight * signals.get(name, 0.0) for name, weight in weights.items() if name != "bias")
    return 0.5 * (1 + math.tanh(total / 2))


def lexical_evidence(signals: Signals) -> float:
    """The score without vectors, in [0, 1].

    Coverage, lifted by at most three tenths where the words that are there are the rare ones (`idf_coverage`): two of
    five are enough, one of four never is. BM25 over its best possible value breaks ties. The scale is stretched so that
    the threshold of the calibrated score serves: on XQuAD it answers 99 % in English and 97 % in Russian."""
    coverage, rare, bm25 = (min(1.0, max(0.0, signals.get(n, 0.0))) for n in (COVERAGE, IDF_COVERAGE, SELFSCORE))
    lifted = min((coverage + rare) / 2, 1.3 * coverage)
    return min(1.0, STRETCH * (max(coverage, lifted) + 0.1 * bm25 * coverage))


def in_force(own: OwnThreshold | None) -> float:
    return own.threshold if own else THRESHOLD


def comparable(score: float, own: OwnThreshold | None, *, by_words: bool) -> float:
    """The score as it compares with the threshold in force: one that was chosen on the other kind of evidence leaves
    this kind where it was, so the scale is stretched until `THRESHOLD` falls on it. 0 and 1 stay."""
    if own is None or own.by_words is by_words:
        return score
    if score < THRESHOLD:
        return score * own.threshold / THRESHOLD
    return 1 - (1 - score) * (1 - own.threshold) / (1 - THRESHOLD)


def primary_tag(language: str) -> str:
    """`pt` of `pt-BR`."""
    return language.replace("_", "-").split("-", 1)[0].lower()
