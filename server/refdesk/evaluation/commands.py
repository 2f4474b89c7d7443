"""`refdesk eval` and `refdesk calibrate`."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from refdesk.app import Parts, dense_backend
from refdesk.domain.gate import THRESHOLD, OwnThreshold
from refdesk.errors import SettingError
from refdesk.evaluation.answers import answer, answer_figures
from refdesk.evaluation.calibration import AIM, Trade, best_threshold, plot, trade, trades
from refdesk.evaluation.figures import figures
from refdesk.evaluation.measuring import Asked, measure
from refdesk.evaluation.own_questions import masked_copy, off_topic_questions, own_questions
from refdesk.evaluation.preparing import cache_folder, prepared
from refdesk.evaluation.prices import Price
from refdesk.evaluation.questions import ALL, checked, read_questions
from refdesk.evaluation.report import percent, print_answers, print_figures
from refdesk.evaluation.scenarios import Outcome, play, write_corpus
from refdesk.retrieval.search import CorpusSnapshot
from refdesk.settings import Settings
from refdesk.terminal import Terminal
from refdesk.threshold import keep_threshold, own_threshold

# --- eval ---


class Options(msgspec.Struct, frozen=True, kw_only=True):
    own_data: bool = False
    """The data folder of the settings was asked for by name; else one apart from the server's is used."""
    as_json: bool = False
    answers: bool = False
    price: Price | None = None
    """For every model; None: the price list."""


def run_eval(settings: Settings, terminal: Terminal, questions: Path, options: Options) -> int:
    if options.answers and not settings.anthropic_api_key:
        raise SettingError("ANTHROPIC_API_KEY", "is empty, and --answer asks a model; set it, or leave --answer out")
    asyncio.run(_eval(settings, terminal, questions, options))
    return 0


def beside(settings: Settings) -> Settings:
    """The same with a data folder apart from the server's, which may be in use."""
    return msgspec.structs.replace(settings, data=cache_folder(settings.corpus))


async def _eval(settings: Settings, terminal: Terminal, file: Path, options: Options) -> None:
    read = read_questions(file)
    async with prepared(settings if options.own_data else beside(settings), terminal) as parts:
        snapshot = parts.library.current()
        snapshot.own_threshold = own_threshold(settings.data)
        questions = checked(read, snapshot)
        asked = await measure(questions, snapshot, terminal.progress)
        found, answers = figures(asked), None
        if options.answers:
            answers = answer_figures(await answer(questions, parts, terminal.progress), options.price)
    if options.as_json:
        body = msgspec.to_builtins(found)
        terminal.data(msgspec.json.encode(body if answers is None else {**body, "answers": answers}).decode())
        return
    print_figures(found, asked, terminal)
    if answers is not None:
        print_answers(answers, terminal)


def run_builtin(settings: Settings, terminal: Terminal, *, as_json: bool) -> int:
    outcomes = asyncio.run(_builtin(settings, terminal))
    if as_json:
        terminal.data(msgspec.json.encode({"model": bool(settings.anthropic_api_key), "scenarios": outcomes}).decode())
    else:
        _print_outcomes(outcomes, terminal, with_model=bool(settings.anthropic_api_key))
    return 0 if all(outcome.passed for outcome in outcomes) else 1


async def _builtin(settings: Settings, terminal: Terminal) -> list[Outcome]:
    with tempfile.TemporaryDirectory(prefix="refdesk-") as folder:
        made = msgspec.structs.replace(settings, corpus=Path(folder) / "corpus", data=Path(folder) / "data")
        write_corpus(made.corpus)
        async with prepared(made, terminal) as parts:
            return await play(parts, terminal)


def _print_outcomes(outcomes: Sequence[Outcome], terminal: Terminal, *, with_model: bool) -> None:
    terminal.line(
        "The whole turn" if with_model else "Gate and evidence; with ANTHROPIC_API_KEY the whole turn", "bold"
    )
    for outcome in outcomes:
        terminal.line(
            f"{'pass' if outcome.passed else 'FAIL'}  {outcome.scenario}", "green" if outcome.passed else "red"
        )
        if not outcome.passed:
            terminal.line(f"      expected {outcome.expected}")
            terminal.line(f"      got {outcome.got}")


# --- calibrate ---


