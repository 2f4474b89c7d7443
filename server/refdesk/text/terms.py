"""Index terms: what makes a word of a question and a word of an article the same word.

NFKC, case folded, ё as е, Snowball stem, then accents folded (й stays), stop words out. Words of a language without a
stemmer become 4-grams, and so do scripts without spaces, except where a shorter unit is the word (Han, Hangul).

The script of a word decides its stemmer: a Latin word in a Russian article is stemmed as English, a Cyrillic word in a
Czech one as Russian. Whoever compares a question with an article must analyse the question in the article's language.
"""

from __future__ import annotations

import re
import sys
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

import Stemmer

from refdesk.text.remembering import QUESTION, remembers
from refdesk.text.stop_words import STOP_WORDS

ANALYSER = 1
"""Rises whenever the terms of some text change: an index made by another analyser is rebuilt."""

GRAM = 4

_ALGORITHMS = {
    "latin": {
        **{"ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "en": "english", "eo": "esperanto"},
        **{"es": "spanish", "et": "estonian", "eu": "basque", "fi": "finnish", "fr": "french", "ga": "irish"},
        **{"hu": "hungarian", "id": "indonesian", "it": "italian", "lt": "lithuanian", "nb": "norwegian"},
        **{"nl": "dutch", "nn": "norwegian", "no": "norwegian", "pl": "polish", "pt": "portuguese"},
        **{"ro": "romanian", "st": "sesotho", "sv": "swedish", "tr": "turkish"},
    },
    "cyrillic": {"ru": "russian"},
    "greek": {"el": "greek"},
    "arabic": {"ar": "arabic", "fa": "persian"},
    "armenian": {"hy": "armenian"},
    "devanagari": {"hi": "hindi", "ne": "nepali"},
    "tamil": {"ta": "tamil"},
    "hebrew": {"yi": "yiddish"},
}
_USUAL = {
    "latin": "en",
    "cyrillic": "ru",
    "greek": "el",
    "arabic": "ar",
    "armenian": "hy",
    "devanagari": "hi",
    "tamil": "ta",
}
"""Whose stemmer a word gets in a text of another script's language."""

_UNSTEMMED_SCRIPTS = {
    **dict.fromkeys(("be", "bg", "kk", "ky", "mk", "mn", "sr", "tg", "uk"), "cyrillic"),
    **dict.fromkeys(("ja", "ko", "lo", "my", "km", "th", "yue", "zh"), "spaceless"),
    **dict.fromkeys(("ps", "ur"), "arabic"),
    "he": "hebrew",
    "mr": "devanagari",
}
"""Scripts of languages without a stemmer. Any other language without one is written in Latin letters."""

_LANGUAGE_SCRIPTS = {code: script for script, codes in _ALGORITHMS.items() for code in codes} | _UNSTEMMED_SCRIPTS

_SCRIPT_BLOCKS = (
    (0x0000, 0x024F, "latin"),
    (0x0370, 0x03FF, "greek"),
    (0x0400, 0x052F, "cyrillic"),
    (0x0530, 0x058F, "armenian"),
    (0x0590, 0x05FF, "hebrew"),
    (0x0600, 0x077F, "arabic"),
    (0x0900, 0x097F, "devanagari"),
    (0x0B80, 0x0BFF, "tamil"),
    (0x0E00, 0x0E7F, "thai"),
    (0x0E80, 0x0EFF, "lao"),
    (0x1000, 0x109F, "myanmar"),
    (0x10A0, 0x10FF, "georgian"),
    (0x1780, 0x17FF, "khmer"),
    (0x1E00, 0x1EFF, "latin"),
    (0x1F00, 0x1FFF, "greek"),
)

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA = "\u3041-\u309f"
_KATAKANA = "\u30a0-\u30ff\u31f0-\u31ff"
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
_SOUTH_EAST_ASIAN = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_SPACELESS = _HAN + _HIRAGANA + _KATAKANA + _HANGUL + _SOUTH_EAST_ASIAN


def _marks() -> str:
    """Vowel signs and accents that belong to the letter before, as ranges of a character class."""
    codes = [code for code in range(0x300, 0x10000) if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    starts = [code for code in codes if unicodedata.category(chr(code - 1)) not in ("Mn", "Mc")]
    ends = [code for code in codes if unicodedata.category(chr(code + 1)) not in ("Mn", "Mc")]
    return "".join(f"{chr(start)}-{chr(end)}" for start, end in zip(starts, ends, strict=True))


_LETTER = f"[^\\W_{_SPACELESS}]"
_PIECES = re.compile(
    f"(?P<word>{_LETTER}+(?:[{_marks()}]+{_LETTER}*)*)|(?P<han>[{_HAN}]+)|(?P<hiragana>[{_HIRAGANA}]+)"
    f"|(?P<katakana>[{_KATAKANA}]+)|(?P<hangul>[{_HANGUL}]+)|(?P<spaceless>[{_SOUTH_EAST_ASIAN}]+)"
)
_ASCII_WORDS = re.compile("[a-z0-9]+")
_SINGLE_LETTER_PREFIX = re.compile(r"\b([a-z])[-\u2010\u2011](?=[a-z]{2})")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_UNDECOMPOSED = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ı": "i", "æ": "ae", "œ": "oe", "ё": "е"})
_stemming = threading.Lock()
_stemmers: dict[str, Stemmer.Stemmer] = {}


def terms(text: str, language: str) -> list[str]:
    """The terms of a text in reading order, repetitions kept. `language` is a code such as `cs` or `pt-BR`."""
    code = primary(language)
    return list(_terms_of(_pieces(text), code))


def content_words(text: str, language: str, asked_in: str | None = None) -> list[str]:
    """Unique terms in order of appearance: what coverage counts (provenance.md).

    `language` is that of the article the words are sought in; `asked_in` the question's own, whose stop words are out
    as well. Hiragana, nearly all grammar, counts only where there is nothing else."""
    code = primary(language)
    pieces, solid = _content_pieces(text, primary(asked_in or language))
    found = dict.fromkeys(_terms_of(solid, code))
    return list(found or dict.fromkeys(_terms_of(pieces, code)))


def surface_words(text: str) -> list[str]:
    """Case-folded words as written, accents kept, scripts with spaces only: the vocabulary of question repair."""
    return [piece for kind, piece in _pieces(text) if kind == "word"]


def words_by_script(text: str) -> list[tuple[str, str]]:
    """(script, folded word) in reading order; in scripts without spaces a run of letters is the word."""
    return [(script(piece) if kind in ("word", "spaceless") else kind, piece) for kind, piece in _pieces(text)]


@lru_cache(maxsize=256)
def primary(language: str) -> str:
    """`pt-BR` and `pt_br` are `pt` to a stemmer."""
    return re.split(r"[-_]", language.lower(), maxsplit=1)[0]


def fold(text: str) -> str:
    """NFKC, case folded, invisible characters out, ё as е; accents stay."""
    if text.isascii():
        return text.casefold()
    folded = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).casefold()
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", folded)).replace("ё", "е")


def fold_accents(word: str) -> str:
    """Latin, Greek and Cyrillic accents away; й stays, and so do the marks that are vowels in other scripts."""
    if word.isascii():
        return word
    kept: list[str] = []
    for char in unicodedata.normalize("NFD", word):
        if "\u0300" <= char <= "\u036f" and not (char == "\u0306" and kept and kept[-1] in "иИ"):
            continue
        kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_UNDECOMPOSED)


