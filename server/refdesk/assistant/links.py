"""The link table of a turn: what the answer may point at, fixed when its text begins."""

from __future__ import annotations

from refdesk.assistant.work import TurnWork
from refdesk.domain.citations import AnswerResolver
from refdesk.domain.link_table import LinkTable, links_written


def new_resolver(work: TurnWork) -> AnswerResolver:
    trail, snapshot = work.trail, work.snapshot
    found = {article_id: trail.articles[article_id] for article_id in trail.found()}
    articles = {**trail.linked_before, **found}

    def named(url: str) -> str | None:
        """An earlier id leads to the article that has it now; an id that is not readable names what is not there."""
        article_id = snapshot.named(url)
        article = snapshot.article(article_id, work.roles) if article_id is not None else None
        return article.id if article is not None else article_id

    read = frozenset[str]().union(*map(links_written, trail.texts()))
    return AnswerResolver(LinkTable(articles.values(), named=named, read=read))
