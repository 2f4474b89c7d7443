"""Figures per day: sums by name, so that what is left of deleted turns is added to what is counted now.

`turns`; `status:S`, `kind:K`, `language:L`, `reason:R` (of refusals), `model_error:E`, `feedback:up|down`; `grounded`;
`no_source` (answered questions that show none); `turns:MODEL`, `input_tokens:MODEL`, `output_tokens:MODEL`,
`cache_read_tokens:MODEL`, `cache_write_tokens:MODEL`; `first_word_ms<=N` and `total_ms<=N`, turns by latency, N from
BUCKETS or `inf` (each turn in one bucket only).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, literal_column, select, text

from refdesk.adapters.sql_tables import day_counts, turns
from refdesk.domain.console import DayCounts

BUCKETS = (50, 100, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 7500, 10_000, 15_000, 20_000, 30_000, 60_000)
LATENCIES = ("first_word", "total")
TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
KINDS = ("status", "kind", "language", "reason", "model_error")

DAY = func.substr(turns.c.created_at, literal_column("1"), literal_column("10"))
GROUPS = (DAY, *(turns.c[name] for name in KINDS), turns.c.grounded, turns.c.rating, turns.c.model)
KEEP = text(
    "INSERT INTO day_counts (day, name, value) VALUES (:day, :name, :value)"
    " ON CONFLICT (day, name) DO UPDATE SET value = day_counts.value + excluded.value"
)

Counts = Counter[tuple[str, str]]
"""By day and name."""


def of_days(connection: Connection, since: str, until: str) -> list[DayCounts]:
    """Both included."""
    counts = counted(connection, (turns.c.created_at >= since, turns.c.created_at <= f"{until}T23:59:59.999Z"))
    kept = select(day_counts).where(day_counts.c.day >= since, day_counts.c.day <= until)
    for day, name, value in connection.execute(kept):
        counts[day, name] += value
    days: dict[str, dict[str, float]] = {}
    for (day, name), value in sorted(counts.items()):
        days.setdefault(day, {})[name] = value
    return [DayCounts(day=day, counts=named) for day, named in days.items()]


def keep(connection: Connection, which: ColumnElement[bool]) -> None:
    """What of these turns outlives them."""
    rows = [{"day": day, "name": name, "value": value} for (day, name), value in counted(connection, (which,)).items()]
    if rows:
        connection.execute(KEEP, rows)


def counted(connection: Connection, which: tuple[ColumnElement[bool], ...]) -> Counts:
    """Finished turns only: a running one is counted once it has ended."""
    counts: Counts = Counter()
    ended = (*which, turns.c.status != "running")
    sums = [func.sum(turns.c[name]).label(name) for name in TOKENS]
    for row in connection.execute(select(func.count().label("turns"), *sums, *GROUPS).where(*ended).group_by(*GROUPS)):
        count_group(counts, row)
    for name in LATENCIES:
        latency = turns.c[name]
        rows = select(DAY, latency, func.count()).where(*ended, latency.is_not(None)).group_by(DAY, latency)
        for day, bound, count in connection.execute(rows):
            counts[day, f"{name}_ms<={bound}"] += count
    return counts


def count_group(counts: Counts, row: Row[*tuple[Any, ...]]) -> None:
    day, found = row[1 + len(TOKENS)], row._mapping
    names = ["turns", *(f"{name}:{found[name]}" for name in KINDS if found[name])]
    if found["grounded"]:
        names.append("grounded")
    elif found["status"] == "answered" and found["kind"] == "question":
        names.append("no_source")
    if found["rating"]:
        names.append(f"feedback:{found['rating']}")
    if found["model"]:
        names.append(f"turns:{found['model']}")
        for token in TOKENS:
            counts[day, f"{token}:{found['model']}"] += found[token]
    for name in names:
        counts[day, name] += found["turns"]


def bucket(ms: float | None) -> str | None:
    if ms is None:
        return None
    return next((str(bound) for bound in BUCKETS if ms <= bound), "inf")
