"""What a sync found: for the operator, on the command line and in the console. Paths and reasons, no article text."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from refdesk.domain.articles import Article, HelpCentre
from refdesk.errors import FileWithheld, MassDeletion


class Notice(msgspec.Struct, frozen=True):
    path: str
    """Relative to the corpus folder, with `/`."""
    reason: str
    line: int | None = None
    """From 1; None where no single line is at fault."""

    def __str__(self) -> str:
        return f"{self.path}{f':{self.line}' if self.line else ''}: {self.reason}"


class SyncReport(msgspec.Struct, frozen=True):
    added: tuple[str, ...] = ()
    """Ids, sorted; so are `changed` and `removed`."""
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unchanged: int = 0
    unpublished: int = 0
    """Drafts and archived files: they exist for nobody."""
    withheld: tuple[Notice, ...] = ()
    warnings: tuple[Notice, ...] = ()
    """Of files that are served all the same."""


class CorpusReading(msgspec.Struct, frozen=True):
    centre: HelpCentre
    articles: tuple[Article, ...]
    """Published ones, by path, with their passages."""
    report: SyncReport
    body_lines: dict[str, int] = {}
    """By path: the line of the file on which the body begins, for reports to editors."""


def notice(path: str, problem: FileWithheld) -> Notice:
    return Notice(path, problem.reason, problem.line)


def compare(previous: Sequence[Article], articles: Sequence[Article]) -> SyncReport:
    """By id: a renamed file with an id of its own is one article that changed at most its address."""
    before = {article.id: article for article in previous}
    after = {article.id: article for article in articles}
    kept = before.keys() & after.keys()
    changed = {article_id for article_id in kept if before[article_id].version != after[article_id].version}
    return SyncReport(
        added=tuple(sorted(after.keys() - before.keys())),
        changed=tuple(sorted(changed)),
        removed=tuple(sorted(before.keys() - after.keys())),
        unchanged=len(kept) - len(changed),
    )


def guard_deletion(previous: Sequence[Article], report: SyncReport) -> None:
    """Raises MassDeletion where more than half of the articles would go: a half-copied folder looks so."""
    if 2 * len(report.removed) <= len(previous):
        return
    withheld = f", {len(report.withheld)} files are withheld (first: {report.withheld[0]})" if report.withheld else ""
    raise MassDeletion(
        f"this sync would remove {len(report.removed)} of {len(previous)} articles{withheld};"
        " nothing was changed; if that is meant, sync again with --force"
    )
