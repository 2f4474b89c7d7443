"""The `answer` tool's input read while it arrives: the same items whatever the chunking."""

import json
from itertools import accumulate, cycle, pairwise, takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.assistant.answer_reader import LONGEST, AnswerReader

ANSWER = {
    "outcome": "answered",
    "claims": [{"text": 'a "quoted" ]}', "kind": "fact", "premises": []}, {"text": "b", "premises": [0]}],
    "conflicts": [],
    "missing_information": ["x", "y"],
    "answer": 'Line\none "q" \\ žluťoučký 🙂 返金 [a](doc:b)\u2028 end',
}


def read(pieces):
    reader, items = AnswerReader(), []
    for piece in pieces:
        items += reader.feed(piece)
    return reader, items


def cut(text, sizes):
    """Pieces of these sizes, over and over."""
    ends = list(takewhile(lambda end: end < len(text), accumulate(cycle(sizes))))
    return [text[start:end] for start, end in pairwise([0, *ends, len(text)])]


def joined(items):
    """Items with the text pieces of the answer put together."""
    out = []
    for name, value in items:
        if name == "answer" and out and out[-1][0] == "answer":
            out[-1] = ("answer", out[-1][1] + value)
        else:
            out.append((name, value))
    return out


EXPECTED = [
    ("outcome", "answered"),
    ("claims", ANSWER["claims"][0]),
    ("claims", ANSWER["claims"][1]),
    ("claims_end", None),
    ("conflicts_end", None),
    ("missing_information", ["x", "y"]),
    ("answer", ANSWER["answer"]),
    ("answer_end", None),
]


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("indent", [None, 1])
def test_single_characters_give_what_the_whole_gives(ascii_only, indent):
    text = json.dumps(ANSWER, ensure_ascii=ascii_only, indent=indent)
    for pieces in ([text], list(text)):
        reader, items = read(pieces)
        assert joined(items) == EXPECTED
        assert reader.done
        assert not reader.broken


@given(st.text(max_size=40), st.lists(st.integers(1, 9), min_size=1, max_size=30))
def test_any_text_in_any_chunking(text, sizes):
    _, items = read(cut(json.dumps({"answer": text}), sizes))
    got = "".join(value for name, value in items if name == "answer")
    assert got == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def test_text_comes_before_the_string_has_ended():
    reader = AnswerReader()
    assert reader.feed('{"answer": "Hel') == [("answer", "Hel")]
    assert reader.feed("lo \\u00e") == [("answer", "lo ")]
    assert reader.feed('9"') == [("answer", "é"), ("answer_end", None)]


def test_of_a_repeated_key_the_first_counts():
    _, items = read(['{"answer": "first", "answer": "second", "claims": [1], "claims": [2]}'])
    assert items == [("answer", "first"), ("answer_end", None), ("claims", 1), ("claims_end", None)]


@pytest.mark.parametrize(
    "text",
    [
        '{"claims": [' + "[" * 100_000 + "]" * 100_000,
        "[1]",
        '{"a" 1}',
        '{"a": tru, }',
        "nonsense",
        '{"outcome": "a" "b"}',
    ],
)
def test_what_is_no_json_breaks_the_reading(text):
    reader, _ = read([text])
    assert reader.broken


def test_fields_of_a_wrong_type_count_as_empty():
    _, items = read(['{"claims": "none", "answer": 5, "conflicts": {}}'])
    assert items == [("claims_end", None), ("answer_end", None), ("conflicts_end", None)]


def test_a_lone_surrogate_becomes_a_replacement_character():
    _, items = read(['{"answer": "a\\ud83d', 'b\\ude00c"}'])
    assert "".join(v for n, v in items if n == "answer") == "a�b�c"


def test_the_answers_text_is_passed_on_however_long_it_is():
    reader, items = read(['{"answer": "', *["word " * 100] * 1_000, '", "outcome": "answered"}'])
    assert sum(len(value) for name, value in items if name == "answer") == 500_000 > LONGEST
    assert items[-1] == ("outcome", "answered")
    assert reader.done


@pytest.mark.parametrize("start", ['{"claims": [{"text": "', '{"claims": [', '{"a": 1', '{"answer": "a", "b": "'])
def test_what_does_not_end_is_given_up(start):
    reader, piece = AnswerReader(), "1," * 500
    reader.feed(start)
    for _ in range(LONGEST // len(piece) + 1):
        assert not reader.done
        reader.feed(piece)
    assert reader.broken
    assert reader.overlong
    assert reader.feed('"}') == []


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.sampled_from(['"', "\\", '\\"', "]}", "{["]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(VALUES, max_size=3), VALUES, st.lists(st.integers(1, 7), min_size=1, max_size=9), st.booleans())
def test_values_of_any_shape_in_any_chunking(elements, other, sizes, ascii_only):
    source = json.dumps({"claims": elements, "outcome": other}, ensure_ascii=ascii_only)
    reader, items = read(cut(source, sizes))
    assert reader.done
    assert items == [*(("claims", element) for element in elements), ("claims_end", None), ("outcome", other)]
