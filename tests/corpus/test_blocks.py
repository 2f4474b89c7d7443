"""The scanner finds headings, fences and tables where CommonMark has them: compared with markdown-it-py."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from refdesk.corpus.blocks import scan_blocks

_THEIRS = MarkdownIt("commonmark").enable("table")
_THEIRS.core.ruler.enableOnly(["normalize", "block"])

CASES = [
    "# A\n\ntext\n\n## B ##\ntext\n# C",
    "Title\n=====\n\nSub\n---\ntext\n---\n",
    "####### seven\n\n#no space\n\n#\n\n   ### three\n\n    # four spaces",
    "```\n# no\n```\n# yes\n~~~\n```\n# no\n~~~~\n# yes",
    "````md\n```\n# no\n```\n````\n# yes",
    "```\nnever closed\n# no\n",
    "- item\n\n  ```\n  # no\n  ```\n\n  more\n\n# yes",
    "1. one\n   ```yaml\n   a: b\n   ```\n2. two\n# yes",
    "> # quoted\n> text\n\n# yes",
    "| a | b |\n|---|:-:|\n| 1 | 2 |\n\ntext\n\na | b\n- | -\n1 | 2\n\na | b\n--- | ---\n1 | 2",
    "text\n| a |\n|---|\n| 1 |\n# yes",
    "| a | b |\n|---|\n| not a table |",
    "<!-- # no\n\n# no -->\n# yes",
    "* * *\n- - -\n___\n- item\n***\ntext",
    "a\n    b\n\n    code\n\n    # code\n\n# yes",
    "text\n- item\n2. not a list\n1. list\n",
]


def theirs(body: str) -> list[tuple[str, int, str]]:
    tokens = _THEIRS.parse(body)
    found = []
    for position, token in enumerate(tokens):
        if token.level == 0 and token.map and token.type in ("heading_open", "fence", "table_open"):
            words = " ".join(tokens[position + 1].content.split()) if token.type == "heading_open" else ""
            found.append((token.tag if words else token.type[:5], token.map[0], words))
    return found


def ours(body: str) -> list[tuple[str, int, str]]:
    found = []
    for block in scan_blocks(body):
        words = " ".join(block.title.split())
        if block.kind in ("heading", "fence", "table"):
            kind = f"h{block.level}" if words else {"heading": "headi", "table": "table"}.get(block.kind, "fence")
            found.append((kind, body.count("\n", 0, block.start), words))
    return found


@pytest.mark.parametrize("body", CASES)
def test_structure_is_that_of_commonmark(body: str):
    assert ours(body) == theirs(body)


_PIECE = st.sampled_from(
    [
        "# A", "## B ##", "text", "more text", "- item\n- item", "1. one\n2. two", "```\ncode\n# no\n```",
        "~~~\n```\n~~~", "````\n```\n````", "Title\n---", "> quote", "| a | b |\n|---|---|\n| 1 | 2 |", "    code",
        "<!-- # c -->", "* * *", "- item\n  - nested\n\n  ```\n  x\n  ```", "####### no", "#",
    ]
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(_PIECE, max_size=8).map("\n\n".join))
def test_structure_of_any_sequence_of_blocks(body: str):
    assert ours(body) == theirs(body)


@settings(max_examples=200)
@given(st.text(alphabet=st.sampled_from("#`~|-=*>1. \t\nab<!"), max_size=80))
def test_blocks_are_disjoint_ordered_and_hold_every_character(body: str):
    position = 0
    for block in scan_blocks(body):
        assert body[position : block.start].strip() == ""
        assert block.start < block.end
        assert block.lines[0][0] == block.start
        assert block.lines[-1][1] == block.end
        position = block.end
    assert body[position:].strip() == ""
