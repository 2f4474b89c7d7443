"""The block structure of an answer as it arrives: which characters are text, which are code, where a paragraph ends.

CommonMark's rules for containers, fences and paragraphs, line by line, with two differences that make every renderer
agree with our reading, because a disagreement about code is what lets a link through:
- nothing is indented code: a line indented that far is text, written without the indentation;
- what could be read as structure by one renderer and as text by another (a lazy continuation line, `2.` in the middle
  of a paragraph, `===` under one) is written so that it can only be text, and a fence that its container ends is
  closed.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, Protocol

from refdesk.domain.markdown_text import GUARD, INVISIBLE

LONGEST = 1000
"""Characters of a line's beginning that are held back until its structure is known."""
DEEPEST = 8
"""Containers inside one another; what is deeper is text (markdown-it stops at 20 levels, a list has two)."""
_LONGEST_FENCE = 100
_QUOTE: Final = 0
"""Among the containers, which are widths of list items otherwise (always two columns or more)."""

_HEAD = re.compile(r"[ \t>\-+*_=#~`|:0-9.)]*")
_RULE = re.compile(r"(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})\Z")
_HEADING = re.compile(r"#{1,6}(?=[ \t]|\Z)")
_ITEM = re.compile(r"(?:[-+*]|(\d{1,9})[.)])(?=[ \t]|\Z)")
_FENCE = re.compile(r"`{3,}|~{3,}")
_TABLE_RULE = re.compile(r"(?=[^|]*\|)(?=[^-]*-)[|:\- \t]+\Z")
_DOUBTFUL = re.compile(r"(\d{1,9})[.)](?=[ \t]|\Z)|>|#{1,6}(?=[ \t]|\Z)|[-+*](?=[ \t]|\Z)|~{3}|=+[ \t]*\Z|-+[ \t]*\Z")


class BlockSink(Protocol):
    """Takes an answer apart. `text` and `soft_break` come between `begin` and `end`, `raw` outside of them."""

    def raw(self, text: str) -> None:
        """Structure and code, to be written as it is."""

    def begin(self, *, paragraph: bool, needed: bool) -> None:
        """Inline content begins. `paragraph`: at the beginning of one; `needed`: without it the structure would be
        another, because it stands in a container or ends one."""

    def text(self, text: str) -> None: ...
    def soft_break(self, prefix: str) -> None:
        """A line break inside a paragraph; `prefix` is what the next line has before its text."""

    def end(self, *, last: bool = False, cut: bool = False) -> None:
        """No construct goes on beyond this point. `last`: the answer ends here; `cut`: before it was finished."""


class _Fence(NamedTuple):
    char: str
    length: int


_NO_FENCE: Final = _Fence("", 0)


class _Line:
    """The beginning of a line: a cursor over its white space and marks, in columns (a tab goes to the next fourth)."""

    def __init__(self, head: str, *, whole: bool) -> None:
        self.head, self.whole = head, whole
        self.at = self.column = self.base = 0
        """Offset and column of the cursor; `base` is the column where the content of the innermost container begins."""

    def indent(self) -> tuple[int, int]:
        """Offset of the next character that is not white space, and its distance from the base in columns."""
        at, column = self.at, self.column
        for char in self.head[at:]:
            if char == " ":
                column += 1
            elif char == "\t":
                column += 4 - column % 4
            else:
                break
            at += 1
        return at, column - self.base

    @property
    def blank(self) -> bool:
        return self.whole and not self.head[self.at :].strip(" \t")

    def pass_quote_mark(self) -> bool:
        at, indent = self.indent()
        if indent > 3 or self.head[at : at + 1] != ">":
            return False
        self.column = self.base + indent + 1
        self.at = at + 1
        after = self.head[self.at : self.at + 1]
        self.base = self.column + (1 if after in (" ", "\t") else 0)
        if after == " ":
            self.at, self.column = self.at + 1, self.column + 1
        return True

    def pass_item_mark(self, at: int, indent: int, length: int) -> int:
        """The width of the item: the columns that its following lines are indented by."""
        before = self.base
        self.column = self.base + indent + length
        self.at = at + length
        self.base = self.column
        _, spaces = self.indent()
        self.base += 1 if self.blank or spaces > 4 else spaces
        return self.base - before

    def pad(self) -> str:
        return " " * max(0, self.base - self.column)


