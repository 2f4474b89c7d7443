"""Reads the input of the `answer` tool while its JSON is still arriving.

Claims must be verified the moment each is complete, and the answer's text goes on to the visitor as it comes, so the
input cannot wait for its closing brace. Whether the whole was valid JSON is told by the ToolUse at its end.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

import msgspec

Item: TypeAlias = tuple[str, Any]
"""("outcome", value), ("claims", element) for each element of that array, ("claims_end", None), the same for conflicts,
("missing_information", list), ("answer", piece of text), ("answer_end", None)."""

LONGEST = 200_000
"""Characters of an input without its answer's text, which is passed on and has a bound of its own. The 4 000 tokens of
a turn never have as many, and a hostile endpoint may not fill the memory."""
ELEMENTS = ("claims", "conflicts")
SPACE = " \t\r\n"
PLAIN = re.compile(r'[^"\\]+')
SCALAR_END = re.compile(r"[,\]}\s]")
STRING_MARK = re.compile(r'["\\]')
BRACKET_OR_QUOTE = re.compile(r'[\[\]{}"]')
ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class AnswerReader:
    """Feed it pieces of JSON in any chunking; it yields what has become complete.

    Of a key that comes twice the first one counts. A structure that cannot be JSON, or one that does not end, ends the
    reading (`broken`)."""

    def __init__(self) -> None:
        self._text = ""
        self._at = 0
        self._length = 0
        self._state = AnswerReader._open
        """Not of this object: a cycle would keep every turn until garbage is looked for."""
        self._key = ""
        self._seen: set[str] = set()
        self._items: list[Item] = []
        self._scan: ValueScan | None = None
        self.broken = False
        self.done = False

    def feed(self, piece: str) -> list[Item]:
        self._text = self._text[self._at :] + piece
        self._at = 0
        self._items = []
        self._length += len(piece)
        while not self.broken and not self.done and self._state(self):
            pass
        self.broken = self.broken or self.overlong
        return self._items

    @property
    def overlong(self) -> bool:
        return self._length > LONGEST

    # Each state consumes what it can and tells whether the next state may go on now.

    def _next(self, allowed: str) -> str | None:
        """The next character that is not white space, consumed if it is one of the allowed."""
        while self._at < len(self._text) and self._text[self._at] in SPACE:
            self._at += 1
        if self._at == len(self._text):
            return None
        char = self._text[self._at]
        if char not in allowed:
            self.broken = True
            return None
        self._at += 1
        return char

    def _open(self) -> bool:
        if self._next("{") is None:
            return False
        self._state = AnswerReader._key_start
        return True

    def _key_start(self) -> bool:
        char = self._next('"}')
        if char is None:
            return False
        if char == "}":
            self.done = True
            return False
        self._at -= 1
        self._scan, self._state = ValueScan(), AnswerReader._key_end
        return True

    def _key_end(self) -> bool:
        value = self._whole()
        if value is None:
            return False
        self._key, self._state = str(value[0]), AnswerReader._colon
        return True

    def _colon(self) -> bool:
        if self._next(":") is None:
            return False
        self._state = AnswerReader._value_start
        return True

    def _value_start(self) -> bool:
        while self._at < len(self._text) and self._text[self._at] in SPACE:
            self._at += 1
        if self._at == len(self._text):
            return False
        first, known = self._text[self._at], self._key not in self._seen
        self._seen.add(self._key)
        if self._key == "answer" and known and first == '"':
            self._at += 1
            self._state = AnswerReader._answer_text
        elif self._key in ELEMENTS and known and first == "[":
            self._at += 1
            self._state = AnswerReader._element_start
        else:
            self._scan = ValueScan()
            self._state = AnswerReader._value_end if known else AnswerReader._skipped
        return True

    def _value_end(self) -> bool:
        value = self._whole()
        if value is None:
            return False
        self._items.append((self._key, value[0]))
        if self._key in (*ELEMENTS, "answer"):  # not of the expected type: as if it were empty
            self._items[-1] = (f"{self._key}_end", None)
        self._state = AnswerReader._comma
        return True

    def _skipped(self) -> bool:
        if self._whole() is None:
            return False
        self._state = AnswerReader._comma
        return True

    def _element_start(self) -> bool:
        while self._at < len(self._text) and self._text[self._at] in SPACE + ",":
            self._at += 1
        if self._at == len(self._text):
            return False
        if self._text[self._at] == "]":
            self._at += 1
            self._items.append((f"{self._key}_end", None))
            self._state = AnswerReader._comma
        else:
            self._scan, self._state = ValueScan(), AnswerReader._element_end
        return True

    def _element_end(self) -> bool:
        value = self._whole()
        if value is None:
            return False
        self._items.append((self._key, value[0]))
        self._state = AnswerReader._element_start
        return True

    def _comma(self) -> bool:
        char = self._next(",}")
        if char is None:
            return False
        self.done = char == "}"
        self._state = AnswerReader._key_start
        return not self.done

    def _answer_text(self) -> bool:
        began = self._at
        text, self._at, ended = decode_string(self._text, self._at)
        self._length -= self._at - began
        if text:
            self._items.append(("answer", text))
        if ended:
            self._items.append(("answer_end", None))
            self._state = AnswerReader._comma
        return ended

    def _whole(self) -> tuple[Any] | None:
        """The complete value that starts here, decoded; None while it has not ended."""
        assert self._scan is not None
        end = self._scan.end(self._text, self._at)
        self._scan.parts.append(self._text[self._at : end])
        self._at = len(self._text) if end is None else end
        if end is None:
            return None
        raw, self._scan = "".join(self._scan.parts), None
        try:
            return (msgspec.json.decode(raw.encode("utf-8", "replace")),)
        except (msgspec.DecodeError, RecursionError):
            self.broken = True
            return None


class ValueScan:
    """Finds where a JSON value ends, going on where the last text stopped. `parts` is for who feeds it."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._depth = 0
        self._in_string = self._escaped = self._scalar = False

    def end(self, text: str, at: int) -> int | None:
        """The offset behind the value, whose text goes on at `at`; None: it goes on behind this text."""
        while at < len(text):
            if self._escaped:
                self._escaped = False
                at += 1
                continue
            if self._scalar:
                found = SCALAR_END.search(text, at)
                return found.start() if found else None
            at = self._step(text, at)
            if not self._depth and not self._in_string and not self._scalar:
                return at
        return None

    def _step(self, text: str, at: int) -> int:
        """To behind the next character that means something."""
        found = (STRING_MARK if self._in_string else BRACKET_OR_QUOTE).search(text, at)
        if not self._in_string and not self._depth and (found is None or found.start() > at):
            self._scalar = True
            return at + 1
        if found is None:
            return len(text)
        char = found[0]
        if char == "\\":
            self._escaped = True
        elif char == '"':
            self._in_string = not self._in_string
        else:
            self._depth = max(0, self._depth + (1 if char in "{[" else -1))
        return found.end()


