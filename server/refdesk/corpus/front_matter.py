"""YAML front matter, read as text: no type guessing, no aliases, no tags, no second value for a key.

Only the parser's events are used, nothing is ever constructed, so an alias bomb costs what its bytes cost and
`title: no` stays "no"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import msgspec
import yaml

from refdesk.errors import FileWithheld

MAX_CHARACTERS = 64 * 1024

Value: TypeAlias = str | tuple[str, ...] | None
"""A text, a list of texts, or None for anything nested: no documented key has such a value."""

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_BLANK = "[\\s\ufeff\u200b-\u200d\u2060]*+"
_OPENING = re.compile(_BLANK + r"---[ \t]*+$\n?", re.MULTILINE)
_CLOSING = re.compile(r"^---[ \t]*+$\n?", re.MULTILINE)
_STRAY_RULE = re.compile(
    _BLANK + r"(?:[-–—+=~*_;]{2,}+[ \t]*+\n)?(?:.++\n){0,30}?[ \t]*+[\"']?(?P<key>audience(?=[\"']?[ \t]*+[:=])"
    r"|status(?=[\"']?[ \t]*+[:=][ \t]*+[\"']?(?:draft|archived)[\"']?,?[ \t]*+$)"
    r"|draft(?=[\"']?[ \t]*+[:=][ \t]*+true,?[ \t]*+$))",
    re.IGNORECASE | re.MULTILINE,
)
"""An access rule in the first block of a body: its author meant it as front matter."""
_FOREIGN = re.compile(_BLANK + r"(?:\+{3}[ \t]*+$|\{[ \t]*+(?:$|\"[^\"\n]*+\"[ \t]*+:))", re.MULTILINE)
"""TOML or JSON where front matter stands: what it says of readers would be lost."""
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff]")


class Entry(msgspec.Struct, frozen=True):
    value: Value
    line: int
    """Counts from 1 in the file."""


class FrontMatter(msgspec.Struct, frozen=True):
    entries: dict[str, Entry]
    body: str
    body_line: int
    """The line of the file on which the body begins."""


def read_front_matter(text: str) -> FrontMatter:
    """Splits a file. Raises FileWithheld where the front matter is not closed, not YAML, or not plain.

    Blank lines before it are allowed: an access rule must not be lost, and the article served, over a blank line."""
    opening = _OPENING.match(text)
    if opening is None:
        return _served(FrontMatter({}, text, 1))
    first_line = text.count("\n", 0, opening.end()) + 1
    closing = _CLOSING.search(text, opening.end())
    if closing is None:
        raise FileWithheld("the front matter is not closed: a line of --- is missing", first_line - 1)
    source = text[opening.end() : closing.start()]
    if len(source) > MAX_CHARACTERS:
        raise FileWithheld(f"the front matter is longer than {MAX_CHARACTERS} characters", first_line)
    body_line = text.count("\n", 0, closing.end()) + 1
    return _served(FrontMatter(_entries(source, first_line), text[closing.end() :], body_line))


def _served(front: FrontMatter) -> FrontMatter:
    if stray := _STRAY_RULE.match(front.body):
        line = front.body_line + front.body.count("\n", 0, stray.end())
        key = stray["key"].lower()
        raise FileWithheld(f"`{key}` outside the front matter: it must stand between two lines of ---", line)
    if not front.entries and (foreign := _FOREIGN.match(front.body)):
        line = front.body_line + front.body.count("\n", 0, foreign.end())
        raise FileWithheld("front matter that is not YAML: write it as YAML, between two lines of ---", line)
    return front


def _entries(source: str, first_line: int) -> dict[str, Entry]:
    try:
        return _Reader(source, first_line).entries()
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        raise FileWithheld(f"the front matter does not parse: {error.problem}", first_line + line) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise FileWithheld(f"the front matter does not parse: {type(error).__name__}", first_line) from None


class _Reader:
    """Walks the events of one document that is a mapping of texts and lists of texts."""

    def __init__(self, source: str, first_line: int) -> None:
        self._events: Iterator[Any] = iter(yaml.parse(source, Loader=_LOADER))
        self._first_line = first_line

    def entries(self) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        self._next()  # the stream starts
        if isinstance(self._next(), yaml.StreamEndEvent):
            return entries
        root = self._next()
        if isinstance(root, yaml.ScalarEvent) and root.value == "":
            return entries
        if not isinstance(root, yaml.MappingStartEvent):
            raise FileWithheld("the front matter is not a list of `key: value` lines", self._line(root))
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            self._add(entries, event)
        self._next()  # the document ends
        if not isinstance(event := self._next(), yaml.StreamEndEvent):
            raise FileWithheld("the front matter holds more than one YAML document", self._line(event))
        return entries

    def _add(self, entries: dict[str, Entry], event: Any) -> None:
        line = self._line(event)
        if not isinstance(event, yaml.ScalarEvent):
            raise FileWithheld("a key of the front matter is not a text", line)
        key = self._text(event)
        if key in entries:
            raise FileWithheld(f"the key {key!r} stands twice, first on line {entries[key].line}", line)
        entries[key] = Entry(self._value(self._next()), line)

    def _value(self, event: Any) -> Value:
        if isinstance(event, yaml.ScalarEvent):
            return self._text(event)
        items: list[str] = []
        flat = isinstance(event, yaml.SequenceStartEvent)
        depth = 1
        while depth:
            event = self._next()
            if isinstance(event, yaml.CollectionStartEvent):
                depth, flat = depth + 1, False
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.ScalarEvent):
                items.append(self._text(event))
        return tuple(items) if flat else None

    def _text(self, event: Any) -> str:
        if _UNPRINTABLE.search(event.value):
            raise FileWithheld("the front matter holds a control character", self._line(event))
        return str(event.value)

    def _next(self) -> Any:
        event = next(self._events)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise FileWithheld("anchors and aliases are not allowed in front matter", self._line(event))
        if getattr(event, "tag", None) is not None:
            raise FileWithheld("tags such as !!str are not allowed in front matter", self._line(event))
        return event

    def _line(self, event: Any) -> int:
        return int(event.start_mark.line) + self._first_line