class BlockScanner:
    """Feeds a sink. Every decision depends on the text alone, never on the pieces in which it came."""

    def __init__(self, sink: BlockSink) -> None:
        self._sink = sink
        self._held = ""
        self._inside = ""
        """How the rest of the current line is passed on: `text`, `heading`, `raw` or `skip` (nothing but its break);
        "" at the beginning of a line."""
        self._containers: list[int] = []
        self._empty_item = False
        self._paragraph = self._table = self._open = self._newline = False
        self._fence: _Fence | None = None

    def feed(self, text: str) -> None:
        self._advance(self._held + text, final=False)

    def finish(self, *, cut: bool) -> None:
        self._advance(self._held, final=True)
        self._sink.end(last=True, cut=cut)
        if self._newline:
            self._sink.raw("\n")

    def _advance(self, text: str, *, final: bool) -> None:
        at = 0
        while at < len(text):
            after = self._pass_on(text, at) if self._inside else self._begin_line(text, at, final=final)
            if after is None:
                break
            at = after
        self._held = text[at:]

    def _pass_on(self, text: str, at: int) -> int:
        end = text.find("\n", at)
        piece = text[at:] if end < 0 else text[at:end]
        if self._inside in ("raw", "skip"):
            self._sink.raw(("" if self._inside == "skip" else piece) + ("" if end < 0 else "\n"))
        elif piece:
            self._sink.text(piece)
        if end < 0:
            return len(text)
        if self._inside == "heading":
            self._close()
            self._sink.raw("\n")
        elif self._inside == "text":
            self._newline = True
        self._inside = ""
        return end + 1

    # --- the beginning of a line ---

    def _begin_line(self, text: str, at: int, *, final: bool) -> int | None:
        """Where to go on, or None while the line's structure is not known yet."""
        match = _HEAD.match(text, at, at + LONGEST)
        end = match.end() if match else at
        if end == len(text) and not final and end - at < LONGEST:
            return None
        whole = text[end : end + 1] in ("", "\n") and end - at < LONGEST
        line = _Line(text[at:end], whole=whole)
        if not whole and end < len(text) and end - at < LONGEST:
            line = _Line(text[at : end + 1], whole=False)
        matched = self._match(line)
        if self._fence is not None and matched == len(self._containers):
            return self._fenced_line(line, text, at)
        if self._fence is not None:
            self._close_fence(matched)
        if end - at >= LONGEST:
            return self._overlong(at)
        return self._classify(line, matched, text, at, final=final)

    def _match(self, line: _Line) -> int:
        """How many of the open containers the line continues."""
        for number, width in enumerate(self._containers):
            if width == _QUOTE:
                if not line.pass_quote_mark():
                    return number
            elif line.blank:
                if self._empty_item and number == len(self._containers) - 1:
                    return number
                line.base += width
            elif line.indent()[1] >= width:
                line.base += width
            else:
                return number
        return len(self._containers)

    def _fenced_line(self, line: _Line, text: str, at: int) -> int:
        fence = self._fence
        assert fence is not None
        start, indent = line.indent()
        rest = line.head[start:]
        run = len(rest) - len(rest.lstrip(fence.char))
        closes = indent <= 3 and run >= fence.length and not rest[run:].strip(" \t")
        if closes and len(line.head) >= LONGEST:  # whatever follows: for every renderer the fence ends here
            self._fence = None
            self._sink.raw(line.head[: start + run] + "\n")
            return at + len(line.head)
        if closes and line.whole:
            self._fence = None
        self._inside = "raw"
        return at

    def _close_fence(self, matched: int) -> None:
        assert self._fence is not None
        self._sink.raw(f"{_prefix(self._containers)}{self._fence.char * self._fence.length}\n")
        self._fence = None
        del self._containers[matched:]

    def _overlong(self, at: int) -> int:
        """A hostile line: text for everybody, because a character that is no structure stands before it."""
        self._write_text(_prefix(self._containers), INVISIBLE, boundary=False, needed=True)
        return at

    def _classify(self, line: _Line, matched: int, text: str, at: int, *, final: bool) -> int | None:
        continues = self._paragraph and matched == len(self._containers)
        opened: list[int] = []
        while True:
            start, indent = line.indent()
            rest = line.head[start:]
            if line.blank or indent > 3:
                break
            if line.whole and _RULE.match(rest):
                return self._structure(matched, opened, at)
            if _HEADING.match(rest):
                return self._heading(line, matched, opened, at)
            if _FENCE.match(rest):
                fence = self._fence_at(text, at + start, final=final)
                if fence != _NO_FENCE:
                    return None if fence is None else self._open_fence(fence, matched, opened, text, at)
            if not self._open_container(line, continues and not opened, matched, opened):
                break
        if line.blank:
            return self._structure(matched, opened, at)
        return self._text_line(line, matched, opened, at)

    def _open_container(self, line: _Line, interrupts: bool, matched: int, opened: list[int]) -> bool:
        """`interrupts`: the container would end a paragraph, which only some of them may."""
        if matched + len(opened) >= DEEPEST:
            return False
        if line.pass_quote_mark():
            opened.append(_QUOTE)
            return True
        start, indent = line.indent()
        item = _ITEM.match(line.head, start)
        if item is None:
            return False
        empty = line.whole and not line.head[item.end() :].strip(" \t")
        if interrupts and (empty or (item[1] is not None and int(item[1]) != 1)):
            return False
        opened.append(line.pass_item_mark(start, indent, item.end() - start))
        return True

    def _fence_at(self, text: str, start: int, *, final: bool) -> _Fence | None:
        """The fence that opens here, or none; None: the line must be seen to its end."""
        run = _FENCE.match(text, start)
        assert run is not None
        if len(run[0]) > _LONGEST_FENCE:
            return _NO_FENCE
        end = text.find("\n", start, start + LONGEST)
        if end < 0 and len(text) - start >= LONGEST:
            return _NO_FENCE
        if end < 0 and not final:
            return None
        info = text[run.end() : len(text) if end < 0 else end]
        return _NO_FENCE if run[0][0] == "`" and "`" in info else _Fence(run[0][0], len(run[0]))

    # --- what a line turns out to be ---

    def _enter(self, matched: int, opened: list[int]) -> None:
        del self._containers[matched:]
        self._containers += opened

    def _close(self) -> None:
        """Ends the open paragraph, if any, with its line break."""
        if self._open:
            self._sink.end()
        if self._newline:
            self._sink.raw("\n")
        self._open = self._newline = self._paragraph = False

    def _structure(self, matched: int, opened: list[int], at: int) -> int:
        """A line without text: blank, a rule, an empty item."""
        self._close()
        self._enter(matched, opened)
        self._empty_item = bool(opened) and opened[-1] != _QUOTE
        self._table = False
        self._inside = "raw"
        return at

    def _open_fence(self, fence: _Fence, matched: int, opened: list[int], text: str, at: int) -> int:
        self._structure(matched, opened, at)
        self._empty_item = False
        self._fence = fence
        bar = text.find("|", at)
        end = text.find("\n", at)
        if bar < 0 or -1 < end < bar:
            return at
        self._sink.raw(text[at:bar])  # markdown-it looks for tables first: the info would be the cell of one
        self._inside = "skip"
        return bar

    def _heading(self, line: _Line, matched: int, opened: list[int], at: int) -> int:
        self._structure(matched, opened, at)
        self._empty_item = False
        start, _ = line.indent()
        end = start + len(line.head[start:]) - len(line.head[start:].lstrip("#"))
        self._sink.raw(line.head[:end])
        self._sink.begin(paragraph=False, needed=True)
        self._open, self._inside = True, "heading"
        return at + end

    def _text_line(self, line: _Line, matched: int, opened: list[int], at: int) -> int:
        start, indent = line.indent()
        needed = bool(self._containers or opened)
        if self._paragraph and not opened and matched < len(self._containers):  # a lazy continuation
            prefix = _prefix(self._containers)
        else:
            prefix = line.head[:start] if indent <= 3 else line.head[: line.at] + line.pad()
            if matched < len(self._containers) or opened:
                self._close()
            self._enter(matched, opened)
        rest = line.head[start:]
        rule = line.whole and _TABLE_RULE.match(rest) is not None
        boundary = self._table or rule or rest.startswith("|")
        self._table = (self._table and self._paragraph) or rule
        kept = "" if rule else _guarded(rest, whole=line.whole)
        self._write_text(prefix, kept, boundary=boundary, needed=needed)
        return at + start + len(kept.replace(GUARD, ""))

    def _write_text(self, prefix: str, text: str, *, boundary: bool, needed: bool) -> None:
        self._empty_item = False
        if self._paragraph and not boundary:
            self._newline = False
            self._sink.soft_break(prefix)
        else:
            continues = self._paragraph
            self._close()
            self._sink.raw(prefix)
            self._sink.begin(paragraph=not continues, needed=needed)
        self._paragraph = self._open = True
        self._inside = "text"
        if text:
            self._sink.text(text)


def _prefix(containers: list[int]) -> str:
    return "".join(" " * width or "> " for width in containers)


def _guarded(rest: str, *, whole: bool) -> str:
    """The beginning of a text line that some renderer could take for structure, with the mark that escapes it."""
    match = (_RULE.match(rest) if whole else None) or _DOUBTFUL.match(rest)
    if match is None:
        return ""
    digits = match[1] if match.re is _DOUBTFUL else None
    return f"{digits}{GUARD}{rest[len(digits)]}" if digits else f"{GUARD}{rest[0]}"
