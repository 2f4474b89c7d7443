"""Finds a quote in the text that was given, and says where the article's own words stand.

Verbatim first. Else two texts are the same words where they differ in nothing a reader sees: Unicode compatibility
(NFKC), white space, typographic quotes and dashes, ё for е, inline Markdown marks that the quote left out (never ones
that it added), and characters that the article writes as entities outside code. Nothing looser: case, look-alike
letters, ellipses, invisible characters are compared as they are.

A quote lies within one paragraph. A list or a table without a blank line counts as one: its markers and pipes are
ordinary characters, so items can be quoted together but never be joined without a trace. A quote begins and ends at
whole words and numbers, because "possible" inside "impossible" and 30 inside 300 say the opposite.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from refdesk.text.entities import ENTITY, characters, decoded
from refdesk.text.marks import LINK_END, Marks, inline_marks
from refdesk.text.numbers import cuts_number
from refdesk.text.remembering import remembers

LONGEST = 10_000
"""Characters of a quote; no paragraph that a person reads is longer."""
PARAGRAPH = 2_000
"""Characters; of longer ones nothing is remembered."""
MOST_PLACES = 200
"""Places tried in one block where a quote stands but cuts a word: more occur only in texts made to cost time."""
LEAST_WORDS, LEAST_CHARACTERS = 3, 12

Span = tuple[int, int]

_DOUBLE, _SINGLE = "“”„‟«»", "‘’‚‛‹›′"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_FOLD = str.maketrans(
    {**dict.fromkeys(_DOUBLE, '"'), **dict.fromkeys(_SINGLE, "'"), **dict.fromkeys(_DASHES, "-"), "ё": "е", "Ё": "Е"}
)
_MARK_CHARACTERS = "*_~`[]\\<>"
_NO_MARKS = str.maketrans("", "", _MARK_CHARACTERS)
_NO_STRUCTURE = str.maketrans("\n>", " \uff1e")
"""Neither breaks a line nor begins a block quote where an entity stands for it; both fold to what they are."""
_GAP = re.compile(r"[^\S\n]*+\n[ \t]*+>[ \t>]*+|\s++")
_FENCE = re.compile(r"[ \t>]*+(`{3,}+|~{3,}+)")
_BOUNDARY = re.compile(
    r" {0,3}#{1,6}(?:\s|$)|[ \t]*+(?:(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+|=++[ \t]*+)$"
)
_LIST_MARKER = re.compile(r"^[ \t>]*+(?:[-*+]|\d{1,9}[.)])[ \t]", re.MULTILINE)
_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]"
)
"""Letters of scripts without spaces between words: Thai, Lao, Burmese, Khmer, Kana, Han."""


class Located(NamedTuple):
    """Where the quote stands in the body, end exclusive; what is shown is `body[start:end]`."""

    start: int
    end: int
    match: Literal["exact", "normalized"]


class Block(NamedTuple):
    """A paragraph, heading, list, table or stretch of code, at `start` of its text."""

    start: int
    text: str
    code: bool


class Folded(NamedTuple):
    """A block as it is compared: for each character the place of what it came from."""

    text: str
    starts: array[int]
    ends: array[int]


class _Seen(NamedTuple):
    """A block as it is read: for each character the place of what it came from."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]


class _Folding(NamedTuple):
    """The same, piece by piece."""

    text: list[str]
    starts: list[int]
    ends: list[int]

    def done(self) -> Folded:
        return Folded("".join(self.text), array("I", self.starts), array("I", self.ends))


class Reading(NamedTuple):
    """A block with its marks, and without them as a reader sees it."""

    whole: Folded
    bare: Folded
    left_out: list[str]
    """For each character of `bare` the marks before it, and at the end those behind the last one."""
    marks: Marks


def locate(quote: str, body: str, given: Sequence[Span]) -> Located | None:
    """The first place inside one of the given spans of the body where the quote stands; None if there is none."""
    wanted = quote.strip()
    if not wanted or len(wanted) > LONGEST:
        return None
    for start, end in given:
        if (at := _verbatim(wanted, body, start, end)) is not None:
            return Located(at, at + len(wanted), "exact")
    for start, end in given:
        if (place := _folded_place(wanted, body, start, end)) is not None:
            return Located(*place, "normalized")
    return None


def fault(quote: str) -> str | None:
    """Why a text cannot be a quote of anything, in words for the model; None if it can."""
    if not quote.strip():
        return "there is no quote"
    if len(quote) > LONGEST or len(_blocks(quote.strip())) > 1:
        return "the quote is longer than one paragraph"
    if not _says_something(quote):
        return "the quote is too short to prove anything (at least three words)"
    return None


def first_paragraph(body: str, span: Span) -> Span:
    """The first block of the span that is no heading (the whole span if there are only headings), trimmed."""
    blocks = [block for block in _blocks(body[slice(*span)]) if not block.text.lstrip().startswith("#") or block.code]
    start, text = (span[0] + blocks[0].start, blocks[0].text) if blocks else (span[0], body[slice(*span)])
    start += len(text) - len(text.lstrip())
    return start, start + len(text.strip())


