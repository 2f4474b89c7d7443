"""Numbers in digits compare as whole numbers, however they are grouped."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.text.numbers import cuts_number, numbers, prose_numbers


@pytest.mark.parametrize(
    "text", ["1,000", "1 000", "1\u00a0000", "1\u202f000", "1.000", "1'000", "1’000", "1000", "１０００", "١٠٠٠"]
)
def test_grouping_does_not_matter(text):
    assert numbers(f"about {text} users") == ["1000"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2.5 and 2,5 and 2.50", ["2.5", "2.5", "2.5"]),
        ("30th, 10%, v2.0, A4, SAML 2.0", ["30", "10", "2", "4", "2"]),
        ("2026-02-03 at 09:30", ["2026", "2", "3", "9", "30"]),
        ("1,234.56 or 1.234,56 or 1 234,56", ["1234.56"] * 3),
        ("release 2.0.1", ["2.0.1"]),
        ("1&nbsp;000 and 1&#8239;000 for &#8364;&#x35;", ["1000", "1000", "5"]),
        ("0.125 and 0,5", ["0.125", "0.5"]),
        ("1,00,000 rupees", ["100000"]),
        ("-5 °C, 5-10, (−3)", ["-5", "5", "10", "-3"]),
        ("in 2026 365 people", ["2026", "365"]),
        ("10² metres, ½ cup", ["10"]),
        ("30. The end", ["30"]),
        ("none at all", []),
    ],
)
def test_spellings(text, expected):
    assert numbers(text) == expected


def test_prose_leaves_out_what_is_no_statement():
    prose = "1. See [part](doc:a-5 '7').\n2) Or <https://x.example/9>, www.x.example/8.\n\n> 3. quoted\n\n30 days"
    assert prose_numbers(prose) == ["30"]


def test_a_number_is_not_cut():
    assert cuts_number("within 300 days", 9)
    assert cuts_number("cost 1 000 euros", 6)
    assert not cuts_number("cost 1 000 euros", 10)


@given(st.integers(0, 10**12))
def test_every_grouping_of_a_number_is_that_number(value):
    spellings = {f"{value:,}", f"{value:,}".replace(",", " "), f"{value:,}".replace(",", "."), str(value)}
    assert {tuple(numbers(f"x {spelling} y")) for spelling in spellings} == {(str(value),)}


@given(st.text())
def test_any_text(text):
    assert all(number.isascii() for number in numbers(text))


def test_fifty_thousand_digits():
    assert numbers("1" * 50_000) == ["1" * 50_000]
