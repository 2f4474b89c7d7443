"""What is said without a model: fixed sentences, and a catalogue whose titles cannot break out of their links."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from refdesk.assistant.phrases import PHRASES, phrase
from refdesk.assistant.replies import MOST_TITLES, catalogue_reply, smalltalk_reply
from refdesk.domain.articles import Article, HelpCentre

CENTRE = HelpCentre(name="Acme", languages=("en", "ru"), greeting={"ru": "Привет от Acme!"}, refusal={"en": "Nothing."})


def article(number: int, title: str, category: str = "General") -> Article:
    return Article(f"a{number}", title, "", "en", ("public",), "v", category=category, url=f"/articles/a{number}")


def test_every_phrase_exists_in_the_three_languages() -> None:
    assert all(set(texts) >= {"en", "ru", "cs"} and all(texts.values()) for texts in PHRASES.values())


@pytest.mark.parametrize(
    ("name", "language", "expected"),
    [
        ("greeting", "ru", "Привет от Acme!"),
        ("refusal", "en", "Nothing."),
        ("refusal", "en-GB", "Nothing."),
        ("refusal", "xx", "Nothing."),
        ("refusal", "cs", PHRASES["refusal"]["cs"]),
        ("thanks", "ru", PHRASES["thanks"]["ru"]),
    ],
)
def test_the_operators_sentence_wins_in_its_language(name: str, language: str, expected: str) -> None:
    assert phrase(name, language, CENTRE) == expected


def test_small_talk_is_answered_by_what_it_says() -> None:
    assert smalltalk_reply("Are you a bot?", "en", CENTRE) == PHRASES["identity"]["en"]
    assert smalltalk_reply("Спасибо!", "ru", CENTRE) == PHRASES["thanks"]["ru"]
    assert smalltalk_reply("Привет", "ru", CENTRE) == "Привет от Acme!"


def test_titles_stay_titles_whatever_they_hold() -> None:
    titles = [
        "[Beta] Export (CSV | JSON) *fast*",
        "a](doc:evil) [b",
        "<img src=x>",
        "back\\slash `tick`",
        "# _x_ ~~y~~ &amp;",
    ]
    reply = catalogue_reply([article(n, title) for n, title in enumerate(titles)], "en", CENTRE)
    inline = [token for token in MarkdownIt().parse(reply) if token.type == "inline"]
    children = [child for token in inline for child in token.children or []]
    links = [child.attrs["href"] for child in children if child.type == "link_open"]
    shown = ["".join(c.content for c in token.children or []) for token in inline[-len(titles) :]]
    assert links == [f"doc:a{number}" for number in range(len(titles))]
    assert shown == titles


def test_categories_head_their_titles_and_a_long_list_says_how_many_more() -> None:
    many = [article(n, f"Title {n}", "Data" if n < 3 else "") for n in range(MOST_TITLES + 7)]
    reply = catalogue_reply(many, "en", CENTRE)
    assert reply.index("**Data**") < reply.index("Title 0") < reply.index(f"**{PHRASES['other_category']['en']}**")
    assert reply.count("](doc:") == MOST_TITLES
    assert "7" in reply.splitlines()[-1]


def test_no_articles_no_list() -> None:
    assert catalogue_reply([], "cs", CENTRE) == PHRASES["catalogue_empty"]["cs"]
