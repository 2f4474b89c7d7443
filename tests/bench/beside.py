"""`refdesk eval` beside plain baselines, on every question set of a folder, in one run.

    python tests/bench/beside.py FOLDER --offtopic FOLDER --cache FOLDER [NAME …]

FOLDER holds sets as question_sets.py describes them; NAMEs pick some. For each one a corpus of Markdown and a file of
questions is made, with the off-topic questions of OFFTOPIC/offtopic_LANGUAGE.json as unanswerable ones, and the command
is run as its user runs it. The baselines search the same sections: SQLite's FTS5 (`unicode61`, any word of the
question), BM25 over stemmed terms, and MiniLM alone. CACHE keeps encoders and vectors.

Per system R@1/R@5 in %; of refdesk also R@10, MRR@10, the shares answered and refused by the gate as it is shipped,
what the gate would refuse if 97 % were answered, and p50/p95 of a question, embedding included, in ms.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from dense import recall
from question_sets import Encoders, QuestionSet

REFDESK = Path(sys.executable).with_name("refdesk")
WORD = re.compile(r"\w+")


def slug(number: int, name: str) -> str:
    return f"a{number}-{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}"[:64].strip("-")


def markdown(doc: dict[str, Any], article_id: str, language: str) -> str:
    title = json.dumps(" ".join((doc["title"] or doc["id"]).split()), ensure_ascii=False)
    lines = ["---", f"id: {article_id}", f"title: {title}", f"language: {language}", "---", ""]
    for section in doc["sections"]:
        lines += [f"{'#' * min(level, 6)} {head}\n" for level, head in enumerate(section.get("heads") or [], 2)]
        lines.append(section["text"] + "\n")
    return "\n".join(lines)


def write_corpus(data: dict[str, Any], off_topic: list[str], folder: Path) -> None:
    """`folder`/corpus and `folder`/questions.jsonl. What the same content was indexed as in an earlier run stays."""
    corpus = folder / "corpus"
    shutil.rmtree(corpus, ignore_errors=True)
    corpus.mkdir(parents=True)
    (corpus / "help-center.toml").write_text(f'name = "Bench"\nlanguages = ["{data["lang"]}"]\n')
    ids = {doc["id"]: slug(number, doc["id"]) for number, doc in enumerate(data["docs"])}
    for doc in data["docs"]:
        (corpus / f"{ids[doc['id']]}.md").write_text(markdown(doc, ids[doc["id"]], data["lang"]))
    lines: list[dict[str, Any]] = [
        {"question": query["q"], "articles": [ids[name] for name in query["gold"]]} for query in data["queries"]
    ]
    lines += [{"question": question, "articles": [], "tag": "off-topic"} for question in off_topic]
    (folder / "questions.jsonl").write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


def fts5(data: QuestionSet) -> np.ndarray[Any, np.dtype[np.float32]]:
    """(questions, rows)."""
    base = sqlite3.connect(":memory:")
    base.execute("CREATE VIRTUAL TABLE passages USING fts5(text, tokenize = 'unicode61')")
    base.executemany("INSERT INTO passages(rowid, text) VALUES (?, ?)", enumerate(data.texts))
    scores = np.zeros((len(data.questions), len(data.texts)), np.float32)
    for number, question in enumerate(data.questions):
        words = " OR ".join(f'"{word}"' for word in WORD.findall(question))
        found = base.execute("SELECT rowid, -bm25(passages) FROM passages WHERE passages MATCH ?", (words,))
        for row, score in found if words else ():
            scores[number, row] = score
    return scores


def stems(data: QuestionSet) -> np.ndarray[Any, np.dtype[np.float32]]:
    scores = np.zeros((len(data.questions), len(data.texts)), np.float32)
    for number, question in enumerate(data.questions):
        ranking = data.view.rank(question, data.asked_in, len(data.texts))
        scores[number, ranking.rows] = ranking.bm25
    return scores


def refdesk(folder: Path, encoders: Path) -> dict[str, Any]:
    environment = {**os.environ, "REFDESK_ENCODERS": str(encoders), "REFDESK_LOG": "json"}
    where = ["--corpus", str(folder / "corpus"), "--data", str(folder / "data")]

    def run(command: str) -> dict[str, Any]:
        asked = [str(REFDESK), command, str(folder / "questions.jsonl"), *where, "--json"]
        done = subprocess.run(asked, env=environment, check=True, stdout=subprocess.PIPE)
        return dict(json.loads(done.stdout))

    return {**run("eval"), "thresholds": run("calibrate")["thresholds"]}


def refused_at(thresholds: list[dict[str, Any]], least: float) -> float:
    """What the highest threshold refuses that lets so many through."""
    return max((t["refused"]["all"] for t in thresholds if t["answered"] >= least), default=float("nan"))


def rows(path: Path, asked: argparse.Namespace, encoders: Encoders) -> Iterator[tuple[str, str]]:
    raw = json.loads(path.read_text())
    bank = asked.offtopic / f"offtopic_{raw.get('qlang', raw['lang'])}.json"
    folder = asked.cache / "corpora" / path.stem
    write_corpus(raw, json.loads(bank.read_text())["questions"], folder)
    data = QuestionSet(path, encoders)
    for name, scores in (
        ("FTS5", fts5(data)),
        ("BM25, stems", stems(data)),
        ("MiniLM alone", data.asked("minilm") @ data.passages("minilm").T),
    ):
        yield name, "/".join(f"{value:.1f}" for value in recall(data, scores, 1, 5))
    found = refdesk(folder, asked.cache / "encoders")
    recalls = "/".join(f"{100 * found['recall'][depth]:.1f}" for depth in ("1", "5", "10"))
    gate = f"answered {100 * found['answered']:.1f}, refused {100 * found['refused']['all']:.1f}"
    at_97 = f"(at 97 % answered: {100 * refused_at(found['thresholds'], 0.97):.1f})"
    latency = found["latency_ms"]
    yield "refdesk", f"{recalls}  MRR {found['mrr10']:.3f}  {gate} {at_97}  {latency['p50']}/{latency['p95']} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--offtopic", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_intermixed_args()
    asked.cache.mkdir(parents=True, exist_ok=True)
    encoders = Encoders(asked.cache / "encoders", asked.cache / "baselines.sqlite")
    for path in sorted(asked.folder.glob("*.json")):
        raw = json.loads(path.read_text())
        if not {"docs", "queries"} <= set(raw) or (asked.names and path.stem not in asked.names):
            continue
        print(f"{path.stem}: {len(raw['docs'])} articles, {len(raw['queries'])} questions", flush=True)
        for name, figures in rows(path, asked, encoders):
            print(f"  {name:13} {figures}", flush=True)


if __name__ == "__main__":
    main()