def _says_something(quote: str) -> bool:
    """Three words; in scripts without spaces twelve characters. In a mixed text a word counts as four of them."""
    words = decoded(_LIST_MARKER.sub(" ", LINK_END.sub("] ", quote))).split()
    weight = 0
    for word in words:
        letters = sum(char.isalnum() for char in word)
        if letters:
            weight += letters if _SPACELESS.search(word) else LEAST_CHARACTERS // LEAST_WORDS
    return weight >= LEAST_CHARACTERS


# --- finding -----------------------------------------------------------------------------------


def _verbatim(wanted: str, body: str, start: int, end: int) -> int | None:
    if len(_blocks(wanted)) > 1:
        return None
    at = body.find(wanted, start, end)
    for _ in range(MOST_PLACES):
        if at < 0 or _whole_words(body, at, at + len(wanted)):
            return at if at >= 0 else None
        at = body.find(wanted, at + 1, end)
    return None


def _folded_place(wanted: str, body: str, start: int, end: int) -> Span | None:
    for block in _blocks(body[start:end]):
        for place in islice(_places(wanted, block), MOST_PLACES):
            found = start + block.start + place[0], start + block.start + place[1]
            if _whole_words(body, *found):
                return found
    return None


def _places(wanted: str, block: Block) -> Iterator[Span]:
    """Where the quote stands, in the block's offsets: with the article's entities as they are written, else as what
    they stand for, be it that the quote writes none (what looks like one is then text that the article shows)."""
    ways = [(False, False)]
    if not block.code and ENTITY.search(block.text):
        ways += [(False, True), (True, True)] if ENTITY.search(wanted) else [(False, True)]
    for of_quote, of_article in ways:
        if _rough(wanted, of_quote) in _rough(block.text, of_article):
            article = _reading(block.text, block.code, of_article)
            yield from _standing(_reading(wanted, False, of_quote), article)


def _standing(quote: Reading, article: Reading) -> Iterator[Span]:
    """With all marks of the article, with none of them (what looks like a mark in the quote is then a character that
    the article shows), or with some."""
    for read in (article.whole, article.bare):
        for at in _occurrences(quote.whole.text, read):
            yield _with_partners(_span(read, at, quote.whole), article.marks)
    for at in _occurrences(quote.bare.text, article.bare):
        if all(mark in article.left_out[at + ahead] for ahead, mark in enumerate(quote.left_out) if mark):
            yield _with_partners(_span(article.bare, at, quote.bare), article.marks)


def _occurrences(text: str, folded: Folded) -> Iterator[int]:
    """Where the text stands, never cutting a character of the article in two (a ligature, a letter and its accent)."""
    at = folded.text.find(text) if text else -1
    while at >= 0:
        end, starts = at + len(text), folded.starts
        begins_whole = at == 0 or starts[at - 1] != starts[at]
        ends_whole = end == len(starts) or starts[end] != starts[end - 1]
        if begins_whole and ends_whole:
            yield at
        at = folded.text.find(text, at + 1)


def _span(article: Folded, at: int, quote: Folded) -> Span:
    return article.starts[at], article.ends[at + len(quote.text) - 1]


def _with_partners(place: Span, marks: Marks) -> Span:
    """Takes in a mark at the edge whose partner lies inside, so that the shown text is sound Markdown."""
    start, end = place
    for _ in range(4):  # as deep as people nest marks
        before = start, end
        for opening, closing in marks.pairs:
            if opening[1] == start and start < closing[1] <= end:
                start = opening[0]
            elif closing[0] == end and start <= opening[0] < end:
                end = closing[1]
        if before == (start, end):
            break
    return start, end


# --- whole words ---------------------------------------------------------------------------------

NEAR = 256
"""Characters of the body on each side of an edge that are looked at where there are entities."""
_JOINTS = "-\u2010\u2011'\u2019\u02bc"
_DIGIT_JOINTS = _JOINTS + "\u2013\u2014\u2212:/.,"


def _whole_words(body: str, start: int, end: int) -> bool:
    return not (_joined(body, start) or _joined(body, end))


def _joined(body: str, edge: int) -> bool:
    """Whether the characters on both sides of the edge belong to one word or number. Marks between them are skipped."""
    body, edge = _as_read(body, edge)
    left, right = edge, edge
    while left > 0 and body[left - 1] in "*_~`":
        left -= 1
    while right < len(body) and body[right] in "*_~`":
        right += 1
    before, after = body[max(0, left - 2) : left][::-1], body[right : right + 2]
    if not before or not after:
        return False
    if _wordlike(before[0]) and _wordlike(after[0]):
        spaceless = _SPACELESS.match(before[0]) or _SPACELESS.match(after[0])
        return not spaceless or cuts_number(body, edge)
    return cuts_number(body, edge) or _hyphenated(before, after[0]) or _hyphenated(after, before[0])


def _as_read(body: str, edge: int) -> tuple[str, int]:
    """The body around the edge, and the edge in it, where an entity may be a letter or part of a number."""
    before, after = body[max(0, edge - NEAR) : edge], body[edge : edge + NEAR]
    if "&" not in before + after:
        return body, edge
    return (left := decoded(before)) + decoded(after), len(left)


