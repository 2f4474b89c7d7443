"""Where the sentences of a Markdown text begin and end: spans of the text itself, so that a quote stays verbatim.

A unit is what one can quote alone: a sentence of a paragraph, a list item's sentence, one table row, one line of code.
Headings, rules, link definitions, images and comments are no statements and give no unit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from refdesk.domain.articles import Span

LONGEST = 500
"""Characters; a "sentence" without any stop (a licence, a minified line) is cut at a clause or a space."""
FARTHEST_HEAD = 60_000
"""Characters between a piece of a table and its header that are still read for it."""


class Unit(NamedTuple):
    """A span of the text; `header` is the table's first row where the unit is one of its rows."""

    start: int
    end: int
    header: Span | None = None


_FENCE = re.compile(r"\s*(?:>\s*)*(`{3,}|~{3,})")
_TABLE_ROW = re.compile(r"\s*\|.*\|\s*$")
_TABLE_RULE = re.compile(r"(?:\|\s*)?:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?$")
_SKIPPED = re.compile(r" {0,3}(?:#{1,6}(?:\s|$)|\[[^\]\n]+\]:\s|(?:[-*_]\s*){3,}$|=+\s*$|!\[[^\]\n]*\]\([^)\n]*\)\s*$)")
_LEAD = re.compile(r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+•]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)?")
_STARTS_ITEM = re.compile(r"[ \t]*(?:>[ \t]*)*(?:[-*+•]|\d{1,9}[.)])[ \t]+\S")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TICKS = re.compile(r"`+")

_CLOSERS = "\"'’”»“)\\]}*_`›」』）】"
_STOP = re.compile(rf"[.!?…]+[{_CLOSERS}]*(?=\s)|[。！？｡]+[{_CLOSERS}]*|[।؟۔][{_CLOSERS}]*(?=\s)")
_OPENERS = re.compile(r"[\s\"'«„“‘(\[{*_`‹¿¡—–-]*")
_LAST_WORD = re.compile(r"(?:\w+\.)*\w+$")
_CLAUSE = re.compile(r"[;:,，；、\n]\s*|\s+")

_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof sr jr st vs no nos fig figs vol pp p ed eds approx dept inc ltd co corp gen col lt sgt capt gov "
    "sen rep rev hon e.g i.e cf al ca mt ft est jan feb mar apr jun jul aug sep sept oct nov dec u.s u.k u.n a.d b.c "
    "т т.е т.к т.н т.д т.п др пр см ср напр рис табл стр с гл п пп ст ул пл им акад проф доц инж тов млн млрд тыс руб "
    "коп англ нем фр лат греч рус кит исп итал яп букв род ум обл р н н.э э до "
    "např tzv tj tzn atd apod aj resp č čís str odst písm obr tab zák mj popř příp sv ul nám ing mgr bc phdr mudr judr "
    "rndr doc csc roč cca pozn srov viz kap angl něm franc lat hl mil mld tis "
    "z.b d.h bzw usw ggf vgl nr abs art bspw evtl inkl zzgl dipl "
    "p.ej ej sra dra ud uds pág núm av "
    "m mme mlle".split()
)
_AFTER_YEAR = frozenset({"г", "гг", "в", "вв", "л", "руб", "коп", "тыс", "млн", "млрд", "кг", "км", "м", "см"})
"""Russian abbreviations that follow a number: before a capital they mostly end the sentence ("в 1995 г. Он")."""
_BEFORE_NUMBER = frozenset({"д", "кв", "корп", "к", "art", "sec", "ch", "čl", "bod"})


def sentences(text: str, start: int = 0, end: int | None = None) -> list[Unit]:
    """The units of `text[start:end]` in order, as spans of `text` without white space and list marks around them."""
    stop = len(text) if end is None else end
    return [piece for block in _blocks(text, start, stop) for piece in _cut_long(text, block)]


def sentences_in(text: str, spans: Sequence[Span]) -> list[Unit]:
    """The units that lie in a passage's spans. A piece of a long table or fence stands apart from the head it repeats:
    what lies between is read too, so that a row knows its header and code is known as code."""
    low, high = min((start for start, _ in spans), default=0), max((end for _, end in spans), default=0)
    if high - low > FARTHEST_HEAD:
        return [unit for start, end in spans for unit in sentences(text, start, end)]
    found = sentences(text, low, high)
    return [unit for unit in found if any(start <= unit.start and unit.end <= end for start, end in spans)]


