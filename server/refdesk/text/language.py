"""The language of a question. It is recognised by its script and its words, or not at all: nothing is guessed.

A statistical model was tried (fastText's 176 languages): it gives every text some language, takes Czech typed without
accents for one of ten others, and costs 35 MB. Function words, the usual words of help centres, rare letters and
endings do better on questions, and where they find nothing, that is the answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from refdesk.text.language_marks import ENDINGS, FUNCTION_WORDS, LETTERS, TOPIC_WORDS
from refdesk.text.remembering import QUESTION, remembers
from refdesk.text.stop_words import STOP_WORDS
from refdesk.text.terms import fold, fold_accents, primary, words_by_script

_ENOUGH = 0.9
"""Less evidence than about one function word of a single language recognises nothing."""
_FUNCTION, _TOPIC, _LETTER, _ENDING, _SCRIPT = 2.0, 1.8, 1.0, 0.5, 1.2
_LOAN = 0.9
"""English topic words stand in questions of every language: they decide only where nothing else does."""
_PREFERENCE = 1.15
"""The corpus's own languages win what is nearly a tie."""

_LANGUAGES_OF_SCRIPT = {
    "cyrillic": ("ru", "uk", "bg", "sr", "be"),
    "greek": ("el",),
    "hebrew": ("he",),
    "arabic": ("ar",),
    "armenian": ("hy",),
    "devanagari": ("hi",),
    "tamil": ("ta",),
    "georgian": ("ka",),
    "hiragana": ("ja",),
    "katakana": ("ja",),
    "han": ("zh", "ja"),
    "hangul": ("ko",),
    "thai": ("th",),
    "lao": ("lo",),
    "khmer": ("km",),
    "myanmar": ("my",),
}


def recognise(text: str, candidates: Sequence[str] | None, default: str) -> str:
    """The language of the text, any known one; `default` where none is recognised.

    `candidates`, the languages of the corpus, are preferred where others are as likely; they exclude nothing."""
    return recognised(text, candidates) or default


def recognised(text: str, candidates: Sequence[str] | None = None) -> str | None:
    """The language of the text, or None where it shows none. A candidate is returned as it was spelled."""
    spelled = {primary(code): code for code in reversed(candidates or ())}
    found = _scores(text[:2000])
    preferred = {code: found[code] * _PREFERENCE for code in reversed(spelled) if code in found}
    scores = {**preferred, **{code: score for code, score in found.items() if code not in preferred}}
    best = max(scores, key=scores.__getitem__, default=None)
    return spelled.get(best, best) if best is not None and scores[best] >= _ENOUGH else None


@remembers(64, QUESTION)
def _scores(text: str) -> Mapping[str, float]:
    scores: dict[str, float] = defaultdict(float)
    for script, word in words_by_script(text):
        for code, weight in _evidence(word, script):
            scores[code] += weight
    return dict(scores)


@remembers(8192)
def _evidence(word: str, script: str) -> tuple[tuple[str, float], ...]:
    """What one word says: its evidence for each language, less the more languages share it."""
    scores: dict[str, float] = defaultdict(float)
    for rank, code in enumerate(_LANGUAGES_OF_SCRIPT.get(script, ())):
        scores[code] += _SCRIPT * (1 if rank == 0 else 0.85)
    _add(scores, _FUNCTION_TABLE.get(word, ()), _FUNCTION)
    bare = fold_accents(word)
    if script == "latin" and bare.isalpha():
        _add(scores, _longest(bare, _TOPIC_TABLE, from_start=True), _TOPIC)
        _add(scores, _ENGLISH_TOPICS.get(bare, ()), _LOAN)
        if len(bare) > 4:
            _add(scores, _longest(bare, _ENDING_TABLE, from_start=False), _ENDING)
    for char in set(word):
        _add(scores, _LETTER_TABLE.get(char, ()), _LETTER)
    if word != bare and script == "latin":
        scores["en"] -= _LETTER
    return tuple(scores.items())


def _add(scores: dict[str, float], languages: Sequence[str], weight: float) -> None:
    for code in languages:
        scores[code] += weight / len(languages) ** 0.7


def _longest(word: str, table: dict[str, tuple[str, ...]], *, from_start: bool) -> tuple[str, ...]:
    for length in range(min(len(word), 12), 1, -1):
        part = word[:length] if from_start else word[-length:]
        if part in table:
            return table[part]
    return ()


def _table(marks: Iterable[tuple[str, Iterable[str]]]) -> dict[str, tuple[str, ...]]:
    """Mark -> the languages that have it."""
    languages: dict[str, dict[str, None]] = {}
    for code, words in marks:
        for word in words:
            languages.setdefault(word, {})[code] = None
    return {word: tuple(codes) for word, codes in languages.items()}


def _as_typed(text: str) -> set[str]:
    """With accents and, as many people type, without."""
    return {form for word in fold(text).split() for form in (word, fold_accents(word))}


_FUNCTION_TABLE = _table([*STOP_WORDS.items(), *((code, _as_typed(text)) for code, text in FUNCTION_WORDS.items())])
_TOPIC_TABLE = _table((code, fold_accents(fold(text)).split()) for code, text in TOPIC_WORDS.items() if code != "en")
_ENGLISH_TOPICS = {word + ending: ("en",) for word in TOPIC_WORDS["en"].split() for ending in ("", "s", "ed", "ing")}
_ENDING_TABLE = _table((code, fold_accents(text).split()) for code, text in ENDINGS.items())
_LETTER_TABLE = _table(LETTERS.items())
