"""Inline Markdown of an answer as it arrives: links, markers, images, code, HTML. See citations.py for the rules.

Each decision is taken on the text within a window, never on how much of it happens to be there: a construct that is
not complete within `LONGEST` characters from its beginning (from that of the outermost open bracket) is text.
"""

from __future__ import annotations

import re
from collections import deque

from refdesk.domain.answer_writer import AnswerWriter, Frame
from refdesk.domain.articles import Article
from refdesk.domain.link_table import LinkTable
from refdesk.domain.link_tails import definition_tail, link_tail, looks_like_url
from refdesk.domain.markdown_text import GUARD, escape_label, escape_text

LONGEST = 1000
_LONGEST_TICKS = 100
_LONGEST_RECORD = 200
_SPECIAL = re.compile(rf"[\\\[\]!<`\n{GUARD}]")
_SPECIAL_IN_COMMENT = re.compile(rf"[\\\[\]<`\n{GUARD}]|-->")
_TICKS = re.compile(r"`+")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_REFERENCE = re.compile(r"\[(?:[^\[\]\\]|\\.)*\]", re.S)
_PIPE = re.compile(r"(?<!\\)\|")
_AUTOLINK = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]{1,31}:[^\s<>\x00]*")
_MAIL = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    r"(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*"
)
_ANGLE_END = re.compile(rf"[ \t\n<>{GUARD}]")
_COMPARISON = re.compile(r"[0-9=.,%\-]*")
_COMMENT = "<!--"


