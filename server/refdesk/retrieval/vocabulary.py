"""The words that visible passages are written with: they repair a question that misses them by an accent or a key.

Counted per audience, so that a word only a restricted article has repairs nobody else's question.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from refdesk.domain.articles import Article, Roles
from refdesk.text.terms import fold, fold_accents, is_stop_word, script, surface_words

Audience = tuple[str, ...]

_WRITTEN = re.compile(r"\b[^\W\d_]+\b")
"""Words of letters: a name with a digit is never taken for another one."""
_ACCENTED = re.compile("[\u00df-\u024f\u0370-\u03ff\u1e00-\u1fff]")
_REMEMBERED = 8
"""Sets of roles whose words are kept: about 20 MB each for 10,000 articles of real prose."""
_SHORTEST_TO_ACCENT, _SHORTEST_TO_EDIT, _SHORTEST_TO_REPLACE, _LONGEST_TO_EDIT = 3, 5, 6, 24
_MOST_EDITS, _MOST_TRIES = 2, 4
"""More unknown words than this are another subject, not slips of the hand; each try costs about a millisecond."""


class Vocabulary:
    """Written words with the number of articles that have them, per audience."""

    def __init__(self, tables: Mapping[Audience, Mapping[str, int]]) -> None:
        self._tables = tables
        self._visible: dict[Roles, VisibleWords] = {}

    @classmethod
    def of(cls, articles: Iterable[Article]) -> Vocabulary:
        return cls({}).changed((), articles)

    def changed(self, removed: Iterable[Article], added: Iterable[Article]) -> Vocabulary:
        tables = {audience: Counter(words) for audience, words in self._tables.items()}
        for article in removed:
            tables[article.audience].subtract(_words(article))
        for article in added:
            tables.setdefault(article.audience, Counter()).update(_words(article))
        return Vocabulary({audience: +words for audience, words in tables.items()})

    def ready(self, roles: Roles) -> VisibleWords | None:
        return self._visible.get(roles)

    def visible(self, roles: Roles) -> VisibleWords:
        """Takes up to 0.2 s for a hundred thousand words, the first time for these roles; then it is `ready`."""
        if roles not in self._visible:
            if len(self._visible) == _REMEMBERED:
                self._visible.clear()
            readable = [words for audience, words in self._tables.items() if not roles.isdisjoint(audience)]
            total: Counter[str] = Counter()
            for words in readable:
                total.update(words)
            self._visible[roles] = VisibleWords(readable[0] if len(readable) == 1 else total)
        return self._visible[roles]

    def save(self, file: Path) -> None:
        file.write_bytes(msgspec.msgpack.encode(list(self._tables.items())))

    @classmethod
    def open(cls, file: Path) -> Vocabulary:
        return cls(dict(msgspec.msgpack.decode(file.read_bytes(), type=list[tuple[Audience, dict[str, int]]])))


class VisibleWords:
    def __init__(self, counts: Mapping[str, int]) -> None:
        self._counts = counts
        rising = sorted((word for word in counts if _ACCENTED.search(word)), key=counts.__getitem__)
        self._accented = {fold_accents(word): word for word in rising}
        """Typed without its accents -> the most frequent word."""
        self._letters = {fold_accents(char) for char in set().union(*counts) if char.isalpha()}

    def repair(self, question: str, language: str, known: Callable[[str], bool]) -> str | None:
        """The question with its unknown words put right, or None where there is nothing to repair.

        `known`: whether some form of a word occurs among the visible passages. Such a word may only gain accents."""
        edits = tries = 0

        def put_right(match: re.Match[str]) -> str:
            nonlocal edits, tries
            written = match.group()
            word = fold(written)
            if word in self._counts or is_stop_word(word, language):
                return written
            better = self._with_accents(word)
            if better is None and edits < _MOST_EDITS and tries < _MOST_TRIES and not known(word):
                better = self._one_edit_away(word, language)
                tries += 1
                edits += better is not None
            return better or written

        repaired = _WRITTEN.sub(put_right, question)
        return repaired if repaired != question else None

    def _with_accents(self, word: str) -> str | None:
        return self._accented.get(word) if len(word) >= _SHORTEST_TO_ACCENT else None

    def _one_edit_away(self, word: str, language: str) -> str | None:
        """The most frequent word at one insertion, deletion, substitution or swap behind the same first letter."""
        bare = fold_accents(word)
        if not _SHORTEST_TO_EDIT <= len(bare) <= _LONGEST_TO_EDIT:
            return None
        letters = [letter for letter in self._letters if script(letter) == script(bare)]
        forms = {form for edited in _edits(bare, letters) if (form := self._written_as(edited))} - {word}
        found = [form for form in forms if not is_stop_word(form, language)]
        return max(found, key=lambda form: (self._counts[form], -len(form), form), default=None)

    def _written_as(self, bare: str) -> str | None:
        return bare if bare in self._counts else self._accented.get(bare)


def _words(article: Article) -> set[str]:
    return {word for text in (article.body, article.title, *article.synonyms) for word in surface_words(text)}


def _edits(word: str, letters: Iterable[str]) -> Iterator[str]:
    """A letter doubled, lost, swapped or replaced behind the first. In a short word, and at the end where inflection
    is, another letter makes another word more often than it is a slip."""
    for at in range(1, len(word)):
        head, tail = word[:at], word[at:]
        yield head + tail[1:]
        yield head + tail[1:2] + tail[:1] + tail[2:]
        if len(word) >= _SHORTEST_TO_REPLACE:
            for letter in letters:
                yield head + letter + tail
                if len(tail) > 1:
                    yield head + letter + tail[1:]
