"""Which article a URL names."""

from __future__ import annotations

import pytest
from corpora import article

from refdesk.domain.articles import HelpCentre
from refdesk.retrieval.addresses import Addresses

ARTICLES = [
    article("sso", "SSO", "x", url="/articles/sso"),
    article("kb", "KB", "x", url="https://docs.acme.test/kb/one/"),
    article("q5", "Q5", "x", url="https://old.acme.test/view?id=5"),
    article("q6", "Q6", "x", url="https://old.acme.test/view?id=6"),
    article("hidden", "Hidden", "x", audience=("staff",)),
]


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("/articles/sso", "sso"),
        ("articles/sso", "sso"),
        ("/articles/sso/", "sso"),
        ("/articles/sso?ref=widget#steps", "sso"),
        ("https://help.acme.test/articles/sso", "sso"),
        ("http://HELP.acme.test:80/articles/sso", "sso"),
        ("//help.acme.test/articles/sso", "sso"),
        ("/articles/s%73o", "sso"),
        ("/articles/never-written", "never-written"),
        ("/articles/hidden", "hidden"),
        ("https://docs.acme.test/kb/one", "kb"),
        ("https://old.acme.test/view?id=6", "q6"),
        ("https://old.acme.test/view?id=5#top", "q5"),
        ("https://old.acme.test/view?id=7", None),
        ("https://evil.test/articles/sso", None),
        ("https://help.acme.test@evil.test/articles/sso", None),
        ("https://help.acme.test:8443/articles/sso", None),
        ("https://help.acme.test.evil.test/articles/sso", None),
        ("javascript:/articles/sso", None),
        ("ftp://help.acme.test/articles/sso", None),
        ("/articles/sso/extra", None),
        ("/articles", None),
        ("/Articles/sso", None),
        ("\\\\help.acme.test\\articles\\sso", None),
        ("https://[bad/articles/sso", None),
        ("/articles/%ff", None),
        ("mailto:a@acme.test", None),
        ("#steps", None),
        ("", None),
    ],
)
def test_a_url_is_compared_whole(url: str, named: str | None) -> None:
    addresses = Addresses(HelpCentre("Acme"), ARTICLES, "https://help.acme.test/")
    assert addresses.named(url) == named


def test_the_pattern_may_be_absolute_or_hold_a_query() -> None:
    absolute = Addresses(HelpCentre("Acme", article_url="https://acme.test/help/{id}.html"), ())
    assert absolute.named("https://acme.test/help/sso.html") == "sso"
    assert absolute.named("/help/sso.html") == "sso"
    assert absolute.named("https://acme.test/help/sso") is None
    query = Addresses(HelpCentre("Acme", article_url="/help?article={id}"), ())
    assert query.named("/help?article=sso") == "sso"
    assert query.named("/help") is None
