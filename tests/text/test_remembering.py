"""What is remembered of a visitor's words stays small, whatever the words."""

from __future__ import annotations

import random
import string

import pytest

from refdesk.assistant.kinds import classify
from refdesk.text import quotes
from refdesk.text.language import recognised
from refdesk.text.remembering import remembers
from refdesk.text.terms import content_words, terms
from traced_memory import traced_memory

HAN = "".join(map(chr, range(0x4E00, 0x5600)))
THAI = "".join(map(chr, range(0x0E01, 0x0E2F)))


def test_short_texts_are_remembered_and_long_ones_are_not() -> None:
    asked = list[str]()

    @remembers(2, longest=4)
    def upper(text: str, end: str) -> str:
        asked.append(text)
        return text.upper() + end

    told = [upper(text, "!") for text in ("ab", "ab", "abcd", "abcde", "abcde", "ab", "cd", "abcd")]
    assert told == ["AB!", "AB!", "ABCD!", "ABCDE!", "ABCDE!", "AB!", "CD!", "ABCD!"]
    assert asked == ["ab", "abcd", "abcde", "abcde", "cd", "abcd"]
    assert upper("ab", "?") == "AB?"


@pytest.mark.parametrize("alphabet", [HAN, THAI, string.ascii_lowercase], ids=["han", "thai", "latin"])
def test_questions_of_one_long_word_leave_nothing_behind(alphabet: str) -> None:
    dice = random.Random(7)
    read("".join(dice.choices(alphabet, k=20)))  # tables and stemmers are loaded
    with traced_memory() as held:
        for _ in range(6):
            read("".join(dice.choices(alphabet, k=2_000)))
        taken = held()
    assert taken < 150_000  # less than the terms of one such question


def read(question: str) -> None:
    for language in ("en", "th", "zh"):
        terms(question, language)
        content_words(question, language)
    recognised(question)
    classify(question, "en")


def test_quotes_of_the_greatest_length_leave_nothing_behind() -> None:
    dice = random.Random(7)
    with traced_memory() as held:
        for _ in range(5):
            paragraph = " ".join("".join(dice.choices(string.ascii_lowercase, k=7)) for _ in range(1_200))
            quote = paragraph.replace(" ", "  ", 1)  # not verbatim: both are folded
            assert quotes.locate(quote, paragraph, [(0, len(paragraph))]) is not None
        taken = held()
    assert taken < 300_000


def test_a_paragraph_that_was_folded_takes_little() -> None:
    text = "word " * 390
    with traced_memory() as held:
        for number in range(20):
            assert quotes.locate(f"{number}  {text}", f"{number} {text}", [(0, 4_000)]) is not None
        taken = held()
    assert taken / (40 * len(text)) < 40  # bytes a character
