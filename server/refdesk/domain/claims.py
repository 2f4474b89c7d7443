"""Claims: what the model says an article says, checked against the text that the model was given in this turn.

Everything that comes in is a model's JSON and may be anything; the outcome is a verified claim or a rejected one with a
reason that helps the model to repair it. Nothing here raises. The rules are provenance.md's ("Claims").
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from refdesk.domain.articles import Article
from refdesk.domain.conversation import Claim, QuotedText, RejectedClaim, Verification
from refdesk.domain.trail import Form, Trail
from refdesk.text.numbers import numbers, prose_numbers, without_addresses
from refdesk.text.quotes import fault, locate

LONGEST_TEXT = 4_000
MOST_PREMISES = 50
FOLDED = 300_000
"""Characters of an article in which a quote is looked for beyond what was given; in a longer one only verbatim."""
KEPT_OF_REJECTED = 500
"""Characters of a rejected claim that the console keeps."""


class Quoted(msgspec.Struct, frozen=True):
    """A quote in its place."""

    article: Article
    start: int
    end: int
    match: Literal["exact", "normalized"]

    @property
    def text(self) -> str:
        """The article's own words."""
        return self.article.body[self.start : self.end]

    @property
    def location(self) -> str:
        return self.article.section_at(self.start)

    def kept(self) -> QuotedText:
        return QuotedText(article_id=self.article.id, start=self.start, end=self.end, text=self.text)


class Verified(msgspec.Struct, frozen=True):
    """`claim.premises` are still indices of the model's own list. An inference may have no quote."""

    claim: Claim
    quoted: Quoted | None


class Waiting(msgspec.Struct, frozen=True):
    """An inference that names a claim which has not arrived yet: `settle` decides once all have."""

    verified: Verified
    raw: Any
    number: int
    """Its own index."""


Outcome: TypeAlias = Verified | RejectedClaim
Verdict: TypeAlias = Outcome | Waiting


def verify(raw: object, trail: Trail, earlier: Sequence[Verdict] = ()) -> Verdict:
    """One claim of the model's list, given the verdicts on all before it, in the model's order."""
    verified = _verified(raw, trail)
    if isinstance(verified, str):
        return _rejected(raw, verified)
    return _judged(verified, raw, len(earlier), earlier)


def settle(verdicts: Sequence[Verdict]) -> list[Outcome]:
    """The verdicts once the whole list has arrived: waiting inferences are decided."""
    return [_settled(verdict, verdicts) if isinstance(verdict, Waiting) else verdict for verdict in verdicts]


def _settled(waiting: Waiting, verdicts: Sequence[Verdict]) -> Outcome:
    why = _premise_fault(waiting.verified.claim.premises, waiting.number, verdicts)
    return _rejected(waiting.raw, why) if why else waiting.verified


def verify_all(raws: object, trail: Trail) -> list[Outcome]:
    verdicts: list[Verdict] = []
    for raw in raws if isinstance(raws, list) else []:
        verdicts.append(verify(raw, trail, verdicts))
    return settle(verdicts)


def finalise(outcomes: Sequence[Outcome]) -> tuple[Claim, ...]:
    """What is returned: the verified claims, `premises` renumbered to this list."""
    numbers_of: dict[int, int] = {}
    claims: list[Claim] = []
    for at, outcome in enumerate(outcomes):
        if isinstance(outcome, Verified):
            numbers_of[at] = len(claims)
            claims.append(outcome.claim)
    return tuple(
        msgspec.structs.replace(claim, premises=tuple(numbers_of[p] for p in claim.premises)) for claim in claims
    )


def rejected(outcomes: Sequence[Outcome]) -> tuple[RejectedClaim, ...]:
    return tuple(outcome for outcome in outcomes if isinstance(outcome, RejectedClaim))


def verification(stated: int, verified: int, prose: str, texts: Iterable[str], question: str) -> Verification:
    """How much of the answer is proven. `stated` counts the claims of the list that counted in the end."""
    if verified == 0:
        return "none"
    return "partial" if verified < stated or unread_numbers(prose, texts, question) else "full"


def unread_numbers(prose: str, texts: Iterable[str], question: str) -> list[str]:
    """Numbers of the prose that stand neither in the texts read nor in the question."""
    wanted = dict.fromkeys(prose_numbers(prose))
    for text in (question, *texts):
        for number in numbers(text) if wanted else ():
            wanted.pop(number, None)
    return list(wanted)


def texts_read(trail: Trail) -> list[str]:
    """What the model was given of the found articles in this turn: titles and dates, and the text where it was read."""
    found = [trail.articles[article_id] for article_id in trail.found() if article_id in trail.articles]
    return [*(f"{article.title}\n{article.updated}" for article in found), *trail.texts()]


