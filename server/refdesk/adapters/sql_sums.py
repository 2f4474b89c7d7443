"""Sums that grow: many rows of a table are added to by one statement. Jobs, see sql_database.

One step of the database, whatever the number of rows: each step of SQLite lets go of the interpreter and has to wait
for it again, which under load takes longer than the step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Column, Connection, Float, Table, TextClause, text

from refdesk.adapters.sql_tables import clean_text


class Adding:
    """Of a table: all columns of its primary key are text, all others numbers."""

    def __init__(self, table: Table) -> None:
        names = [column.name for column in table.columns]
        sums = [column.name for column in table.columns if not column.primary_key]
        self._insert = f"INSERT INTO {table.name} ({', '.join(names)}) SELECT "
        self._update = (
            f" ON CONFLICT ({', '.join(column.name for column in table.primary_key)}) DO UPDATE SET "
            + ", ".join(f"{name} = {table.name}.{name} + excluded.{name}" for name in sums)
        )
        columns = list(table.columns)
        self._statements = {
            "sqlite": self._from(
                [f"json_extract(one.value, '$[{at}]')" for at in range(len(names))],
                "json_each(:rows) AS one WHERE true",  # without it ON would be read as part of a join
            ),
            "postgresql": self._from(
                [f"CAST(one.value ->> {at} AS {_type(column)})" for at, column in enumerate(columns)],
                "jsonb_array_elements(CAST(:rows AS jsonb)) AS one (value)",
            ),
        }

    def add(self, connection: Connection, rows: Sequence[Sequence[Any]]) -> None:
        """Values in the order of the table's columns; no two rows of one key. Locks are taken in the order of the rows:
        whoever sorts them never waits for another in a circle."""
        if rows:
            cleaned = [[clean_text(value) if isinstance(value, str) else value for value in row] for row in rows]
            statement = self._statements[connection.dialect.name]
            connection.execute(statement, {"rows": msgspec.json.encode(cleaned).decode()})

    def _from(self, values: Sequence[str], source: str) -> TextClause:
        return text(f"{self._insert}{', '.join(values)} FROM {source}{self._update}")


def _type(column: Column[Any]) -> str:
    if column.primary_key:
        return "text"
    return "double precision" if isinstance(column.type, Float) else "integer"
