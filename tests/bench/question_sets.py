"""A question set with everything that the retrieval benchmarks compare: passages, vectors of both encoders, BM25.

A set is {"lang", "qlang", "docs": [{"id", "title", "sections": [{"heads", "text"}]}], "queries": [{"q", "gold"}]}.
Vectors are kept in a cache file, so a second run takes seconds.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from refdesk.adapters.onnx_embedder import load_e5, load_minilm
from refdesk.adapters.vector_cache import VectorCache, vector_key
from refdesk.domain.articles import SECTION_SEPARATOR, Article, Passage
from refdesk.retrieval.embedded_texts import embedded_text
from refdesk.retrieval.lexical import View, index_passages

WORDS = 120
Vectors = NDArray[np.float32]


class Encoders:
    def __init__(self, models: Path, cache: Path) -> None:
        self.e5, self.minilm = load_e5(models), load_minilm(models)
        self._cache = VectorCache(cache)

    def passages(self, name: str, texts: list[str]) -> Vectors:
        return self._cached(name, texts, "passage")

    def questions(self, name: str, texts: list[str]) -> Vectors:
        return self._cached(name, texts, "question")

    def _cached(self, name: str, texts: list[str], kind: str) -> Vectors:
        embedder = getattr(self, name)
        embed = embedder.embed_passages if kind == "passage" else embedder.embed_queries
        keys = [vector_key(f"{embedder.model_id} {kind}", text) for text in texts]
        by_key = dict(zip(keys, texts, strict=True))
        missing = self._cache.missing(by_key)
        for start in range(0, len(missing), 200):
            batch = missing[start : start + 200]
            self._cache.put(batch, embed([by_key[key] for key in batch]))
        return self._cache.get(keys).astype(np.float32)


class QuestionSet:
    def __init__(self, path: Path, encoders: Encoders) -> None:
        data: dict[str, Any] = json.loads(path.read_text())
        self.name, self._encoders = path.stem, encoders
        self.language, self.asked_in = data["lang"], data.get("qlang", data["lang"])
        self.articles = [article_of(doc, self.language) for doc in data["docs"]]
        places = {article.id: n for n, article in enumerate(self.articles)}
        self.questions = [query["q"] for query in data["queries"]]
        self.gold = [{places[g] for g in query["gold"]} for query in data["queries"]]
        self.article_of_row = np.array([n for n, a in enumerate(self.articles) for _ in a.passages])

    @cached_property
    def texts(self) -> list[str]:
        return [embedded_text(article, passage) for article in self.articles for passage in article.passages]

    def passages(self, encoder: str) -> Vectors:
        return self._encoders.passages(encoder, self.texts)

    def titles(self, encoder: str) -> Vectors:
        return self._encoders.passages(encoder, [article.title for article in self.articles])

    def headings(self, encoder: str) -> Vectors:
        """Of each passage its section path, else its title."""
        texts = [passage.section or article.title for article in self.articles for passage in article.passages]
        return self._encoders.passages(encoder, texts)

    def asked(self, encoder: str) -> Vectors:
        return self._encoders.questions(encoder, self.questions)

    @cached_property
    def view(self) -> View:
        postings = index_passages(self.articles, [self.language])
        return View(postings, np.ones(len(self.texts), np.bool_), [self.language])

    def by_article(self, scores: NDArray[np.floating[Any]]) -> NDArray[np.floating[Any]]:
        """The best passage of each article stands for it: (questions, rows) to (questions, articles)."""
        starts = np.flatnonzero(np.diff(self.article_of_row, prepend=-1))
        best: NDArray[np.floating[Any]] = np.maximum.reduceat(scores, starts, axis=-1)
        return best


def article_of(doc: dict[str, Any], language: str) -> Article:
    body, passages = "", []
    for section in doc["sections"]:
        heads = SECTION_SEPARATOR.join(section.get("heads") or [])
        for piece in _pieces(section["text"]):
            passages.append(Passage(doc["id"], len(passages), heads, ((len(body), len(body) + len(piece)),)))
            body += piece + "\n\n"
    if not passages:
        passages.append(Passage(doc["id"], 0, "", ((0, 0),)))
    return Article(doc["id"], doc["title"], body, language, ("public",), "v", passages=tuple(passages))


def _pieces(text: str) -> list[str]:
    """Paragraphs put together to about WORDS words; a long paragraph is cut at its words."""
    pieces: list[list[str]] = [[]]
    for paragraph in text.split("\n"):
        words = paragraph.split()
        if pieces[-1] and len(pieces[-1]) + len(words) > WORDS * 1.3:
            pieces.append([])
        for start in range(0, len(words), 2 * WORDS):
            if start:
                pieces.append([])
            pieces[-1] += words[start : start + 2 * WORDS]
    return [" ".join(piece) for piece in pieces if piece]
