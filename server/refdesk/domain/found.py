"""The found articles of a turn as an agent sees them: how far each came, and one plain sentence why."""

from __future__ import annotations

from collections.abc import Sequence

from refdesk.domain.articles import Article
from refdesk.domain.conversation import FoundArticle, Kind, Source, Status
from refdesk.domain.sources import SILENT_KINDS, Citations, only_carried, with_text
from refdesk.domain.trail import Form, ToolCall, ToolReturn, Trail

_NO_ANSWER: dict[str, str] = {
    "running": "the turn has not ended yet",
    "evidence": "there is no answer that could have used it",
    "stopped": "the answer was stopped before it cited it",
    "interrupted": "the turn was interrupted",
    "failed": "the turn failed",
}


def found_articles(
    trail: Trail, sources: Sequence[Source], cited: Citations, *, status: Status, kind: Kind
) -> tuple[FoundArticle, ...]:
    """In the order of finding. `sources` and `cited` are those of `derive_sources` and `citations`."""
    entries, returns = {source.id: source for source in sources}, trail.returns()
    return tuple(
        _found(
            trail.articles[article_id],
            returns[article_id],
            entries.get(article_id),
            read=form >= Form.PASSAGE,
            cited=article_id in cited,
            why=f"{_how_found([given for _, given in returns[article_id]], form)}{_how_cited(article_id, cited)}: "
            f"{_why(form, entries.get(article_id), status, kind)}.",
        )
        for article_id, form in trail.forms().items()
    )


def _found(
    article: Article,
    returns: Sequence[tuple[ToolCall, ToolReturn]],
    source: Source | None,
    *,
    read: bool,
    cited: bool,
    why: str,
) -> FoundArticle:
    return FoundArticle(
        id=article.id,
        title=article.title,
        version=article.version,
        forms=tuple(f.label for f in sorted({given.form for _, given in returns})),
        calls=tuple(dict.fromkeys(call.number for call, _ in returns)),
        tools=tuple(dict.fromkeys(call.tool for call, _ in returns)),
        read=read,
        cited=cited,
        source=source is not None,
        show=source is not None and source.show,
        reason=why,
    )


def _how_found(returns: Sequence[ToolReturn], form: Form) -> str:
    match form:
        case Form.FULL:
            return "Opened in full"
        case Form.PART:
            return "Opened in some of its parts only"
        case Form.PASSAGE:
            return "Supplied again from an earlier turn" if only_carried(returns) else "Found by search"
        case _:
            return "Returned without any text" if with_text(returns) else "Listed by title only"


def _how_cited(article_id: str, cited: Citations) -> str:
    if article_id in cited.linked:
        return " and cited"
    return " and quoted in a verified claim or conflict" if article_id in cited.quoted else ", not cited"


def _why(form: Form, source: Source | None, status: Status, kind: Kind) -> str:
    if source is not None and source.show:
        return (
            "the answer rests on it, so it is shown" if source.cited else "opening it is the provenance, so it is shown"
        )
    if source is not None:
        return f"its link works, but it is not shown because {_why_hidden(form, status, kind)}"
    return _why_no_source(form, status, kind)


def _why_hidden(form: Form, status: Status, kind: Kind) -> str:
    if form is Form.TITLE:
        return "nothing of it was read"
    return _why_no_source(form, status, kind)


def _why_no_source(form: Form, status: Status, kind: Kind) -> str:
    if status == "insufficient":
        silent = "checked, silent on the question" if form > Form.TITLE else "it was not opened"
        return f"{silent}; a refusal shows no source"
    if status != "answered":
        return _NO_ANSWER[status]
    if kind in SILENT_KINDS:
        return "small talk rests on no article" if kind == "smalltalk" else "a question back rests on no article"
    if form is Form.TITLE:
        return "a title that was seen is not a text that was read"
    return "retrieved is not used" if form is Form.PASSAGE else "some parts without a citation are no provenance"
