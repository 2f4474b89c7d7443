"""Articles as writers need them: how far each came in visitors' turns, and what that says about it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

import msgspec

from refdesk.domain.articles import Article
from refdesk.domain.conversation import Turn, TurnTrail
from refdesk.domain.gap_queue import ArticleCount

Signal = Literal[
    "opened_never_cited", "found_never_opened", "cited_only_from_listings", "asked_in_other_language", "addresses_model"
]
OFTEN_OPENED, OFTEN_FOUND, OFTEN_ASKED = 5, 10, 3
"""From how many turns on something is no accident."""
FIGURES = ("found", "read", "opened", "cited", "listed", "shown", "failed")


class ArticleFigures(msgspec.Struct, frozen=True):
    id: str
    title: str | None
    """Null: the article is gone."""
    language: str | None
    found: int
    read: int
    opened: int
    cited: int
    listed: int
    """Cited, though only its title was seen."""
    shown: int
    failed: int
    """Read for a question that found no answer."""
    asked_in: dict[str, int]
    """Turns that read it, by the language of the question."""
    signals: list[Signal]
    missing_languages: list[str]
    """Languages of the help centre in which it is asked and does not exist."""
    orders: list[str]
    """Sentences in it that address a model."""


def counts_of(turn: Turn, trail: TurnTrail, *, failed: bool) -> list[ArticleCount]:
    """One for each article that the turn found. `failed`: it found no answer."""
    return [
        ArticleCount(
            day=turn.created_at[:10],
            article_id=found.id,
            language=turn.language,
            found=1,
            read=int(found.read),
            opened=int("full" in found.forms),
            cited=int(found.cited),
            listed=int(found.cited and set(found.forms) == {"title"}),
            shown=int(found.show),
            failed=int(failed and found.read),
        )
        for found in trail.documents
    ]


def figures_of(
    article_id: str,
    counts: Sequence[ArticleCount],
    article: Article | None,
    *,
    translated: Collection[str],
    languages: Collection[str],
    orders: Sequence[str] = (),
) -> ArticleFigures:
    """`counts`: its own, of any days. `translated`: primary languages in which it or a translation of it exists;
    `languages`: those of the help centre."""
    total = {name: sum(getattr(count, name) for count in counts) for name in FIGURES}
    asked_in: dict[str, int] = {}
    for count in counts:
        if count.read:
            asked_in[count.language] = asked_in.get(count.language, 0) + count.read
    missing = [
        language
        for language, turns in asked_in.items()
        if article is not None and language in languages and language not in translated and turns >= OFTEN_ASKED
    ]
    return ArticleFigures(
        id=article_id,
        title=article.title if article is not None else None,
        language=article.language if article is not None else None,
        **total,
        asked_in=dict(sorted(asked_in.items(), key=lambda item: -item[1])),
        signals=list(signals(total, missing, orders)),
        missing_languages=missing,
        orders=list(orders),
    )


def signals(total: dict[str, int], missing: Sequence[str], orders: Sequence[str]) -> Iterable[Signal]:
    if total["opened"] >= OFTEN_OPENED and not total["cited"]:
        yield "opened_never_cited"
    if total["found"] >= OFTEN_FOUND and not total["opened"] and not total["cited"]:
        yield "found_never_opened"
    if total["cited"] and total["cited"] == total["listed"]:
        yield "cited_only_from_listings"
    if missing:
        yield "asked_in_other_language"
    if orders:
        yield "addresses_model"
