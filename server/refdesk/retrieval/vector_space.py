"""Embedded passages that one question is compared with: those of one language that are visible together.

Embeddings of one help centre share a large common part that says nothing about a question. A part of the mean is taken
off on both sides ("centring"): the titles' mean off the question, for titles are what questions are about, and the
passages' mean off the passages. Means are taken over what the visitor may see. The title's own nearness counts besides.
For a question in the text's own language the directions in which languages differ are taken off too ("axes"), or a
passage with foreign product names would stand apart from its like (decisions/dense-retrieval.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from refdesk.ports import VectorIndex
from refdesk.retrieval.lexical import Rows

CENTRING = 0.65
"""The share of the mean that is taken off, where there are many titles; with few of them less."""
FEW_TITLES = 10
TITLE_WEIGHT = 0.3
SHORTEST = 1e-9
"""Of a vector: nothing is divided by 0."""

Vectors: TypeAlias = NDArray[np.float32]


class Near(NamedTuple):
    """Rows, rising, and how near they are. `cosine` and `title` are plain cosines; `similarity` is what ranks."""

    rows: Rows
    similarity: Vectors
    cosine: Vectors
    title: Vectors


NO_SCORES: Vectors = np.empty(0, np.float32)
UNKNOWN = Near(np.empty(0, np.int32), NO_SCORES, NO_SCORES, NO_SCORES)


class Means(NamedTuple):
    texts: Vectors
    titles: Vectors
    size: int
    """Of the sample of titles."""


class Asked(NamedTuple):
    """A question as a vector: as the encoder gave it, and as it is compared, less means and axes, of unit length."""

    plain: Vectors
    direction: Vectors
    is_native: bool
    """In the language of the passages, and of an encoder of several languages: only then axes are taken off."""


class _Held(NamedTuple):
    """All passages, in memory, less the means: where they are few, each is compared."""

    rows: Rows
    """Rising."""
    text_of: NDArray[np.int64]
    texts: Vectors
    title_of: NDArray[np.int64]
    titles: Vectors


class VectorSpace:
    """Blocking. Raises DenseUnavailable from what it stands on."""

    def __init__(
        self,
        vectors: VectorIndex,
        collections: tuple[Sequence[str], Sequence[str]],
        means: Sequence[Means],
        axes: Vectors,
    ) -> None:
        """`collections`: of texts and of titles, by one encoder; `means`: of each of them; `axes`: (n, dimensions),
        orthonormal."""
        self._vectors, self._axes = vectors, axes
        self._texts, self._titles = collections
        self._mean_text, self._mean_title = _taken_off(means)
        self._held: _Held | None = None
        self._is_read = False
        self._lengths: dict[bool, tuple[Vectors, Vectors]] = {}

    @property
    def at_hand(self) -> int | None:
        """How many vectors are in memory; None where they are not (yet)."""
        return len(self._held.texts) + len(self._held.titles) if self._held is not None else None

    def asked(self, plain: Vectors, *, is_native: bool) -> Asked:
        kept = self._without_axes(plain - self._mean_title, is_native)
        return Asked(plain, np.asarray(kept / max(math.sqrt(kept @ kept), SHORTEST), np.float32), is_native)

    def nearest(self, asked: Asked, limit: int) -> tuple[Rows, Vectors]:
        """Rows and similarities, in no order: the nearest of all, or of what the index takes for nearest."""
        held = self._all()
        if held is None:
            rows = sorted(row for row, _ in self._vectors.query(self._texts, asked.direction, limit))
            near = self.measured(asked, np.array(rows, np.int32))
            return near.rows, near.similarity
        of_texts, of_titles = self._lengths_of(held, asked.is_native)
        texts = _products(held.texts, asked.direction) / of_texts
        titles = _products(held.titles, asked.direction) / of_titles
        similarity = _similarity(texts[held.text_of], titles[held.title_of])
        best = np.argpartition(-similarity, limit)[:limit] if limit < len(similarity) else np.arange(len(similarity))
        return held.rows[best], similarity[best]

    def measured(self, asked: Asked, rows: Rows) -> Near:
        """Exactly, from the stored vectors. `rows` rise; those that are elsewhere are left out."""
        found, texts, titles = self._vectors_of(rows)
        if not len(found):
            return UNKNOWN
        text, title = (self._direction(vectors, asked.is_native) @ asked.direction for vectors in (texts, titles))
        cosine = texts @ asked.plain + self._mean_text @ asked.plain
        title_cosine = titles @ asked.plain + self._mean_title @ asked.plain
        return Near(found, _similarity(text, title), cosine, title_cosine)

    def _all(self) -> _Held | None:
        """None where there are too many."""
        if not self._is_read:
            texts, titles = self._vectors.everything(self._texts), self._vectors.everything(self._titles)
            self._held = None if texts is None or titles is None else self._centred(texts, titles)
            self._is_read = True
        return self._held

    def _centred(self, texts: tuple[Any, Any, Any], titles: tuple[Any, Any, Any]) -> _Held:
        (rows, text_of, of_texts), (_, title_of, of_titles) = texts, titles
        return _Held(rows, text_of, of_texts - self._mean_text, title_of, of_titles - self._mean_title)

    def _lengths_of(self, held: _Held, is_native: bool) -> tuple[Vectors, Vectors]:
        """What a product with the question is divided by: the rest of `_direction`, since the question has lost the
        axes, and a product with it does not see them in a passage either."""
        if is_native not in self._lengths:
            texts, titles = (_lengths(self._without_axes(vectors, is_native)) for vectors in (held.texts, held.titles))
            self._lengths[is_native] = texts, titles
        return self._lengths[is_native]

    def _vectors_of(self, rows: Rows) -> tuple[Rows, Vectors, Vectors]:
        """Those of the rows that are here, rising, with their text's and their title's vector, less the means."""
        held = self._all()
        if held is not None:
            places = _places(held.rows, rows)
            return held.rows[places], held.texts[held.text_of[places]], held.titles[held.title_of[places]]
        found, texts = self._vectors.vectors(self._texts, rows.tolist())
        if not len(found):
            return found, texts, texts
        order = np.argsort(found)
        found, texts = found[order], texts[order]
        titled, titles = self._vectors.vectors(self._titles, found.tolist())
        return found, texts - self._mean_text, titles[np.argsort(titled)] - self._mean_title

    def _direction(self, vectors: Vectors, is_native: bool) -> Vectors:
        """Of unit length, for a native question without the axes."""
        kept = self._without_axes(vectors, is_native)
        return np.asarray(kept / _lengths(kept)[..., None], np.float32)

    def _without_axes(self, vectors: Vectors, is_native: bool) -> Vectors:
        if not is_native or not len(self._axes):
            return vectors
        return np.asarray(vectors - (vectors @ self._axes.T) @ self._axes, np.float32)


def _taken_off(means: Sequence[Means]) -> tuple[Vectors, Vectors]:
    """Off texts and off titles: means over the parts by their size, as far as the samples tell it."""
    sizes = [mean.size for mean in means]
    share = CENTRING * sum(sizes) / (sum(sizes) + FEW_TITLES)
    texts = np.average([mean.texts for mean in means], axis=0, weights=sizes)
    titles = np.average([mean.titles for mean in means], axis=0, weights=sizes)
    return np.asarray(share * texts, np.float32), np.asarray(share * titles, np.float32)


def _lengths(vectors: Vectors) -> Vectors:
    return np.asarray(np.maximum(np.linalg.norm(vectors, axis=-1), SHORTEST), np.float32)


def _places(rising: Rows, wanted: Rows) -> NDArray[np.int64]:
    """Where the wanted stand that are there; each stands once."""
    places = rising.searchsorted(wanted)
    there = places < len(rising)
    there[there] = rising[places[there]] == wanted[there]
    return places[there]


def _products(vectors: Vectors, question: Vectors) -> Vectors:
    """Not `@`: BLAS starts threads for it, which spin for longer than the product takes."""
    return np.asarray(np.einsum("vd,d->v", vectors, question), np.float32)


def _similarity(text: Vectors, title: Vectors) -> Vectors:
    return np.asarray((text + TITLE_WEIGHT * title) / (1 + TITLE_WEIGHT), np.float32)
