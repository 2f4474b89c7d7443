"""What is a source: the table of provenance.md, on the trail of one turn.

Sources come from what the model did, never from what was retrieved. `derive_sources` is the only place that decides
them; stream, JSON, console and export show its result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from refdesk.domain.articles import Article, Span
from refdesk.domain.conversation import Basis, Claim, Conflict, Kind, Source, Status
from refdesk.domain.trail import Form, ToolReturn, Trail
from refdesk.text.quotes import first_paragraph

EXCERPT = 300
"""Characters."""

SILENT_KINDS = ("smalltalk", "clarification")
"""Their answers rest on nothing; a link in one stays clickable, that is all."""


class Citations(msgspec.Struct, frozen=True):
    """What the answer points at, each id once, in order: by link or marker, and by verified quote."""

    linked: tuple[str, ...]
    quoted: tuple[str, ...] = ()

    def __contains__(self, article_id: str) -> bool:
        return article_id in self.linked or article_id in self.quoted

    @property
    def ids(self) -> list[str]:
        return list(dict.fromkeys([*self.linked, *self.quoted]))


def citations(linked: Sequence[str], claims: Sequence[Claim], conflicts: Sequence[Conflict]) -> Citations:
    """`linked`: ids of the answer's links and markers, in order of mention."""
    claimed = [claim.source_id for claim in claims if claim.source_id and claim.quote]
    positions = [position.source_id for conflict in conflicts for position in conflict.positions]
    return Citations(tuple(dict.fromkeys(linked)), tuple(dict.fromkeys([*claimed, *positions])))


def derive_sources(
    trail: Trail,
    linked: Sequence[str],
    claims: Sequence[Claim],
    conflicts: Sequence[Conflict],
    *,
    status: Status,
    kind: Kind,
    retrieved_at: str,
) -> tuple[Source, ...]:
    """The entries in their order: opened, then by first citation in the answer, then those only quoted."""
    cited = citations(linked, claims, conflicts)
    forms = trail.forms()
    quotes = _best_quotes(claims, conflicts)
    sources = []
    for article_id in _entries(trail, cited, forms, status, kind):
        form = forms.get(article_id)
        source = _source(trail, article_id, form, quotes.get(article_id), retrieved_at)
        shown = source.show and status != "insufficient" and kind not in SILENT_KINDS
        sources.append(msgspec.structs.replace(source, show=shown, cited=article_id in cited))
    return tuple(sources)


def grounded(status: Status, kind: Kind, sources: Sequence[Source], *, stated: int, verified: int) -> bool:
    """Answered from something shown, or a catalogue with a link; never with claims none of which holds."""
    if status != "answered" or (stated and not verified):
        return False
    listed = kind == "catalogue" and any(source.cited and source.url is not None for source in sources)
    return listed or any(source.show for source in sources)


def final_kind(kind: Kind, status: Status, trail: Trail, sources: Sequence[Source]) -> Kind:
    """A turn whose only citations are listed titles was about the catalogue, whatever it looked like before."""
    if kind != "question" or status != "answered" or any(source.show for source in sources):
        return kind
    cited = [source.id for source in sources if source.cited]
    listed = bool(cited) and all(trail.form(article_id) is Form.TITLE for article_id in cited)
    return "catalogue" if listed else kind


def with_text(returns: Iterable[ToolReturn]) -> list[ToolReturn]:
    """Those that held text of their article, in the order of the calls."""
    return [given for given in returns if given.form > Form.TITLE and given.spans]


def only_carried(returns: Iterable[ToolReturn]) -> str | None:
    """The earlier turn, if all that was read of their article is what that turn had cited."""
    given = with_text(returns)
    return given[0].from_turn if given and all(g.from_turn for g in given) else None


# --- the table -------------------------------------------------------------------------------------


def _entries(trail: Trail, cited: Citations, forms: dict[str, Form], status: Status, kind: Kind) -> list[str]:
    if status in ("evidence", "running"):  # what was shown instead of an answer has no links
        return []
    opened = trail.opened()
    if status != "answered" or kind in SILENT_KINDS:  # only what must stay clickable
        order = [*(a for a in opened if a in cited.linked), *cited.linked]
    else:
        order = [*opened, *cited.ids]
    return [a for a in dict.fromkeys(order) if a in forms or a in trail.linked_before]


def _source(trail: Trail, article_id: str, form: Form | None, quote: _Quote | None, retrieved_at: str) -> Source:
    article = trail.articles[article_id] if form is not None else trail.linked_before[article_id]
    read = form is not None and form > Form.TITLE
    place = _best_place(trail, article, quote) if read else _Quote("", "")
    earlier = only_carried(trail.returns_of(article_id)) if read else None
    return Source(
        id=article.id,
        title=article.title,
        url=article.url,
        section=place.section,
        excerpt=place.text,
        language=article.language,
        updated_at=article.updated,
        version=article.version,
        retrieved_at=retrieved_at,
        cited=False,
        basis="earlier_turn" if earlier else _basis(form),
        show=read,
        from_turn=earlier or msgspec.UNSET,
    )


def _basis(form: Form | None) -> Basis:
    match form:
        case Form.FULL:
            return "opened"
        case Form.PART:
            return "part"
        case Form.PASSAGE:
            return "search"
        case _:
            return "listing"


# --- the excerpt -----------------------------------------------------------------------------------


class _Quote(msgspec.Struct, frozen=True):
    text: str
    section: str


def _best_quotes(claims: Sequence[Claim], conflicts: Sequence[Conflict]) -> dict[str, _Quote]:
    """The first verified quote of each article."""
    quotes = [(c.source_id, c.quote, c.location) for c in claims if c.source_id and c.quote]
    quotes += [(p.source_id, p.quote, p.location) for conflict in conflicts for p in conflict.positions]
    return {article_id: _Quote(text, section) for article_id, text, section in reversed(quotes)}


def _best_place(trail: Trail, article: Article, quote: _Quote | None) -> _Quote:
    """The quote that was verified, else the beginning of the first text that was given: the best-ranked passage."""
    if quote is not None:
        return quote
    given = with_text(trail.returns_of(article.id))
    whole = [g for g in given if g.form > Form.PASSAGE]
    best = (whole or [g for g in given if not g.from_turn] or given)[0]
    start, end = _beginning(article.body, best.spans[-1])
    return _Quote(article.body[start:end], best.section or article.section_at(start))


def _beginning(body: str, span: Span) -> Span:
    """The first sentences of the first paragraph that is no heading, in the article's own characters."""
    start, end = first_paragraph(body, span)
    if end - start <= EXCERPT:
        return start, end
    text = body[start : start + EXCERPT]
    cut = max(text.rfind(stop) + 1 for stop in (". ", "! ", "? ", ".\n", "。", "！", "？"))
    return start, start + (
        cut if cut > EXCERPT // 3 else max(text.rfind(" "), text.rfind("\n")) if " " in text else EXCERPT
    )
