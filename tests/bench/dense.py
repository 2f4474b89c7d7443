"""Recall of words, of each encoder and of their fusion, on question sets.

    python tests/bench/dense.py --models CACHE --vectors FILE.sqlite SET.json …

R@1/R@5 in %, an article standing where its best passage stands. If question and text share a language, words are fused
in. `product` is what retrieval/dense.py and fusion.py do.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from question_sets import Encoders, QuestionSet

from refdesk.retrieval.dense import CENTRING, TITLE_WEIGHT
from refdesk.retrieval.fusion import LEXICAL_WEIGHT, SCALE

Scores = NDArray[np.floating[Any]]


def lexical(data: QuestionSet) -> tuple[Scores, Scores]:
    """BM25, and its share of the question's own best score, (questions, rows)."""
    bm25, share = (np.zeros((len(data.questions), len(data.texts))) for _ in range(2))
    for number, question in enumerate(data.questions):
        ranking = data.view.rank(question, data.asked_in, len(data.texts))
        bm25[number, ranking.rows], share[number, ranking.rows] = ranking.bm25, ranking.selfscore
    return bm25, share


def scaled(scores: Scores, candidates: int = SCALE) -> Scores:
    """0 for the last candidate, 1 for the best."""
    last = np.sort(scores, axis=1)[:, -min(candidates, scores.shape[1]), None]
    return (scores - last) / np.maximum(scores.max(axis=1, keepdims=True) - last, 1e-9)


def centred(vectors: Scores, mean: Scores, share: float = CENTRING) -> Scores:
    moved = vectors - share * mean
    return moved / np.linalg.norm(moved, axis=-1, keepdims=True)


def recall(data: QuestionSet, scores: Scores, *depths: int) -> tuple[float, ...]:
    order = np.argsort(-data.by_article(scores), axis=1, kind="stable")
    places = [
        next((rank for rank, article in enumerate(row) if article in gold), len(row))
        for row, gold in zip(order.tolist(), data.gold, strict=True)
    ]
    return tuple(100 * float(np.mean([place < depth for place in places])) for depth in depths)


def show(name: str, data: QuestionSet, scores: Scores) -> None:
    print(f"  {name:36}" + "/".join(f"{value:5.1f}" for value in recall(data, scores, 1, 5)), flush=True)


def measure(data: QuestionSet) -> None:
    print(f"{data.name}: {len(data.articles)} articles, {len(data.texts)} passages, {len(data.questions)} questions")
    bm25, share = lexical(data)
    show("BM25", data, bm25)
    for encoder in ("minilm", "e5") if data.language == data.asked_in == "en" else ("e5",):
        measure_encoder(data, encoder, bm25, share)


def measure_encoder(data: QuestionSet, encoder: str, bm25: Scores, share: Scores) -> None:
    same = data.language == data.asked_in
    asked, passages = data.asked(encoder), data.passages(encoder)
    cosines = asked @ passages.T
    show(encoder, data, cosines)
    if same:
        for weight in (0.1, 0.2, 0.3):
            show(f"{encoder}, {weight} words, min-max", data, (1 - weight) * scaled(cosines) + weight * scaled(bm25))
        show(f"{encoder}, {LEXICAL_WEIGHT} share²", data, scaled(cosines) + LEXICAL_WEIGHT * share**2)
    named = all(article.title for article in data.articles)
    titles = data.titles(encoder) if named else passages
    about = centred(asked, titles.mean(axis=0))
    near = about @ centred(passages, passages.mean(axis=0)).T
    show(f"{encoder}, centred", data, near)
    if named:
        title = about @ centred(titles, titles.mean(axis=0)).T
        headings = about @ centred(data.headings(encoder), data.headings(encoder).mean(axis=0)).T
        show(f"{encoder}, centred, with headings", data, near + TITLE_WEIGHT * headings)
        near += TITLE_WEIGHT * title[:, data.article_of_row]
        show(f"{encoder}, centred, with title", data, near)
    if same:
        show(f"{encoder}, product", data, scaled(near) + LEXICAL_WEIGHT * share**2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("sets", type=Path, nargs="+")
    asked = parser.parse_args()
    encoders = Encoders(asked.models, asked.vectors)
    for path in asked.sets:
        measure(QuestionSet(path, encoders))


if __name__ == "__main__":
    main()
