"""How well each signal of the gate, and their combination, tells answerable questions from off-topic ones.

    python tests/bench/gate.py --models CACHE --vectors FILE.sqlite --offtopic FOLDER SET.json …

Per signal of the best passage: the area under the curve, and the share refused where 97 % of the set pass. FOLDER
holds offtopic_LANGUAGE.json. Last come weights fitted on all sets, for comparison with baselines.WEIGHTS.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from whole import arguments, opened, questions_of

from refdesk.domain.articles import ANONYMOUS
from refdesk.retrieval.baselines import WEIGHTS
from refdesk.retrieval.search import CorpusSnapshot

SIGNALS = ("cosine", "title_cosine", "near", "selfscore", "idf_coverage", "coverage", "unknown", "strange", "z")
AROUND = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6)
FITTED = ("near", "selfscore", "unknown", "strange")
Table = NDArray[np.floating[Any]]


async def signals(corpus: CorpusSnapshot, questions: list[str]) -> Table:
    """Of the passage with the best evidence, and its score last: (questions, signals + 1)."""
    table = []
    for question in questions:
        result = await corpus.search(question, ANONYMOUS)
        every = [{**result.signals, **hit.signals} for hit in result.hits] or [{}]
        best = max(every, key=corpus.evidence_score)
        table.append([*(best.get(name, 0.0) for name in SIGNALS), corpus.evidence_score(best)])
    return np.array(table)


def auc(yes: Table, no: Table) -> float:
    return float(np.mean([(yes > value).mean() + (yes == value).mean() / 2 for value in no]))


def report(name: str, yes: Table, no: Table) -> None:
    refused = 100 * float((no < np.quantile(yes, 0.03)).mean())
    print(f"  {name:16} {auc(yes, no):.3f}  {refused:5.1f}")


def fitted(pairs: list[tuple[Table, Table]]) -> dict[str, float]:
    """Logistic regression by gradient descent; each set and both classes weigh the same."""
    columns = [SIGNALS.index(name) for name in FITTED]
    x = np.concatenate([side[:, columns] for pair in pairs for side in pair])
    y = np.concatenate([np.full(len(side), float(number == 0)) for pair in pairs for number, side in enumerate(pair)])
    share = np.concatenate([np.full(len(side), 0.5 / len(side) / len(pairs)) for pair in pairs for side in pair])
    x, weights = np.c_[x, np.ones(len(x))], np.zeros(len(FITTED) + 1)
    for _ in range(30_000):
        weights -= 0.05 * x.T @ (share * (1 / (1 + np.exp(-x @ weights)) - y))
    return dict(zip((*FITTED, "bias"), weights.round(2).tolist(), strict=True))


def main() -> None:
    asked = arguments(__doc__)
    pairs = []
    for path in asked.sets:
        with opened(path, asked) as (data, corpus):
            yes = asyncio.run(signals(corpus, [query["q"] for query in data["queries"]]))
            no = asyncio.run(signals(corpus, questions_of(asked.offtopic, data)))
        print(f"{Path(path).stem}: AUC, refused at 97 % answered")
        for number, name in enumerate((*SIGNALS, "evidence_score")):
            sign = -1 if name in ("unknown", "strange") else 1
            report(name, sign * yes[:, number], sign * no[:, number])
        for threshold in sorted({*AROUND, corpus.threshold}):
            mark = "<- in force" if threshold == corpus.threshold else ""
            answered, refused = 100 * (yes[:, -1] >= threshold).mean(), 100 * (no[:, -1] < threshold).mean()
            print(f"  threshold {threshold:.2f}: answered {answered:.1f}, refused {refused:.1f} {mark}", flush=True)
        tags = np.array([query.get("tag", "") for query in data["queries"]])
        for tag in filter(None, dict.fromkeys(tags.tolist())):
            print(f"  answered of '{tag}': {100 * (yes[tags == tag, -1] >= corpus.threshold).mean():.1f}")
        pairs.append((yes, no))
    print("fitted", fitted(pairs))
    print("in use", WEIGHTS)


if __name__ == "__main__":
    main()
