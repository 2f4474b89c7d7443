"""Splits a body into passages that follow its structure: by section, about 120 words each.

A section is split by itself, so that a sentence added on top leaves the passages of all other sections as they were.
An indivisible piece ("unit") is a paragraph, a short list with the sentence that introduces it, a list item, a table
row, a line of code. A unit cut out of a table or a fence knows the lines that every piece of it must repeat."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from refdesk.corpus.blocks import Block, parts, scan_blocks
from refdesk.corpus.headings import heading_text, same_title
from refdesk.domain.articles import SECTION_SEPARATOR, Passage, Span

FORMAT = 1
"""Changes whenever the same body would be split differently: stored passages of another format are not reused."""

TARGET_WORDS, MIN_WORDS, MAX_WORDS = 120, 60, 240
_INTRO_WORDS = 60
_LETTERS_PER_WORD = 12
"""A text of longer words (addresses, hashes, code) weighs as much as one whose words are this long."""

_LONGEST_RUN = 2 * TARGET_WORDS
"""Characters without white space: TARGET_WORDS in a script that has none between words."""

_RUN = re.compile(r"\S+")
_UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'»”’)\]*_]*\s+|(?<=[。！？])(?=\S)")
_INTRODUCED = ("list", "table", "fence", "code")


class _Unit(msgspec.Struct, frozen=True, gc=False):
    start: int
    end: int
    words: int
    repeats: tuple[Span, ...] = ()
    """Lines that a passage must hold with this unit: a table's header, a fence's first and last line."""


def split_passages(article_id: str, title: str, body: str) -> tuple[Passage, ...]:
    """Together the spans hold everything a reader sees, except headings without any text below."""
    passages: list[Passage] = []
    for section, units in _sections(title, body):
        for spans in _packed(body, units):
            passages.append(Passage(article_id, len(passages), section, spans))
    return tuple(passages)


def count_words(text: str) -> int:
    """Words as a reader would count them; two characters of a script without spaces are one."""
    words = text.split()
    count = max(len(words), sum(map(len, words)) // _LETTERS_PER_WORD)
    return count if text.isascii() else count + len(_UNSPACED.findall(text)) // 2


def _sections(title: str, body: str) -> Iterator[tuple[str, list[_Unit]]]:
    """Sections that have text of their own. Headings stand in the first unit of the text below them."""
    path: list[Block] = []
    opened: int | None = None
    blocks: list[Block] = []
    first: Block | None = None
    for block in scan_blocks(body):
        if block.kind != "heading":
            blocks.append(block)
            continue
        first = first or block
        if units := _units(body, blocks, opened):
            yield _section_path(path, first, title), units
            opened = None
        kept = [heading for heading in path if heading.level < block.level]
        if opened is None or len(kept) < len(path):
            opened = block.start  # a heading that was left without text is not carried into the next section
        path, blocks = [*kept, block], []
    if units := _units(body, blocks, opened):
        yield _section_path(path, first, title), units


def _section_path(path: list[Block], first: Block | None, title: str) -> str:
    names = [heading_text(heading.title) for heading in path]
    if path and path[0] is first and same_title(names[0], title):
        names = names[1:]
    return SECTION_SEPARATOR.join(name for name in names if name)


def _units(body: str, blocks: list[Block], opened: int | None) -> list[_Unit]:
    """`opened`: where the headings above begin; the first unit reaches back to it."""
    units: list[_Unit] = []
    intro: _Unit | None = None
    for block in blocks:
        if block.kind == "comment":
            continue  # no reader sees it, so no answer may rest on it
        cut = _cut(body, block)
        if intro is not None and block.kind in _INTRODUCED:
            cut = _introduced(body, units, intro, cut)
        units.extend(cut)
        intro = units[-1] if block.kind == "text" and len(cut) == 1 and cut[0].words <= _INTRO_WORDS else None
    if units and opened is not None:
        head = units[0]
        words = count_words(body[opened : head.start]) + head.words
        units[0] = _Unit(opened, head.end, words, head.repeats)
    return units


def _introduced(body: str, units: list[_Unit], intro: _Unit, cut: list[_Unit]) -> list[_Unit]:
    """Joins a list, table or example to the sentence before it, where both fit into one passage."""
    head = cut[0]
    if intro.words + head.words > MAX_WORDS or body[intro.end : head.start].strip():
        return cut
    units.pop()
    return [_Unit(intro.start, head.end, intro.words + head.words, head.repeats), *cut[1:]]


def _cut(body: str, block: Block) -> list[_Unit]:
    words = count_words(body[block.start : block.end])
    if words <= MAX_WORDS:
        return [_Unit(block.start, block.end, words)]
    if block.kind == "text":
        return list(_sentences(body, block.start, block.end))
    repeats: tuple[Span, ...] = ()
    if block.kind == "table":
        repeats = ((block.lines[0][0], block.lines[1][1]),)
    elif block.kind == "fence":
        repeats = tuple(dict.fromkeys((block.lines[0], block.lines[-1])))
    return list(_rows(body, block, repeats))


def _rows(body: str, block: Block, repeats: tuple[Span, ...]) -> Iterator[_Unit]:
    """Rows, list items or lines. One that is too long is cut itself, unless that would leave a fence open."""
    for lines in parts(body, block):
        start, end = lines[0][0], lines[-1][1]
        words = count_words(body[start:end])
        if not words:
            continue
        if (
            words > MAX_WORDS
            and block.kind != "table"
            and "```" not in body[start:end]
            and "~~~" not in body[start:end]
        ):
            yield from (_Unit(unit.start, unit.end, unit.words, repeats) for unit in _sentences(body, start, end))
        else:
            yield _Unit(start, end, words, repeats)


def _sentences(body: str, start: int, end: int) -> Iterator[_Unit]:
    """A long text by sentences; a sentence of more than MAX_WORDS at white space, or anywhere if it has none."""
    ends = [match.end() for match in _SENTENCE_END.finditer(body, start, end)]
    for until in (*ends, end):
        for piece_start, piece_end in _pieces(body, start, until):
            yield _Unit(piece_start, piece_end, count_words(body[piece_start:piece_end]))
        start = until


def _pieces(body: str, start: int, end: int) -> Iterator[Span]:
    """One piece of at most MAX_WORDS, else pieces of about TARGET_WORDS, in one pass over the words."""
    words = list(_words(body, start, end))
    if not words:
        return
    if count_words(body[start:end]) <= MAX_WORDS:
        yield words[0][0], words[-1][1]
        return
    begin, until, weight = *words[0], 0
    for word_start, word_end in words:
        if weight >= TARGET_WORDS:
            yield begin, until
            begin, weight = word_start, 0
        until = word_end
        weight += max(1, count_words(body[word_start:word_end]))
    yield begin, until


def _words(body: str, start: int, end: int) -> Iterator[Span]:
    """Runs without white space, none heavier than TARGET_WORDS."""
    for match in _RUN.finditer(body, start, end):
        yield from ((at, min(at + _LONGEST_RUN, match.end())) for at in range(match.start(), match.end(), _LONGEST_RUN))


def _packed(body: str, units: Iterable[_Unit]) -> list[tuple[Span, ...]]:
    """Greedy: closed at the target, never above the maximum; a short rest joins the passage before it."""
    groups: list[list[_Unit]] = []
    words = 0
    for unit in units:
        if groups and words < TARGET_WORDS and words + unit.words <= MAX_WORDS:
            groups[-1].append(unit)
            words += unit.words
        else:
            groups.append([unit])
            words = unit.words
    if len(groups) > 1:
        before = sum(unit.words for unit in groups[-2])
        if words < MIN_WORDS and before + words <= MAX_WORDS:
            groups[-2:] = [groups[-2] + groups[-1]]
    return [_spans(body, group) for group in groups]


def _spans(body: str, group: list[_Unit]) -> tuple[Span, ...]:
    """Neighbours become one span; repeated lines that are not among them become spans of their own, in order."""
    spans: list[Span] = []
    for unit in group:
        if spans and not body[spans[-1][1] : unit.start].strip():
            spans[-1] = (spans[-1][0], unit.end)
        else:
            spans.append((unit.start, unit.end))
    for repeat in dict.fromkeys(line for unit in group for line in unit.repeats):
        if not any(start <= repeat[0] and repeat[1] <= end for start, end in spans):
            spans.append(repeat)
    return tuple(sorted(spans))