def _blocks(text: str, start: int, end: int) -> Iterator[Unit]:
    """Paragraphs and items cut into sentences; rows and lines of code whole."""
    shown = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text[start:end])
    lines = list(_lines(shown, start))
    fence, paragraph, header = "", None, None
    for number, (line, content) in enumerate(lines):
        mark = _FENCE.match(content)
        opens_quote = _is_quoted(content) and paragraph is not None and not _is_quoted(lines[number - 1][1])
        ends = bool(fence or mark or _ends_paragraph(content) or opens_quote)
        if paragraph and ends:
            yield from _stops(text, *paragraph)
            paragraph = None
        if not _is_row(content):
            header = header if _TABLE_RULE.match(content.strip()) else None
        if mark:
            fence = _next_fence(fence, mark[1], content)
        elif fence or (ends and _is_row(content)):
            if not fence and number + 1 < len(lines) and _TABLE_RULE.match(lines[number + 1][1].strip()):
                header = line
            else:
                yield from _trimmed(text, *line, header)
        elif not ends or opens_quote or _STARTS_ITEM.match(content):
            paragraph = (paragraph[0], line[1]) if paragraph else (line[0] + _lead(content), line[1])
    if paragraph:
        yield from _stops(text, *paragraph)


def _lines(text: str, offset: int) -> Iterator[tuple[Span, str]]:
    at = offset
    for line in text.split("\n"):
        yield (at, at + len(line)), line
        at += len(line) + 1


def _next_fence(fence: str, mark: str, content: str) -> str:
    """The fence that is open after this line: only a line of the same mark, at least as long, closes one."""
    if not fence:
        return mark
    closes = mark[0] == fence[0] and len(mark) >= len(fence) and not content.strip().strip(mark[0] + "> ")
    return "" if closes else fence


def _ends_paragraph(content: str) -> bool:
    blank = not content.strip(" \t>\r")
    return blank or bool(_SKIPPED.match(content) or _TABLE_ROW.match(content) or _STARTS_ITEM.match(content))


def _is_quoted(content: str) -> bool:
    return content.lstrip().startswith(">")


def _is_row(content: str) -> bool:
    return bool(_TABLE_ROW.match(content)) and not _TABLE_RULE.match(content.strip())


def _lead(content: str) -> int:
    found = _LEAD.match(content)
    return found.end() if found else 0


def _trimmed(text: str, start: int, end: int, header: Span | None = None) -> Iterator[Unit]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if any(character.isalnum() for character in text[start:end]) and "<!--" not in text[start:end]:
        yield Unit(start, end, header)


def _stops(text: str, start: int, end: int) -> Iterator[Unit]:
    """A paragraph's sentences. Stops inside code spans and inside brackets that close later do not count."""
    masked = _without_code(text[start:end])
    at = 0
    for stop in _STOP.finditer(masked):
        if stop.end() > at and _is_boundary(masked, at, stop):
            yield from _trimmed(text, start + at, start + stop.end())
            at = stop.end()
    yield from _trimmed(text, start + at, end)


def _without_code(text: str) -> str:
    """Code spans blanked out: from a run of ticks to the next run of the same length."""
    runs = list(_TICKS.finditer(text))
    last = {len(run[0]): number for number, run in enumerate(runs)}
    kept, at, number = [], 0, 0
    while number < len(runs):
        opener, size = runs[number], len(runs[number][0])
        number += 1
        if last[size] < number:
            continue
        closer = next(n for n in range(number, len(runs)) if len(runs[n][0]) == size)
        kept += [text[at : opener.start()], "x" * (runs[closer].end() - opener.start())]
        at, number = runs[closer].end(), closer + 1
    return "".join([*kept, text[at:]])


def _is_boundary(text: str, at: int, stop: re.Match[str]) -> bool:
    if text[stop.start()] in "。！？｡।؟۔":
        return True
    following = _OPENERS.match(text, stop.end())
    after = text[following.end() : following.end() + 1] if following else ""
    if not after or after.islower() or _inside_brackets(text, at, stop.end()):
        return not after
    return not (stop[0] == "." and _is_abbreviation(text, at, stop.start(), after))


def _inside_brackets(text: str, at: int, here: int) -> bool:
    opened = text.count("(", at, here) - text.count(")", at, here)
    return opened > 0 and text.find(")", here, here + 200) >= 0


def _is_abbreviation(text: str, at: int, dot: int, after: str) -> bool:
    found = _LAST_WORD.search(text, max(at, dot - 24), dot)
    if not found:
        return False
    word = found[0].casefold()
    before = text[max(at, found.start() - 6) : found.start()].rstrip()
    if word.isdigit():
        return found.start() == at or (len(word) <= 2 and after.isalpha() and not after.isupper())
    if word in _AFTER_YEAR and before[-1:].isdigit():
        return False
    initials = found[0].isupper() and all(len(part) == 1 for part in word.split("."))
    return initials or word in _ABBREVIATIONS or word in _AFTER_YEAR or (word in _BEFORE_NUMBER and after.isdigit())


def _cut_long(text: str, unit: Unit) -> Iterator[Unit]:
    start, end, header = unit
    while end - start > LONGEST:
        window = [m.end() for m in _CLAUSE.finditer(text, start + LONGEST // 2, start + LONGEST)]
        clauses = [at for at in window if text[at - 2 : at].strip() and text[at - 2 : at].strip()[-1] in ";:,，；、"]
        cut = max(clauses or window or [start + LONGEST])
        yield from _trimmed(text, start, cut, header)
        start = cut
    yield from _trimmed(text, start, end, header)
