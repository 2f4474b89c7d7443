"""The words of `kinds.toml`, and how a short text reads by them: the classes of each word, none for an unknown one."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import resources

import msgspec

from refdesk.text.remembering import remembers
from refdesk.text.stop_words import STOP_WORDS
from refdesk.text.terms import fold, fold_accents, primary

MOST_WORDS = 25
"""A longer text is about something; it is not read at all."""
WILD_ENDING = 4
TYPO_FROM = 5
"""Letters; shorter words are too near to one another."""

THANKED_FOR = 3
"""Words that may follow "thanks for"."""

Classes = frozenset[str]

SOCIAL = ("greeting", "thanks", "farewell", "wellbeing", "praise", "complaint", "laugh")
_CLOSED = frozenset({*SOCIAL, "identity", "help", "topic"})
"""A phrase of these means what it means as a whole ("how are you" asks for no way of doing something)."""
_OPEN: Classes = _CLOSED - {"topic"}
"""Classes whose phrases are read word by word: in "can I see your articles" nobody says "I see"."""
_UNKNOWN: Classes = frozenset()
_WORD = re.compile(r"\w+")
_STRETCHED = re.compile(r"(\w)\1{2,}")


class Reading(msgspec.Struct, frozen=True):
    words: list[Classes]
    """One for each word or phrase; empty for an unknown word. One unknown word stands for a text that is about
    something: it was not read to its end."""
    by_phrases: bool
    """Small talk is made of phrases; the catalogue is asked for in words, which such a phrase may hide."""


class Lexicon(msgspec.Struct, frozen=True, eq=False):
    """There is one of a language, so it is its own key in a cache."""

    phrases: dict[tuple[str, ...], Classes]
    by_edges: dict[str, list[str]]
    """First and last letter -> the single words, for what is typed with a slip in the middle."""
    beginnings: tuple[tuple[str, Classes], ...]
    sizes: dict[str, int]
    """First word -> words in the longest phrase that begins with it."""
    spaceless: bool
    longest: int
    """Characters of the longest single word."""


def readings(text: str, language: str) -> Iterator[Reading]:
    """How the text reads in the given language and then in every other one.

    Greetings and thanks are understood in every language: people borrow them."""
    first = primary(language)
    words = _WORD.findall(fold_accents(fold(text)))
    if len(words) > MOST_WORDS:
        return
    lexicons = _lexicons()
    for name in sorted(lexicons, key=lambda name: name != first):
        yield Reading(_read(words, lexicons[name], _UNKNOWN), by_phrases=True)
        yield Reading(_read(words, lexicons[name], _OPEN), by_phrases=False)


@lru_cache(maxsize=1)
def _lexicons() -> dict[str, Lexicon]:
    tables = tomllib.loads(resources.files("refdesk.assistant").joinpath("kinds.toml").read_text("utf-8"))
    shared = [(name, entry) for table in tables.values() for name in SOCIAL[:3] for entry in table[name]]
    return {
        code: _lexicon([*shared, *_entries(table), *_fillers(code, table)], spaceless=bool(table.get("spaceless")))
        for code, table in tables.items()
    }


def _entries(table: dict[str, list[str]]) -> list[tuple[str, str]]:
    return [(name, entry) for name, entries in table.items() if isinstance(entries, list) for entry in entries]


def _fillers(code: str, table: dict[str, list[str]]) -> list[tuple[str, str]]:
    """The stop words of the language, as far as the table says nothing of them."""
    listed = {fold_accents(fold(entry)) for _, entry in _entries(table)}
    return [("filler", word) for word in STOP_WORDS.get(code, ()) if fold_accents(word) not in listed]


def _lexicon(entries: Sequence[tuple[str, str]], *, spaceless: bool) -> Lexicon:
    phrases: dict[tuple[str, ...], set[str]] = {}
    beginnings: dict[str, set[str]] = {}
    for name, entry in entries:
        if entry.endswith("*"):
            beginnings.setdefault(fold_accents(fold(entry[:-1])), set()).add(name)
        else:
            phrases.setdefault(tuple(_WORD.findall(fold_accents(fold(entry)))), set()).add(name)
    by_edges: dict[str, list[str]] = {}
    for (word,) in (words for words in phrases if len(words) == 1 and len(words[0]) >= TYPO_FROM):
        by_edges.setdefault(word[0] + word[-1], []).append(word)
    return Lexicon(
        {words: _classes(words, names, phrases) for words, names in phrases.items()},
        by_edges,
        tuple((start, frozenset(names)) for start, names in beginnings.items()),
        {words[0]: len(words) for words in sorted(phrases, key=len)},
        spaceless,
        max((len(words[0]) for words in phrases if len(words) == 1), default=0),
    )


def _classes(words: tuple[str, ...], names: set[str], phrases: dict[tuple[str, ...], set[str]]) -> Classes:
    """A phrase's own classes and, unless it is closed, those of its words."""
    if len(words) == 1 or names & _CLOSED:
        return frozenset(names)
    return frozenset(names.union(*(phrases.get((word,), set()) for word in words)) - {"pointing"})