def script(word: str) -> str:
    """The script of the word's first letter; `latin` for digits, `other` for a script without a stemmer."""
    if word.isascii():
        return "latin"
    first = ord(next((char for char in word if char.isalpha()), "a"))
    return next((name for low, high, name in _SCRIPT_BLOCKS if low <= first <= high), "other")


@remembers(8192)
def is_stop_word(word: str, language: str) -> bool:
    """For a folded word; the lists hold the forms typed without accents too."""
    return word in STOP_WORDS.get(_stemmed_as(word, primary(language)), frozenset())


@remembers(64, QUESTION)
def _pieces(text: str) -> tuple[tuple[str, str], ...]:
    """Of a question, which is read once for each language of the articles."""
    folded = fold(text)
    if "-" in folded or not folded.isascii():
        folded = _SINGLE_LETTER_PREFIX.sub(r"\1", folded)
    if folded.isascii():
        return tuple(("word", piece) for piece in _ASCII_WORDS.findall(folded))
    return tuple((match.lastgroup or "word", match.group()) for match in _PIECES.finditer(folded))


@remembers(64, QUESTION)
def _content_pieces(text: str, language: str) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Without the stop words of the text's language; then without hiragana too."""
    pieces = tuple(
        (kind, piece) for kind, piece in _pieces(text) if kind != "word" or not is_stop_word(piece, language)
    )
    return pieces, tuple((kind, piece) for kind, piece in pieces if kind != "hiragana")


def _terms_of(pieces: Iterable[tuple[str, str]], code: str) -> Iterator[str]:
    for kind, piece in pieces:
        yield from _word_terms(piece, code) if kind == "word" else _run_terms(piece, kind)


def _run_terms(run: str, kind: str) -> list[str]:
    """Of letters without spaces. Nothing is remembered of it: almost every sentence has a run of its own."""
    if kind in ("han", "hangul"):
        return _grams(run, 2)
    if kind == "hiragana" and len(run) < 3:  # particles
        return []
    return _grams(run, GRAM)


@remembers(32768)
def _word_terms(word: str, code: str) -> tuple[str, ...]:
    if is_stop_word(word, code):
        return ()
    if any(char.isdigit() for char in word):
        return (fold_accents(word),)
    algorithm = _ALGORITHMS.get(script(word), {}).get(_stemmed_as(word, code))
    if algorithm is None:
        return tuple(_grams(fold_accents(word), GRAM))
    return (sys.intern(fold_accents(_stem(word, algorithm))),)


def _stemmed_as(word: str, code: str) -> str:
    """The language whose stemmer and stop words a word gets in a text of language `code`."""
    found = script(word)
    return code if _LANGUAGE_SCRIPTS.get(code, "latin") == found else _USUAL.get(found, code)


def _stem(word: str, algorithm: str) -> str:
    with _stemming:  # a stemmer keeps state
        if algorithm not in _stemmers:
            _stemmers[algorithm] = Stemmer.Stemmer(algorithm, 0)
        return str(_stemmers[algorithm].stemWord(word))


def _grams(piece: str, size: int) -> list[str]:
    return [piece[at : at + size] for at in range(max(1, len(piece) - size + 1))]
