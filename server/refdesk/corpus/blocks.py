"""The blocks of a Markdown body with their offsets: headings, fences, tables, lists, comments, other text.

Own scanner, because offsets into the body are what quotes are located by, and a parser that builds tokens of all
content takes ten times as long (0.6 ms for 2.3 kB with markdown-it-py, tables of 2 MB 15 s). Each line is read once.
CommonMark decides where a heading or a fence stands; tests compare the scanner with markdown-it-py."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

import msgspec

from refdesk.domain.articles import Span

Kind = Literal["heading", "fence", "table", "list", "code", "comment", "quote", "rule", "text"]

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$")
INNER_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(?:(`{3,})[^`]*|(~{3,}).*)$")
_ITEM = re.compile(r" {0,3}(?:[-*+]|(\d{1,9})[.)])(?:[ \t]+(?=\S)|[ \t]*$)")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_DELIMITER_CELL = re.compile(r"[ \t]*:?-+:?[ \t]*")
_CODE_INDENT = 4
_COMMENT_END = "-->"


class Block(msgspec.Struct, frozen=True, gc=False):
    kind: Kind
    start: int
    end: int
    """Exclusive, without the last line's end."""
    lines: tuple[Span, ...]
    """Each line without its end."""
    level: int = 0
    """1 to 6 for a heading, else 0."""
    title: str = ""
    """A heading's text, Markdown marks included."""


def scan_blocks(body: str) -> Iterator[Block]:
    """In order; blank lines between them belong to none."""
    return _Scanner(body).blocks()


def parts(body: str, block: Block) -> list[list[Span]]:
    """The lines of a list by item (nested ones belong to theirs), of anything else line by line; inner fences whole."""
    pieces: list[list[Span]] = []
    closing: re.Pattern[str] | None = None
    margin = _width(body[slice(*block.lines[0])]) + 1
    for start, end in block.lines:
        line = body[start:end]
        begins = block.kind != "list" or (_ITEM.match(line) is not None and _width(line) <= margin)
        if not pieces or (begins and closing is None):
            pieces.append([])
        pieces[-1].append((start, end))
        if closing is not None:
            closing = None if closing.match(line) else closing
        elif block.kind in ("list", "quote") and (opening := INNER_FENCE.match(line.lstrip("> "))):
            closing = inner_closing(opening)
    return pieces


def _without_closing(title: str) -> str:
    """A heading may end in #s of its own, behind a space."""
    title = title.strip()
    bare = title.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else title


