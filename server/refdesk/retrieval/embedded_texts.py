"""Which texts are embedded, by which encoder, and in which collection.

Passages of one audience, language and encoder are one collection, so access and language never need a filter. English
text is embedded by both encoders and everything else by the multilingual one; the languages of question and text
decide which is asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

from refdesk.domain.articles import Article, Passage
from refdesk.ports import ENGLISH, MULTILINGUAL, VectorRow
from refdesk.retrieval.search import CorpusSnapshot
from refdesk.text.terms import primary

RECIPE = 1
"""Rises with whatever `vector_rows` makes of an article: vectors of another recipe are built anew."""
TEXT, TITLE = "text", "title"

Audience: TypeAlias = tuple[str, ...]


class Part(NamedTuple):
    """What is embedded together."""

    audience: Audience
    language: str
    """The primary tag."""

    def collection(self, kind: str, encoder: str) -> str:
        digest = blake2b("\0".join((self.language, *self.audience)).encode("utf-8", "replace"), digest_size=8)
        return f"{kind}-{digest.hexdigest()}-{encoder}"


def encoders_of(language: str) -> tuple[str, ...]:
    return (MULTILINGUAL, ENGLISH) if language == "en" else (MULTILINGUAL,)


def part_of(article: Article) -> Part:
    return Part(article.audience, primary(article.language))


def embedded_text(article: Article, passage: Passage) -> str:
    """Title and section path stand in each: without them recall falls by 6 to 8 points. A number for a title says
    nothing and costs 3."""
    return "\n".join(filter(None, (article_name(article), passage.section, passage.text(article.body))))


def article_name(article: Article) -> str:
    return article.title if any(map(str.isalpha, article.title)) else ""


def vector_rows(snapshot: CorpusSnapshot) -> Iterator[VectorRow]:
    """Everything that is to be embedded. A title's rows are those of all passages of its article; where it says
    nothing, the passages stand in for it."""
    for article, first in zip(snapshot.catalogue.all, snapshot.index.first_rows.tolist(), strict=True):
        part = part_of(article)
        for encoder in encoders_of(part.language):
            for row, passage in enumerate(article.passages, first):
                text = embedded_text(article, passage)
                yield VectorRow(part.collection(TEXT, encoder), encoder, row, text)
                yield VectorRow(part.collection(TITLE, encoder), encoder, row, article_name(article) or text)