def decode_string(text: str, at: int) -> tuple[str, int, bool]:
    """What of a JSON string can be decoded from `at`: the text, where to go on, and whether its end was seen."""
    out: list[str] = []
    while at < len(text):
        if found := PLAIN.match(text, at):
            out.append(found[0])
            at = found.end()
        elif text[at] == '"':
            return "".join(out), at + 1, True
        else:
            decoded = decode_escape(text, at)
            if decoded is None:
                break
            out.append(decoded[0])
            at = decoded[1]
    return "".join(out), at, False


def decode_escape(text: str, at: int) -> tuple[str, int] | None:
    """The character of the escape at `at` and where it ends; None while incomplete. A lone surrogate is U+FFFD."""
    if at + 1 >= len(text):
        return None
    if text[at + 1] != "u":
        return ESCAPES.get(text[at + 1], "�"), at + 2
    if at + 6 > len(text):
        return None
    code = hex_value(text[at + 2 : at + 6])
    if not 0xD800 <= code < 0xE000:
        return chr(code), at + 6
    if code >= 0xDC00:
        return "�", at + 6
    if at + 8 > len(text) and text.startswith("\\u"[: len(text) - at - 6], at + 6):
        return None
    if not text.startswith("\\u", at + 6):
        return "�", at + 6
    if at + 12 > len(text):
        return None
    low = hex_value(text[at + 8 : at + 12])
    if not 0xDC00 <= low < 0xE000:
        return "�", at + 6
    return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), at + 12


def hex_value(digits: str) -> int:
    return int(digits, 16) if re.fullmatch(r"[0-9a-fA-F]{4}", digits) else 0xFFFD