def find_quote(source_id: object, quote: object, trail: Trail) -> Quoted | str:
    """The place of a quote in what the model was given of an article; else why there is none."""
    if not isinstance(source_id, str) or not source_id:
        return "`source_id` must name the article that is quoted"
    name = shortened(source_id, 80)
    form = trail.form(source_id)
    if form is None or source_id not in trail.articles:
        return f"no tool returned an article with the id {name!r} in this turn"
    if form is Form.TITLE:
        return f"you have not read {name!r}: only its title was listed"
    if not isinstance(quote, str):
        return "`quote` must be text copied from the article"
    if why := fault(quote):
        return why
    article = trail.articles[source_id]
    if place := locate(quote, article.body, trail.given(source_id)):
        return Quoted(article=article, start=place.start, end=place.end, match=place.match)
    if _stands_in(article.body, quote):
        return f"the quote stands in a part of {name!r} that you were not given"
    return f"the quote does not stand, word for word, in what you were given of {name!r}"


def _stands_in(body: str, quote: str) -> bool:
    """Whether the article says it somewhere: a hint for the model, not worth half a second."""
    return quote.strip() in body if len(body) > FOLDED else locate(quote, body, [(0, len(body))]) is not None


def shortened(value: object, limit: int = KEPT_OF_REJECTED) -> str:
    """A model's value as text that can be stored: short, without halves of surrogate pairs."""
    if isinstance(value, str):
        return value[:limit].encode("utf-8", "replace").decode()
    small = isinstance(value, int) and abs(value) < 10**9
    return str(value) if small else "" if value is None else type(value).__name__


# --- one claim -------------------------------------------------------------------------------------


def _verified(raw: object, trail: Trail) -> Verified | str:
    """The claim as far as it can be judged alone; else why it is none."""
    if not isinstance(raw, dict):
        return "a claim must be an object"
    text, kind = raw.get("text"), raw.get("kind")
    if not isinstance(text, str) or not text.strip():
        return "`text` must say what is claimed"
    if len(text) > LONGEST_TEXT:
        return "`text` is too long for one claim"
    if kind == "fact":
        return _fact(shortened(text, LONGEST_TEXT), raw, trail)
    if kind == "inference":
        return _inference(shortened(text, LONGEST_TEXT), raw, trail)
    return "`kind` must be `fact` or `inference`"


def _fact(text: str, raw: dict[str, Any], trail: Trail) -> Verified | str:
    quoted = find_quote(raw.get("source_id"), raw.get("quote"), trail)
    if isinstance(quoted, str):
        return quoted
    proven = numbers(without_addresses(quoted.text))
    missing = [number for number in numbers(without_addresses(text)) if number not in proven]
    if missing:
        return f"the number {shortened(missing[0], 40)} is not in the quote"
    return Verified(claim=_claim(text, "fact", quoted), quoted=quoted)


def _inference(text: str, raw: dict[str, Any], trail: Trail) -> Verified | str:
    """A quote is optional, but one that is given must hold; so must an article that is named."""
    source_id, quote, step, premises = (raw.get(name) for name in ("source_id", "quote", "step", "premises"))
    if not isinstance(premises, list) or not premises:
        return "an inference must name its premises: the indices of the facts it rests on"
    if len(premises) > MOST_PREMISES or not all(type(p) is int and p >= 0 for p in premises):
        return "`premises` must be the indices of facts in `claims`, counted from 0"
    quoted: Quoted | str | None = None
    if quote not in (None, "") or (source_id not in (None, "") and source_id not in trail.read()):
        quoted = find_quote(source_id, quote, trail)
    if isinstance(quoted, str):
        return quoted
    claim = msgspec.structs.replace(
        _claim(text, "inference", quoted),
        source_id=source_id or None,
        premises=tuple(dict.fromkeys(premises)),
        step=shortened(step, LONGEST_TEXT) if isinstance(step, str) and step.strip() else None,
    )
    return Verified(claim=claim, quoted=quoted)


def _claim(text: str, kind: Literal["fact", "inference"], quoted: Quoted | None) -> Claim:
    if quoted is None:
        return Claim(text=text, kind=kind, source_id=None, location="", quote=None, match=None)
    place = quoted.article.id, quoted.location, quoted.text, quoted.match
    return Claim(text, kind, *place)


def _judged(verified: Verified, raw: object, number: int, earlier: Sequence[Verdict]) -> Verdict:
    premises = verified.claim.premises
    if premises and max(premises) > number:
        return Waiting(verified=verified, raw=raw, number=number)
    why = _premise_fault(premises, number, earlier)
    return _rejected(raw, why) if why else verified


def _premise_fault(premises: Sequence[int], number: int, verdicts: Sequence[Verdict]) -> str | None:
    for premise in premises:
        if premise == number:
            return "an inference cannot be its own premise"
        if premise >= len(verdicts):
            return f"premise {shortened(premise, 20)} does not exist"
        verdict = verdicts[premise]
        if isinstance(verdict, RejectedClaim):
            return f"premise {premise} was rejected"
        if isinstance(verdict, Waiting) or verdict.claim.kind != "fact":
            return f"premise {premise} is not a fact"
    return None


def _rejected(raw: object, why: str) -> RejectedClaim:
    fields: dict[str, Any] = raw if isinstance(raw, dict) else {"text": raw}
    source_id, quote = fields.get("source_id"), fields.get("quote")
    return RejectedClaim(
        text=shortened(fields.get("text")),
        kind=shortened(fields.get("kind"), 40),
        source_id=None if source_id is None else shortened(source_id, 80),
        quote=None if quote is None else shortened(quote),
        why=why,
    )
