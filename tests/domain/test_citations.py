"""Citations, links and code of an answer, example by example; what holds for any text is in the property tests."""

from __future__ import annotations

import pytest

from answer_links import links
from refdesk.domain.articles import Article
from refdesk.domain.citations import AnswerResolver, resolve
from refdesk.domain.link_table import LinkTable, links_written, title_key


def article(id: str, title: str, url: str | None = "") -> Article:
    return Article(
        id=id,
        title=title,
        body="",
        language="en",
        audience=("public",),
        version="1",
        url=f"/articles/{id}" if url == "" else url,
    )


BETA = "[Beta] Export (CSV | JSON) *fast*"
ARTICLES = [
    article("refund-window", "Refund window"),
    article("sso-setup", "SSO setup"),
    article("export-beta", BETA),
    article("rules", "Internal rules", None),
    article("paths", "Paths", "https://help.example/a_(b)/c d?x=[1]"),
    article("sitemap", "Карта сайта"),
    article("chef", 'Chef\'s "notes".md › old'),
    article("twin-1", "Twin"),
    article("twin-2", "TWIN"),
    article("x y", "Spaces"),
]


def named(url: str) -> str | None:
    for site in ("/articles/", "https://help.test/articles/"):
        if url.startswith(site):
            return url.removeprefix(site).split("?")[0].split("#")[0]
    return None


TABLE = LinkTable(ARTICLES, named=named, read=frozenset({"https://ok.test/x", "mailto:a@ok.test"}))
REFUND = "[Refund window](/articles/refund-window)"


@pytest.mark.parametrize(
    ("text", "answer", "cited"),
    [
        ("See [here](doc:refund-window).", "See [here](/articles/refund-window).", ["refund-window"]),
        ("See [here](<doc:x y>).", "See [here](</articles/x y>).", ["x y"]),
        ('[here](  doc:refund-window\n "t" )', "[here](/articles/refund-window)", ["refund-window"]),
        ("[here](doc&#58;refund-window)", "[here](/articles/refund-window)", ["refund-window"]),
        ("[here](DOC:refund-window)", "[here](/articles/refund-window)", ["refund-window"]),
        ("[here](/articles/refund-window)", "[here](/articles/refund-window)", ["refund-window"]),
        ("[a](https://help.test/articles/refund-window?u=1#f)", "[a](/articles/refund-window)", ["refund-window"]),
        ("<doc:refund-window>", REFUND, ["refund-window"]),
        ("<https://help.test/articles/refund-window>", REFUND, ["refund-window"]),
        ("[](doc:refund-window)", REFUND, ["refund-window"]),
        ("[two\nlines](doc:refund-window)", "[two lines](/articles/refund-window)", ["refund-window"]),
        ("[`a]b`](doc:refund-window)", "[`a]b`](/articles/refund-window)", ["refund-window"]),
        ("[![i](u)](doc:refund-window)", REFUND, ["refund-window"]),
        ("[p](doc:paths)", "[p](<https://help.example/a_(b)/c d?x=[1]>)", ["paths"]),
        ("Within 30 days [Refund window].", f"Within 30 days {REFUND}.", ["refund-window"]),
        ("[ refund   WINDOW ]", "[refund WINDOW](/articles/refund-window)", ["refund-window"]),
        ("[Ｒefund\nwindow]", "[Ｒefund window](/articles/refund-window)", ["refund-window"]),
        ("[**Refund window**]", REFUND, ["refund-window"]),
        ("[SSO setup › Rollback]", "[SSO setup › Rollback](/articles/sso-setup)", ["sso-setup"]),
        ("[SSO setup > No such]", "[SSO setup > No such](/articles/sso-setup)", ["sso-setup"]),
        ("[Карта сайта › Обновление]", "[Карта сайта › Обновление](/articles/sitemap)", ["sitemap"]),
        ('[Chef\'s "notes".md › old > x]', '[Chef\'s "notes".md › old > x](/articles/chef)', ["chef"]),
        ("[Twin]", "[Twin](/articles/twin-1) [Twin](/articles/twin-2)", ["twin-1", "twin-2"]),
        ("Yes![Refund window]", f"Yes\\!{REFUND}", ["refund-window"]),
        ("[[Refund window]]", f"\\[{REFUND}\\]", ["refund-window"]),
        ("[Refund window](see below)", f"{REFUND}(see below)", ["refund-window"]),
        ("By the [rules](doc:rules).", "By the Internal rules.", ["rules"]),
        ("By [Internal rules].", "By Internal rules.", ["rules"]),
        ("[see [Refund window]](doc:sso-setup)", "[see \\[Refund window\\]](/articles/sso-setup)", ["sso-setup"]),
        ("\\\\[Refund window]", f"\\\\{REFUND}", ["refund-window"]),
        ("[Refund window]: 30 days", f"{REFUND}: 30 days", ["refund-window"]),
        ("[Refund window]: 30", f"{REFUND}: 30", ["refund-window"]),
        ("[SSO setup][Refund window]", f"[SSO setup](/articles/sso-setup){REFUND}", ["sso-setup", "refund-window"]),
    ],
)
def test_a_citation_becomes_a_link_to_its_article(text: str, answer: str, cited: list[str]) -> None:
    resolved = resolve(text, TABLE)
    assert (resolved.output, resolved.citations, resolved.dropped) == (answer, cited, [])