class InlineResolver:
    """A BlockSink. `longest` is a parameter so that tests reach the limit with short texts."""

    def __init__(self, table: LinkTable, writer: AnswerWriter, longest: int = LONGEST) -> None:
        self._table, self._writer, self._longest = table, writer, longest
        self._text = ""
        self._at = 0
        self._prefixes: deque[str] = deque()
        self._paragraph = self._needed = self._first = False
        self._ended = self._last = self._cut = False
        self._comment = self._block_comment = False
        self._ticks_seen: tuple[int, int] | None = None
        """Where the search for the end of a code span stopped: offset of its beginning, offset to go on from."""

    # --- what the block scanner says ---

    def raw(self, text: str) -> None:
        self._writer.raw(text)

    def begin(self, *, paragraph: bool, needed: bool) -> None:
        self._paragraph, self._needed, self._first = paragraph, needed, True

    def text(self, text: str) -> None:
        self._text += text
        self._run()

    def soft_break(self, prefix: str) -> None:
        self._prefixes.append(prefix)
        self._text += "\n"
        self._run()

    def end(self, *, last: bool = False, cut: bool = False) -> None:
        self._ended, self._last, self._cut = True, last, last and cut
        self._run()
        while self._writer.frames:
            if self._cut:
                self._writer.reduce_oldest()
            else:
                self._writer.settle_oldest()
        self._writer.close_gap(needed=self._needed)
        self._text, self._at, self._ended = "", 0, False
        self._comment = self._comment and self._block_comment

    # --- the text ---

    def _run(self) -> None:
        frames = self._writer.frames
        while self._at < len(self._text):
            while frames and self._at >= frames[0].start + self._longest:
                self._writer.settle_oldest()
            if not self._step():
                if not frames or len(self._text) < frames[0].start + self._longest:
                    break
                self._writer.settle_oldest()
        while frames and len(self._text) >= frames[0].start + self._longest:
            self._writer.settle_oldest()
        self._forget(frames[0].start if frames else self._at)

    def _forget(self, count: int) -> None:
        if count:
            self._text = self._text[count:]
            self._at -= count
            for frame in self._writer.frames:
                frame.start -= count
            if self._ticks_seen is not None:
                self._ticks_seen = (self._ticks_seen[0] - count, self._ticks_seen[1] - count)

    def _limit(self, start: int) -> tuple[int, bool]:
        """How far a decision about the construct at `start` may look, and whether that is all there will ever be."""
        frames = self._writer.frames
        end = (frames[0].start if frames else start) + self._longest
        if end <= len(self._text):
            return end, not frames
        return len(self._text), self._ended

    def _step(self) -> bool:
        """One piece of plain text, or one special character with its construct; False: more text is needed."""
        text, at = self._text, self._at
        match = (_SPECIAL_IN_COMMENT if self._comment else _SPECIAL).search(text, at)
        end = match.start() if match else len(text)
        if self._comment and match is None and not self._ended:
            end -= len(text[at:]) - len(text[at:].rstrip("-"))
        if end > at:
            self._plain(text[at:end])
            self._at = end
            return True
        if match is None:
            if self._ended:
                self._plain(text[at:])
                self._at = len(text)
            return self._ended
        return self._special(text[at])

    def _plain(self, text: str) -> None:
        self._writer.text(text, text.replace("|", "\\|"))
        if self._first and text.strip(" \t"):
            self._first = False

    def _special(self, char: str) -> bool:
        if char == "\n":
            self._writer.soft_break(self._prefixes.popleft())
            self._at += 1
            self._first = True
            return True
        if char == GUARD:
            return self._put("\\")
        if char == "\\":
            return self._backslash()
        if self._comment:
            return self._commented(char)
        first, self._first = self._first, False
        done = self._construct(char, first)
        if not done:
            self._first = first
        return done

    def _construct(self, char: str, first: bool) -> bool:
        if char == "[":
            self._writer.open(self._at, first=first)
            self._at += 1
            return True
        if char == "]":
            return self._close()
        if char == "!":
            return self._exclamation()
        return self._code() if char == "`" else self._angle(first)

    def _put(self, written: str, length: int = 1) -> bool:
        self._writer.text(written)
        self._at += length
        return True

    def _backslash(self) -> bool:
        following = self._text[self._at + 1 : self._at + 2]
        if not following and not self._ended:
            return False
        self._first = False
        if following in _PUNCTUATION and following:
            return self._put("&lt;" if following == "<" else f"\\{following}", 2)
        return self._put("\\")

    def _commented(self, char: str) -> bool:
        if char == "-":
            self._comment = False
            return self._put("-->", 3)
        return self._put("&lt;" if char == "<" else f"\\{char}")

    def _exclamation(self) -> bool:
        """An image, or the sign itself, escaped where a link may come to stand behind it."""
        text, at = self._text, self._at
        limit, ended = self._limit(at)
        following = text[at + 1 : min(at + 3, limit)]
        if len(following) < (2 if following.startswith("!") else 1) and not ended:
            return False
        if following.startswith("["):
            self._writer.open(at, image=True)
            self._at += 2
            return True
        return self._put("\\!" if following.startswith(("]", "<", "![")) else "!")

    # --- code and angle brackets ---

    def _code(self) -> bool:
        text, at = self._text, self._at
        limit, ended = self._limit(at)
        run = _TICKS.match(text, at, min(limit, at + _LONGEST_TICKS))
        assert run is not None
        length = run.end() - at
        if run.end() == limit and not ended and length < _LONGEST_TICKS:
            return False
        closed = None if length >= _LONGEST_TICKS else self._ticks_after(run.end(), limit, length)
        if closed is None and not ended and length < _LONGEST_TICKS:
            return False
        self._ticks_seen = None
        if closed is None:
            return self._put("\\`" * length, length)
        inside = text[run.end() : closed - length]
        self._skip_breaks(inside)
        self._writer.code(f"{run[0]}{_code(inside)}{run[0]}")
        self._at = closed
        return True

    def _ticks_after(self, start: int, limit: int, length: int) -> int | None:
        """The offset behind the run of backticks that closes one of this length."""
        seen = self._ticks_seen
        at = seen[1] if seen is not None and seen[0] == self._at else start
        while at < limit:
            run = _TICKS.search(self._text, at, limit)
            if run is None:
                at = limit
            elif run.end() == limit and not (self._ended and limit == len(self._text)):
                at = run.start()
                break
            elif run.end() - run.start() == length:
                return run.end()
            else:
                at = run.end()
        self._ticks_seen = (self._at, at)
        return None

    def _skip_breaks(self, text: str) -> None:
        for _ in range(text.count("\n")):
            self._prefixes.popleft()

    def _angle(self, first: bool) -> bool:
        """A comment, an autolink, a comparison, or what would be a tag."""
        text, at = self._text, self._at
        limit, ended = self._limit(at)
        begin = text[at : min(limit, at + len(_COMMENT))]
        if begin == _COMMENT:
            self._comment, self._block_comment = True, first
            return self._put("&lt;!", 2)
        if _COMMENT.startswith(begin) and not ended:
            return False
        end = _ANGLE_END.search(text, at + 1, limit)
        if end is None and not ended:
            return False
        stop = end.start() if end else limit
        inside, closer = text[at + 1 : stop], end[0] if end else ""
        url = inside if _AUTOLINK.fullmatch(inside) else f"mailto:{inside}" if _MAIL.fullmatch(inside) else None
        if closer == ">" and url is not None:
            self._autolink(inside, url)
            self._at = stop + 1
            return True
        compares = (closer not in ("<", ">") and stop < limit) or (stop == len(text) and self._ended)
        return self._put("<" if compares and _COMPARISON.fullmatch(inside) else "&lt;")

    def _autolink(self, written: str, url: str) -> None:
        target = self._table.target(url)
        if isinstance(target, Article):
            label = escape_label(target.title)
            self._writer.link([target], label, label)
        elif target is not None:
            self._writer.text(f"<{written}>", escape_text(written))
        else:
            self._record(f"<{written}>")
            self._writer.plain(escape_text(written), escape_text(written))

    # --- closing brackets ---

    def _close(self) -> bool:
        writer, text, at = self._writer, self._text, self._at
        if not writer.frames:
            return self._put("\\]")
        frame = writer.top
        limit, ended = self._limit(at)
        if at + 1 >= limit and not ended:
            return False
        following = text[at + 1] if at + 1 < limit else ""
        if following == "(":
            return self._close_link(frame, limit, ended=ended)
        if following == "[" and frame.image:
            return self._close_reference(limit, ended=ended)
        if following == ":" and frame.first and len(writer.frames) == 1 and not frame.image:
            return self._close_definition(frame, limit, ended=ended)
        return self._close_marker(frame)

    def _close_link(self, frame: Frame, limit: int, *, ended: bool) -> bool:
        tail = link_tail(self._text, self._at + 1, limit)
        if tail is None and not ended:
            return False
        if tail is None and self._last and limit == len(self._text):
            if frame.image:
                self._writer.discard()
            else:
                self._writer.close_reduced()
            self._go_to(limit)
            return True
        if tail is None or tail.url is None:
            return self._close_marker(frame)
        written = self._text[frame.start : tail.end]
        target = None if frame.image or frame.linked else self._table.target(tail.url)
        if frame.image:
            self._writer.discard()
        elif target is None:
            self._record(written)
            self._writer.close_reduced()
        else:
            self._writer.close_as_link(target)
        self._go_to(tail.end)
        return True

    def _go_to(self, end: int) -> None:
        self._skip_breaks(self._text[self._at : end])
        self._at = end

    def _record(self, written: str) -> None:
        self._writer.top.dropped.append(_one_line(written)[:_LONGEST_RECORD])

    def _close_reference(self, limit: int, *, ended: bool) -> bool:
        match = _REFERENCE.match(self._text, self._at + 1, limit)
        if match is None:
            rest = self._text[self._at + 2 : limit]
            if not ended and "[" not in rest:
                return False
            if not (self._last and limit == len(self._text)) or "[" in rest:
                return self._close_marker(self._writer.top)
        self._writer.discard()
        self._go_to(match.end() if match else limit)
        return True

    def _close_definition(self, frame: Frame, limit: int, *, ended: bool) -> bool:
        tail = definition_tail(self._text, self._at + 2, limit, ended=ended)
        if tail is None and not ended:
            return False
        label = self._text[frame.start + 1 : self._at]
        if tail is None or tail.url is None or not label.strip() or "[" in label.replace("\\[", ""):
            return self._close_marker(frame)
        if not looks_like_url(tail.url) and (not self._paragraph or self._table.marked(_one_line(label))):
            return self._close_marker(frame)
        self._writer.discard()
        self._go_to(tail.end)
        self._first = True
        return True

    def _close_marker(self, frame: Frame) -> bool:
        marker = self._text[frame.start + 1 + frame.image : self._at]
        cited = self._table.marked(_one_line(marker))
        if cited is not None:
            self._writer.close_as_marker(list(cited.articles), escape_label(cited.text))
        else:
            self._writer.close_as_text()
        self._at += 1
        return True


def _one_line(text: str) -> str:
    return text.replace(GUARD, "").replace("\n", " ")


def _code(text: str) -> str:
    """Line breaks are spaces in a code span. Pipes are escaped where a table would cut the code in two and so set free
    what looks like a link in it."""
    line = _one_line(text)
    return _PIPE.sub(r"\\|", line) if "|" in line and ("[" in line or "<" in line) else line