def run_calibrate(
    settings: Settings, terminal: Terminal, questions: Path | None, *, choice: str | None, as_json: bool
) -> int:
    """`choice`: what is kept for the server: `best`, `default`, or a threshold; None: nothing."""
    if choice is not None and choice not in ("best", "default"):
        read_threshold(choice)
    asyncio.run(_calibrate(settings, terminal, questions, choice=choice, as_json=as_json))
    return 0


def read_threshold(text: str) -> float:
    """Raises SettingError."""
    try:
        value = float(text)
        if not 0 < value < 1:
            raise ValueError
    except ValueError as error:
        allowed = "best, default, or a number above 0 and below 1"
        raise SettingError("--set", f"{text!r} is not allowed; allowed: {allowed}") from error
    return value


async def _calibrate(
    settings: Settings, terminal: Terminal, file: Path | None, *, choice: str | None, as_json: bool
) -> None:
    read = read_questions(file) if file else None
    if read is None and choice == "best":
        remedy = "name a file of them, or a threshold of your own choice"
        raise SettingError("--set", f"best needs questions of visitors, for titles are found more easily; {remedy}")
    async with prepared(settings, terminal) as parts:
        snapshot = parts.library.current()
        by_words = snapshot.dense is None
        in_force = own_scale(snapshot, by_words=by_words)
        if read is None:
            asked = await _own(settings, parts, terminal)
        else:
            asked = await measure(checked(read, snapshot), snapshot, terminal.progress)
    best = best_threshold(asked, AIM)
    if as_json:
        offered = {"best": best, "in_force": in_force, "thresholds": trades(asked, in_force)}
        terminal.data(msgspec.json.encode(offered).decode())
    else:
        _print_trades(asked, in_force, best, terminal, own=file is None)
    if choice is not None:
        kept = None if choice == "default" else best if choice == "best" else read_threshold(choice)
        source = file.name if file else "titles and headings"
        terminal.note(_keep(settings.data, asked, kept, source, by_words=by_words))


def own_scale(snapshot: CorpusSnapshot, *, by_words: bool) -> float:
    """The threshold in force as scores are compared that no owner's choice has stretched, which are measured from now
    on."""
    own, snapshot.own_threshold = snapshot.own_threshold, None
    return own.threshold if own is not None and own.by_words is by_words else THRESHOLD


async def _own(settings: Settings, parts: Parts, terminal: Terminal) -> list[Asked]:
    snapshot = parts.library.current()
    questions, articles = own_questions(snapshot)
    async with masked_copy(snapshot, articles, dense_backend(settings), terminal) as copy:
        return await measure([*questions, *off_topic_questions(snapshot)], copy, terminal.progress)


def _keep(data: Path, asked: Sequence[Asked], threshold: float | None, source: str, *, by_words: bool) -> str:
    """None: the built-in threshold. Returns what to tell."""
    if threshold is None:
        keep_threshold(data, None)
        return "The built-in threshold is in force from the next sync or start on."
    at = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    keep_threshold(data, OwnThreshold(threshold, at, source, trade(asked, threshold).answered, by_words))
    return f"Threshold {threshold:.3f} is in force from the next sync or start on, in the data folder {data}."


def _print_trades(asked: Sequence[Asked], in_force: float, best: float, terminal: Terminal, *, own: bool) -> None:
    found = trades(asked, in_force)
    right = sum(one.question.answerable for one in asked)
    terminal.line(f"{right} answerable questions, {len(asked) - right} unanswerable ones", "bold")
    if own:
        terminal.line("Asked: titles and headings, each hidden from its article; the built-in off-topic questions.")
        terminal.line(
            "Titles are found more easily than what visitors ask: choose a threshold well below what they allow."
        )
    terminal.line(
        "Evidence is counted against what off-topic questions reach in this help centre, measured at every sync."
    )
    terminal.line()
    for line in table(found, best):
        terminal.line(line)
    terminal.line()
    for line in plot(asked):
        terminal.line(line)


def table(found: Sequence[Trade], best: float) -> list[str]:
    tags = [tag for tag in found[0].refused if tag != ALL]
    lines = [f"threshold  answered  refused{''.join(f'  {tag[:14]:>14}' for tag in tags)}"]
    for one in found:
        marks = [f"{AIM:.0%} answered"] if one.threshold == best else []
        marks += ["in force"] if one.in_force else []
        shares = "".join(f"  {percent(one.refused[tag]):>14}" for tag in tags)
        line = f"{one.threshold:>9.3f}  {percent(one.answered):>8}  {percent(one.refused[ALL]):>7}{shares}"
        lines.append(f"{line}  {', '.join(marks)}".rstrip())
    return lines
