"""A quote is found where its words stand, and nowhere looser."""

import html
import string
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdesk.text.quotes import fault, first_paragraph, locate

REFUNDS = """# Refund window

Refunds are possible within 30 days of purchase. Gift cards are not refunded.

## How to ask for one

Open **Billing → Invoices**, choose the invoice and press *Request refund*. The money returns to the
card that paid within five business days.
"""


def found(quote: str, body: str, spans: list[tuple[int, int]] | None = None) -> tuple[str, str] | None:
    place = locate(quote, body, spans or [(0, len(body))])
    return place and (body[place.start : place.end], place.match)


@pytest.mark.parametrize(
    "quote",
    [
        "Gift cards are not refunded.",
        "within 30 days of purchase",
        "press *Request refund*",
        "  within 30 days of purchase ",
    ],
)
def test_verbatim_text_is_exact(quote):
    assert found(quote, REFUNDS) == (quote.strip(), "exact")


@pytest.mark.parametrize(
    ("quote", "shown"),
    [
        (
            "Open Billing → Invoices, choose the invoice and press Request refund.",
            "Open **Billing → Invoices**, choose the invoice and press *Request refund*.",
        ),
        ("Open **Billing → Invoices**, choose the invoice and press Request", None),
        ("press Request refund", "press *Request refund*"),
        ("Billing → Invoices, choose the invoice", "**Billing → Invoices**, choose the invoice"),
        ("The money returns to the card that", "The money returns to the\ncard that"),
        ("Gift\u00a0cards are not  refunded", "Gift cards are not refunded"),
    ],
)
def test_what_a_reader_does_not_see_may_differ(quote, shown):
    shown = shown or quote.replace("Request", "*Request")
    place = found(quote, REFUNDS)
    assert place in ((shown, "normalized"), (shown.replace("*Request", "Request"), "normalized"))


@pytest.mark.parametrize(
    ("quote", "body"),
    [
        ('Don\'t use "click here" as a link', "Don’t use “click here” as a link"),
        ("the file's first - and last", "the ﬁle’s ﬁrst ‑ and last"),
        ("5 - 10 words per heading", "5 – 10 words per heading"),
        ("в течение трех рабочих дней", "в течение трёх рабочих дней"),
        ("Ее вернет Алена завтра", "Её вернёт Алёна завтра"),
        ("un cafe\u0301 noir ici", "un café noir ici"),
        ("Press Ctrl+C in the terminal", "Press `Ctrl+C` in the terminal"),
        ("see the guide for more", "see the [guide](https://help.example/a_(b) 'T') for more"),
        ("a 2 * 3 table is *literal*", "a 2 \\* 3 table is \\*literal\\*"),
        ("this is very important now", "this is ***very*** important now"),
        ("this was removed in May", "this ~~was removed~~ in May"),
        ("line one and line two", "> line one and\n> line two"),
        ("write to https://x.example/a_b_c today", "write to <https://x.example/a_b_c> today"),
        ("Ｆｕｌｌ width is the same", "Full width is the same"),
    ],
)
def test_folding_gives_back_the_articles_own_text(quote, body):
    assert found(quote, body) == (body.removeprefix("> "), "normalized")


@pytest.mark.parametrize(
    "quote",
    [
        "Gift cards are ... refunded.",
        "Gift cards are … refunded.",
        "REFUNDS are possible within 30 days",
        "Refunds are p\u043essible within 30 days",
        "Refunds are pos\u00adsible within 30 days",
        "Refunds\u200b are possible within 30 days",
        "\u202eRefunds are possible within 30 days",
        "Refunds are possible\U000e0020 within 30 days",
        "are possible Refunds within 30 days",
        "**Gift cards** are not refunded",
        "Open **Billing** → **Invoices**, choose",
        "Gift cards are not refunded. How to ask for one",
        "not refunded.\n\n## How to ask",
        "efunds are possible within",
        "Refunds are possible within 3",
        "",
    ],
)
def test_nothing_looser(quote):
    assert found(quote, REFUNDS) is None


