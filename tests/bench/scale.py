"""A question at scale: search by words and meaning over a large corpus, time and memory, without hours of embedding.

    python tests/bench/scale.py CORPUS --models CACHE      (a folder of Markdown)

Articles, lexical index, Chroma, gate and the encoders of questions are real. The vectors of the texts are random, which
changes neither time nor memory. Questions are titles and what they could be asked as, each new to the encoder. Prints
what opening takes, p50/p95 and CPU of a search with embedding in one process, and its resident memory; then how long
the whole server takes from its start until it searches by meaning, and its memory after the same questions over HTTP.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray
from start import REFDESK, dense_status, fetch, free_port, until

from refdesk.adapters.build_vectors import Texts
from refdesk.adapters.chroma_vectors import ChromaVectors
from refdesk.adapters.chroma_writer import write_index
from refdesk.adapters.onnx_embedder import load_e5, load_minilm
from refdesk.corpus.passages import FORMAT
from refdesk.corpus.sync import read_corpus
from refdesk.dense_service import vectors_name
from refdesk.domain.articles import ANONYMOUS
from refdesk.ports import ENGLISH, MULTILINGUAL
from refdesk.retrieval.baselines import off_topic
from refdesk.retrieval.dense import DensePassages
from refdesk.retrieval.embedded_texts import vector_rows
from refdesk.retrieval.generation import GenerationStore

QUESTIONS = 300
FORMS = ("how do I {}", "{} does not work", "where is {}", "what about {} in the office")


@contextmanager
def timed(what: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    spent, memory = time.perf_counter() - began, psutil.Process().memory_info().rss / 1e6
    print(f"  {what:36}{spent:8.2f} s {memory:8.0f} MB", flush=True)


def random_vectors(keys: Sequence[int]) -> NDArray[np.float16]:
    made = np.random.default_rng(keys[0]).normal(size=(len(keys), 384))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float16)


def encoders(models: Path) -> dict[str, Any]:
    return {MULTILINGUAL: load_e5(models), ENGLISH: load_minilm(models)}


def build(corpus: Path, folder: Path, models: Path) -> None:
    reading = read_corpus(corpus)
    snapshot = GenerationStore(folder, passage_format=FORMAT).publish(reading.centre, reading.articles)
    print(f"{len(reading.articles)} articles, {len(snapshot.index.postings.lengths)} passages")
    with timed("vectors into Chroma, in the child"):
        made = encoders(models)
        target = folder / "vectors" / vectors_name(snapshot.generation, made)
        write_index(target, Texts(made, vector_rows(snapshot)).wanted, random_vectors)


def questions_about(titles: Sequence[str]) -> list[str]:
    chance = random.Random(1)
    return [chance.choice(FORMS).format(title) for title in chance.sample(titles, QUESTIONS)]


def search(folder: Path, models: Path) -> None:
    with timed("open the lexical index"):
        snapshot = GenerationStore(folder, passage_format=FORMAT).open_current()
        assert snapshot is not None
    with timed("load encoders and vectors"):
        made = encoders(models)
        vectors = ChromaVectors.open(folder / "vectors" / vectors_name(snapshot.generation, made))
        dense = DensePassages(vectors, made, snapshot)
    with timed("measure the yardstick of the gate"):
        dense.measure_baselines(off_topic(), sorted(snapshot.catalogue.audiences))
    snapshot.dense = dense
    questions = questions_about([article.title for article in snapshot.catalogue.all])
    began = time.process_time()
    spent = asyncio.run(ask(snapshot, questions))
    cpu = 1000 * (time.process_time() - began) / len(questions)
    p50, p95, worst = np.percentile(np.array(spent) * 1000, [50, 95, 100])
    memory = psutil.Process().memory_info().rss / 1e6
    print(
        f"  {QUESTIONS} questions: p50 {p50:.1f}, p95 {p95:.1f}, worst {worst:.1f} ms, CPU {cpu:.1f}; {memory:.0f} MB"
    )


async def ask(snapshot: Any, questions: Sequence[str]) -> list[float]:
    for warming in ("Is anybody here?", "Кто здесь?"):
        await snapshot.search(warming, ANONYMOUS)
    spent = []
    for question in questions:
        began = time.perf_counter()
        result = await snapshot.search(question, ANONYMOUS)
        spent.append(time.perf_counter() - began)
        assert result.hits
        assert not result.degraded
    return spent


def serve(corpus: Path, folder: Path, models: Path) -> None:
    """The server over the same data, asked over HTTP as a visitor would."""
    port = free_port()
    settings = {"CORPUS": corpus, "DATA": folder, "ENCODERS": models, "RATE_LIMITS": "off"}
    env = {**os.environ, **{f"REFDESK_{name}": str(value) for name, value in settings.items()}}
    env |= {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}  # loaded, and never asked
    began, server = time.perf_counter(), subprocess.Popen([REFDESK, "serve", "--port", str(port)], env=env)
    try:
        until(lambda: dense_status(port) == "ready", server)
        ready, process = time.perf_counter() - began, psutil.Process(server.pid)
        questions = questions_about([article.title for article in read_corpus(corpus).articles])
        before, spent = cpu(process), []
        for question in questions:
            began = time.perf_counter()
            fetch(f"http://127.0.0.1:{port}/v1/search?q={urllib.parse.quote(question)}")
            spent.append(1000 * (time.perf_counter() - began))
        p50, p95 = np.percentile(spent, [50, 95])
        each, memory = 1000 * (cpu(process) - before) / len(questions), process.memory_info().rss / 1e6
        times = f"over HTTP p50 {p50:.1f}, p95 {p95:.1f} ms, CPU {each:.1f}"
        print(f"  server: vectors after {ready:.1f} s; {times}; {memory:.0f} MB")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)


def cpu(process: psutil.Process) -> float:
    spent = process.cpu_times()
    return float(spent.user + spent.system)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--built", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.built:
        search(asked.built, asked.models)
        return
    with tempfile.TemporaryDirectory() as folder:
        build(asked.corpus, Path(folder), asked.models)
        again = [sys.executable, __file__, str(asked.corpus), "--models", str(asked.models), "--built", folder]
        subprocess.run(again, check=True)
        serve(asked.corpus, Path(folder), asked.models)


if __name__ == "__main__":
    main()
