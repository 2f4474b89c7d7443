"""The commands that work without a server: sync, check, ask, search, openapi."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from refdesk.api.routes import openapi_text
from refdesk.app import Parts, assistant_of, close_parts, dense_backend, open_parts
from refdesk.assistant.work import Ask
from refdesk.corpus.check import check_corpus
from refdesk.corpus.report import SyncReport
from refdesk.corpus.sync import read_corpus
from refdesk.domain.articles import ANONYMOUS, PUBLIC
from refdesk.domain.conversation import Turn, Visitor
from refdesk.evaluation.measuring import opened
from refdesk.evaluation.preparing import vectors
from refdesk.evaluation.questions import Question
from refdesk.library import Library
from refdesk.ports import Hit, SearchResult
from refdesk.settings import Settings
from refdesk.terminal import Terminal

COMMAND_LINE = Visitor(id="v_command_line", roles=(PUBLIC,))


def run_sync(settings: Settings, terminal: Terminal, *, force: bool) -> int:
    library = Library(settings.corpus, settings.data, progress=terminal.progress)
    report = asyncio.run(library.open(force=force))
    print_report(report, terminal)
    return 1 if report["withheld"] else 0


def print_report(report: dict[str, Any], terminal: Terminal) -> None:
    terminal.line(f"{report['articles']} articles in {report['seconds']} s", "bold")
    for name in ("added", "changed", "removed"):
        if report[name]:
            shown = ", ".join(report[name][:10]) + (" …" if len(report[name]) > 10 else "")
            terminal.line(f"  {name}: {len(report[name])} ({shown})")
    terminal.line(f"  unchanged: {report['unchanged']}, unpublished: {report['unpublished']}")
    for notice in report["withheld"]:
        terminal.line(f"  withheld: {place(notice)}: {notice['reason']}", "red")
    for notice in report["warnings"]:
        terminal.line(f"  warning: {place(notice)}: {notice['reason']}", "yellow")


def place(notice: dict[str, Any]) -> str:
    return f"{notice['path']}:{notice['line']}" if notice["line"] else str(notice["path"])


def run_check(settings: Settings, terminal: Terminal) -> int:
    reading = read_corpus(settings.corpus, progress=terminal.progress)
    findings = check_corpus(reading, settings.corpus)
    for finding in findings:
        terminal.line(str(finding), "red" if finding.is_error else "yellow")
    report: SyncReport = reading.report
    terminal.line(
        f"{len(reading.articles)} articles, {report.unpublished} unpublished, {len(findings)} findings", "bold"
    )
    return 1 if findings else 0


class Searched(msgspec.Struct, frozen=True):
    result: SearchResult
    scores: tuple[float, ...]
    """What the gate makes of each hit's signals."""
    threshold: float
    verdict: str
    """Of the gate, were this the first question of a conversation."""


def run_search(
    settings: Settings, terminal: Terminal, query: str, *, as_json: bool, explain: bool, words: bool = False
) -> int:
    """`words`: without the vectors, which are built first where they are missing."""
    done = asyncio.run(searched(settings, terminal, query, words=words))
    result = done.result
    if as_json:
        rows = [found(hit, score if explain else None) for hit, score in zip(result.hits, done.scores, strict=True)]
        gate = {"gate": {"threshold": done.threshold, "verdict": done.verdict}} if explain else {}
        terminal.data(msgspec.json.encode({"searched": result.searched, **gate, "passages": rows}).decode())
        return 0
    if not result.hits:
        terminal.line("Nothing found.")
    if len(result.searched) > 1:
        terminal.line(f"Searched: {' · '.join(result.searched)}")
    for number, (hit, score) in enumerate(zip(result.hits, done.scores, strict=True), 1):
        section = f" › {hit.passage.section}" if hit.passage.section else ""
        terminal.line(f"{number}. {hit.article.title}{section}", "bold")
        terminal.line(f"   {hit.article.url or hit.article.id}", "cyan")
        terminal.line(f"   {' '.join(hit.text.split())[:300]}")
        if explain:
            figures = "  ".join(f"{name} {value:.3f}" for name, value in hit.signals.items())
            terminal.line(f"   score {hit.score:.3f}  evidence {score:.3f}  {figures}", "dim")
    if explain:
        query_figures = "  ".join(f"{name} {value:.3f}" for name, value in result.signals.items())
        terminal.line(f"The question itself: {query_figures}", "dim")
        terminal.line(f"Gate: {done.verdict} (threshold {done.threshold:.3f})", "bold")
    return 0


