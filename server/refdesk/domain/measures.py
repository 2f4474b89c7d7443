"""Figures of a process for whoever watches it: what its turns came to since the start. Plain numbers, added to once a
turn; `adapters.prometheus` writes them down when somebody asks.

No figure is told apart by what a visitor, a model or an article chooses: every label has a fixed set of values.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from refdesk.domain.conversation import Turn, TurnTrail

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 60.0)
"""Upper bounds of the latencies' buckets."""
PHASES = {"retrieval": "retrieval_ms", "gate": "gate_ms", "model": "model_ms", "first_word": "first_word_ms",
          "total": "total_ms"}  # fmt: skip
"""Of a turn, and where its trail has the milliseconds."""


class Sample(msgspec.Struct, frozen=True):
    """One series of a figure: the values of its labels, and the number."""

    labels: tuple[str, ...]
    value: float


class Figure(msgspec.Struct, frozen=True):
    """A counter (`counts`: it only grows while the process lives) or a gauge."""

    name: str
    help: str
    samples: tuple[Sample, ...]
    labels: tuple[str, ...] = ()
    counts: bool = False


class Latencies(msgspec.Struct):
    """A histogram: how many were within each of SECONDS and not within the one before; the last is for all above."""

    counts: list[int] = msgspec.field(default_factory=lambda: [0] * (len(SECONDS) + 1))
    sum: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(SECONDS, seconds)] += 1
        self.sum += seconds


class TurnMeasures:
    """What the turns of this process came to."""

    def __init__(self) -> None:
        self.latencies = {phase: Latencies() for phase in PHASES}
        self._turns: Counter[tuple[str, ...]] = Counter()
        self._grounded = self._rejected = self._dropped = self._calls = 0
        self._refusals: Counter[str] = Counter()
        self._model_errors: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()

    def take(self, turn: Turn, trail: TurnTrail, *, rehearsal: bool = False) -> None:
        """A turn has ended. `rehearsal`: staff tried a question out; it costs tokens and counts as nothing else."""
        usage = trail.usage
        self._calls += usage.calls
        self._tokens["input"] += usage.input_tokens
        self._tokens["output"] += usage.output_tokens
        self._tokens["cache_read"] += usage.cache_read_tokens
        self._tokens["cache_write"] += usage.cache_write_tokens
        if rehearsal:
            return
        self._turns[turn.status, turn.kind] += 1
        self._grounded += turn.grounded
        self._rejected += len(trail.claims_rejected)
        self._dropped += len(trail.links_dropped)
        if turn.status == "insufficient" and trail.reason is not None:
            self._refusals[trail.reason] += 1
        if turn.model_error is not None:
            self._model_errors[turn.model_error] += 1
        for phase, name in PHASES.items():
            if name in trail.timings:
                self.latencies[phase].add(trail.timings[name] / 1000)

    def figures(self) -> list[Figure]:
        return [
            counter(
                "turns",
                "Turns that ended.",
                self._turns,
                ("status", "kind"),
            ),
            counter("turns_grounded", "Turns whose answer rests on a shown source.", {(): self._grounded}),
            counter("refusals", "Turns refused for want of evidence.", singles(self._refusals), ("reason",)),
            counter("model_errors", "Turns without the model's answer.", singles(self._model_errors), ("kind",)),
            counter("model_calls", "Calls of the model.", {(): self._calls}),
            counter("model_tokens", "Tokens of the model's calls.", singles(self._tokens), ("use",)),
            counter("claims_rejected", "Claims that failed their check.", {(): self._rejected}),
            counter("links_dropped", "Links of the model that no tool had returned.", {(): self._dropped}),
        ]


def singles(counts: Mapping[str, int]) -> dict[tuple[str, ...], float]:
    return {(label,): number for label, number in counts.items()}


def counter(name: str, told: str, values: Mapping[tuple[str, ...], float], labels: Sequence[str] = ()) -> Figure:
    samples = tuple(Sample(key, number) for key, number in sorted(values.items()))
    return Figure(name, told, samples, tuple(labels), counts=True)


def gauge(name: str, told: str, value: float) -> Figure:
    return Figure(name, told, (Sample((), value),))


def info(name: str, told: str, **labels: str) -> Figure:
    """A fact that is a text: a gauge of 1 with the text as label; there is one series of it at any time."""
    return Figure(name, told, (Sample(tuple(labels.values()), 1.0),), tuple(labels))
