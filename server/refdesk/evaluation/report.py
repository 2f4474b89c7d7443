"""The figures as people read them."""

from __future__ import annotations

from collections.abc import Sequence

from refdesk.evaluation.answers import AnswerFigures
from refdesk.evaluation.figures import Figures
from refdesk.evaluation.measuring import Asked
from refdesk.evaluation.prices import LISTED
from refdesk.evaluation.questions import ALL
from refdesk.terminal import Terminal

SHOWN = 10
"""Questions of each list; the JSON has all misses."""


def percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f} %"


def number(value: float | None, unit: str = "") -> str:
    return "–" if value is None else f"{value:g}{unit}"


def print_figures(found: Figures, asked: Sequence[Asked], terminal: Terminal) -> None:
    right = sum(one.question.answerable for one in asked)
    terminal.line(f"{found.questions} questions: {right} answerable, {found.questions - right} not", "bold")
    terminal.line("Retrieval", "bold")
    for depth, share in found.recall.items():
        row(terminal, f"right article among the first {depth}", percent(share))
    row(terminal, "MRR@10, nDCG@10", f"{number(found.mrr10)}, {number(found.ndcg10)}")
    terminal.line("Gate", "bold")
    row(terminal, "answerable questions let through", percent(found.answered))
    for tag, share in found.refused.items():
        row(terminal, "unanswerable ones refused" if tag == ALL else f"  {tag}", percent(share))
    p50, p95 = number(found.latency_ms.p50), number(found.latency_ms.p95)
    row(terminal, "question to the gate's word, p50, p95", f"{p50}, {p95} ms")
    _print_lists(asked, terminal)


def _print_lists(asked: Sequence[Asked], terminal: Terminal) -> None:
    right = [one for one in asked if one.question.answerable]
    print_list(terminal, "Not among the first ten", [
        f"{one.question.text} → {', '.join(one.question.articles)}" for one in right if one.rank is None
    ])  # fmt: skip
    print_list(terminal, "Refused though answerable", [
        f"{one.question.text} ({one.reason}, evidence {one.score:.3f})" for one in right if not one.passes
    ])  # fmt: skip
    print_list(terminal, "Let through though not answerable", [
        f"{one.question.text} (evidence {one.score:.3f})" for one in asked if one.passes and not one.question.answerable
    ])  # fmt: skip
    if degraded := sum(one.degraded for one in asked):
        terminal.warn(f"{degraded} questions were searched by words only: the vectors did not answer in time")


def print_answers(found: AnswerFigures, terminal: Terminal) -> None:
    terminal.line("Answers", "bold")
    row(terminal, "answerable questions answered with a source", percent(found.sourced))
    row(terminal, "sources shown that are right", percent(found.citation_precision))
    row(terminal, "right articles shown, of those answered", percent(found.citation_recall))
    row(terminal, "claims whose quote was verified", percent(found.quotes_verified))
    refusals = found.wrong_refusals
    by = f"(gate {percent(refusals['gate'])}, model {percent(refusals['model'])})"
    row(terminal, "answerable questions refused", f"{percent(refusals[ALL])} {by}")
    for tag, share in found.refused.items():
        row(terminal, "unanswerable ones refused" if tag == ALL else f"  {tag}", percent(share))
    for cause, count in found.failures.items():
        row(terminal, f"turns without the model: {cause}", str(count))
    row(terminal, "model calls per question", number(found.model_calls))
    tokens = found.tokens
    cached = f"cache {tokens['cache_read']:,} read, {tokens['cache_write']:,} written"
    row(terminal, "tokens", f"{tokens['input']:,} in, {tokens['output']:,} out, {cached}")
    known = f"{number(found.cost_usd)} US$ (prices of {LISTED})"
    row(terminal, "cost", "no price is known; give one with --price" if found.cost_usd is None else known)
    row(terminal, "whole turn, p50, p95", f"{number(found.latency_ms.p50)}, {number(found.latency_ms.p95)} ms")
    print_list(terminal, "Not answered as wanted", [
        f"{one.question} → {one.status}{f' ({one.reason})' if one.reason else ''}; "
        f"wanted {', '.join(one.wanted) or 'none'}, shown {', '.join(one.sources) or 'none'}"
        for one in found.faults
    ])  # fmt: skip


def row(terminal: Terminal, name: str, value: str) -> None:
    terminal.line(f"  {name:<46} {value}")


def print_list(terminal: Terminal, title: str, lines: Sequence[str]) -> None:
    if not lines:
        return
    terminal.line(f"{title}: {len(lines)}", "bold")
    for line in lines[:SHOWN]:
        terminal.line(f"  {line}", "dim")
    if len(lines) > SHOWN:
        terminal.line(f"  … and {len(lines) - SHOWN} more", "dim")