def _read(words: Sequence[str], lexicon: Lexicon, apart: Classes) -> list[Classes]:
    if lexicon.spaceless:
        return [piece for word in words for piece in _read_spaceless(word, lexicon)]
    found: list[Classes] = []
    at = unknown = 0
    has_reason = False
    while at < len(words):
        size, classes = _longest(words, at, lexicon, apart)
        found.append(classes or _single(words[at], lexicon))
        at += size
        has_reason = has_reason or "reason" in found[-1]
        unknown += not found[-1]
        if unknown > (THANKED_FOR if has_reason else 0) and at < len(words):  # the last one may be a name
            return [_UNKNOWN]
    return [_UNKNOWN if "pointing" in classes else classes for classes in _without_reason(found)]


def _without_reason(found: list[Classes]) -> list[Classes]:
    """ "Thanks for the quick reply": what one is thanked for is no question, whatever it is."""
    for at in range(1, len(found)):
        if "reason" in found[at] and any("thanks" in classes for classes in found[max(0, at - 2) : at]):
            return found[:at] if len(found) - at - 1 <= THANKED_FOR else found
    return found


def _longest(words: Sequence[str], at: int, lexicon: Lexicon, apart: Classes) -> tuple[int, Classes]:
    for size in range(min(lexicon.sizes.get(words[at], 0), len(words) - at), 0, -1):
        classes = lexicon.phrases.get(tuple(words[at : at + size]), _UNKNOWN)
        if classes and (size == 1 or not classes & apart):
            return size, classes
    return 1, _UNKNOWN


@remembers(8192)
def _single(word: str, lexicon: Lexicon) -> Classes:
    """A word not listed as it is: a listed beginning, letters held down ("hiiii"), or one slip of the finger."""
    for start, classes in lexicon.beginnings:
        if word.startswith(start) and len(word) <= len(start) + WILD_ENDING:
            return classes
    plain = _STRETCHED.sub(r"\1", word)
    if plain != word and (classes := lexicon.phrases.get((plain,), _UNKNOWN)):
        return classes
    if len(word) < TYPO_FROM:
        return _UNKNOWN
    meant = next((known for known in lexicon.by_edges.get(word[0] + word[-1], ()) if _is_slip(word, known)), None)
    return lexicon.phrases[(meant,)] if meant else _UNKNOWN


def _is_slip(word: str, meant: str) -> bool:
    """One letter too many, missing, wrong or swapped inside the word; another ending is another word ("article")."""
    if abs(len(word) - len(meant)) > 1:
        return False
    at = next((n for n, (a, b) in enumerate(zip(word, meant, strict=False)) if a != b), min(len(word), len(meant)))
    if len(word) > len(meant):
        return word[at + 1 :] == meant[at:]
    if len(word) < len(meant):
        return word[at:] == meant[at + 1 :]
    swapped = word[at + 1 : at + 2] + word[at : at + 1] == meant[at : at + 2] and word[at + 2 :] == meant[at + 2 :]
    return swapped or word[at + 1 :] == meant[at + 1 :]


def _read_spaceless(text: str, lexicon: Lexicon) -> list[Classes]:
    found: list[Classes] = []
    at = 0
    while at < len(text):
        sizes = range(min(lexicon.longest, len(text) - at), 0, -1)
        size = next((size for size in sizes if (text[at : at + size],) in lexicon.phrases), 0)
        if not size:
            return [_UNKNOWN]
        found.append(lexicon.phrases[(text[at : at + size],)])
        at += size
    return found