@pytest.mark.parametrize(
    "text",
    [
        "A refund window in prose",
        "speed [km/h], cp [-r] src, - [ ] todo, a[0][1]",
        "\\[Refund window]",
        "[Refund window s]",
        "[Refund window, SSO setup]",
        "【Refund window】",
        "\\u3010Refund window\\u3011 \\ue200cite\\ue201",
        "Sources: 1. Refund window 2. Shipping guide",
        "a < b, 3 <= 4, <3, a <- b",
        "![no image] and ! alone",
        "[a](b c) and [a] (doc:refund-window)",
        "2024. A year",
        "AT&T &amp; &lt;",
        "**bold** *it* ~~no~~ # | a | b |",
        "www.evil.test https://evil.test",
    ],
)
def test_other_text_keeps_its_characters(text: str) -> None:
    resolved = resolve(text, TABLE)
    assert resolved.citations == []
    assert resolved.output.replace("\\", "") == text.replace("\\", "")
    assert links(resolved.output) == []


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("see [Shipping](doc:shipping).", "see Shipping."),
        ("[a](doc:refund-windov)", "a"),
        ("[a](doc:Refund-window)", "a"),
        ("[a](%64oc:refund-window)", "a"),
        ("[a](/articles/nope)", "a"),
        ("[Refund rules](https://evil.test)", "Refund rules"),
        ("[a](java&#115;cript:alert(1))", "a"),
        ("[a](//evil.test)", "a"),
        ("[a](https://ok.test/x2)", "a"),
        ("a <https://evil.test/x>", "a https://evil.test/x"),
        ("a [b [c](doc:x)](https://evil.test) d", "a b c d"),
        ("a [](https://evil.test) d", "a  d"),
    ],
)
def test_a_link_that_is_no_citation_is_reduced_to_its_text(text: str, answer: str) -> None:
    resolved = resolve(text, TABLE)
    assert (resolved.output, resolved.citations) == (answer, [])
    assert resolved.dropped


def test_a_dropped_link_is_recorded_as_it_was_written() -> None:
    assert resolve("[Shipping guide](doc:shipping-guide)", TABLE).dropped == ["[Shipping guide](doc:shipping-guide)"]


def test_a_citation_inside_a_foreign_link_stays() -> None:
    resolved = resolve("[a [Refund window](doc:refund-window)](https://evil.test)", TABLE)
    assert resolved.output == f"a {REFUND}"
    assert resolved.citations == ["refund-window"]


@pytest.mark.parametrize(
    "text", ["[s](https://ok.test/x)", "<https://ok.test/x>", "<a@ok.test>", "[m](mailto:a@ok.test)"]
)
def test_a_link_that_was_read_stays(text: str) -> None:
    assert resolve(text, TABLE).output == text


@pytest.mark.parametrize(
    "text",
    [
        "`[Refund window]`",
        "``[x](doc:refund-window) ` b``",
        "```\n[x](doc:refund-window)\n```\n",
        "~~~~ md\n~~~\n[Refund window]\n~~~~\n",
        "````\n```\n[Refund window]\n```\n````\n",
        "- a\n\n  ```\n  [Refund window]\n  ```\n",
        "> ```\n> [Refund window]\n> ```\n",
        "```\n[Refund window]",
        "1. ```\n   [Refund window]\n\n   [Refund window]\n   ```\n",
    ],
)
def test_code_is_verbatim_and_cites_nothing(text: str) -> None:
    resolved = resolve(text, TABLE)
    assert (resolved.output, resolved.citations) == (text, [])


def test_a_fence_ends_with_its_container() -> None:
    resolved = resolve("> ```\n> [Refund window]\n\n[Refund window]", TABLE)
    assert resolved.output == f"> ```\n> [Refund window]\n> ```\n\n{REFUND}"
    resolved = resolve("- ```\n  x\n[Refund window]", TABLE)
    assert resolved.output == f"- ```\n  x\n  ```\n{REFUND}"


def test_indented_code_is_text() -> None:
    assert resolve("    [Refund window]", TABLE).output == REFUND


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("a ![x](https://evil.test/p.png?d=1) b", "a  b"),
        ("a ![x][r] b", "a  b"),
        ("a [![x](https://evil.test)](https://evil.test) b", "a  b"),
        ("![Refund window](doc:refund-window)", ""),
        ("![a [Refund window](doc:refund-window)](x)", ""),
        ("<!-- [Refund window] -->", "&lt;!-- \\[Refund window\\] -->"),
        ("<!--\n\n[Refund window](doc:refund-window)", "&lt;!--\n\n\\[Refund window\\](doc:refund-window)"),
    ],
)
def test_images_and_comments_cite_nothing(text: str, answer: str) -> None:
    resolved = resolve(text, TABLE)
    assert (resolved.output, resolved.citations) == (answer, [])


