"""What no text of a model may bring about, whatever the pieces in which it arrives."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from refdesk.domain.answer_html import checked, render
from refdesk.domain.articles import Article
from refdesk.domain.citations import AnswerResolver
from refdesk.domain.link_table import LinkTable

SHORT = 40
"""Instead of the limit of 1,000 characters, so that small examples reach it."""


def article(number: int, title: str, url: str | None) -> Article:
    return Article(id=f"a{number}", title=title, body="", language="en", audience=("public",), version="1", url=url)


ARTICLES = [
    article(1, "Refund window", "/articles/a1"),
    article(2, "[Beta] Export (CSV | JSON) *fast*", "/articles/a2"),
    article(3, "Карта › сайта", "https://help.test/a_(b)/c d?x=[1]"),
    article(4, "`Hidden` <b>", None),
    article(5, "refund  window", "/articles/a5"),
    article(6, "- 1. List", "/articles/a6"),
]
READ = frozenset({"https://ok.test/x", "mailto:a@ok.test"})


def named(url: str) -> str | None:
    return url.removeprefix("/articles/") if url.startswith("/articles/") else None


TABLE = LinkTable(ARTICLES, named=named, read=READ)

SCRAPS = [
    *"[]()!<>`\\*_#|~&;:› \n\t-+.=1>\"'a\r",
    *("[](", "](", "![", "```", "~~~", "\n\n", "\n> ", "\n- ", "\n1. ", "\n2. ", "\n    ", "\n  ", "  \n", "    "),
    *("[Refund window]", "[refund window › x]", "[[Beta] Export (CSV | JSON) *fast*]", "[Карта › сайта]"),
    *("[`Hidden` <b>]", "[- 1. List]", "doc:a1", "(doc:a1)", "(doc:a4)", "(doc:a9)", "[x](doc:a3)", "[x](doc:a6)"),
    *("(https://evil.test)", "[x](https://evil.test)", "![x](https://evil.test)", "<https://evil.test>"),
    *("<e@evil.test>", "<https://ok.test/x>", "[y](https://ok.test/x)", "<a@ok.test>", "(/articles/a1)"),
    *("[r]: https://evil.test", "[r]: <evil> 't'\n", "[r][r]", "[r]", "[Refund window]: https://evil.test\n"),
    *("<!--", "-->", "<img src=x>", "<div>", "</p>", "&#91;", "&lt;", "| a | b |\n|---|---|\n", "|", "---\n", "===\n"),
    *(
        "\n  ",
        "\n   ",
        "\n\t",
        "-\t",
        "- ",
        "> ",
        ">",
        "-   ",
        "-     ",
        "* * *",
        "__",
        "\n\n\n",
        "\n\n  ",
        "\n- \n",
        "\x00",
        "\u2028",
    ),
    *("\n```\n", "\n~~~~ x\n", "\n> ```\n", "- ```\n", "1) ", "10. ", "\n      ", "*", "_", "~~", "\\`", "\\[", "\\\\"),
]
BLOCKS = [
    *(
        "\n",
        "\n",
        "\n\n",
        " ",
        "  ",
        "    ",
        "\t",
        "> ",
        ">",
        "- ",
        "-",
        "+ ",
        "1. ",
        "2. ",
        "10) ",
        "```",
        "~~~",
        "````",
        "`",
    ),
    *(
        "a",
        "1",
        "[x](https://evil.test)",
        "[Refund window]",
        "[x](doc:a1)",
        "|",
        "| a | b |",
        "a|b",
        "-|-",
        "|-|-|",
        "---",
    ),
    *(
        "===",
        "--",
        "# ",
        "***",
        "![i](u)",
        "[](https://evil.test)",
        "[r]: https://evil.test\n",
        "<!--",
        "-->",
        "\\",
        "*",
    ),
    *("\n    ", "\n  ", "\n- ", "\n> ", "\n   ", "![", "!", "[", "]", "<"),
]
"""What makes blocks: readers disagree about these first."""
TEXTS = st.one_of(st.lists(st.sampled_from(scraps), max_size=24).map("".join) for scraps in (SCRAPS, BLOCKS))
PIECES = st.lists(st.integers(1, 12), min_size=1, max_size=8)


def reader(*disabled: str) -> MarkdownIt:
    made = MarkdownIt("commonmark").disable(list(disabled))
    made.validateLink = lambda url: True  # type: ignore[method-assign]
    made.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return made


PLAIN = [reader(), reader("lheading", "reference")]
READERS = [*PLAIN, *(made.enable(["table", "strikethrough"]) for made in (reader(), reader("lheading")))]
ESCAPED = re.compile(r"\\[!-/:-@\[-`{-~]")
SIMPLE_LINK = re.compile(
    r"(?<!!)\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*(?:<([^<>\n]*)>|([^\s()<>]*(?:\([^\s()]*\)[^\s()<>]*)*))\s*\)"
)
"""How a client without a Markdown parser would look for links."""


def inline(tokens: list[Token]) -> list[Token]:
    return [child for token in tokens for child in [token, *(token.children or ())]]


def destinations(answer: str, markdown: MarkdownIt) -> set[str]:
    tokens = inline(markdown.parse(answer))
    assert not [t for t in tokens if t.type in ("image", "html_inline", "html_block")], answer
    return {str(t.attrGet("href")) for t in tokens if t.type == "link_open"}


def in_pieces(text: str, sizes: list[int], resolver: AnswerResolver) -> list[str]:
    """The output so far after each piece and at the end."""
    shown, at, number = [""], 0, 0
    while at < len(text):
        size = sizes[number % len(sizes)]
        shown.append(shown[-1] + resolver.feed(text[at : at + size]))
        at, number = at + size, number + 1
    return [*shown, shown[-1] + resolver.finish()]


def holds(text: str, sizes: list[int], longest: int) -> None:
    whole = AnswerResolver(TABLE, longest=longest)
    answer = whole.feed(text) + whole.finish()
    streamed = AnswerResolver(TABLE, longest=longest)
    shown = in_pieces(text, sizes, streamed)
    assert shown[-1] == answer == whole.output == streamed.output
    assert (streamed.citations, streamed.dropped) == (whole.citations, whole.dropped)
    for prefix in dict.fromkeys(shown):
        for markdown in READERS:
            assert destinations(prefix, markdown) <= TABLE.allowed, (text, prefix)
    urls = {a.url for a in ARTICLES if a.id in whole.citations and a.url}
    for markdown in PLAIN:  # a table drops the cells that its header has not
        assert urls <= destinations(answer, markdown), (text, answer)
    if "`" not in answer and "~~~" not in answer:  # no code
        found = SIMPLE_LINK.findall(ESCAPED.sub(".", answer))
        assert {angle or bare for angle, bare in found} <= TABLE.allowed, (text, answer)
    assert checked(answer, TABLE.allowed) == (answer, render(answer))
    assert "evil" not in "".join(re.findall(r'href="([^"]*)"', render(answer)))


@given(TEXTS, PIECES, st.sampled_from([SHORT, 1000]))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_in_any_pieces(text: str, sizes: list[int], longest: int) -> None:
    holds(text, sizes, longest)


@pytest.mark.long
@given(TEXTS, PIECES, st.sampled_from([SHORT, 1000]))
@settings(max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_text_in_any_pieces_long(text: str, sizes: list[int], longest: int) -> None:
    holds(text, sizes, longest)


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_code_cites_nothing_and_stays_as_it_is(text: str) -> None:
    inside = re.sub("[`\r\x00]", "", text)
    fenced = AnswerResolver(TABLE)
    assert fenced.feed(f"```\n{inside}\n```\n") + fenced.finish() == f"```\n{inside}\n```\n"
    line = inside.replace("\n", " ").replace("|", "")
    span = AnswerResolver(TABLE)
    assert span.feed(f"a `{line}x` b") + span.finish() == f"a `{line}x` b"
    assert fenced.citations == span.citations == []