def found(hit: Hit, evidence: float | None) -> dict[str, Any]:
    """`evidence` None: unexplained."""
    row = {"id": hit.article.id, "title": hit.article.title, "url": hit.article.url, "section": hit.passage.section}
    explained = {"score": hit.score, "evidence_score": evidence, "signals": hit.signals}
    return {**row, "text": hit.text, **({} if evidence is None else explained)}


async def searched(settings: Settings, terminal: Terminal, query: str, *, words: bool = False) -> Searched:
    backend = dense_backend(settings) if settings.dense and not words else None
    library = Library(settings.corpus, settings.data, settings.public_url, terminal.progress, backend)
    await library.open()
    try:
        await vectors(library, terminal)
        snapshot = library.current()
        result = await snapshot.search(query, ANONYMOUS)
        scores = tuple(snapshot.evidence_score({**result.signals, **hit.signals}) for hit in result.hits)
        start = await opened(Question(query), snapshot)
        verdict = "lets it through" if start.decision.passes else f"refuses ({start.decision.reason})"
        return Searched(result, scores, snapshot.threshold, verdict if start.judged else "does not judge it")
    finally:
        await library.close()


def run_ask(settings: Settings, terminal: Terminal, question: str, *, as_json: bool, words: bool = False) -> int:
    """`words`: without the vectors, which are built first where they are missing."""
    turn = asyncio.run(asked(msgspec.structs.replace(settings, dense=settings.dense and not words), terminal, question))
    if as_json:
        terminal.data(msgspec.json.encode(turn).decode())
    else:
        print_turn(turn, terminal)
    return 0 if turn.status in ("answered", "insufficient", "evidence") else 1


async def asked(settings: Settings, terminal: Terminal, question: str) -> Turn:
    """A turn outside any conversation log: the index is the server's, the database a throw-away one."""
    with tempfile.TemporaryDirectory(prefix="refdesk-") as folder:
        parts = await open_parts(settings, terminal.progress, database_folder=Path(folder))
        try:
            await vectors(parts.library, terminal)
            await parts.store.add_visitor(COMMAND_LINE, b"command line", "1970-01-01T00:00:00.000Z")
            return await one_turn(parts, question)
        finally:
            await close_parts(parts)


async def one_turn(parts: Parts, question: str) -> Turn:
    run = await assistant_of(parts).start(Ask(question=question, visitor=COMMAND_LINE))
    await run.finished()
    if run.error is not None:
        raise run.error
    assert run.turn is not None
    return run.turn


def print_turn(turn: Turn, terminal: Terminal) -> None:
    terminal.line(turn.answer, "" if turn.status == "answered" else "italic")
    for item in turn.evidence:
        terminal.line()
        terminal.line(f"  “{' '.join(item.quote.split())}”")
        terminal.line(f"  {item.title}{f' › {item.section}' if item.section else ''}  {item.url or ''}", "cyan")
    shown = [source for source in turn.sources if source.show]
    if shown:
        terminal.line()
        terminal.line("Sources", "bold")
        for source in shown:
            terminal.line(f"  {source.title}  {source.url or ''}", "cyan")
    for conflict in turn.conflicts:
        terminal.line(f"The articles disagree: {conflict.topic}", "bold")
        for position in conflict.positions:
            terminal.line(f"  {position.source_id} ({position.updated_at}): “{position.quote}”")
    if turn.missing_information:
        terminal.line("Missing", "bold")
        for sentence in turn.missing_information:
            terminal.line(f"  {sentence}")


def run_openapi(terminal: Terminal) -> int:
    terminal.data(openapi_text())
    return 0
