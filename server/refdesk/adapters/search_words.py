"""The words by which a turn is found in the console: folded alike for both databases, so that both find the same.

Not the terms of retrieval: staff look for what was written, so nothing is stemmed and no stop word left out.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST = 64
"""Characters of a word that are kept: the rest of a longer one finds nothing more."""
MOST_ASKED = 16
"""Words of a query that are looked at."""

SHORTEST = 3
"""Letters of a word that also find the longer ones; SQLite's index has one of its own for just that many."""

# A character of a script without spaces is a word of its own, so that any part of a run is found.
WORD = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")


def words(text: str) -> list[str]:
    """Each once, in order of appearance."""
    if not text.isascii():
        decomposed = unicodedata.normalize("NFKD", text)
        text = "".join(character for character in decomposed if unicodedata.category(character) != "Mn")
    return list(dict.fromkeys(word[:LONGEST] for word in WORD.findall(text.casefold())))


def fts5_query(asked: list[str]) -> str:
    return " ".join(f'"{word}"{"*" * begins(word)}' for word in asked[:MOST_ASKED])


def tsquery(asked: list[str]) -> str:
    return " & ".join(f"'{word}'{':*' * begins(word)}" for word in asked[:MOST_ASKED])


def begins(word: str) -> bool:
    """Whether it stands for every word that begins so; a shorter one would be the beginning of too many."""
    return len(word) >= SHORTEST