def _hyphenated(joint: str, inner: str) -> bool:
    """`non-` before `refundable`, `don’` before `t`, `5–` before `10`: one word, one range. `joint` reads outwards."""
    if len(joint) < 2 or not inner.isalnum() or not joint[1].isalnum():
        return False
    return joint[0] in (_DIGIT_JOINTS if inner.isdecimal() and joint[1].isdecimal() else _JOINTS)


def _wordlike(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char)[0] == "M"


# --- folding ---------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def _blocks(text: str) -> tuple[Block, ...]:
    """Cut at blank lines, headings, rules, fences, and where a block quote begins or ends."""
    found: list[Block] = []
    fence, quoted, start = "", False, -1
    at = 0
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        opens = bool(mark and (not fence or mark[1].startswith(fence)))
        alone = opens or (not fence and bool(_BOUNDARY.match(line)))
        ends = alone or not line.strip(" \t>\r") or (not fence and line.lstrip().startswith(">") != quoted)
        if ends and start >= 0:
            found.append(Block(start, text[start : at - 1], bool(fence)))
            start = -1
        if alone and not opens:
            found.append(Block(at, line, False))
        elif not opens and start < 0 and line.strip(" \t>\r"):
            start, quoted = at, line.lstrip().startswith(">")
        if opens and mark:
            fence = "" if fence else mark[1]
        at += len(line) + 1
    if start >= 0:
        found.append(Block(start, text[start:], bool(fence)))
    return tuple(found)


@remembers(4096, PARAGRAPH)
def _rough(text: str, entities: bool) -> str:
    """Cheap and coarse: wherever a quote stands in a block, its rough text stands in the block's (except over an entity
    in a code span and one outside, as code is not told apart here). `entities`: they are what they stand for."""
    seen = LINK_END.sub("", decoded(text) if entities else text)
    if not seen.isascii():
        seen = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", seen).translate(_FOLD))
    return "".join(seen.translate(_NO_MARKS).split())


@remembers(256, PARAGRAPH)
def _reading(text: str, code: bool, entities: bool) -> Reading:
    marks = Marks([], []) if code else inline_marks(text)
    hidden = bytearray(len(text))
    for start, end in [*(span for pair in marks.pairs for span in pair), *marks.singles]:
        hidden[start:end] = b"\x01" * (end - start)
    whole, bare = (_Folding([], [], []) for _ in range(2))
    left_out = [""]
    seen = _seen(text, marks) if entities else _Seen(text, range(len(text)), range(1, len(text) + 1))
    for first, last in _clusters(seen.text):
        folded, start, end = _fold(seen.text, first, last), seen.starts[first], seen.ends[last - 1]
        for target in (whole,) if hidden[start] else (whole, bare):
            target.text.append(folded)
            target.starts.extend([start] * len(folded))
            target.ends.extend([end] * len(folded))
        if hidden[start]:
            left_out[-1] += folded
        else:
            left_out.extend([""] * len(folded))
    return Reading(whole.done(), bare.done(), left_out, marks)


def _seen(text: str, marks: Marks) -> _Seen:
    """Entities outside code spans and autolinks, where they are literal, as what they stand for."""
    literal = bytearray(len(text))
    for opening, closing in marks.pairs:
        if text[opening[0]] in "`<":
            literal[opening[1] : closing[0]] = b"\x01" * (closing[0] - opening[1])
    for _, end in marks.singles:
        literal[end : end + 1] = b"\x01"
    pieces, starts, ends, at = [], array("I"), array("I"), 0
    for found in ENTITY.finditer(text):
        if not literal[found.start()]:
            shown = characters(found[0]).translate(_NO_STRUCTURE)
            pieces += [text[at : found.start()], shown]
            starts.extend([*range(at, found.start()), *[found.start()] * len(shown)])
            ends.extend([*range(at + 1, found.start() + 1), *[found.end()] * len(shown)])
            at = found.end()
    starts.extend(range(at, len(text)))
    ends.extend(range(at + 1, len(text) + 1))
    return _Seen("".join([*pieces, text[at:]]), starts, ends)


def _clusters(text: str) -> Iterator[Span]:
    """A stretch of white space, or a character with its combining marks."""
    at = 0
    while at < len(text):
        end = at + 1
        if text[at].isspace():
            end = max(end, _GAP.match(text, at).end())  # type: ignore[union-attr]
        else:
            while end < len(text) and not text[end].isascii() and unicodedata.category(text[end])[0] == "M":
                end += 1
        yield at, end
        at = end


def _fold(text: str, start: int, end: int) -> str:
    char = text[start]
    if char.isspace():
        return " "
    if end - start == 1 and char.isascii():
        return char
    number_sign = unicodedata.category(char) == "No"
    if number_sign and (text[start - 1 : start].isdigit() or text[end : end + 1].isdigit()):
        return char  # 10² is not 102
    return _fold_cluster(text[start:end])


@lru_cache(maxsize=4096)
def _fold_cluster(cluster: str) -> str:
    """NFKD behind NFKC, so that Hangul syllables equal their letters."""
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", cluster).translate(_FOLD))
