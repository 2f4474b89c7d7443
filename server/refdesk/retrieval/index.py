"""The lexical index of a corpus version: built from all articles, or patched for those that changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from refdesk.domain.articles import Article
from refdesk.retrieval.lexical import index_passages
from refdesk.retrieval.postings import Postings
from refdesk.retrieval.vocabulary import Vocabulary
from refdesk.text.terms import primary

Progress = Callable[[int, int], None]
"""Called with the articles done and the articles to do."""

MOST_DEAD = 1 / 5
"""Share of rows without an article from which on an index is rebuilt and not patched."""

_INDEXED = ("body", "title", "synonyms", "passages", "language")


@dataclass(frozen=True, slots=True)
class LexicalIndex:
    languages: tuple[str, ...]
    """What the language numbers of the postings mean; a patch only appends."""
    postings: Postings
    first_rows: NDArray[np.int32]
    """The row of each article's first passage, in the order of the articles; its others follow."""
    vocabulary: Vocabulary

    @classmethod
    def build(cls, articles: Sequence[Article], progress: Progress | None = None) -> LexicalIndex:
        languages = tuple(sorted({primary(article.language) for article in articles}))
        postings = index_passages(_counted(articles, progress), languages)
        return cls(languages, postings, _first_rows(articles, 0), Vocabulary.of(articles))

    def patched(self, before: Sequence[Article], after: Sequence[Article]) -> LexicalIndex | None:
        """The index of `after`, or None where too much of it would be dead. Rows of unchanged passages stay."""
        rows = {article.id: (article, int(row)) for article, row in zip(before, self.first_rows, strict=True)}
        fresh = [article for article in after if article.id not in rows or not _same_text(article, rows[article.id][0])]
        total = len(self.postings.lengths) + sum(len(article.passages) for article in fresh)
        live = sum(len(article.passages) for article in after)
        if total - live > MOST_DEAD * total:
            return None
        languages = tuple(dict.fromkeys((*self.languages, *(primary(article.language) for article in fresh))))
        first = dict(zip((a.id for a in fresh), _first_rows(fresh, len(self.postings.lengths)), strict=True))
        first_rows = [first[article.id] if article.id in first else rows[article.id][1] for article in after]
        added = index_passages(fresh, languages, len(self.postings.lengths)) if fresh else None
        return LexicalIndex(
            languages,
            self.postings.extended(added) if added else self.postings,
            np.array(first_rows, np.int32),
            self._vocabulary_of(before, after),
        )

    def save(self, folder: Path) -> None:
        self.postings.save(folder)
        np.save(folder / "first_rows.npy", self.first_rows, allow_pickle=False)
        self.vocabulary.save(folder / "words.msgpack")

    @classmethod
    def open(cls, folder: Path, languages: tuple[str, ...]) -> LexicalIndex:
        """Raises OSError or ValueError where a file is missing or damaged."""
        first_rows = np.load(folder / "first_rows.npy", allow_pickle=False)
        return cls(languages, Postings.open(folder), first_rows, Vocabulary.open(folder / "words.msgpack"))

    def _vocabulary_of(self, before: Sequence[Article], after: Sequence[Article]) -> Vocabulary:
        old, new = ({article.id: article for article in articles} for articles in (before, after))
        same = {key for key, article in new.items() if key in old and _same_words(article, old[key])}
        if len(same) == len(old) == len(new):
            return self.vocabulary
        removed, added = ([a for key, a in articles.items() if key not in same] for articles in (old, new))
        return self.vocabulary.changed(removed, added)


def _first_rows(articles: Sequence[Article], start: int) -> NDArray[np.int32]:
    sizes = [len(article.passages) for article in articles]
    return (np.cumsum([start, *sizes])[:-1]).astype(np.int32)


def _same_text(one: Article, other: Article) -> bool:
    """Whether the index rows are the same: owner, dates, address and audience are no part of them."""
    return one is other or all(getattr(one, part) == getattr(other, part) for part in _INDEXED)


def _same_words(one: Article, other: Article) -> bool:
    return one.audience == other.audience and _same_text(one, other)


def _counted(articles: Sequence[Article], progress: Progress | None) -> Iterator[Article]:
    """Reports at most two hundred times."""
    step = max(1, len(articles) // 200)
    for done, article in enumerate(articles, 1):
        yield article
        if progress is not None and (done % step == 0 or done == len(articles)):
            progress(done, len(articles))
