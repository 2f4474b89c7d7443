"""A database that a year of use has filled, written in bulk: 10,000 conversations take a few seconds.

A few hundred turns are made with all that a turn can have (articles on every rung, claims, tool calls, refusals with
signals, a model that was down) and repeated under other ids, visitors and times; gaps, figures of articles, notes, tags
and verdicts go with them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, Table, insert, text

from refdesk.adapters import sql_stats, sql_tables, sql_turns
from refdesk.adapters.search_words import words
from refdesk.adapters.sql_open import open_database
from refdesk.corpus.sync import read_corpus
from refdesk.domain.articles import Article
from refdesk.domain.conversation import (
    Claim,
    EvidenceItem,
    FoundArticle,
    RejectedClaim,
    Source,
    ToolRecord,
    Turn,
    TurnTrail,
    Usage,
)
from refdesk.domain.gap_queue import GapBody, Near
from refdesk.text.language import recognised
from refdesk.text.quotes import first_paragraph

SYLLABLES = "ka lo mi ren tas vu del or fin ba se qui na tem por".split()
COMMON = "the refund invoice settings export how do I".split()
KINDS = 240
"""Different turns."""
VISITORS = 2_000
PER_CONVERSATION = 3
TOGETHER = 3_000
"""Turns in one transaction."""
LANGUAGES = ("en", "en", "en", "cs", "ru")
ID, TALK, AT = "t_PLACE", "c_PLACE", "2000-01-01T00:00:00.000Z"
"""What a made turn has instead of its own."""


class Known(NamedTuple):
    """An article that turns have found."""

    id: str
    title: str
    version: str
    quote: str


def known_articles(corpus: Path) -> list[Known]:
    """Those of a folder that visitors may read, each with its first paragraph to be quoted."""
    articles = [article for article in read_corpus(corpus).articles if "public" in article.audience]
    return [Known(one.id, one.title, one.version, paragraph(one)) for one in articles]


def paragraph(article: Article) -> str:
    start, end = first_paragraph(article.body, (0, len(article.body)))
    return article.body[start:end][:200]


class Made(NamedTuple):
    columns: dict[str, Any]
    turn: str
    trail: str
    words: list[str]
    question: str
    near: Known

    def asked(self, dialect: str) -> str | list[str]:
        return " ".join(self.words) if dialect == "sqlite" else self.words


class Maker:
    def __init__(self, articles: list[Known], hostile: str, questions: Mapping[str, Sequence[str]]) -> None:
        self.random, self.questions = random.Random(7), questions
        self.articles, self.hostile = articles, hostile
        self.vocabulary = ["".join(self.random.choices(SYLLABLES, k=self.random.randint(2, 4))) for _ in range(8000)]

    def sentence(self, count: int) -> str:
        rare = [self.vocabulary[min(int(self.random.expovariate(1 / 900)), 7999)] for _ in range(count)]
        return " ".join([*self.random.sample(COMMON, 4), *rare]).capitalize() + "."

    def made(self, number: int) -> Made:
        status = self.random.choice(["answered"] * 76 + ["insufficient"] * 18 + ["evidence"] * 5 + ["failed"])
        asked = self.questions.get(status) or ()
        question = asked[number % len(asked)] if asked else self.sentence(6)
        question += f" {self.hostile}" if self.hostile and number % 8 == 0 else ""
        found = self.random.sample(self.articles, min(4, len(self.articles)))
        turn = Turn(id=ID, conversation_id=TALK, created_at=AT, question=question, status=status)
        turn.language = recognised(question) or "en" if asked else self.random.choice(LANGUAGES)
        trail = self.trail(found, status, question)
        if status == "answered":
            turn.grounded = True
            self.answer(turn, found)
        elif status == "insufficient":
            turn.missing_information = (self.sentence(5),)
            trail.reason = self.random.choice(["low_coverage", "low_coverage", "no_hits", "model_insufficient"])
            trail.gap_cause = "weak_evidence"
        elif status == "evidence":
            turn.model_error = self.random.choice(["overloaded", "timeout", "not_configured"])
            turn.evidence = tuple(EvidenceItem(a.id, a.title, f"/articles/{a.id}", "", a.quote) for a in found[:2])
        asked = words(f"{question} {turn.answer}")
        return Made(columns_of(turn, trail), encoded(turn), encoded(trail), asked, question, found[0])

    def answer(self, turn: Turn, found: list[Known]) -> None:
        turn.answer = " ".join(self.sentence(14) for _ in range(4)) + f" ([{found[0].title}](/articles/{found[0].id}))"
        turn.sources = tuple(source(article, shown=place == 0) for place, article in enumerate(found[:2]))
        turn.claims = (Claim(self.sentence(8), "fact", found[0].id, "", found[0].quote, "exact"),)

    def trail(self, found: list[Known], status: str, question: str) -> TurnTrail:
        whys = ("Opened in full and cited: the answer rests on it, so it is shown.",
                "Found by search and cited: its link works, but it is not shown because nothing of it was read.",
                "Found by search, not cited: retrieved is not used.",
                "Listed by title only, not cited: a title that was seen is not a text that was read.")  # fmt: skip
        rungs = ((True, True, True), (True, True, False), (True, False, False), (False, False, False))
        answered = status == "answered"
        return TurnTrail(
            documents=tuple(
                FoundArticle(a.id, a.title, a.version, ("passage",), (0,), ("search",), read,
                             cited and answered, cited and answered, shown and answered, why)
                for a, why, (read, cited, shown) in zip(found, whys, rungs, strict=False)
            ),
            tools=(
                ToolRecord(0, "search", "application", {"query": question}, tuple(a.id for a in found), None, 1.0, 8.0),
                ToolRecord(1, "get_document", "model", {"id": found[0].id}, (found[0].id,), None, 400.0, 2.0),
            ),
            claims_rejected=(RejectedClaim(question, "fact", found[0].id, question, "there is no quote"),),
            links_dropped=("https://elsewhere.example/",),
            usage=Usage(model="claude-haiku-5-5", calls=2, input_tokens=4000, output_tokens=300),
            timings={"first_word_ms": self.random.uniform(200, 2000), "total_ms": self.random.uniform(1000, 9000)},
            article_versions={a.id: a.version for a in found},
            signals={"coverage": 0.4, "selfscore": 0.3, "evidence_score": 0.38},
            generation="g" * 32,
            roles=("public",),
            channel="widget",
            locale="en",
        )  # fmt: skip


def source(article: Known, *, shown: bool) -> Source:
    return Source(
        id=article.id, title=article.title, url=f"/articles/{article.id}", section="", excerpt=article.quote,
        language="en", updated_at="2026-01-01", version=article.version, retrieved_at=AT, cited=True,
        basis="opened" if shown else "search", show=shown,
    )  # fmt: skip


def encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def columns_of(turn: Turn, trail: TurnTrail) -> dict[str, Any]:
    return {
        "status": turn.status, "kind": turn.kind, "language": turn.language, "grounded": turn.grounded,
        "reason": trail.reason, "model_error": turn.model_error, "looked_at": True,
        "first_word": sql_stats.bucket(trail.timings["first_word_ms"]),
        "total": sql_stats.bucket(trail.timings["total_ms"]), **sql_turns.usage_columns(trail),
    }  # fmt: skip


async def fill(
    folder: Path,
    articles: list[Known],
    *,
    url: str | None = None,
    conversations: int = 10_000,
    per_conversation: int = PER_CONVERSATION,
    hostile: str = "",
    questions: Mapping[str, Sequence[str]] = MappingProxyType({}),
    until: datetime | None = None,
) -> None:
    """Over the 28 days before `until` (default: now), with ids `v_0`, `c_0`, `t_0`, `g_0` …; `t_0` has an answer.
    No server has the folder. `questions` by status, for people to look at; without, made-up words."""
    database = await open_database(folder, url)
    end = until or datetime.now(UTC)
    log = Log(Maker(articles, hostile, questions), conversations, per_conversation, end - timedelta(days=28), end)
    for job in log.jobs():
        await database.write(job)
    await database.close()


class Log:
    def __init__(self, maker: Maker, conversations: int, per_conversation: int, begin: datetime, end: datetime) -> None:
        self.maker, self.conversations, self.per = maker, conversations, per_conversation
        self.begin, self.step = begin, (end - begin) / (conversations * per_conversation)
        self.made = [maker.made(number) for number in range(KINDS)]
        self.made[0] = next(made for made in self.made if made.columns["status"] == "answered")
        refused = [made for made in self.made if made.columns["status"] == "insufficient"]
        names = {question: f"g_{n}" for n, question in enumerate(dict.fromkeys(made.question for made in refused))}
        self.gaps = {id(made): names[made.question] for made in refused}

    def moment(self, number: int) -> str:
        at = self.begin + self.step * number
        return at.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"

    def of(self, number: int) -> Made:
        """The first turns go through all of them, later ones jump about."""
        return self.made[number % KINDS if number < KINDS else (number * 7919) % KINDS]

    def jobs(self) -> Iterator[Callable[[Connection], None]]:
        """Each ends within the seconds that a database gives to one."""
        yield self.write_people
        count = self.conversations * self.per
        for start in range(0, count, TOGETHER):
            yield partial(self.write_turns, numbers=range(start, min(start + TOGETHER, count)))
        yield self.write_annotations

    def write_people(self, connection: Connection) -> None:
        put(connection, sql_tables.visitors, ({"id": f"v_{n}", "created_at": self.moment(0)} for n in range(VISITORS)))
        put(connection, sql_tables.conversations, map(self.conversation, range(self.conversations)))
        gaps = (
            {"id": name, "created_at": self.moment(0), "cause": "weak_evidence"}
            for name in dict.fromkeys(self.gaps.values())
        )
        put(connection, sql_tables.gaps, gaps)
        put(connection, sql_tables.article_days, self.article_days())

    def write_turns(self, connection: Connection, numbers: range) -> None:
        put(connection, sql_tables.turns, map(self.turn, numbers))
        put(connection, sql_tables.turn_bodies, map(self.body, numbers))
        if hasattr(sql_stats, "add"):  # in older versions they are counted when they are read
            sql_stats.add(connection, map(self.turn, numbers))
        dialect = connection.dialect.name
        made = [(number, self.of(number)) for number in numbers]
        asked = [{"seq": number + 1, "words": one.asked(dialect)} for number, one in made]
        connection.execute(sql_turns.ADD_WORDS[dialect], asked)
        put(connection, sql_tables.gap_questions, (self.asked(n, one) for n, one in made if id(one) in self.gaps))

    def conversation(self, number: int) -> dict[str, Any]:
        at = self.moment(number * self.per)
        return {"id": f"c_{number}", "visitor_id": f"v_{number % VISITORS}", "created_at": at}

    def turn(self, number: int) -> dict[str, Any]:
        at, rating = self.moment(number), "down" if number % 37 == 0 else "up" if number % 41 == 0 else None
        comment = self.maker.hostile if rating == "down" else ""
        own = {"seq": number + 1, "id": f"t_{number}", "conversation_id": f"c_{number // self.per}", "created_at": at}
        return {**self.of(number).columns, **own, "rating": rating, "comment": comment}

    def body(self, number: int) -> dict[str, Any]:
        made = self.of(number)
        turn = made.turn.replace(ID, f"t_{number}", 1).replace(TALK, f"c_{number // self.per}", 1)
        return {"seq": number + 1, "turn": turn.replace(AT, self.moment(number)), "trail": made.trail}

    def asked(self, number: int, made: Made) -> dict[str, Any]:
        gap = self.gaps[id(made)]
        near = Near(made.near.id, made.near.title, "Found by search, not cited: retrieved is not used.")
        body = GapBody(missing=(f"Which article says it: {made.question}",), near=(near,), roles=("public",))
        return {
            "seq": number + 1, "gap_id": gap, "wording": f"{gap}-wording", "asked_at": self.moment(number),
            "language": made.columns["language"], "cause": "weak_evidence", "question": made.question,
            "body": encoded(body),
        }  # fmt: skip

    def article_days(self) -> Iterator[dict[str, Any]]:
        for day in range(28):
            at = (self.begin + timedelta(days=day + 1)).strftime("%Y-%m-%d")
            for place, article in enumerate(self.maker.articles):
                for language in ("en", "cs", "ru"):
                    counts = {"found": 9, "read": 6, "opened": 4, "cited": place % 3, "shown": place % 3, "failed": 1}
                    yield {"day": at, "article_id": article.id, "language": language, **counts, "listed": 0}

    def write_annotations(self, connection: Connection) -> None:
        hostile, at = self.maker.hostile or "plain", self.moment(0)
        some = range(0, self.conversations, 101)
        by = {"author": "kim", "created_at": at}
        put(connection, sql_tables.tags, ({"conversation_id": f"c_{n}", "tag": hostile[:40], **by} for n in some))
        put(connection, sql_tables.notes, ({"conversation_id": f"c_{n}", "text": hostile, **by} for n in some))
        verdict = {"verdict": "wrong_source", "note": hostile, **by}
        put(connection, sql_tables.verdicts, ({"turn_id": f"t_{n * self.per}", **verdict} for n in some))
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT setval(pg_get_serial_sequence('turns', 'seq'), max(seq)) FROM turns"))


def put(connection: Connection, table: Table, rows: Iterable[dict[str, Any]]) -> None:
    """Only what the table has a column for, so that older versions can be measured on the same log."""
    names = set(table.c.keys())
    connection.execute(insert(table), [{name: row[name] for name in row if name in names} for row in rows])
