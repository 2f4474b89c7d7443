"""What a BERT encoder consists of, whichever file it came from. Both built-in encoders have this shape."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Bytes: TypeAlias = NDArray[np.int8]


class Linear(NamedTuple):
    matrix: Floats
    """(outputs, inputs)"""
    bias: Floats


class Norm(NamedTuple):
    scale: Floats
    shift: Floats


class Layer(NamedTuple):
    attention: Linear
    """Query, key and value, one below the other: they share their input, so they are one multiplication."""
    mixed: Linear
    mixed_norm: Norm
    inner: Linear
    outer: Linear
    outer_norm: Norm


class Words(NamedTuple):
    """The table of word vectors: values x scales, a scale for each of `groups` equal pieces of a vector."""

    values: Bytes
    """(words, hidden)"""
    scales: NDArray[np.float16]
    """(words, groups)"""


class Bert(NamedTuple):
    heads: int
    epsilon: float
    words: Words
    places: Floats
    """(longest text, hidden): added to the vector of a word at that place; the one segment's is included."""
    norm: Norm
    layers: tuple[Layer, ...]