def _closing(opening: re.Match[str]) -> re.Pattern[str]:
    fence = opening[1] or opening[2]
    return re.compile(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$")


def inner_closing(opening: re.Match[str]) -> re.Pattern[str]:
    """What ends the fence that INNER_FENCE has found."""
    fence = opening[1] or opening[2]
    return re.compile(rf"[ \t>]*{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$")


def _width(indented: str) -> int:
    """Columns of leading white space."""
    space = indented[: len(indented) - len(indented.lstrip(" \t"))]
    return len(space.expandtabs(4))


def _cells(row: str) -> list[str]:
    row = row.strip().removeprefix("|")
    return (row[:-1] if row.endswith("|") and not row.endswith("\\|") else row).replace("\\|", "").split("|")


class _Scanner:
    def __init__(self, body: str) -> None:
        self._lines = body.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def blocks(self) -> Iterator[Block]:
        row = 0
        while row < len(self._lines):
            if not self._lines[row].strip():
                row += 1
                continue
            block, row = self._block(row)
            yield block

    def _block(self, row: int) -> tuple[Block, int]:
        line = self._lines[row]
        if heading := _ATX.match(line):
            return self._made("heading", row, row + 1, len(heading[1]), _without_closing(heading[2] or ""))
        if fence := _FENCE.match(line):
            return self._made("fence", row, self._after_fence(row + 1, _closing(fence)))
        if comment_end := self._comment_end(row):
            return self._made("comment", row, comment_end)
        if _RULE.match(line):
            return self._made("rule", row, row + 1)
        if _ITEM.match(line):
            return self._made("list", row, self._after_list(row))
        if _width(line) >= _CODE_INDENT:
            return self._made("code", row, self._after_code(row))
        if line.lstrip().startswith(">"):
            return self._made("quote", row, self._after_text(row + 1))
        if self._is_table(row):
            return self._made("table", row, self._after_table(row + 2))
        return self._text(row)

    def _made(self, kind: Kind, row: int, after: int, level: int = 0, title: str = "") -> tuple[Block, int]:
        lines = tuple((self._starts[i], self._starts[i] + len(self._lines[i])) for i in range(row, after))
        return Block(kind, lines[0][0], lines[-1][1], lines, level, title), after

    def _text(self, row: int) -> tuple[Block, int]:
        after = row + 1
        while after < len(self._lines) and self._lines[after].strip():
            if underline := _SETEXT.match(self._lines[after]):
                title = " ".join(" ".join(self._lines[row:after]).split())
                return self._made("heading", row, after + 1, 1 if underline[1][0] == "=" else 2, title)
            if self._interrupts(after) or self._is_table(after):
                break
            after += 1
        return self._made("text", row, after)

    def _interrupts(self, row: int) -> bool:
        """Whether the line ends a paragraph without a blank line before it."""
        line = self._lines[row]
        first = line.lstrip(" ")[:1]
        if not first or first not in "#`~<>-*+_0123456789":
            return False
        if _ATX.match(line) or _FENCE.match(line) or _RULE.match(line) or re.match(r" {0,3}(?:>|<!--)", line):
            return True
        item = _ITEM.match(line)
        return bool(item and item[1] in (None, "1") and line[item.end() :].strip())

    def _after_fence(self, row: int, closing: re.Pattern[str], margin: int = 0) -> int:
        """`margin`: a line further left ends the list item and the fence in it."""
        while row < len(self._lines):
            if margin and self._lines[row].strip() and _width(self._lines[row]) < margin:
                break
            row += 1
            if closing.match(self._lines[row - 1]):
                break
        return row

    def _comment_end(self, row: int) -> int:
        """The row after a comment that stands alone; 0 for none. Text behind it on its line is not hidden."""
        line = self._lines[row]
        if not line.lstrip().startswith("<!--") or _width(line) >= _CODE_INDENT:
            return 0
        begin = line.index("<!--") + 2
        for after in range(row, len(self._lines)):
            position = self._lines[after].find(_COMMENT_END, begin if after == row else 0)
            if position >= 0:
                return 0 if self._lines[after][position + 3 :].strip() else after + 1
        return len(self._lines)

    def _after_code(self, row: int) -> int:
        after = row
        while row < len(self._lines) and (not self._lines[row].strip() or _width(self._lines[row]) >= _CODE_INDENT):
            if self._lines[row].strip():
                after = row + 1
            row += 1
        return after

    def _after_text(self, row: int) -> int:
        """The end of a quote, lazy continuation lines included."""
        while row < len(self._lines) and (line := self._lines[row]).strip():
            if not line.lstrip().startswith(">") and self._interrupts(row):
                break
            row += 1
        return row

    def _after_list(self, row: int) -> int:
        after, blank, content = row, False, _CODE_INDENT
        while row < len(self._lines):
            line = self._lines[row]
            if not line.strip():
                blank, row = True, row + 1
                continue
            if _width(line) < content:
                item = None if _RULE.match(line) else _ITEM.match(line)
                if item:
                    content = len(line[: item.end()].expandtabs(4))
                elif blank or self._interrupts(row):
                    break
            if fence := INNER_FENCE.match(line):
                row = self._after_fence(row + 1, inner_closing(fence), content) - 1
            row += 1
            after, blank = row, False
        return after

    def _is_table(self, row: int) -> bool:
        if row + 1 >= len(self._lines) or "|" not in self._lines[row]:
            return False
        delimiter = self._lines[row + 1]
        if "|" not in delimiter or delimiter.strip("-:| \t") or _ITEM.match(delimiter):
            return False
        cells = _cells(delimiter)
        return len(cells) == len(_cells(self._lines[row])) and all(_DELIMITER_CELL.fullmatch(cell) for cell in cells)

    def _after_table(self, row: int) -> int:
        while row < len(self._lines) and self._lines[row].strip() and not self._interrupts(row):
            row += 1
        return row