@pytest.mark.parametrize(
    ("quote", "body"),
    [
        ("possible within 30 days", "It is impossible within 30 days"),
        ("refundable deposits are kept", "All non-refundable deposits are kept"),
        ("possible within 30", "possible within 300 days"),
        ("the price is 2", "the price is 2.5 euros"),
        ("000 users are allowed", "1 000 users are allowed"),
        ("5 degrees are normal", "-5 degrees are normal"),
        ("10 words per heading", "5–10 words per heading"),
        ("possible within 30 days", "im**possible** within 30 days"),
        ("102 metres of rope", "10² metres of rope"),
        ("11/2 cups of flour", "1½ cups of flour"),
        ("maxtokens is the limit", "max_tokens is the limit"),
        ("use a b c here", "use a*b*c here"),
        ("Do not share keys", "- Do not\n- share keys"),
        ("sum of ab here", "sum of a\\_b here"),
        ("the caf is open", "the café is open"),
        ("a fact of l", "a fact of lﬁfe"),
    ],
)
def test_meaning_cannot_be_cut_out_of_words_and_numbers(quote, body):
    assert found(quote, body) is None


@pytest.mark.parametrize(
    ("quote", "body"),
    [
        ("Ask AT&T for it", "Ask AT&amp;T for it"),
        ("Ask AT&T for it", "Ask AT&#38;T for it"),
        ("Ask AT&T for it", "Ask AT&#x26;T for it"),
        ("Ask AT&T for it", "Ask **AT&amp;T** for it"),
        ("up to 1 000 users", "up to 1&nbsp;000 users"),
        ("up to 1\u00a0000 users", "up to 1&#160;000 users"),
        ("a dash - and spaces", "a dash &nbsp;&ndash; &nbsp;and spaces"),
        ("the café is open", "the caf&eacute; is open"),
        ("the café is open", "the cafe&#769; is open"),
        ("half a ﬁle fjord", "half a file &fjlig;ord"),
        ("not ≂̸ equal here", "not &NotEqualTilde; equal here"),
        ("10² metres of rope", "10&sup2; metres of rope"),
        ("write &lt; as text", "write &amp;lt; as text"),
        ("write &amp; as text", "write \\&amp; as text"),
        ("write &unknown; as text", "write &unknown; *as* text"),
        ("write &amp as text", "write &amp as *text*"),
        ("Q&amp;A on **AT&amp;T** today", "Q&amp;A on **AT&amp;T**  today"),
        ("Q&amp;A on AT&amp;T today", "Q&#38;A on *AT&T* today"),
        ("type &amp; for AT&amp;T here", "type `&amp;` for AT&amp;T here"),
        ("a > b > c", "a\n&gt; b\n&gt; c"),
        ("the sign � is shown", "the sign &#0; is *shown*"),
        ("the sign � is shown", "the sign &#xD800; is shown"),
        ("see https://x.example/?a=1&b=2 for it", "see https://x.example/?a=1&amp;b=2 for it"),
    ],
)
def test_an_entity_is_what_it_stands_for(quote, body):
    assert found(quote, body) == (body, "normalized")


@pytest.mark.parametrize(
    ("quote", "body"),
    [
        ("write & as text", "write `&amp;` as text"),
        ("write & as text", "```\nwrite &amp; as text\n```"),
        ("write & as text", "write \\&amp; as text"),
        ("write < as text", "write &amp;lt; as text"),
        ("see https://x.example/?a=1&b=2 for it", "see <https://x.example/?a=1&amp;b=2> for it"),
        ("a b c", "a\n&gt; b c"),
        ("Ask AT&amp;T for it", "Ask AT&T for it"),
        ("Ask ATT for it", "Ask AT&shy;T for it"),
        ("102 metres of rope", "10&sup2; metres of rope"),
        ("open the caf", "open the caf&eacute; now"),
        ("tude was nice here", "&eacute;tude was nice here"),
        ("000 users are allowed", "1&nbsp;000 users are allowed"),
        ("the price is 2", "the price is 2&#46;5 euros"),
        ("x is not j", "x is not &fjlig; at all"),
    ],
)
def test_an_entity_is_nothing_else(quote, body):
    assert found(quote, body) is None


def test_the_place_is_that_of_the_entity_in_the_body():
    body = "First.\n\nA **&lt;b&gt;** in Q&amp;A, 1&nbsp;000 times"
    assert found("<b> in Q&A", body) == ("**&lt;b&gt;** in Q&amp;A", "normalized")
    assert found("Q&A, 1 000", body) == ("Q&amp;A, 1&nbsp;000", "normalized")


def test_code_keeps_its_characters():
    body = "```\ncp **x** _y_ to dst\n```\n\nRun `cp [-r] src` and `a **b** c` now"
    assert found("cp **x** _y_ to dst", body) == ("cp **x** _y_ to dst", "exact")
    assert found("cp x y to dst", body) is None
    assert found("Run cp [-r] src and a **b** c now", body) == ("Run `cp [-r] src` and `a **b** c` now", "normalized")


