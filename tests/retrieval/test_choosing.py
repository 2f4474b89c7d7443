from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from refdesk.retrieval.choosing import ALIKE, Marks, are_alike, chosen

TEXTS = st.lists(st.integers(0, 60), max_size=60)


def text(numbers: list[int]) -> frozenset[str]:
    return frozenset(f"w{chr(97 + number // 10)}{chr(97 + number % 10)}" for number in numbers)


def both_first(texts: list[frozenset[str]]) -> bool:
    """Whether neither is a copy: a third text then stands behind both."""
    texts = [*texts, frozenset({"other"})]
    return chosen([0, 1, 2], lambda at: Marks.of(texts[at]), texts.__getitem__, 3) == [0, 1, 2]


@given(TEXTS, TEXTS, st.integers(0, 6))
def test_texts_are_alike_by_their_words_alone(words: list[int], others: list[int], kept: int) -> None:
    """Whatever bits the words share. `kept`: as many words are left out of a second text that is near the first."""
    for second in (others, words[kept:], [*words, *others[:kept]]):
        one, other = text(words), text(second)
        assert are_alike(one, other) is (len(one & other) >= ALIKE * len(one | other))
        assert both_first([one, other]) is not are_alike(one, other)


def test_on_the_very_edge_texts_are_alike() -> None:
    """17 of 20 words."""
    for words, alike in ((17, True), (16, False)):
        one, other = text(list(range(words))), text(list(range(words + 3)))
        assert are_alike(one, other) is alike
        assert both_first([one, other]) is not alike


def test_a_differing_number_is_no_copy() -> None:
    assert not are_alike(text(list(range(40))) | {"14"}, text(list(range(40))) | {"30"})


@given(st.lists(TEXTS, min_size=1, max_size=12), st.integers(1, 6))
def test_copies_stand_behind_all_others(texts: list[list[int]], limit: int) -> None:
    """As if every text were compared with every other."""
    words = [text(one) for one in texts]
    articles = list(range(len(words)))
    firsts = [at for at in articles if not any(are_alike(words[at], words[other]) for other in articles[:at])]
    if all(are_alike(words[a], words[b]) is (words[a] == words[b]) for a in articles for b in articles):
        others = [at for at in articles if at not in firsts]
        whole = chosen(articles, lambda at: Marks.of(words[at]), words.__getitem__, len(words))
        assert whole == firsts + others
        assert chosen(articles, lambda at: Marks.of(words[at]), words.__getitem__, limit) == whole[:limit]
