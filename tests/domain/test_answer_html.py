"""The HTML of an answer holds nothing that the answer does not say."""

from __future__ import annotations

import re

import pytest

from answer_links import links
from refdesk.domain.answer_html import checked, render


def test_structure_is_rendered() -> None:
    page = render("**a** ~~b~~ `c`\n\n- d\n\n| e | f |\n|---|---|\n| 1 | 2 |\n")
    assert all(tag in page for tag in ("<strong>a", "<s>b", "<code>c", "<li>d", "<td>1"))


def test_links_are_marked_and_encoded_once() -> None:
    page = render("[a](<https://help.test/a_(b)/c d?x=[1]%20>) <https://пример.test/ю>")
    assert 'href="https://help.test/a_(b)/c%20d?x=%5B1%5D%20" rel="noopener nofollow"' in page
    assert 'href="https://%D0%BF%D1%80%D0%B8%D0%BC%D0%B5%D1%80.test/%D1%8E"' in page


@pytest.mark.parametrize(
    "text",
    [
        "[a](javascript:alert(1))",
        "[a](data:text/html,x)",
        "[a](//evil.test)",
        "[a](doc:x)",
        "<javascript:alert(1)>",
        "[a][r]\n\n[r]: https://evil.test",
        "<a href='https://evil.test'>x</a>",
        "<script>alert(1)</script>",
        "https://evil.test www.evil.test",
    ],
)
def test_nothing_active_is_rendered(text: str) -> None:
    page = render(text)
    assert "href" not in page.replace("href='", "")
    assert "<script" not in page
    assert "<img" not in page


def test_images_are_never_rendered() -> None:
    assert "<img" not in render("![a](https://evil.test/p.png)")


def test_links_are_those_of_a_commonmark_reader() -> None:
    assert links("[a](</b c>) `[d](e)` \\[f](g) <https://h.test> ![i](j)") == ["/b c", "https://h.test", "j"]


def test_an_answer_with_a_foreign_link_is_shown_without_links() -> None:
    good, bad = "[a](</x y>) <https://ok.test>", "[a](/x) `[b]` \\[c] [d](https://evil.test)"
    allowed = {"/x y", "/x", "https://ok.test"}
    assert checked(good, allowed) == (good, render(good))
    answer, page = checked(bad, allowed)
    assert links(answer) == []
    assert "href" not in page
    assert page == render(answer)


@pytest.mark.parametrize("mark", ["|\n", "> ", "*a", "- ", "&lt;", "\\[", "[a](/x) "])
def test_an_answer_of_nothing_but_marks_is_shown_as_text(mark: str) -> None:
    head = "**a** <b> &lt;i&gt; \\[c] [d](/x)\n"
    page = render(head + mark * 3_000)
    assert page.startswith("<p>**a** &lt;b&gt; &lt;i&gt; [c] [d](/x)<br>\n")
    assert set(re.findall("<[^>]*>", page)) <= {"<p>", "</p>", "<br>"}
    assert "<strong>a</strong>" in render(head + mark * 300)
