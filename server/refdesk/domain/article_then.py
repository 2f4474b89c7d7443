"""What an answer took from an article on its day, beside the article as it is today."""

from __future__ import annotations

from difflib import SequenceMatcher

import msgspec

from refdesk.domain.articles import Article, Span
from refdesk.domain.conversation import StoredTurn
from refdesk.domain.turn_diff import Piece, differing
from refdesk.text.quotes import locate

LONGEST = 4_000
"""Characters of a passage that are compared."""


class QuoteThen(msgspec.Struct, frozen=True):
    """A text of the article as the turn was given it."""

    text: str
    stands: Span | None
    """Where it stands in today's body; None: it is gone."""
    diff: tuple[Piece, ...] = ()
    """Where it is gone: from it to the passage of today that is most like it."""


class ArticleThen(msgspec.Struct, frozen=True):
    quotes: tuple[QuoteThen, ...]
    body: tuple[tuple[str, int | None], ...]
    """Today's body in pieces, each with the number of the quote that it is; empty: the article is gone."""


def quotes_of(stored: StoredTurn, article_id: str) -> list[str]:
    """What the turn's claims quote of it, then what else the answer rests on; each text once."""
    claimed = [claim.quote for claim in stored.turn.claims if claim.source_id == article_id and claim.quote]
    held = [item.quote for item in stored.turn.evidence if item.source_id == article_id]
    rested = [quoted.text for quoted in stored.trail.quoted if quoted.article_id == article_id]
    return list(dict.fromkeys([*claimed, *held, *rested]))


def article_then(texts: list[str], today: Article | None) -> ArticleThen:
    if today is None:
        return ArticleThen(tuple(QuoteThen(text, None) for text in texts), ())
    quotes = tuple(quote_then(text, today) for text in texts)
    return ArticleThen(quotes, marked(today.body, [quote.stands for quote in quotes]))


def quote_then(text: str, today: Article) -> QuoteThen:
    place = found_in(text, today.body)
    if place is not None:
        return QuoteThen(text, place)
    like = most_like(text, today)
    return QuoteThen(text, None, tuple(differing(text, like)) if like else ())


def found_in(text: str, body: str) -> Span | None:
    """A quote is one paragraph, a text that was given may be several."""
    at = body.find(text) if text else -1
    if at >= 0:
        return at, at + len(text)
    found = locate(text, body, [(0, len(body))])
    return None if found is None else (found.start, found.end)


def most_like(text: str, today: Article) -> str:
    """The passage that shares most words; "" if it shares none."""
    words = text[:LONGEST].split()
    best, likeness = "", 0.0
    for passage in today.passages:
        candidate = passage.text(today.body)[:LONGEST]
        same = SequenceMatcher(None, words, candidate.split(), autojunk=False).ratio()
        if same > likeness:
            best, likeness = candidate, same
    return best


def marked(body: str, places: list[Span | None]) -> tuple[tuple[str, int | None], ...]:
    """Of quotes that overlap the one that begins first is marked."""
    pieces: list[tuple[str, int | None]] = []
    at = 0
    known = sorted((place, number) for number, place in enumerate(places) if place is not None)
    for (start, end), number in known:
        if start < at:
            continue
        pieces += [(body[at:start], None), (body[start:end], number)]
        at = end
    return tuple(piece for piece in (*pieces, (body[at:], None)) if piece[0])
