"""What an editor should look at before readers do: the findings of `refdesk check`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import unquote

import msgspec

from refdesk.corpus.blocks import Block, scan_blocks
from refdesk.corpus.headings import anchor, heading_text
from refdesk.corpus.images import image_path
from refdesk.corpus.instructions import instructions
from refdesk.corpus.links import ArticleIndex, article_link, corpus_path, is_relative, written_targets
from refdesk.corpus.render import MOST_MARKS
from refdesk.corpus.report import CorpusReading
from refdesk.domain.articles import PUBLIC, Article
from refdesk.domain.markdown_text import overloaded

Kind = Literal[
    "withheld",
    "warning",
    "duplicate_title",
    "empty_article",
    "broken_link",
    "broken_anchor",
    "broken_image",
    "restricted_link",
    "empty_heading",
    "instruction",
    "overloaded",
]


class Finding(msgspec.Struct, frozen=True):
    kind: Kind
    path: str
    message: str
    line: int | None = None
    """In the file, from 1."""

    def __str__(self) -> str:
        return f"{self.path}{f':{self.line}' if self.line else ''}: {self.message}"

    @property
    def is_error(self) -> bool:
        """Readers miss something or are led nowhere; the others are for an editor to judge."""
        return self.kind in ("withheld", "broken_link", "broken_anchor", "broken_image")


def check_corpus(reading: CorpusReading, folder: Path | None = None) -> list[Finding]:
    """By path, then line. Pictures are looked for where the corpus folder is given."""
    report = reading.report
    findings = [Finding("withheld", notice.path, notice.reason, notice.line) for notice in report.withheld]
    findings += [Finding("warning", notice.path, notice.reason, notice.line) for notice in report.warnings]
    findings += _duplicate_titles(reading.articles)
    checker = _Links(reading.articles, folder)
    for article in reading.articles:
        blocks = list(scan_blocks(article.body))
        above = reading.body_lines.get(article.path, 1) - 1
        in_body = (
            *_empty(article, blocks),
            *_overloaded(article),
            *checker.broken(article, blocks),
            *_instructions(article),
        )
        findings += (msgspec.structs.replace(found, line=found.line and found.line + above) for found in in_body)
    return sorted(findings, key=lambda finding: (finding.path, finding.line or 0, finding.kind, finding.message))


def _duplicate_titles(articles: Sequence[Article]) -> Iterator[Finding]:
    """In one language: an answer that names such a title cites both articles."""
    same: defaultdict[tuple[str, str], list[Article]] = defaultdict(list)
    for article in articles:
        same[article.language, " ".join(article.title.casefold().split())].append(article)
    for group in same.values():
        for article in group if len(group) > 1 else ():
            others = ", ".join(other.path for other in group if other is not article)
            yield Finding("duplicate_title", article.path, f"the title {article.title!r} is also that of {others}")


def _empty(article: Article, blocks: list[Block]) -> Iterator[Finding]:
    if not article.passages:
        yield Finding("empty_article", article.path, "the article has no text")
        return
    for block, following in zip(blocks, [*blocks[1:], None], strict=True):
        if block.kind != "heading":
            continue
        if not heading_text(block.title):
            yield Finding("empty_heading", article.path, "a heading without words", _line(article, block.start))
        elif following is None or (following.kind == "heading" and following.level <= block.level):
            message = f"no text under the heading {heading_text(block.title)!r}"
            yield Finding("empty_heading", article.path, message, _line(article, block.start))


def _overloaded(article: Article) -> Iterator[Finding]:
    if overloaded(article.body, MOST_MARKS):
        message = f"it has more than {MOST_MARKS} characters of markup, so readers see it as plain text: split it"
        yield Finding("overloaded", article.path, message)


def _instructions(article: Article) -> Iterator[Finding]:
    for text, line in instructions(article.body):
        yield Finding("instruction", article.path, f"this speaks to a model, not to a reader: {text!r}", line)


def _line(article: Article, offset: int) -> int:
    return article.body.count("\n", 0, offset) + 1


def _anchors(body: str) -> frozenset[str]:
    taken: dict[str, int] = {}
    return frozenset(anchor(heading_text(block.title), taken) for block in scan_blocks(body) if block.kind == "heading")


def _restricted(article: Article, found: Article, line: int) -> Finding | None:
    """Some readers see the link's text without the link; what it says may be more than they should know."""
    if found.readable_by(frozenset({PUBLIC})) or set(article.audience) <= set(found.audience):
        return None
    message = f"the link leads to {found.path}, which not every reader of this article may read"
    return Finding("restricted_link", article.path, message, line)


class _Links:
    """Links of articles to articles. Other addresses are not asked for: checking a folder must not reach out."""

    def __init__(self, articles: Sequence[Article], folder: Path | None) -> None:
        self._index = ArticleIndex(articles)
        self._folder = folder
        self._anchors: dict[str, frozenset[str]] = {}

    def broken(self, article: Article, blocks: list[Block]) -> Iterator[Finding]:
        for block in blocks:
            if block.kind in ("fence", "code", "comment"):
                continue
            for target, offset in written_targets(_without_code(article.body[block.start : block.end])):
                if finding := self._finding(article, target, _line(article, block.start + offset)):
                    yield finding

    def _finding(self, article: Article, target: str, line: int) -> Finding | None:
        address, _, fragment = target.partition("#")
        if not address:
            return self._anchor_finding(article, article, fragment, target, line)
        if not is_relative(target):
            return None
        found = article_link(target, article.path, self._index)
        if found is not None:
            return self._anchor_finding(article, found, fragment, target, line) or _restricted(article, found, line)
        if image := image_path(target, article.path):
            return self._image_finding(article, image, line)
        path = corpus_path(target, article.path)
        leads_out = path is None
        names_article = address.startswith("/articles/") or (path or "").lower().endswith((".md", ".markdown"))
        if leads_out or names_article:
            return Finding("broken_link", article.path, f"the link {target!r} leads to no article", line)
        return None

    def _image_finding(self, article: Article, image: str, line: int) -> Finding | None:
        if self._folder is None or (self._folder / image).is_file():
            return None
        return Finding("broken_image", article.path, f"there is no picture {image}", line)

    def _anchor_finding(
        self, article: Article, found: Article, fragment: str, target: str, line: int
    ) -> Finding | None:
        if not fragment or unquote(fragment) in self._anchors_of(found):
            return None
        return Finding("broken_anchor", article.path, f"the link {target!r} names no heading of {found.path}", line)

    def _anchors_of(self, article: Article) -> frozenset[str]:
        if article.id not in self._anchors:
            self._anchors[article.id] = _anchors(article.body)
        return self._anchors[article.id]


def _without_code(text: str) -> str:
    """Code spans blanked, offsets kept."""
    pieces = text.split("`")
    if len(pieces) < 3:
        return text
    return "`".join(" " * len(piece) if number % 2 else piece for number, piece in enumerate(pieces))
