from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.corpus.blocks import scan_blocks
from refdesk.corpus.passages import MAX_WORDS, count_words, split_passages
from refdesk.domain.articles import Article, Passage

SENTENCE = "This is one of the many sentences of a long section here. "


def split(body: str, title: str = "Title") -> tuple[Passage, ...]:
    return split_passages("a", title, body)


def texts(body: str) -> list[str]:
    return [passage.text(body) for passage in split(body)]


def test_a_section_is_a_passage_with_its_heading_and_path():
    body = "# Title\n\nIntro.\n\n## Steps\n\nDo it.\n\n### Rollback of `x`\n\nUndo it.\n\n## Last\n\nEnd."
    found = [(passage.section, passage.text(body)) for passage in split(body)]
    assert found == [
        ("", "# Title\n\nIntro."),
        ("Steps", "## Steps\n\nDo it."),
        ("Steps › Rollback of x", "### Rollback of `x`\n\nUndo it."),
        ("Last", "## Last\n\nEnd."),
    ]


def test_only_a_first_heading_that_repeats_the_title_is_left_out_of_the_path():
    assert [p.section for p in split("# Other\n\nText.\n\n## Title\n\nText.")] == ["Other", "Other › Title"]
    assert [p.section for p in split("#  TITLE \n\nText.\n\n# Title\n\nText.")] == ["", "Title"]


def test_inline_markdown_is_no_part_of_a_section():
    body = '## Use **bold** `code_x` and [links](x.md "t") ![pic](p.png)\n\nText.'
    assert split(body)[0].section == "Use bold code_x and links pic"


def test_a_heading_above_a_heading_stands_in_the_first_passage_below():
    body = "# Title\n\n## Part\n\n### Chapter\n\nText."
    assert texts(body) == [body]
    assert split(body)[0].section == "Part › Chapter"


def test_headings_without_text_are_in_no_passage():
    body = "## Empty\n\n## Full\n\nText.\n\n## Also empty"
    assert texts(body) == ["## Full\n\nText."]


def test_a_list_stays_with_its_heading_and_sentence():
    filler = SENTENCE * 10
    body = f"## Before\n\n{filler}\n\n## Success criteria\n\nThe criteria are:\n\n" + "\n".join(
        f"- criterion {n}" for n in range(5)
    )
    assert texts(body)[-1].startswith("## Success criteria")
    assert texts(body)[-1].endswith("criterion 4")


def test_an_introduction_moves_with_its_list():
    body = SENTENCE * 10 + "\n\nThe criteria are:\n\n" + "\n".join(f"- {SENTENCE}" for _ in range(12))
    found = texts(body)
    assert [text.startswith("The criteria are:\n\n- This") for text in found].count(True) == 1
    assert not any(text.rstrip().endswith("are:") for text in found)


def test_every_piece_of_a_table_repeats_its_header():
    rows = [f"| row {n} | some value number {n} |" for n in range(60)]
    header = "| name | value |\n|---|---|"
    body = "# Title\n\nIntro.\n\n" + header + "\n" + "\n".join(rows) + "\n\nAfter."
    found = texts(body)
    assert len(found) > 2
    assert all(header in text for text in found)
    assert [row for text in found for row in text.split("\n") if row.startswith("| row")] == rows
    assert len(split(body)[1].spans) == 2


@pytest.mark.parametrize("fence", ["```", "````", "~~~"])
def test_long_fences_are_never_cut_unbalanced(fence: str):
    lines = [f"key{n}: some value of the key {n}" for n in range(400)]
    body = f"## Code\n\nExample:\n\n{fence}yaml\n" + "\n".join(lines) + f"\n{fence}\n\nAfter."
    found = texts(body)
    assert len(found) > 3
    for text in found:
        assert [line for line in text.split("\n") if line.startswith(fence)] == [f"{fence}yaml", fence]
    assert [line for text in found for line in text.split("\n") if line.startswith("key")] == lines


