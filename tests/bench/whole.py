"""Search and gate as the product runs them, on question sets: real vectors in Chroma, a real snapshot.

    python tests/bench/whole.py --models CACHE --vectors FILE.sqlite --offtopic FOLDER SET.json …

Prints R@1/R@5 (among the eight passages of a search) of both and of words alone, shares answered and refused (FOLDER
holds offtopic_LANGUAGE.json), the time of a search, and the memory of the process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from question_sets import article_of

from refdesk.adapters.build_vectors import Texts, embed
from refdesk.adapters.chroma_vectors import ChromaVectors
from refdesk.adapters.chroma_writer import write_index
from refdesk.adapters.onnx_embedder import load_e5, load_minilm
from refdesk.adapters.vector_cache import VectorCache
from refdesk.domain.articles import ANONYMOUS, HelpCentre
from refdesk.ports import ENGLISH, MULTILINGUAL, Embedder, SearchResult
from refdesk.retrieval.baselines import off_topic
from refdesk.retrieval.catalogue import Catalogue
from refdesk.retrieval.dense import DensePassages
from refdesk.retrieval.embedded_texts import vector_rows
from refdesk.retrieval.index import LexicalIndex
from refdesk.retrieval.search import CorpusSnapshot


def arguments(description: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--models", "--vectors", "--offtopic"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("sets", type=Path, nargs="+")
    return parser.parse_args()


@lru_cache
def embedders(models: Path) -> dict[str, Embedder]:
    return {MULTILINGUAL: load_e5(models), ENGLISH: load_minilm(models)}


def questions_of(folder: Path, data: dict[str, Any]) -> list[str]:
    file = folder / f"offtopic_{data.get('qlang', data['lang'])}.json"
    questions: list[str] = json.loads(file.read_text())["questions"]
    return questions


@contextmanager
def opened(path: Path, asked: argparse.Namespace) -> Iterator[tuple[dict[str, Any], CorpusSnapshot]]:
    data = json.loads(path.read_text())
    articles = [article_of({**doc, "title": doc["title"] or doc["id"]}, data["lang"]) for doc in data["docs"]]
    catalogue = Catalogue(HelpCentre("x", (data["lang"],)), articles)
    corpus = CorpusSnapshot("g", catalogue, LexicalIndex.build(articles))
    encoders, cache = embedders(asked.models), VectorCache(asked.vectors)
    with tempfile.TemporaryDirectory() as folder:
        texts = Texts(encoders, vector_rows(corpus))
        embed(texts, encoders, cache, lambda done, total: print(f"\r{done}/{total} ", end=""))
        write_index(Path(folder) / "index", texts.wanted, cache.get)
        vectors = ChromaVectors.open(Path(folder) / "index")
        dense = DensePassages(vectors, encoders, corpus)
        dense.measure_baselines(off_topic(), [("public",)])
        corpus.dense = dense
        yield data, corpus
        dense.close()
    cache.close()


async def show(name: str, corpus: CorpusSnapshot, data: dict[str, Any], others: list[str]) -> None:
    ranks, passed, spent = [], [], []
    for query in data["queries"]:
        began = time.perf_counter()
        result = await corpus.search(query["q"], ANONYMOUS)
        spent.append(1000 * (time.perf_counter() - began))
        found = list(dict.fromkeys(hit.article.id for hit in result.hits))
        ranks.append(next((n for n, article in enumerate(found) if article in query["gold"]), 99))
        passed.append(passes(corpus, result))
    refused = [not passes(corpus, await corpus.search(question, ANONYMOUS)) for question in others]
    recalls = "/".join(f"{100 * statistics.mean(rank < depth for rank in ranks):.1f}" for depth in (1, 5))
    gate = f"answered {100 * statistics.mean(passed):.1f}, refused {100 * statistics.mean(refused):.1f}"
    times = f"p50 {statistics.median(spent):.1f}, p95 {sorted(spent)[int(0.95 * len(spent))]:.1f} ms"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"  {name:6} R {recalls}, {gate}, {times}, {memory} MB", flush=True)


def passes(corpus: CorpusSnapshot, result: SearchResult) -> bool:
    scores = [corpus.evidence_score({**result.signals, **hit.signals}) for hit in result.hits]
    return max(scores, default=0.0) >= corpus.threshold


def main() -> None:
    asked = arguments(__doc__)
    for path in asked.sets:
        with opened(path, asked) as (data, corpus):
            print(f"\r{path.stem}: {len(corpus.catalogue.all)} articles, {len(data['queries'])} questions")
            others = questions_of(asked.offtopic, data)
            asyncio.run(show("both", corpus, data, others))
            corpus.dense = None
            asyncio.run(show("words", corpus, data, others))


if __name__ == "__main__":
    main()
