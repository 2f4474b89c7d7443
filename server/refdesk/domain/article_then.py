"""What an answer took from an article on its day, in the article of that day, beside the article as it is today."""

from __future__ import annotations

from difflib import SequenceMatcher

import msgspec

from refdesk.domain.articles import Article, Span
from refdesk.domain.conversation import StoredTurn
from refdesk.domain.turn_diff import Piece, differing
from refdesk.text.quotes import locate

LONGEST = 4_000
"""Characters of a passage that are compared."""
MOST_LINES = 20_000
"""Lines of two bodies that are compared; beyond that one is shown as gone and the other as new."""
MOST_WORDS = 6_000
"""Words of changed lines that are compared one by one, all in all."""
AROUND = 2
"""Unchanged lines that are shown beside a change."""


class KeptArticle(msgspec.Struct, frozen=True):
    """One version of an article, whether it is the current one or not."""

    version: str
    title: str
    language: str
    body: str


class QuoteThen(msgspec.Struct, frozen=True):
    """A text of the article as the turn was given it."""

    text: str
    stands: Span | None
    """Where it stands in today's body; None: it is gone."""
    diff: tuple[Piece, ...] = ()
    """Where it is gone: from it to the passage of today that is most like it."""


class ArticleThen(msgspec.Struct, frozen=True):
    quotes: tuple[QuoteThen, ...]
    of_that_day: bool
    """Whether `body` is that day's; else, where that was not kept, today's."""
    body: tuple[tuple[str, int | None], ...]
    """In pieces, each with the number of the quote that it is; empty: there is neither."""
    changes: tuple[Piece, ...] = ()
    """From that day's body to today's; `skip` stands for a number of unchanged lines. Empty where nothing changed."""

    @property
    def marked(self) -> frozenset[int]:
        """The quotes that have a place in `body`."""
        return frozenset(number for _, number in self.body if number is not None)


def quotes_of(stored: StoredTurn, article_id: str) -> list[str]:
    """What the turn's claims quote of it, then what else the answer rests on; each text once."""
    claimed = [claim.quote for claim in stored.turn.claims if claim.source_id == article_id and claim.quote]
    held = [item.quote for item in stored.turn.evidence if item.source_id == article_id]
    rested = [quoted.text for quoted in stored.trail.quoted if quoted.article_id == article_id]
    return list(dict.fromkeys([*claimed, *held, *rested]))


def article_then(texts: list[str], kept: KeptArticle | None, today: Article | None) -> ArticleThen:
    """`kept`: the version that the turn was given. Takes up to a second where a long article changed a lot."""
    quotes = tuple(QuoteThen(text, None) if today is None else quote_then(text, today) for text in texts)
    if kept is not None:
        changed = today is not None and today.body != kept.body
        return ArticleThen(
            quotes,
            of_that_day=True,
            body=marked(kept.body, [found_in(text, kept.body) for text in texts]),
            changes=changes(kept.body, today.body) if today is not None and changed else (),
        )
    body = marked(today.body, [quote.stands for quote in quotes]) if today is not None else ()
    return ArticleThen(quotes, of_that_day=False, body=body)


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


def changes(before: str, now: str) -> tuple[Piece, ...]:
    """Line by line, and word by word within lines that changed. Leaving out what is unchanged apart from a few lines,
    the `equal`, `delete` and `skip` pieces stand for the text before, `equal`, `insert` and `skip` for the one now."""
    old, new = before.splitlines(keepends=True), now.splitlines(keepends=True)
    if len(old) + len(new) > MOST_LINES:
        return tuple(piece for piece in (("delete", before), ("insert", now)) if piece[1])
    pieces: list[Piece] = []
    words = MOST_WORDS
    codes = SequenceMatcher(None, old, new).get_opcodes()
    for op, old_from, old_to, new_from, new_to in codes:
        gone, come = "".join(old[old_from:old_to]), "".join(new[new_from:new_to])
        if op == "equal":
            pieces += folded(old[old_from:old_to], first=old_from == 0, last=old_to == len(old))
            continue
        words -= len(gone.split()) + len(come.split())
        whole: list[Piece] = [("delete", gone), ("insert", come)]
        pieces += [piece for piece in (differing(gone, come) if words > 0 else whole) if piece[1]]
    return tuple(pieces)


def folded(lines: list[str], *, first: bool, last: bool) -> list[Piece]:
    """Unchanged lines: only those beside a change, if the rest is long enough to be left out."""
    before, after = 0 if first else AROUND, 0 if last else AROUND
    left_out = len(lines) - before - after
    if left_out <= AROUND:
        return [("equal", "".join(lines))] if lines else []
    shown = ("".join(lines[:before]), "".join(lines[len(lines) - after :]))
    pieces: list[Piece] = [("equal", shown[0]), ("skip", str(left_out)), ("equal", shown[1])]
    return [piece for piece in pieces if piece[1]]
