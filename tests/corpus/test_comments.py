"""What an author comments out is no text of an article, wherever it stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.corpus.comments import without_comments


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("a <!-- x --> b", "a  b"),
        ("a <!-- x\ny --> b", "a \n b"),
        ("<!-- x --> b", " b"),
        ("<!-- x\n\nx --> b\n\nc", "\n\n b\n\nc"),
        ("# A <!-- x -->\n\nb", "# A \n\nb"),
        ("- a <!-- x -->\n- b", "- a \n- b"),
        ("- a\n\n  <!-- x\n\n  x -->\n- b", "- a\n\n  \n\n\n- b"),
        ("1. <!-- x --> a", "1.  a"),
        ("> a <!-- x -->\n> b", "> a \n> b"),
        ("| a <!-- x --> | b |\n|---|---|\n| <!-- x --> | c |", "| a  | b |\n|---|---|\n|  | c |"),
        ("a <!--> b <!---> c --> d", "a  b  c --> d"),
        ("a `b` <!-- x --> `c", "a `b`  `c"),
        ("- `a\n- b <!-- x --> `c", "- `a\n- b  `c"),
        ("<!-- x -->\n\na", "\n\na"),
        ("a\n\n<!-- x", "a\n\n"),
    ],
)
def test_it_is_left_out_and_lines_keep_their_numbers(body: str, left: str) -> None:
    assert without_comments(body) == left


@pytest.mark.parametrize(
    "body",
    [
        "`<!-- a -->`", "`` ` <!-- a --> ``", "a \\<!-- b -->", "```\n<!-- a -->\n```", "    <!-- a -->",
        "- a\n\n  ```html\n  <!-- b -->\n  ```", "> ~~~\n> <!-- b -->\n> ~~~",
        "a <!-- b", "a <!-- b\n\nc --> d", "a --> b",
    ],
)  # fmt: skip
def test_code_and_what_is_no_comment_stay(body: str) -> None:
    assert without_comments(body) == body


@given(st.text(alphabet=st.sampled_from("<!-> \n`~\\ab|*1."), max_size=60))
def test_it_only_takes_away(body: str) -> None:
    left = without_comments(body)
    assert left.count("\n") == body.count("\n")
    letters = iter(body)
    assert all(letter in letters for letter in left)


@pytest.mark.parametrize(
    "piece", ["<!-- ", "<!-- a --> ", "`", "`<!--", "> ", "- ", "a <!--\n", "- <!-- \n", "``` <!--\n", "\\<!--"]
)
def test_much_of_it_is_read_once(piece: str) -> None:
    assert "secret" not in without_comments("<!-- secret -->\n\n" + piece * (500_000 // len(piece)) + " -->")
    assert without_comments("a " + piece * (500_000 // len(piece)) + "<!--")
