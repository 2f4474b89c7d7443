"""A unit is what can be quoted alone, and it is always the text's own characters."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.assistant.sentences import LONGEST, sentences


def units(text: str) -> list[str]:
    return [text[unit.start : unit.end] for unit in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Mr. Smith pays 3.5 % of it. He left.", ["Mr. Smith pays 3.5 % of it.", "He left."]),
        ("Use e.g. the U.S. site. Done!", ["Use e.g. the U.S. site.", "Done!"]),
        ("It works (see p. 5. Really). Go on.", ["It works (see p. 5. Really).", "Go on."]),
        ("Run `a. B` now! Then stop.", ["Run `a. B` now!", "Then stop."]),
        ('He said "Go." She went.', ['He said "Go."', "She went."]),
        ("Version 2.0. is out now. Next.", ["Version 2.0. is out now.", "Next."]),
        ("В 1995 г. Он приехал в г. Москва, т. е. домой.", ["В 1995 г.", "Он приехал в г. Москва, т. е. домой."]),
        ("Адрес: ул. Ленина, д. 5. Вход со двора.", ["Адрес: ул. Ленина, д. 5.", "Вход со двора."]),
        ("«Да.» Он ушёл.", ["«Да.»", "Он ушёл."]),
        ("Dne 31. května 2021 přišel např. Karel. Konec?", ["Dne 31. května 2021 přišel např. Karel.", "Konec?"]),
        ("返品は30日以内です。それ以降は不可。", ["返品は30日以内です。", "それ以降は不可。"]),
        ("यह काम करता है। ठीक है।", ["यह काम करता है।", "ठीक है।"]),
    ],
)
def test_stops_of_many_languages(text: str, expected: list[str]) -> None:
    assert units(text) == expected


def test_list_items_are_units_without_their_marks() -> None:
    text = "Steps:\n\n1. Open **Settings**.\n   Then wait.\n2. Press *Go*.\n- [ ] One task\n> A quote."
    assert units(text) == ["Steps:", "Open **Settings**.", "Then wait.", "Press *Go*.", "One task", "A quote."]


def test_a_table_row_is_a_unit_and_knows_its_header() -> None:
    text = "| object | free | Scale |\n|---|---|---|\n| projects | 3 | 200 |\n| seats | 5 | 500 |\n"
    found = sentences(text)
    assert units(text) == ["| projects | 3 | 200 |", "| seats | 5 | 500 |"]
    assert all(unit.header and text[slice(*unit.header)] == "| object | free | Scale |" for unit in found)


def test_code_is_cut_by_lines_only() -> None:
    text = "Run this.\n\n````bash\n```\npip install x. Y | z\n````\nThen that."
    assert units(text) == ["Run this.", "pip install x. Y | z", "Then that."]


def test_headings_images_definitions_and_comments_state_nothing() -> None:
    text = "# Title. Here\n\n![A picture.](a.png)\n[x]: https://example.com\n<!-- hidden. Text -->\n---\nText."
    assert units(text) == ["Text."]


def test_an_endless_sentence_is_cut_at_a_clause() -> None:
    text = "one clause, " * 200
    found = units(text)
    assert all(len(unit) <= LONGEST for unit in found)
    assert all(unit.endswith(",") for unit in found)


@settings(max_examples=200)
@given(st.text(alphabet='aB1.!?…。| \n`~#>-*()[]"«»ж\t<!', max_size=300))
def test_units_are_ordered_trimmed_spans_of_the_text(text: str) -> None:
    at = 0
    for start, end, _ in sentences(text):
        assert at <= start < end <= len(text)
        assert text[start:end] == text[start:end].strip()
        at = end


@pytest.mark.parametrize(
    "text", ["<!-- " * 4000, " " * 20000 + "x", "".join("`" * n + "a " for n in range(150)), "(a. B " * 3000]
)
def test_hostile_text_is_read_in_linear_steps(text: str) -> None:
    """Each of these once took seconds; the test only has to end."""
    assert all(unit.end <= len(text) for unit in sentences(text))
