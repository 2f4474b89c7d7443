"""Numbers written in digits, in one spelling, so that `1,000`, `1 000`, `1.000` and `１０００` are the same number.

A number is compared whole: 3 does not occur in 30, nor 000 in `1 000`. Only characters are handled, never `int()`: a
model may write fifty thousand digits.
"""

from __future__ import annotations

import re
import unicodedata

from refdesk.text.entities import decoded
from refdesk.text.marks import LINK_END

_GROUP_SPACES = " \u00a0\u2007\u2009\u202f"
_TOKEN = re.compile(
    r"(?:(?<![^\s(\[{\"'„“«=:;,])[-\u2212])?"  # a sign stands at the start of a word; a hyphen inside one is none
    rf"(?:\d{{1,3}}(?:[{_GROUP_SPACES}]\d{{3}}(?!\d))+(?:[.,]\d+)?|\d+(?:[.,'\u2019\u066b\u066c]\d+)*+)"
)
_SEPARATORS = str.maketrans(
    {**dict.fromkeys(_GROUP_SPACES), "\u2019": "'", "\u066b": ".", "\u066c": ",", "\u2212": "-"}
)
_LIST_NUMBER = re.compile(r"^[ \t>]*+\d{1,9}[.)](?=[ \t])", re.MULTILINE)
_ADDRESS = re.compile(r"<?(?:https?://|mailto:|www\.|doc:)[^\s<>()\[\]]*+>?")


def numbers(text: str) -> list[str]:
    """Every number in order, in its one spelling: no grouping, a point before decimals, no idle zeros.

    One group of three behind a point or comma is read as thousands (`1.000`), any other as decimals (`2,5`). One with
    more points (`2.0.1`) stays as it is. Dates and times are their parts; `1&nbsp;000` is 1000 and `&#8364;` none."""
    return [number for token in _TOKEN.findall(decoded(text)) for number in _spelled(_ascii(token))]


def prose_numbers(markdown: str) -> list[str]:
    """The numbers a reader sees in a statement: not those of link destinations, addresses or ordered-list markers."""
    return numbers(_LIST_NUMBER.sub("", without_addresses(markdown)))


def without_addresses(markdown: str) -> str:
    return _ADDRESS.sub(" ", LINK_END.sub("] ", markdown))


def cuts_number(text: str, at: int) -> bool:
    """Whether position `at` lies inside a number of the text, its sign and its grouping included."""
    start = max(0, at - 64)
    return any(start + m.start() < at < start + m.end() for m in _TOKEN.finditer(text[start : at + 64]))


def _ascii(token: str) -> str:
    plain = token.translate(_SEPARATORS)
    return plain if plain.isascii() else "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in plain)


def _spelled(token: str) -> list[str]:
    sign, token = ("-", token[1:]) if token.startswith("-") else ("", token)
    spelled = _unsigned(token)
    return [sign + spelled[0], *spelled[1:]]


def _unsigned(token: str) -> list[str]:
    groups = re.split(r"[.,']", token)
    marks = [char for char in token if char in ".,'"]
    if not marks:
        return [_whole(token)]
    if len(set(marks)) == 1:
        return _one_separator(groups, marks[0])
    if marks[-1] != "'" and len(set(marks[:-1])) == 1 and marks[-1] not in marks[:-1] and _thousands(groups[:-1]):
        return [_decimal("".join(groups[:-1]), groups[-1])]
    return [_whole(group) for group in groups]


def _one_separator(groups: list[str], mark: str) -> list[str]:
    if _thousands(groups):
        return [_whole("".join(groups))]
    if len(groups) == 2 and mark != "'":
        return [_decimal(*groups)]
    return [".".join(groups)] if mark == "." else [_whole(group) for group in groups]


def _thousands(groups: list[str]) -> bool:
    """Groups of three, or the Indian way (`1,00,000`). A leading zero begins no thousand."""
    first, middle, last = groups[0], groups[1:-1], groups[-1]
    if first.startswith("0") or len(first) > 3 or len(groups) < 2 or len(last) != 3:
        return False
    return all(len(group) == 3 for group in middle) or (len(first) < 3 and all(len(group) == 2 for group in middle))


def _whole(digits: str) -> str:
    return digits.lstrip("0") or "0"


def _decimal(whole: str, fraction: str) -> str:
    fraction = fraction.rstrip("0")
    return f"{_whole(whole)}.{fraction}" if fraction else _whole(whole)
