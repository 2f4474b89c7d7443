"""The draft of an article for a gap, in Markdown with front matter.

Its questions are the headings; below each stands what articles have on it, in their own words; then what the model said
is missing. Wherever a person must write stands TODO."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import msgspec

from refdesk.domain.articles import PUBLIC, Article
from refdesk.domain.claims import Quoted
from refdesk.domain.gap_view import GapView

HEADINGS = 8
TO_WRITE = "TODO: write the answer; no article has it."
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")


class DraftPart(msgspec.Struct, frozen=True):
    """What stands below one question."""

    quotes: tuple[Quoted, ...] = ()
    to_fill: tuple[str, ...] = ()
    """What a person must find out, in the model's words."""


def plain(text: str) -> str:
    """One line of Markdown that says these characters and nothing else."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def headings(view: GapView) -> list[str]:
    """The questions, where they may be shown."""
    return [question.text for question in view.questions][:HEADINGS] or ["What visitors ask"]


def outline(
    view: GapView, near: Sequence[tuple[Article, str]], *, language: str, parts: Mapping[int, DraftPart] | None = None
) -> str:
    """`near`: articles with why each did not answer. `parts`: by the number of the heading, where a model has read
    those articles."""
    title = headings(view)[0]
    lines = [
        "---",
        f"title: {json.dumps(' '.join(title.split()), ensure_ascii=False)}",
        "status: draft",
        f"language: {language}",
        "---",
        "",
        f"# {plain(title)}",
        "",
        f"TODO: asked {view.count} times by {view.visitors} visitors without an answer ({view.id}).",
        "",
    ]
    for number, heading in enumerate(headings(view)):
        lines += [f"## {plain(heading)}", "", *part_lines((parts or {}).get(number, DraftPart())), ""]
    if view.missing_information:
        lines += ["## What the assistant could not find", ""]
        lines += [f"- TODO: {plain(sentence)}" for sentence in view.missing_information] + [""]
    if near:
        lines += ["## Related articles", ""]
        lines += [f"- {link(article)}: {plain(why)}" for article, why in near] + [""]
    return "\n".join(lines)


def part_lines(part: DraftPart) -> list[str]:
    lines: list[str] = []
    for quoted in part.quotes:
        lines += [f"{' '.join(quoted.text.split())} ({link(quoted.article)})", ""]
        if PUBLIC not in quoted.article.audience:
            readers = ", ".join(quoted.article.audience)
            lines += [f"TODO: this comes from an article for {plain(readers)} only; may it be said here?", ""]
    if not part.quotes:
        lines += [TO_WRITE, ""]
    lines += [f"TODO: {plain(sentence)}" for sentence in part.to_fill]
    return lines if part.to_fill else lines[:-1]


def link(article: Article) -> str:
    return f"[{plain(article.title)}]({article.url or f'/articles/{article.id}'})"
