"""Small corpora for the retrieval tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from refdesk.domain.articles import ANONYMOUS, Article, HelpCentre, Passage
from refdesk.retrieval.catalogue import Catalogue
from refdesk.retrieval.index import LexicalIndex
from refdesk.retrieval.search import CorpusSnapshot

STAFF = frozenset({"public", "signed-in", "staff"})
CENTRE = HelpCentre("Acme", languages=("en", "ru", "cs"))

__all__ = ["ANONYMOUS", "CENTRE", "STAFF", "article", "snapshot"]


def article(article_id: str, title: str, body: str, **facts: Any) -> Article:
    """Every paragraph is a passage; a line `# Heading` before it is its section."""
    passages: list[Passage] = []
    section = ""
    for match in re.finditer(r"[^\n]+(?:\n[^\n]+)*", body):
        if match.group().startswith("# "):
            section = match.group()[2:]
        else:
            passages.append(Passage(article_id, len(passages), section, (match.span(),)))
    given = {"language": "en", "audience": ("public",), "version": "1", **facts}
    return Article(id=article_id, title=title, body=body, passages=tuple(passages), **given)


def snapshot(articles: Sequence[Article], centre: HelpCentre = CENTRE, dense: Any = None) -> CorpusSnapshot:
    return CorpusSnapshot("g1", Catalogue(centre, articles), LexicalIndex.build(articles), dense)
