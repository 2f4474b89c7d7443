"""Figures per day: sums by name, kept as turns end, so that they outlive the turns and are read in no time.

`turns`; `status:S`, `kind:K`, `language:L`, `reason:R` (of refusals), `model_error:E`, `feedback:up|down`; `grounded`;
`no_source` (answered questions that show none); `turns:MODEL`, `input_tokens:MODEL`, `output_tokens:MODEL`,
`cache_read_tokens:MODEL`, `cache_write_tokens:MODEL`; `first_word_ms<=N` and `total_ms<=N`, turns by latency, N from
BUCKETS or `inf` (each turn in one bucket only). A name whose sum is 0 is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, select

from refdesk.adapters.sql_sums import Adding
from refdesk.adapters.sql_tables import day_counts, turns, utc_text
from refdesk.domain.console import DayCounts

BUCKETS = (50, 100, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 7500, 10_000, 15_000, 20_000, 30_000, 60_000)
LATENCIES = ("first_word", "total")
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
KINDS = ("status", "kind", "language", "reason", "model_error")

COUNTED = tuple(turns.c[name] for name in ("created_at", *KINDS, "grounded", "rating", "model", *TOKENS, *LATENCIES))
"""All that a turn is counted by."""
ADDING = Adding(day_counts)

TurnRow = Mapping[Any, Any]
"""The values of COUNTED, and maybe others."""


def of_days(connection: Connection, since: str, until: str) -> list[DayCounts]:
    """Both included."""
    kept = select(day_counts).where(day_counts.c.day >= since, day_counts.c.day <= until, day_counts.c.value != 0)
    days: dict[str, dict[str, float]] = {}
    for day, name, value in connection.execute(kept.order_by(day_counts.c.day, day_counts.c.name)):
        days.setdefault(day, {})[name] = value
    return [DayCounts(day=day, counts=named) for day, named in days.items()]


def add(connection: Connection, ended: Iterable[TurnRow], *, no_longer: Iterable[TurnRow] = ()) -> None:
    """Turns that have ended now; `no_longer`: what was counted of them before. Rows are taken in one order, so that
    turns that end together never wait for each other in a circle."""
    sums: Counter[tuple[str, str]] = Counter()
    for rows, sign in ((ended, 1), (no_longer, -1)):
        for row in rows:
            day = utc_text(row["created_at"])[:10]
            for name, value in named(row):
                sums[day, name] += sign * value
    ADDING.add(connection, [(day, name, value) for (day, name), value in sorted(sums.items()) if value])


def named(row: TurnRow) -> Iterator[tuple[str, int]]:
    yield "turns", 1
    yield from ((f"{name}:{row[name]}", 1) for name in KINDS if row[name])
    if row["grounded"]:
        yield "grounded", 1
    elif row["status"] == "answered" and row["kind"] == "question":
        yield "no_source", 1
    if row["rating"]:
        yield f"feedback:{row['rating']}", 1
    if row["model"]:
        yield f"turns:{row['model']}", 1
        yield from ((f"{token}:{row['model']}", row[token]) for token in TOKENS)
    yield from ((f"{name}_ms<={row[name]}", 1) for name in LATENCIES if row[name] is not None)


def bucket(ms: float | None) -> str | None:
    if ms is None:
        return None
    return next((str(bound) for bound in BUCKETS if ms <= bound), "inf")