@pytest.mark.parametrize(
    "text",
    [
        "a [b][r]\n\n[r]: https://evil.test/x\n",
        "30 days [1]\n[1]: https://evil.test",
        "> [r]: https://evil.test 'title'\n> more",
        "- [r]:\n  <https://evil.test>\n  'a\n  title'\n",
        "[r]: https://evil.test\n[s]: https://evil.test\ntext",
        "[Refund window]: https://evil.test\n\n[Refund window]",
    ],
)
def test_reference_definitions_go(text: str) -> None:
    resolved = resolve(text, TABLE)
    assert "evil" not in resolved.output
    assert resolved.citations == (["refund-window"] if "Refund" in text else [])


def test_raw_html_is_text() -> None:
    text = "<img src=x> <a href='https://evil.test'>x</a> \\<b> <?x <!D <3@evil.test>"
    assert resolve(text, TABLE).output.count("<") == 0


def test_titles_in_a_table_keep_their_cell() -> None:
    resolved = resolve(f"| a | b |\n|---|---|\n| [{BETA}] | [{BETA}](doc:export-beta) |\n", TABLE)
    assert links(resolved.output) == ["/articles/export-beta"] * 2


@pytest.mark.parametrize(
    ("text", "kept", "cut"),
    [
        ("see [the rules](doc:refu", "see the rules", "see the rules"),
        ("see [the ru", "see \\[the ru", "see the ru"),
        ("see ![pic](https://ev", "see ", "see "),
        ("see ![pi", "see !\\[pi", "see "),
        ("see [Refund window]", f"see {REFUND}", f"see {REFUND}"),
        ("see `[Refund window](doc:re", "see \\`Refund window", "see \\`Refund window"),
        ("see <https://evil.te", "see &lt;https://evil.te", "see &lt;https://evil.te"),
        ("see [a][", "see \\[a\\]\\[", "see \\[a\\]"),
    ],
)
def test_what_is_cut_off_at_the_end_is_text(text: str, kept: str, cut: str) -> None:
    assert resolve(text, TABLE).output == kept
    assert resolve(text, TABLE, cut=True).output == cut


def test_text_is_held_back_no_longer_than_an_open_construct() -> None:
    resolver = AnswerResolver(TABLE)
    assert resolver.feed("Within 30 days ") == "Within 30 days "
    assert resolver.feed("[Refund ") == ""
    assert resolver.feed("window] of ") == f"{REFUND} of "
    assert resolver.feed("[" + "1" * 500) == ""
    assert len(resolver.feed("1" * 500)) > 1000
    assert resolver.feed(" more") == " more"


@pytest.mark.parametrize(
    "text", ["![" * 4000, "[" + "1" * 50_000, "[[" * 20_000, "[a](" * 7000, "`" * 9 + "` " * 9000, "> " * 9000]
)
def test_hostile_text_makes_no_link_and_ends(text: str) -> None:
    resolved = resolve(text, TABLE)
    assert (links(resolved.output[:4000]), resolved.citations) == ([], [])


def test_an_answer_has_an_end() -> None:
    resolver = AnswerResolver(TABLE, most=20)  # in the middle of the marker
    shown = resolver.feed("0123456789 [Refund window] and more") + resolver.finish()
    assert shown == "0123456789 Refund w"
    assert resolver.capped
    assert resolver.feed("more") == resolver.finish() == ""


def test_line_breaks_and_control_characters() -> None:
    resolver = AnswerResolver(TABLE)
    shown = resolver.feed("a\r") + resolver.feed("\nb\rc\x00d\x1b\ud800\u2028e\r") + resolver.finish()
    assert shown == resolver.output == "a\nb\ncd\ufffd\u2028e\n"


def test_links_written_in_a_text() -> None:
    found = links_written("See https://a.test/x. [b](https://b.test/(c)) <https://c.test> <d@d.test> mailto:e@e.test!")
    assert {"https://a.test/x", "https://b.test/(c)", "https://c.test", "mailto:d@d.test", "mailto:e@e.test"} <= found


@pytest.mark.parametrize("text", ["http://" + ")" * 24_000, "http://a/" + "x" * 24_000, "[a](http://b)" * 2_000])
def test_links_of_a_hostile_text_fill_no_memory(text: str) -> None:
    found = links_written(text)
    assert found
    assert sum(map(len, found)) <= 20 * 1_000


def test_titles_are_compared_by_their_key() -> None:
    assert title_key(" STRASSE\u00a0ﬁ ") == title_key("straße fi")
