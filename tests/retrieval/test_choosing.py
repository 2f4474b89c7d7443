from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from refdesk.retrieval.choosing import ALIKE, Words, are_alike

TEXTS = st.lists(st.integers(0, 60), max_size=60)


def text(numbers: list[int]) -> str:
    return " ".join(f"w{chr(97 + number // 10)}{chr(97 + number % 10)}" for number in numbers)


@given(TEXTS, TEXTS, st.integers(0, 6))
def test_texts_are_alike_by_their_words_alone(words: list[int], others: list[int], kept: int) -> None:
    """Whatever bits the words share. `kept`: as many words are left out of a second text that is near the first."""
    for second in (others, words[kept:], [*words, *others[:kept]]):
        one, other = Words.of(text(words)), Words.of(text(second))
        union = one.each | other.each
        assert are_alike(one, other) is (len(one.each & other.each) >= ALIKE * len(union))


def test_on_the_very_edge_texts_are_alike() -> None:
    """17 of 20 words."""
    assert are_alike(Words.of(text(list(range(17)))), Words.of(text(list(range(20)))))
    assert not are_alike(Words.of(text(list(range(16)))), Words.of(text(list(range(19)))))


def test_a_differing_number_is_no_copy() -> None:
    assert not are_alike(Words.of(text(list(range(40))) + " 14"), Words.of(text(list(range(40))) + " 30"))
