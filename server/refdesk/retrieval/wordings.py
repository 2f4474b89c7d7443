"""Other wordings of a question by the owner's `synonyms`: they expand the question, never the articles."""

from __future__ import annotations

from collections.abc import Sequence

from refdesk.text.terms import surface_words, terms

_MOST = 4


def reworded(question: str, groups: Sequence[Sequence[str]], language: str) -> list[str]:
    """The question with one phrase of a synonym group replaced by another of the group, at most four such wordings."""
    words = surface_words(question)
    per_word = [terms(word, language) for word in words]
    found: list[str] = []
    for group in groups:
        for phrase in group:
            span = _find(per_word, terms(phrase, language))
            if span is not None:
                rest = [*words[: span[0]], *words[span[1] :]]
                found += [" ".join([*rest, other]) for other in group if other != phrase]
    return list(dict.fromkeys(found))[:_MOST]


def _find(per_word: Sequence[list[str]], phrase: list[str]) -> tuple[int, int] | None:
    """The words whose terms are the phrase's, stop words between them included."""
    if not phrase:
        return None
    for start, found in enumerate(per_word):
        if not found:
            continue
        collected: list[str] = []
        for end in range(start, len(per_word)):
            collected += per_word[end]
            if collected == phrase:
                return start, end + 1
            if len(collected) >= len(phrase):
                break
    return None
