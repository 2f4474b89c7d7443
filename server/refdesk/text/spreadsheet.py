"""Cells of a CSV file that a spreadsheet shows and never runs."""

from __future__ import annotations

import re
import unicodedata

FORMULA = "=+-@"
NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?")
QUOTES = "\"'`´‘’“”„«»"
MARK = "'"
"""In front of a cell it says: this is text."""
BOM = "\ufeff"
"""At the beginning of the file: without it Excel takes UTF-8 for something else."""


def safe_cell(text: str) -> str:
    """The text, marked where a spreadsheet could take it for a formula: what it skips (white space, quotes, invisible
    characters) is looked through, and a full-width sign counts as the sign."""
    if NUMBER.fullmatch(text):
        return text
    for place, character in enumerate(text):
        if place == 0 and character in "\t\r\n":
            return MARK + text
        if character.isspace() or character in QUOTES or unicodedata.category(character)[0] == "C":
            continue
        return MARK + text if unicodedata.normalize("NFKC", character)[0] in FORMULA + "−–—﹣" else text
    return text


def csv_line(cells: list[str]) -> str:
    """RFC 4180, every cell in quotes."""
    return ",".join('"' + safe_cell(cell).replace('"', '""') + '"' for cell in cells) + "\r\n"