def test_only_what_was_given_counts():
    body = "First sentence stands here. Second sentence stands here."
    half = body.index("Second")
    assert found("Second sentence stands here.", body, [(0, half)]) is None
    assert found("here. Second sentence", body, [(0, half)]) is None
    assert found("here. Second sentence", body, [(0, len(body))]) == ("here. Second sentence", "exact")


def test_a_later_place_is_taken_where_the_first_is_cut_or_not_given():
    body = "impossible within 30 days, possible within 30 days"
    assert locate("possible within 30 days", body, [(0, len(body))]).start == body.rindex("possible")
    assert locate("within 30 days", body, [(20, len(body))]).start == body.rindex("within")


def test_a_list_without_blank_lines_is_one_paragraph_with_its_markers():
    body = "1. Open the settings.\n2. Press the button.\n\n3. Wait."
    assert found("1. Open the settings. 2. Press the button.", body) == (body[:42], "normalized")
    assert found("Open the settings. Press the button.", body) is None
    assert found("2. Press the button.\n\n3. Wait.", body) is None


@pytest.mark.parametrize(
    "quote", ["30", "the customer", "a b", "返金の期限", "- - -", "", "  ", "1. Open it", "**a** b", "&lt; &gt; &amp;"]
)
def test_too_little_proves_nothing(quote):
    assert fault(quote)


@pytest.mark.parametrize(
    "quote",
    [
        "30 days of purchase",
        "SSO&nbsp;needs&nbsp;Scale",
        "SSO needs Scale",
        "購入から30日以内に返金できます。",
        "30日 以内に返金でき SSO",
    ],
)
def test_enough_to_prove_something(quote):
    assert fault(quote) is None


def test_more_than_a_paragraph_is_a_fault():
    assert "paragraph" in fault("One two three.\n\nFour five six.")
    assert "paragraph" in fault("## Heading of three\nFour five six.")
    assert "paragraph" in fault("word " * 5000)


def test_first_paragraph_skips_headings():
    start, end = first_paragraph(REFUNDS, (0, len(REFUNDS)))
    assert REFUNDS[start:end] == "Refunds are possible within 30 days of purchase. Gift cards are not refunded."
    assert first_paragraph("# Only\n", (0, 7)) == (0, 6)


MARKUP = st.text(alphabet=string.ascii_letters[:4] + " *_~`[]()\\<>#|-\n.1ёй«»’é\u0301\u00adﬁ²", max_size=80)


@given(MARKUP, MARKUP)
def test_any_text_is_survived_and_a_place_is_real(quote, body):
    place = locate(quote, body, [(0, len(body))])
    if place is not None:
        assert 0 <= place.start < place.end <= len(body)
        shown, plain = (unicodedata.normalize("NFKD", text) for text in (body[place.start : place.end], quote))
        letters = [c for c in shown if c.isalpha() and c not in "ёЁ"]
        assert place.match == "normalized" or body[place.start : place.end] == quote.strip()
        assert set(plain) & set("abcd") <= set(letters)


@given(
    st.lists(
        st.sampled_from(["alpha", "Q&amp;A", "**b&#x26;w**", "`code`", "*it*", "30", "x\u00a0y", "1&nbsp;000", "“q”"]),
        min_size=3,
        max_size=12,
    )
)
def test_every_run_of_words_is_found_with_and_without_marks(words):
    body = f"Before.\n\n{' '.join(words)}\n\nAfter."
    bare = " ".join(words).replace("*", "").replace("`", "")
    for quote in (" ".join(words), bare, html.unescape(bare)):
        place = found(quote, body)
        assert place is not None
        assert place[0] == " ".join(words)


@pytest.mark.parametrize(
    "body",
    [
        "*a " * 9000,
        "a*" * 9000,
        "[" * 30000,
        "[a](" * 9000,
        "` `` " * 9000,
        "*_" * 9000 + "a",
        "a " * 20000,
        "aa " * 9000,
        "&amp;" * 9000,
        "&amp;a " * 5000,
        "&" + "amp;" * 9000,
        "`&amp;" * 9000,
    ],
)
def test_hostile_markup_ends(body):
    assert found("a a a and not there", body) is None
    assert found(("aa" + body[:6000]).strip() + "b", body) is None
