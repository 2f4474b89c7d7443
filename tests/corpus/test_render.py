from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.corpus.render import article_html
from refdesk.domain.articles import Article


def render(body: str, **options: bool) -> str:
    found = Article("a", "Title", body, "en", ("public",), "v")
    return article_html(
        found,
        lambda target: "/articles/known#part" if target.startswith("known.md") else None,
        lambda target: "/articles/a/images/" + target if target == "pic.png" else None,
        **options,
    )


def test_structure_and_anchors():
    html = render(
        "# Title\n\n## Über *uns*\n\n## Über uns\n\n| a | b |\n|:-|-:|\n| 1 | ~~2~~ |\n\n```sh\nls <x>\n```\n"
    )
    assert '<h1 id="title">Title</h1>' in html
    assert '<h2 id="über-uns">Über <em>uns</em></h2>' in html
    assert 'id="über-uns-1"' in html
    assert '<td align="right"><s>2</s></td>' in html
    assert "<pre><code>ls &lt;x&gt;\n</code></pre>" in html


def test_a_repeated_title_can_be_left_out():
    assert render("# Title\n\nText", with_title=False) == "<p>Text</p>\n"
    assert "Other" in render("# Other\n\nText", with_title=False)


def test_links_are_resolved_or_reduced_to_their_text():
    html = render(
        "[a](known.md#part) [b](gone.md) [c](#part) [d](mailto:x@y.z) [e](https://x.test/a_(b)) [f][r]\n\n[r]: gone2.md"
    )
    assert 'href="/articles/known#part"' in html
    assert 'href="#part"' in html
    assert 'href="mailto:x@y.z"' in html
    assert 'href="https://x.test/a_%28b%29"' in html
    assert " b " in html
    assert "f</p>" in html
    assert html.count("<a ") == 4


@pytest.mark.parametrize(
    "body",
    [
        "[x](//evil.test)", "[x](/\\evil.test)", "[x](\\\\evil.test)", "![x](//evil.test/p.png)",
        "[x](data:text/html,x)", "![x](https://evil.test/p.png)", "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))", "[x](https://u:p@evil.test/)", "[x](vbscript:x)",
        "![x][r]\n\n[r]: https://evil.test/p.png", "[x](&#106;avascript:alert(1))", "[x](\tjavascript:x)",
        "<script>evil</script>", "<img src=x onerror=evil>", "<a href='https://evil.test'>x</a>",
        "<style>@import evil</style>", "<iframe srcdoc=x></iframe>", "[<img src=x onerror=evil>](known.md)",
        "# <svg onload=evil>", "x <!-- <b onclick=x> -->",
    ],
)  # fmt: skip
def test_nothing_of_this_survives(body: str):
    html = render(body)
    assert "<img" not in html
    assert 'evil.test"' not in html
    assert 'href="java' not in html
    for tag in ("<script", "<style", "<iframe", "<svg", '<a href="https', "<b "):
        assert tag not in html


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("5 \\* 3 &amp; 2 &copy; \\[x\\](y)", "<p>5 * 3 &amp; 2 © [x](y)</p>"),
        ("# H \\# &amp; x", '<h1 id="h---x">H # &amp; x</h1>'),
        ("[AT&amp;T](https://x.test/)", '<p><a href="https://x.test/" rel="noopener noreferrer">AT&amp;T</a></p>'),
        ("![*a* \\* &lt;](pic.png)", '<p><img src="/articles/a/images/pic.png" alt="a * &lt;"></p>'),
        ("![*a* \\* &lt;](gone.png)", "<p>a * &lt;</p>"),
        ("&lt;b&gt; \\<i>", "<p>&lt;b&gt; &lt;i&gt;</p>"),
        ("[" * 500 + "\\*", f"<p>{'[' * 500}*</p>"),
    ],
)
def test_escaped_characters_and_entities_are_what_they_stand_for(body: str, shown: str):
    assert render(body).strip() == shown


def test_pictures_of_the_corpus_are_shown_and_foreign_ones_described():
    html = render("![mine](pic.png 'tip') ![theirs](https://x.test/p.png)")
    assert '<img src="/articles/a/images/pic.png" alt="mine" title="tip">' in html
    assert "theirs" in html
    assert "x.test" not in html


@pytest.mark.parametrize(
    "body", ["[" * 50_000, "![" * 25_000, "*a" * 25_000, "> " * 20_000, "<a " * 20_000, "[a]: " * 10_000]
)
def test_hostile_text_is_shown_as_text(body: str):
    assert "<a" not in render(body)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from("[]()!*`<>a:/\\#|-\n\"'& "), max_size=60))
def test_only_allowed_tags_and_addresses(body: str):
    html = render(body)
    assert 'src="/' not in html
    assert 'href="//' not in html
    assert "<script" not in html
