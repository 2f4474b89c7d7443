"""How near questions are to one another, from their vectors: plain, against their surroundings, and by the company they
keep. Arrays are float32; a row is a question.

Cosines mean something else for each encoder, language and subject: among a bank's questions 0.6 is the next topic,
among a hundred unrelated ones it is the same question. So a pair is compared with the nearest others of either side
(cross-domain similarity local scaling, Conneau et al. 2018), and questions of one language also by whether the same
third questions are near to both. Questions on nothing in particular stand beside, so that a short list has surroundings
too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float32]

SURROUNDINGS = 40
"""Nearest others that a pair is compared with."""
COMPANY = 20
"""Nearest others that two questions may have in common."""
FAR = 0.25
"""A third question less near than this is no company."""
ALIKE = 0.6
"""Questions nearer than this to one another stand for one in the surroundings of another language's."""
LIKELY = 0.5
"""Common company from which on a pair's support is worked out."""


def unit(vectors: Matrix) -> Matrix:
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.maximum(length, 1e-9), np.float32)


def centred(vectors: Matrix, beside: Matrix) -> tuple[Matrix, Matrix]:
    """Both without what all have in common."""
    mean = np.concatenate((vectors, beside)).mean(axis=0)
    return unit(vectors - mean), unit(beside - mean)


def usual(near: Matrix, beside: Matrix, *, own: bool = False) -> Matrix:
    """(rows, 1): the mean of each row's nearest. `own`: the diagonal is a question with itself and does not count."""
    if own:
        near = near.copy()
        np.fill_diagonal(near, -1.0)
    everything = np.concatenate((near, beside), axis=1)
    most = min(SURROUNDINGS, everything.shape[1] - own)
    if most < 1:
        return np.zeros((len(near), 1), np.float32)
    return np.asarray(np.partition(everything, -most, axis=1)[:, -most:].mean(axis=1, keepdims=True), np.float32)


def spread(vectors: Matrix) -> list[int]:
    """Rows of which none is like another: a hundred misspelt wordings of one question are no surroundings of their own
    translation."""
    chosen: list[int] = []
    free = np.ones(len(vectors), np.bool_)
    while free.any():
        row = int(free.argmax())
        chosen.append(row)
        free &= vectors @ vectors[row] < ALIKE
        free[row] = False
    return chosen


def against_surroundings(near: Matrix, one: Matrix, other: Matrix) -> Matrix:
    """`one` (rows, 1) and `other` (columns, 1): what is usual on either side."""
    return np.asarray(2 * near - one - other.T, np.float32)


def company(scaled: Matrix, beside: Matrix) -> Matrix:
    """(rows, rows), 0 to 1: how far two questions have the same nearest others, the nearest counting most.

    `beside`: the scaled nearness to the questions on nothing in particular, which may be among the nearest too."""
    rows = len(scaled)
    everything = np.concatenate((scaled, beside), axis=1)
    everything[np.arange(rows), np.arange(rows)] = np.inf
    most = min(COMPANY, everything.shape[1])
    nearest = np.argsort(-everything, axis=1, kind="stable")[:, :most]
    weights = np.zeros_like(everything)
    np.put_along_axis(weights, nearest, np.linspace(1, 0, most, endpoint=False, dtype=np.float32)[None, :], axis=1)
    weights = unit(weights)
    return np.asarray(weights @ weights.T, np.float32)


def support(near: Matrix, pairs: Sequence[tuple[int, int]]) -> list[float]:
    """For each pair: the sum, over all third questions, of how near they are to that one of the two they are less near
    to. What hundreds ask in many ways has much of it; two questions on one rare subject have little."""
    weight = np.maximum(near - FAR, 0)
    np.fill_diagonal(weight, 0)
    return [float(np.minimum(weight[one], weight[other]).sum()) for one, other in pairs]


def likely_pairs(shared: Matrix) -> list[tuple[int, int]]:
    rows, columns = np.nonzero(np.triu(shared >= LIKELY, 1))
    return list(zip(rows.tolist(), columns.tolist(), strict=True))
