"""How fast the conversation store is when full: python tests/bench/store.py [--turns 100000] [--url postgresql://…]

Fills a database, then prints the median and 95th percentile of each list, search and export page, and what a turn's two
transactions cost. Without --url: SQLite in a temporary folder. Target: list pages of at most 50 ms median on SQLite.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from sqlalchemy import Connection

from refdesk.adapters import sql_turns
from refdesk.adapters.sql_console import SqlConsole
from refdesk.adapters.sql_database import Database
from refdesk.adapters.sql_open import open_database
from refdesk.adapters.sql_store import SqlStore
from refdesk.domain.console import AuditEntry, LogFilter, TurnVerdict
from refdesk.domain.conversation import Feedback, Source, Turn, TurnTrail, Usage, Visitor
from refdesk.ports import TurnRow

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SYLLABLES = "ka lo mi ren tas vu del or fin ba se qui na tem por".split()
RANDOM = random.Random(7)
VOCABULARY = ["".join(RANDOM.choices(SYLLABLES, k=RANDOM.randint(2, 4))) for _ in range(8000)]
COMMON = "the refund invoice settings export how do I".split()
STATUSES = ["answered"] * 80 + ["insufficient"] * 15 + ["evidence"] * 4 + ["failed"]
PER_CONVERSATION = 3
VISITORS = 2000


def sentence(count: int) -> str:
    rare = [VOCABULARY[min(int(RANDOM.expovariate(1 / 900)), 7999)] for _ in range(count)]
    return " ".join([*RANDOM.sample(COMMON, 4), *rare]).capitalize() + "."


def moment(number: int) -> str:
    return (BEGIN + timedelta(seconds=60 * number)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def source(number: int) -> Source:
    return Source(
        id=f"article-{number}",
        title=sentence(3),
        url=f"/articles/article-{number}",
        section="Steps",
        excerpt=sentence(20),
        language="en",
        updated_at="2026-01-01",
        version="9f2c",
        retrieved_at=moment(0),
        cited=True,
        basis="opened",
        show=True,
    )


SOURCES = [source(number) for number in range(200)]


def turn_of(number: int) -> tuple[TurnRow, Turn, TurnTrail]:
    conversation = number // PER_CONVERSATION
    names = {"conversation_id": f"c_{conversation}", "created_at": moment(number), "question": sentence(6)}
    row = TurnRow(
        turn_id=f"t_{number}",
        visitor_id=f"v_{conversation % VISITORS}",
        new_conversation=number % PER_CONVERSATION == 0,
        **names,
    )
    answer = " ".join(sentence(14) for _ in range(5))
    turn = Turn(
        id=row.turn_id,
        status=RANDOM.choice(STATUSES),
        language=RANDOM.choice(["en", "en", "en", "cs", "ru"]),
        answer=answer,
        answer_html=f"<p>{answer}</p>",
        sources=tuple(RANDOM.sample(SOURCES, 2)),
        **names,
    )
    turn.grounded = turn.status == "answered"
    usage = Usage(model="claude-haiku-5-5", calls=1, input_tokens=4000, output_tokens=300)
    timings = {"first_word_ms": RANDOM.uniform(200, 2000), "total_ms": RANDOM.uniform(1000, 9000)}
    versions = {kept.id: kept.version for kept in SOURCES[:8]}
    return row, turn, TurnTrail(usage=usage, timings=timings, article_versions=versions, generation="g" * 32)


async def fill(database: Database, count: int) -> None:
    store = SqlStore(database)
    for number in range(VISITORS):
        await store.add_visitor(Visitor(id=f"v_{number}", roles=("public",)), b"%032d" % number, moment(0))
    step = 200
    for start in range(0, count, step):
        await database.write(lambda connection, start=start: put(connection, range(start, min(start + step, count))))
    for number in range(0, count, 37):
        await store.set_feedback(f"t_{number}", f"v_{number // PER_CONVERSATION % VISITORS}", Feedback("down"))
    await judge(SqlConsole(database), count)


async def judge(console: SqlConsole, count: int) -> None:
    """What staff leave behind: tags, verdicts, the audit log."""
    for number in range(0, count, 101):
        await console.change_tags(f"c_{number // PER_CONVERSATION}", add=["vip"], author="kim", at=moment(number))
        await console.set_verdict(TurnVerdict(f"t_{number}", "wrong_source", "kim", moment(number)))
        await console.add_audit(AuditEntry(moment(number), "kim", "::1", "verdict", f"t_{number}"))


def put(connection: Connection, numbers: range) -> None:
    for number in numbers:
        row, turn, trail = turn_of(number)
        sql_turns.begin(connection, row, "bench")
        sql_turns.finish(connection, turn, trail)


async def measured(name: str, run: Callable[[int], Awaitable[Any]], times: int = 20) -> None:
    taken = []
    for number in range(times):
        began = time.perf_counter()
        await run(number)
        taken.append((time.perf_counter() - began) * 1000)
    print(f"{name:34} p50 {median(taken):8.1f} ms   p95 {quantiles(taken, n=20)[-1]:8.1f} ms")


async def pages(console: SqlConsole, count: int) -> None:
    rare = VOCABULARY[7000]
    lists: dict[str, dict[str, Any]] = {
        "list": {},
        "list status=failed": {"status": "failed"},
        "list grounded=false, language=ru": {"grounded": False, "language": "ru"},
        "list rating=down": {"rating": "down"},
        "list rating=up (none)": {"rating": "up"},
        "list one week": {"since": moment(count // 2), "until": moment(count // 2 + 10_080)},
        "list one visitor": {"visitor_id": "v_7"},
        "list tag": {"tag": "vip"},
        "list verdict": {"verdict": "wrong_source"},
        "search common word": {"q": "refund"},
        "search common words": {"q": "refund invoice settings"},
        "search rare word": {"q": rare},
        "search prefix": {"q": rare[:3]},
        "search common + status=failed": {"q": "refund", "status": "failed"},
    }
    for name, wanted in lists.items():
        cursor = (await console.log(LogFilter(**wanted))).next_cursor
        await measured(name, lambda n, w=wanted, c=cursor: console.log(LogFilter(**w), cursor=c if n % 2 else None))
    await measured("one conversation with its notes", lambda n: conversation(console, count // 6 + n))
    await measured("audit page of 100", lambda n: console.audit())
    cursors: list[str | None] = [None]
    for _ in range(20):
        cursors.append((await console.exported(LogFilter(), cursor=cursors[-1])).next_cursor)
    await measured("export page of 500", lambda n: console.exported(LogFilter(), cursor=cursors[n]))
    await measured("figures of 30 days", lambda n: console.day_counts(since="2026-02-01", until="2026-03-02"), 5)


async def conversation(console: SqlConsole, number: int) -> None:
    await SqlStore(console.database).turns(f"c_{number}")
    await console.annotations(f"c_{number}")


async def turn_costs(store: SqlStore, count: int) -> None:
    async def one(number: int) -> None:
        row, turn, trail = turn_of((count // PER_CONVERSATION + 1 + number) * PER_CONVERSATION)
        await store.begin_turn(row)
        await store.finish_turn(turn, trail)

    cpu = time.process_time()
    await measured("a turn: begin and finish", one, 300)
    print(f"{'':34} CPU {(time.process_time() - cpu) / 300 * 1000:8.2f} ms with making the turn")


async def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--turns", type=int, default=100_000)
    arguments.add_argument("--url")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        database = await open_database(Path(folder), given.url)
        began = time.perf_counter()
        await fill(database, given.turns)
        print(f"filled {given.turns} turns in {time.perf_counter() - began:.0f} s, {megabytes(Path(folder)):.0f} MB")
        await turn_costs(SqlStore(database), given.turns)
        await pages(SqlConsole(database), given.turns)
        if given.url is None:
            await reopened(Path(folder), database)
        else:
            await database.close()


def megabytes(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.iterdir()) / 1e6


async def reopened(folder: Path, database: Database) -> None:
    store = SqlStore(database)
    began = time.perf_counter()
    await store.delete_conversation("c_5", "v_5")
    gone = time.perf_counter()
    await database.purged()  # type: ignore[attr-defined]
    later = time.perf_counter() - gone
    print(f"deleting a conversation: {(gone - began) * 1000:.0f} ms, gone from the files {later:.1f} s later")
    await database.close()
    began = time.perf_counter()
    database = await open_database(folder)
    print(f"start: {(time.perf_counter() - began) * 1000:.0f} ms")
    await database.close()


if __name__ == "__main__":
    asyncio.run(main())
