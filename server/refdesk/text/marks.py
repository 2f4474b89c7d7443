"""Inline Markdown marks: characters of a block that a reader does not see (emphasis, code ticks, link syntax, escapes).

A model quotes the words and forgets the marks, so a quote must be comparable without them. markdown-it gives no offsets
inside a line, hence this scanner; it follows CommonMark's rules for delimiter runs and is linear in the block's length.
An image is no mark: its text is not part of what a reader reads.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from typing import NamedTuple, TypeAlias

Range: TypeAlias = tuple[int, int]
Pair: TypeAlias = tuple[Range, Range]

LINK_END = re.compile(
    r"\]\((?:<[^<>\n]*+>|(?:[^()\s]++|\([^()\s]*+\))*+)(?:\s++(?:\"[^\"\n]*+\"|'[^'\n]*+'))?+[ \t\n]*+\)"
)
"""From the bracket that closes a link's text to the end of its destination (one level of brackets inside, a title)."""

_TOKEN = re.compile(
    r"\\(?=[!-/:-@\[-`{-~\n])|`++|<(?:https?://|mailto:)[^\s<>]*+>|https?://[^\s<>()\[\]*`]*+|!?\[|\]|\*++|_++|~~++"
)
_TICKS = re.compile(r"`++")


class Marks(NamedTuple):
    pairs: list[Pair]
    """Opening and closing mark of one construct."""
    singles: list[Range]
    """Escaping backslashes."""


class _Run:
    """A run of one delimiter, used up from its inner side."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.char, self.start, self.end, self.length = text[start], start, end, end - start
        before, after = _kind(text[start - 1 : start]), _kind(text[end : end + 1])
        left = after != "space" and (after == "word" or before != "word")
        right = before != "space" and (before == "word" or after != "word")
        inside_word = self.char == "_" and left and right
        self.opens = left and (not inside_word or before == "punctuation")
        self.closes = right and (not inside_word or after == "punctuation")

    def fits(self, closer: _Run) -> bool:
        """CommonMark's rule of three: `*foo**bar*` is one emphasis."""
        both = self.closes or closer.opens
        if self.char == "~":
            return self.length == closer.length == 2
        return not both or (self.length + closer.length) % 3 != 0 or self.length % 3 == closer.length % 3 == 0


def inline_marks(text: str) -> Marks:
    """The marks of one block (a paragraph, a list, a table), in the text's own offsets."""
    pairs: list[Pair] = []
    singles: list[Range] = []
    runs: list[_Run] = []
    brackets: list[Range | None] = []
    ticks = _tick_runs(text)
    at = 0
    while found := _TOKEN.search(text, at):
        at = found.end()
        mark, span = found[0], found.span()
        match mark[0]:
            case "\\":
                singles.append(span)
                at += 1
            case "`":
                at = _code_span(span, ticks, pairs)
            case "<":
                pairs.append(((span[0], span[0] + 1), (span[1] - 1, span[1])))
            case "[" | "!":
                brackets.append(span if mark == "[" else None)
            case "]":
                at = _close_bracket(text, span, brackets, pairs)
            case "*" | "_" | "~":
                runs.append(_Run(text, *span))
    return Marks(pairs + _emphasis(runs), singles)


def _kind(char: str) -> str:
    if not char or char.isspace():
        return "space"
    return "punctuation" if unicodedata.category(char)[0] in "PS" else "word"


def _tick_runs(text: str) -> dict[int, list[int]]:
    runs: dict[int, list[int]] = {}
    for run in _TICKS.finditer(text):
        runs.setdefault(len(run[0]), []).append(run.start())
    return runs


def _code_span(opening: Range, ticks: dict[int, list[int]], pairs: list[Pair]) -> int:
    """Where reading goes on: behind the code span, inside which nothing is a mark."""
    length = opening[1] - opening[0]
    starts = ticks.get(length, [])
    following = bisect_right(starts, opening[0])
    if following == len(starts):
        return opening[1]
    closing = (starts[following], starts[following] + length)
    pairs.append((opening, closing))
    return closing[1]


def _close_bracket(text: str, span: Range, brackets: list[Range | None], pairs: list[Pair]) -> int:
    opening = brackets.pop() if brackets else None
    link = LINK_END.match(text, span[0])
    if link is None or opening is None:
        return link.end() if link else span[1]
    pairs.append((opening, link.span()))
    return link.end()


def _emphasis(runs: list[_Run]) -> list[Pair]:
    pairs: list[Pair] = []
    open_runs: list[_Run] = []
    waiting: Counter[str] = Counter()
    for run in runs:
        while run.closes and run.start < run.end and waiting[run.char]:
            while open_runs[-1].char != run.char:
                waiting[open_runs.pop().char] -= 1
            opener = open_runs[-1]
            if not opener.fits(run):
                break
            size = min(2, opener.end - opener.start, run.end - run.start)
            pairs.append(((opener.end - size, opener.end), (run.start, run.start + size)))
            opener.end, run.start = opener.end - size, run.start + size
            if opener.start == opener.end:
                waiting[open_runs.pop().char] -= 1
        if run.opens and run.start < run.end:
            open_runs.append(run)
            waiting[run.char] += 1
    return pairs
