"""Figures per day: sums by name, so that what is left of deleted turns is added to what is counted now.

`turns`; `status:S`, `kind:K`, `language:L`, `reason:R` (of refusals), `model_error:E`, `feedback:up|down`; `grounded`;
`no_source` (answered questions that show none); `turns:MODEL`, `input_tokens:MODEL`, `output_tokens:MODEL`,
`cache_read_tokens:MODEL`, `cache_write_tokens:MODEL`; `first_word_ms<=N` and `total_ms<=N`, turns by latency, N from
BUCKETS or `inf` (each turn in one bucket only).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, func, select, text

from refdesk.adapters.sql_tables import FIGURES, TOKENS, day_counts, turns
from refdesk.domain.console import DayCounts

BUCKETS = (50, 100, 200, 300, 500, 750, 1000, 1500, 2000, 3000, 5000, 7500, 10_000, 15_000, 20_000, 30_000, 60_000)
LATENCIES = ("first_word", "total")
KINDS = ("status", "kind", "language", "reason", "model_error")

GROUPS = (turns.c.day, *(turns.c[name] for name in FIGURES))
"""In the order of `ix_turns_figures`, which then is read from end to end without sorting."""
KEEP = text(
    "INSERT INTO day_counts (day, name, value) VALUES (:day, :name, :value)"
    " ON CONFLICT (day, name) DO UPDATE SET value = day_counts.value + excluded.value"
)

Counts = Counter[tuple[str, str]]
"""By day and name."""


def of_days(connection: Connection, since: str, until: str) -> list[DayCounts]:
    """Both included."""
    counts = counted(connection, (turns.c.day >= since, turns.c.day <= until))
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
        found = select(turns.c.day, latency, func.count()).where(*ended, latency.is_not(None))
        for day, bound, count in connection.execute(found.group_by(turns.c.day, latency)):
            counts[day, f"{name}_ms<={bound}"] += count
    return counts


def count_group(counts: Counts, row: Row[*tuple[Any, ...]]) -> None:
    day, found = row.day, row._mapping
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
