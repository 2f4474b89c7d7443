"""What a turn costs the database does not grow with what the database holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from test_conversation_store import ANNA, NOON

from refdesk.adapters.sql_store import SqlStore
from refdesk.adapters.sqlite_database import SqliteDatabase
from refdesk.adapters.sqlite_file import connect, open_file
from refdesk.domain.conversation import Turn, TurnTrail
from refdesk.ports import TurnRow

STATEMENTS = ("INSERT", "UPDATE", "DELETE", "SELECT")


@pytest.mark.parametrize("status", ["answered", "insufficient", "stopped"])
async def test_no_statement_of_a_turn_reads_a_whole_table(tmp_path: Path, status: Any) -> None:
    statements: list[tuple[str, Any]] = []
    database = SqliteDatabase(tmp_path)
    event.listen(database._writer, "before_cursor_execute", lambda *given: statements.append((given[2], given[3])))
    try:
        store = SqlStore(database)
        await store.begin_turn(TurnRow("t_1", "c_1", ANNA.id, "How?", NOON, True, newcomer=(ANNA, b"a" * 32)))
        turn = Turn(id="t_1", conversation_id="c_1", created_at=NOON, question="How?", status=status)
        await store.finish_turn(turn, TurnTrail())
    finally:
        await database.close()
    asked = [(sql, given) for sql, given in statements if sql.startswith(STATEMENTS)]
    assert {sql.split()[0] for sql, _ in asked} >= {"INSERT", "UPDATE", "SELECT"}
    own_rows = "SCAN one VIRTUAL TABLE"  # those that the statement brings along
    assert [line for line in plans(tmp_path, asked) if "SCAN" in line and not line.startswith(own_rows)] == []


def plans(folder: Path, asked: list[tuple[str, Any]]) -> list[str]:
    engine = connect(open_file(folder), checkpoints=False)
    with engine.connect() as connection:
        found = [
            f"{step[3]}: {sql}"
            for sql, given in asked
            for step in connection.exec_driver_sql(
                f"EXPLAIN QUERY PLAN {sql}", given[0] if isinstance(given, list) else given
            )
        ]
    engine.dispose()
    return found
