"""Lexical retrieval at scale and on questions; no encoder, no server.

    python tests/bench/lexical.py scale CORPUS [DATA]       reading, indexing, patching, opening, memory, search times
    python tests/bench/lexical.py recall CORPUS QUESTIONS   R@1 and R@5, as asked, with a typo, without accents

CORPUS is a folder of Markdown; a line of QUESTIONS is {"question", "articles": [ids]}. Times in ms, memory in MB.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np
import psutil

from refdesk.corpus.sync import read_corpus
from refdesk.domain.articles import Article, Roles
from refdesk.retrieval.generation import GenerationStore
from refdesk.retrieval.search import CorpusSnapshot

T = TypeVar("T")
Question = tuple[str, frozenset[str]]


def timed(what: str, run: Callable[[], T]) -> T:
    start = time.perf_counter()
    result = run()
    memory = psutil.Process().memory_info().rss / 1e6
    print(f"{what:28}{(time.perf_counter() - start) * 1000:10.0f} ms{memory:8.0f} MB")
    return result


def every_role(snapshot: CorpusSnapshot) -> Roles:
    return frozenset(role for audience in snapshot.catalogue.audiences for role in audience)


def build(corpus: Path, data: Path) -> None:
    store = GenerationStore(data)
    reading = timed("read the corpus", lambda: read_corpus(corpus))
    snapshot = timed("index it", lambda: store.publish(reading.centre, reading.articles))
    print(len(reading.articles), "articles,", len(snapshot.index.postings.lengths), "passages")
    again = timed("read it unchanged", lambda: read_corpus(corpus, reading.articles))
    timed("publish it unchanged", lambda: store.publish(again.centre, again.articles))
    middle = len(reading.articles) // 2
    edited = edit(reading.articles[middle])
    changed = [*reading.articles[:middle], edited, *reading.articles[middle + 1 :]]
    patched = timed("publish one changed article", lambda: store.publish(reading.centre, changed))
    found = asyncio.run(patched.search("zebracorn", every_role(patched))).hits
    assert found[0].article.id == edited.id
    store.publish(reading.centre, reading.articles)


def edit(article: Article) -> Article:
    return msgspec.structs.replace(article, title=f"{article.title} zebracorn", version="edited")


def search(data: Path) -> None:
    store = GenerationStore(data)
    snapshot = timed("open the generation", store.open_current)
    assert snapshot is not None
    articles = random.Random(1).sample(snapshot.catalogue.all, min(500, len(snapshot.catalogue.all)))
    roles = every_role(snapshot)
    timed("first search", lambda: asyncio.run(snapshot.search(articles[0].title, roles)))
    times = asyncio.run(ask(snapshot, [article.title for article in articles], roles))
    p50, p95, worst = np.percentile(np.array(times) * 1000, [50, 95, 100])
    memory = psutil.Process().memory_info().rss / 1e6
    print(f"{len(times)} searches: p50 {p50:.1f}, p95 {p95:.1f}, worst {worst:.1f} ms; {memory:.0f} MB")


async def ask(snapshot: CorpusSnapshot, questions: Sequence[str], roles: Roles) -> list[float]:
    times = []
    for question in questions:
        start = time.perf_counter()
        await snapshot.search(question, roles)
        times.append(time.perf_counter() - start)
    return times


def scale(corpus: Path, data: Path | None) -> None:
    folder = data or Path(tempfile.mkdtemp())
    try:
        build(corpus, folder)
        subprocess.run([sys.executable, __file__, "search", str(folder)], check=True)
    finally:
        if data is None:
            shutil.rmtree(folder)


def recall(corpus: Path, file: Path) -> None:
    lines = map(json.loads, file.read_text().splitlines())
    questions = [(line["question"], frozenset(line["articles"])) for line in lines if line["articles"]]
    with tempfile.TemporaryDirectory() as folder:
        reading = read_corpus(corpus)
        snapshot = GenerationStore(Path(folder)).publish(reading.centre, reading.articles)
        chance = random.Random(3)
        for name, change in (("as asked", str), ("one typo", lambda q: typo(q, chance)), ("no accents", bare)):
            found = asyncio.run(ranks(snapshot, [(change(question), wanted) for question, wanted in questions]))
            shares = [100 * sum(rank < limit for rank in found) / len(found) for limit in (1, 5)]
            print(f"{name:12} R@1 {shares[0]:5.1f}  R@5 {shares[1]:5.1f}  ({len(found)} questions)")


async def ranks(snapshot: CorpusSnapshot, questions: Sequence[Question]) -> list[int]:
    found = []
    for question, wanted in questions:
        hits = (await snapshot.search(question, every_role(snapshot), limit=15)).hits
        ids = list(dict.fromkeys(hit.article.id for hit in hits))
        found.append(min((ids.index(one) for one in wanted if one in ids), default=99))
    return found


def typo(question: str, chance: random.Random) -> str:
    """In the longest word: a letter lost, doubled or swapped with the next."""
    words = question.split()
    at = max(range(len(words)), key=lambda n: len(words[n]) if words[n].isalpha() else 0)
    word = words[at]
    if len(word) < 5:
        return question
    place = chance.randrange(1, len(word) - 1)
    head, one, other, tail = word[:place], word[place], word[place + 1], word[place + 2 :]
    words[at] = head + chance.choice([other, one + one + other, other + one]) + tail
    return " ".join(words)


def bare(question: str) -> str:
    return "".join(char for char in unicodedata.normalize("NFD", question) if not unicodedata.combining(char))


def main() -> None:
    match sys.argv[1:]:
        case ["scale", corpus, *data]:
            scale(Path(corpus), Path(data[0]) if data else None)
        case ["search", data]:
            search(Path(data))
        case ["recall", corpus, questions]:
            recall(Path(corpus), Path(questions))
        case _:
            print(__doc__)


if __name__ == "__main__":
    main()
