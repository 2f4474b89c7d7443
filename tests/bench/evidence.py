"""How often the answer text of a question set stands in the first quote of the evidence, and in the first three.

    python tests/bench/evidence.py xquad_en.json xquad_ru.json

A set is {"docs", "queries": [{"q", "gold", "answers"}]}. Passages of about 120 words, a plain BM25 of this script,
eight hits: the figures depend little on retrieval as long as it finds the passage, and need no server and no index.
`gold` is the same with nothing but the right article's passages. `conflicts` counts questions for which two passages
are taken to contradict each other; these sets hold no contradictions on purpose, so nearly all are false alarms.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from refdesk.assistant.disagreement import conflicting_numbers
from refdesk.assistant.extract import best_quotes, evidence
from refdesk.assistant.sentences import sentences
from refdesk.domain.articles import Article, Passage
from refdesk.ports import Hit
from refdesk.text.terms import terms

HITS, WORDS, K1, B = 8, 120, 1.2, 0.75


def article_of(number: int, doc: dict[str, Any], language: str) -> Article:
    parts = [(" › ".join(section.get("heads") or []), section["text"]) for section in doc["sections"]]
    body, passages = "", []
    for heading, text in parts:
        start = len(body)
        body += text + "\n\n"
        passages += [(heading, span) for span in pieces(body, start)]
    name = doc.get("title") or doc.get("fmtitle") or doc["id"]
    made = tuple(Passage(doc["id"], n, heading, (span,)) for n, (heading, span) in enumerate(passages))
    return Article(
        doc["id"], name, body, language, ("public",), f"v{number}", url=f"/articles/{doc['id']}", passages=made
    )


def pieces(body: str, start: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    words = 0
    for unit in sentences(body, start):
        size = len(body[unit.start : unit.end].split())
        if found and words + size <= WORDS * 1.3:
            found[-1] = (found[-1][0], unit.end)
        else:
            found.append((unit.start, unit.end))
            words = 0
        words += size
    return found


class Bm25:
    def __init__(self, articles: list[Article], language: str) -> None:
        self.language = language
        self.pairs = [(article, passage) for article in articles for passage in article.passages]
        counts = [Counter(terms(f"{a.title} {p.section} {p.text(a.body)}", language)) for a, p in self.pairs]
        mean = statistics.mean(sum(c.values()) for c in counts)
        self.postings: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for row, count in enumerate(counts):
            norm = K1 * (1 - B + B * sum(count.values()) / mean)
            for term, times in count.items():
                self.postings[term].append((row, times * (K1 + 1) / (times + norm)))

    def search(self, question: str) -> list[Hit]:
        scores: dict[int, float] = defaultdict(float)
        for term in dict.fromkeys(terms(question, self.language)):
            rows = self.postings.get(term, [])
            idf = math.log(1 + (len(self.pairs) - len(rows) + 0.5) / (len(rows) + 0.5))
            for row, weight in rows:
                scores[row] += idf * weight
        best = sorted(scores.items(), key=lambda pair: -pair[1])[:HITS]
        return [Hit(*self.pairs[row], score) for row, score in best]


def measure(path: Path) -> None:
    data = json.loads(path.read_text())
    language, asked_in = data["lang"], data.get("qlang", data["lang"])
    articles = [article_of(number, doc, language) for number, doc in enumerate(data["docs"])]
    by_id = {article.id: article for article in articles}
    index = Bm25(articles, language)
    tally: Counter[str] = Counter()
    lengths, spent = [], []
    for query in data["queries"]:
        hits = index.search(query["q"])
        began = time.perf_counter()
        items = evidence(query["q"], asked_in, hits)
        spent.append(time.perf_counter() - began)
        lengths += [len(item.quote) for item in items]
        assert all(any(item.quote in hit.article.body for hit in hits) for item in items)
        gold = [by_id[name] for name in query["gold"] if name in by_id]
        given = [Hit(article, passage, 1.0) for article in gold for passage in article.passages]
        quotes = [item.quote for item in items]
        alone = [quote.text for quote in best_quotes(query["q"], asked_in, given)]
        answers = query.get("answers", [])
        tally["found"] += any(hit.article in gold for hit in hits)
        tally["article first"] += bool(items) and items[0].source_id in query["gold"]
        tally["first"] += holds(quotes[:1], answers)
        tally["three"] += holds(quotes[:3], answers)
        tally["gold first"] += holds(alone[:1], answers)
        tally["gold three"] += holds(alone[:3], answers)
        tally["conflicts in hits"] += bool(conflicting_numbers(hits))
        tally["conflicts shown"] += len(items) > 3
    report(path, len(data["queries"]), tally, lengths, spent)


def holds(quotes: list[str], answers: list[str]) -> bool:
    return any(answer in quote for answer in answers for quote in quotes)


def report(path: Path, count: int, tally: Counter[str], lengths: list[int], spent: list[float]) -> None:
    print(f"{path.name}: {count} questions")
    for name, times in tally.items():
        print(f"  {name:18} {times:4}  {100 * times / count:5.1f} %")
    print(f"  quote length       median {statistics.median(lengths):.0f}, longest {max(lengths)} characters")
    print(f"  time               p50 {1e3 * statistics.median(spent):.1f}, longest {1e3 * max(spent):.1f} ms")


if __name__ == "__main__":
    for name in sys.argv[1:]:
        measure(Path(name))
