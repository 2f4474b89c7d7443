"""What a question asks for (a figure, a share, a name), and whether a sentence could be that answer."""

from __future__ import annotations

import re
import tomllib
from enum import Enum
from importlib import resources
from typing import Any

from refdesk.text.terms import fold, primary

_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d")
_PER_CENT = re.compile(r"\d\s*(?:%|per\s?cent|процент|procent|prozent|por ciento|pour cent)")
_TABLES: dict[str, dict[str, Any]] = tomllib.loads(
    resources.files("refdesk.assistant").joinpath("expectation.toml").read_text("utf-8")
)


class Expectation(Enum):
    SHARE = "share"
    NUMBER = "number"
    NAME = "name"


def expectation(question: str, language: str) -> Expectation | None:
    """None: the question's form says nothing (what, which, how), or the language has no table."""
    table = _TABLES.get(primary(language), {})
    folded = fold(question)
    spaced = f" {' '.join(_WORD.findall(folded))} "
    for wanted in Expectation:
        if any(_asks(words, spaced) for words in table.get(wanted.value, ())):
            return wanted
    return None


def _asks(words: str, spaced_question: str) -> bool:
    return (f" {words} " if words.isascii() or words[0] < "\u3000" else words) in spaced_question


def could_answer(wanted: Expectation | None, sentence: str, question: str, language: str) -> bool:
    """Only what the question did not say itself counts: a year it names is not the year it asks for."""
    match wanted:
        case Expectation.SHARE:
            return bool(_PER_CENT.search(fold(sentence)))
        case Expectation.NUMBER:
            return bool(numbers_in(sentence, language) - numbers_in(question, language))
        case Expectation.NAME:
            return _has_new_name(sentence, question)
    return False


def numbers_in(text: str, language: str) -> set[str]:
    """Figures as written and number words as figures."""
    words = number_words(language)
    found = _WORD.findall(fold(text))
    return {str(words[w]) for w in found if w in words} | {w for w in found if _DIGITS.search(w)}


def number_words(language: str) -> dict[str, int]:
    words: dict[str, int] = _TABLES.get(primary(language), {}).get("words", {})
    return words


def _has_new_name(sentence: str, question: str) -> bool:
    """A capitalised word, not the first, whose beginning the question does not hold (names are inflected)."""
    asked = {word[:4] for word in _WORD.findall(fold(question))}
    words = _WORD.findall(sentence)[1:]
    return any(word[0].isupper() and fold(word)[:4] not in asked for word in words)