def test_a_fence_in_a_fence_stays_whole():
    body = "## Nested\n\n````md\n```\ncode\n```\n# not a heading\n````\n\nAfter."
    assert texts(body) == [body]


def test_a_fence_in_a_long_list_item_stays_whole():
    code = "\n".join(f"   line {n} of the code" for n in range(80))
    body = f"1. First:\n\n   ```\n{code}\n   ```\n\n" + "\n".join(f"2. {SENTENCE}" for _ in range(20))
    assert all(text.count("```") % 2 == 0 for text in texts(body))


def test_long_text_is_cut_between_sentences():
    found = texts(SENTENCE * 100)
    assert all(60 <= count_words(text) <= MAX_WORDS for text in found)
    assert all(text.startswith("This is") and text.endswith("here.") for text in found)


@pytest.mark.parametrize("body", ["word " * 5000, "x" * 50_000, "返金" * 5000, "返金できます。" * 2000, "а" * 20_000])
def test_text_without_sentences_or_spaces_is_cut_all_the_same(body: str):
    found = texts(body)
    assert all(count_words(text) <= MAX_WORDS for text in found)
    assert len(found) > 5


def test_comments_are_in_no_passage():
    body = "## A\n\nSeen.\n\n<!-- ignore\n\n# all -->\n\nAlso seen."
    assert texts(body) == ["## A\n\nSeen.\nAlso seen."]


def test_a_sentence_on_top_touches_only_its_section():
    sections = [f"## Section {n}\n\n{SENTENCE * 8}" for n in range(40)]
    before, after = ("# Title\n\nIntro.\n\n" + top + "\n\n".join(sections) for top in ("", "One more sentence.\n\n"))
    assert texts(before)[1:] == texts(after)[1:]


def test_numbers_and_article():
    passages = split(SENTENCE * 60)
    assert [passage.number for passage in passages] == list(range(len(passages)))
    assert {passage.article_id for passage in passages} == {"a"}


def test_a_place_in_the_body_knows_its_section():
    body = (
        "# Title\n\nIntro.\n\n## Steps\n\n| a | b |\n|---|---|\n"
        + "| one | two words here |\n" * 100
        + "\n## End\n\nBye."
    )
    found = Article("a", "Title", body, "en", ("public",), "v", passages=split(body))
    assert found.section_at(body.index("Intro")) == ""
    assert found.section_at(body.rindex("one")) == "Steps"
    assert found.section_at(body.index("Bye")) == "End"


_BLOCK = st.one_of(
    st.sampled_from(["# A", "## B", "### C", "## `c` *d*", "<!-- c -->", "---", "> quote\n> more", "Set\n==="]),
    st.integers(1, 60).map(lambda n: SENTENCE * n),
    st.integers(1, 60).map(lambda n: "Intro:\n\n" + f"- {SENTENCE}\n" * n),
    st.integers(1, 60).map(lambda n: "| a | b |\n|---|---|\n" + "| some words in a row | more words |\n" * n),
    st.integers(1, 60).map(lambda n: "````\n```\n" + "code = with some words in it\n" * n + "````"),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_BLOCK, max_size=8).map("\n\n".join))
def test_spans_cover_the_body_in_order_and_within_bounds(body: str):
    passages = split(body)
    covered: set[int] = set()
    firsts = []
    for passage in passages:
        assert list(passage.spans) == sorted(passage.spans)
        fresh = [place for start, end in passage.spans for place in range(start, end) if place not in covered]
        firsts.append(min(fresh))
        covered.update(fresh)
        assert passage.text(body).count("````") % 2 == 0
    assert firsts == sorted(firsts)
    for block in scan_blocks(body):
        if block.kind not in ("heading", "comment"):
            visible = {block.start + match.start() for match in re.finditer(r"\S", body[block.start : block.end])}
            assert visible <= covered
