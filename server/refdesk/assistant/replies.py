"""Small talk and the catalogue, answered without a model."""

from __future__ import annotations

from collections.abc import Sequence

from refdesk.assistant.kinds import talk_of
from refdesk.assistant.phrases import phrase
from refdesk.domain.articles import Article, HelpCentre
from refdesk.domain.markdown_text import escape_label

MOST_TITLES = 40
REPLIES = {
    "greeting": "greeting",
    "thanks": "thanks",
    "farewell": "farewell",
    "identity": "identity",
    "complaint": "complaint",
    "praise": "thanks",
}
"""The phrase for what the small talk says; anything else is greeted."""


def smalltalk_reply(question: str, language: str, centre: HelpCentre) -> str:
    return phrase(REPLIES.get(talk_of(question, language) or "", "greeting"), language, centre)


def catalogue_reply(articles: Sequence[Article], language: str, centre: HelpCentre) -> str:
    """Titles by category as Markdown with `doc:` links, for the resolver to settle."""
    if not articles:
        return phrase("catalogue_empty", language, centre)
    by_category: dict[str, list[Article]] = {}
    for article in articles[:MOST_TITLES]:
        by_category.setdefault(article.category, []).append(article)
    lines = [phrase("catalogue", language, centre)]
    for category, listed in by_category.items():
        name = escape_label(category) if category else phrase("other_category", language, centre)
        lines.append(f"\n**{name}**\n")
        lines += [f"- [{escape_label(article.title)}](doc:{article.id})" for article in listed]
    if len(articles) > MOST_TITLES:
        more = phrase("catalogue_more", language, centre).replace("{count}", str(len(articles) - MOST_TITLES))
        lines.append(f"\n{more}")
    return "\n".join(lines)
