from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.corpus.front_matter import MAX_CHARACTERS, read_front_matter
from refdesk.errors import FileWithheld


def values(yaml: str) -> dict[str, object]:
    return {key: entry.value for key, entry in read_front_matter(f"---\n{yaml}\n---\nbody").entries.items()}


def problem(text: str) -> FileWithheld:
    with pytest.raises(FileWithheld) as caught:
        read_front_matter(text)
    return caught.value


def test_values_are_read_as_text():
    yaml = "title: no\nn: 0123\nt: 12:30\nd: 2026-02-03\nb: true\nz: ~\nl: [public, staff]\nm:\n  - a\n  - yes"
    assert values(yaml) == {
        "title": "no", "n": "0123", "t": "12:30", "d": "2026-02-03", "b": "true", "z": "~",
        "l": ("public", "staff"), "m": ("a", "yes"),
    }  # fmt: skip


def test_the_body_keeps_its_characters_and_lines_are_counted():
    front = read_front_matter("\n\n---\nid: a\ntitle: b\n---\n\nText\n")
    assert front.body == "\nText\n"
    assert front.body_line == 7
    assert front.entries["title"].line == 5


@pytest.mark.parametrize("text", ["---\n---\nx", "---\n# only a comment\n---\nx", "x"])
def test_nothing_stated(text: str):
    front = read_front_matter(text)
    assert front.entries == {}
    assert front.body == "x"


def test_a_rule_further_down_is_no_front_matter():
    assert read_front_matter("Text\n\n---\n\nMore\n\n---\n").entries == {}


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("---\ntitle: a\naudience: [staff\n---\nx", 4, "parse"),
        ("---\ntitle: a\n", 1, "closed"),
        ("---\na: 1\nb: 2\na: 3\n---\nx", 4, "twice"),
        ("---\na: &x [b]\nc: *x\n---\nx", 2, "anchors"),
        ("---\na: !!python/object/apply:os.system [ls]\n---\nx", 2, "tags"),
        ("---\n- a\n---\nx", 2, "key"),
        ("---\njust words\n---\nx", 2, "key"),
        ("---\n? [a]\n: b\n---\nx", 2, "key"),
        ('---\nt: "a\\0b"\n---\nx', 2, "control"),
        ("---\na: b\n...\naudience: [staff]\n---\nx", 4, "parse"),
        ("+++\naudience = ['staff']\n+++\nx", 2, "audience"),
        ("----\naudience: [staff]\n----\nx", 2, "audience"),
        ("audience: [staff]\n---\nx", 1, "audience"),
        ("----\nstatus: draft\n----\nx", 2, "status"),
        ("title: a\nStatus: 'archived'\n---\nx", 2, "status"),
        ("+++\ndraft = true\n+++\nx", 2, "draft"),
        ('+++\ntitle = "a"\n\n[params]\naudience = "staff"\n+++\nx', 1, "YAML"),
        ('{\n  "title": "a",\n  "audience": ["staff"]\n}\nx', 3, "audience"),
        ('{\n\n"a": 1}\nx', 1, "YAML"),
        ('{"title": "a", "audience": ["staff"]}\n\nx', 1, "YAML"),
        ("---\ntitle: a\n---\n---\naudience: [staff]\n---\nx", 5, "audience"),
    ],
)
def test_what_does_not_parse_is_withheld_with_its_line(text: str, line: int, words: str):
    caught = problem(text)
    assert words in caught.reason
    assert caught.line == line


@pytest.mark.parametrize("text", ["\ufeff\ufeff---\nstatus: draft\n---\nx", "\n\n---  \nstatus: draft\n--- \nx"])
def test_invisible_beginnings_do_not_hide_the_front_matter(text: str):
    assert read_front_matter(text).entries["status"].value == "draft"


def test_an_alias_bomb_is_reported_unexpanded():
    levels = [f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]" for n in range(8)]
    assert "aliases" in problem("---\na: &a [x]\n" + "\n".join(levels) + "\n---\nx").reason


@pytest.mark.parametrize(
    "yaml", ["a: " + "[" * 60_000, "a: " + "{a: " * 15_000, "- " * 30_000, "x" * (MAX_CHARACTERS + 1)]
)
def test_depth_and_size_are_bounded(yaml: str):
    problem(f"---\n{yaml}\n---\nx")


def test_nested_values_of_unknown_keys_are_no_fault():
    assert values("seo: {title: x, tags: [a, [b]]}\nid: y") == {"seo": None, "id": "y"}


@settings(max_examples=200)
@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!#|>'\"?,\n ~@%\t"), max_size=60))
def test_anything_parses_or_is_withheld(yaml: str):
    try:
        front = read_front_matter(f"---\n{yaml}\n---\nbody")
    except FileWithheld:
        return
    assert all(isinstance(key, str) for key in front.entries)


@settings(max_examples=100)
@given(st.text(max_size=200))
def test_a_text_without_front_matter_is_its_own_body(text: str):
    try:
        front = read_front_matter(text)
    except FileWithheld:
        return
    assert text.endswith(front.body)
