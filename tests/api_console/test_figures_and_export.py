"""Figures for the overview, and the log taken out of the system: complete, streamed, harmless in a spreadsheet."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import time
from collections.abc import Callable, Iterator

import httpx2
import pytest
from model_replies import refund_answer, says
from people import QUESTION, ask, signed_in
from refdesk_server import STAFF_KEY, RefdeskServer

from refdesk.adapters import sql_turns
from refdesk.adapters.sql_store import SqlStore
from refdesk.adapters.sqlite_database import SqliteDatabase
from refdesk.domain.conversation import Turn, TurnTrail, Visitor
from refdesk.ports import TurnRow
from scripted_api import Answer, ScriptedModel, answer_of

TODAY = {"from": time.strftime("%Y-%m-%d", time.gmtime()), "to": "2100-01-01"}
OVERLOADED = Answer((b"{}",), 529)


@pytest.fixture
def apart(
    new_server: Callable[..., RefdeskServer], shared_model: ScriptedModel
) -> Iterator[tuple[RefdeskServer, httpx2.Client, httpx2.Client]]:
    """A server of the test's own, an admin and a visitor."""
    shared_model.script()
    server = new_server(shared_model.url, REFDESK_TURN_SECONDS="30").start()
    with server.client(STAFF_KEY) as admin, server.client(server.token()) as visitor:
        yield server, admin, visitor


def priced(answer: Answer) -> Answer:
    """From a model that has a price."""
    return Answer(tuple(chunk.replace(b'"fake"', b'"claude-haiku-4-5-20251001"') for chunk in answer.chunks))


# --- figures ---------------------------------------------------------------------------------


def test_figures_tell_what_happened(
    apart: tuple[RefdeskServer, httpx2.Client, httpx2.Client], shared_model: ScriptedModel
) -> None:
    _, admin, visitor = apart
    shared_model.script(priced(answer_of(refund_answer())))
    turns = [ask(visitor, QUESTION), ask(visitor, QUESTION)]
    shared_model.script(priced(answer_of(says("They are issued."))))
    silent = ask(visitor, QUESTION)
    shared_model.script(OVERLOADED)
    down = ask(visitor, QUESTION)
    shared_model.script()
    refused = ask(visitor, "Zyx wvut srqpo jklm?")
    greeted = ask(visitor, "Dobrý den!")
    visitor.put(f"/v1/turns/{turns[0]['id']}/feedback", json={"rating": "up"})
    visitor.put(f"/v1/turns/{turns[1]['id']}/feedback", json={"rating": "down"})
    told = admin.get("/v1/console/stats", params=TODAY).json()
    total = told["total"]
    asked = [*turns, silent, down, refused, greeted]
    assert (total["turns"], total["grounded"], total["no_source"]) == (6, 2, 1)
    for figure, field in (("by_status", "status"), ("by_kind", "kind"), ("languages", "language")):
        assert total[figure] == counted(turn[field] for turn in asked), figure
    assert total["evidence"] == {"overloaded": 1}
    assert list(total["insufficient"].values()) == [1]
    assert total["feedback"] == {"down": 1, "up": 1}
    assert total["total_ms"]["p50"] <= total["total_ms"]["p95"]
    assert total["first_word_ms"]["p50"] is not None
    [model] = [used for used in total["models"] if used["model"].startswith("claude")]
    assert (model["turns"], model["input_tokens"], model["output_tokens"]) == (3, 30, 15)
    assert model["cost_usd"] == round((30 * 1 + 15 * 5) / 1e6, 6), "a dated name costs what its model costs"
    [day] = told["days"]
    assert {name: value for name, value in day.items() if name != "day"} == total
    assert admin.get("/v1/console/stats", params={"from": "2001-01-01", "to": "2001-12-31"}).json()["days"] == []


def counted(values: Iterator[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for value in values:
        found[value] = found.get(value, 0) + 1
    return found


@pytest.mark.parametrize("wanted", [{"from": "soon"}, {"to": "2026-02-31"}, {"from": "9" * 41}])
def test_a_day_that_is_none_is_named(admin: httpx2.Client, wanted: dict[str, str]) -> None:
    answer = admin.get("/v1/console/stats", params=wanted)
    assert (answer.status_code, answer.json()["field"]) == (400, next(iter(wanted)))


# --- CSV -------------------------------------------------------------------------------------

FORMULAS = [
    "=1+1", "+1", "-1+cmd|' /C calc'!A0", "@SUM(1)", "\t=1", "\r=1", "\n=1", " =1", "＝1", "\ufeff=1", '"=1',
    "=HYPERLINK(\"http://evil.test\",\"x\")", "'=1", "\u200b=1", "\u00a0@x", "−1+2", "\x0b=1", "hello =1",
]  # fmt: skip


def runs(cell: str) -> bool:
    """Whether a spreadsheet could take it for a formula, whatever it skips in front of it."""
    seen = cell.lstrip(' "\ufeff\u200b\u00a0\x0b')
    return seen[:1] in tuple("=+-@\t\r＝−") and not seen.removeprefix("-").removeprefix("+").isdigit()


def rows_of(text: str) -> list[dict[str, str]]:
    assert text.startswith("\ufeff"), "without it a spreadsheet takes UTF-8 for something else"
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline="")))


def test_no_cell_of_the_table_is_a_formula(
    apart: tuple[RefdeskServer, httpx2.Client, httpx2.Client], shared_model: ScriptedModel
) -> None:
    """Whoever wrote it: question, comment, the name that the customer's backend gives."""
    server, admin, _ = apart
    assert [runs(cell) for cell in ("=1", " =1", "'=1", "-5", "hello =1")] == [True, True, False, False, False]
    with server.client(signed_in(server, "=cmd()")) as client:
        turns = [ask(client, f"{formula} Příliš žluťoučký?") for formula in FORMULAS]
        for turn, formula in zip(turns, FORMULAS, strict=True):
            given = client.put(f"/v1/turns/{turn['id']}/feedback", json={"rating": "up", "comment": formula})
            assert given.status_code == 200
    answer = admin.get("/v1/console/export.csv")
    assert answer.headers["content-type"] == "text/csv; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="conversations.csv"'
    assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")
    rows = rows_of(answer.content.decode("utf-8"))
    assert [row["turn_id"] for row in rows] == [turn["id"] for turn in turns]
    for row, turn in zip(rows, turns, strict=True):
        assert row["question"].removeprefix("'") == turn["question"], "nothing of it is lost"
        assert not [name for name, cell in row.items() if runs(cell)], row
    lines = [json.loads(line) for line in admin.get("/v1/console/export.jsonl").text.splitlines()]
    assert [line["question"] for line in lines] == [turn["question"] for turn in turns], "programs get it unchanged"
    assert {line["subject"] for line in lines} == {"=cmd()"}


def test_both_exports_say_the_same(
    apart: tuple[RefdeskServer, httpx2.Client, httpx2.Client], shared_model: ScriptedModel
) -> None:
    server, admin, visitor = apart
    shared_model.script(refund_answer())
    first = ask(visitor, QUESTION, locale="en-GB")
    with server.client(signed_in(server, "someone", "partner")) as partner:
        ask(partner, "Zyx wvut srqpo?")
    visitor.put(f"/v1/turns/{first['id']}/feedback", json={"rating": "down", "comment": 'two\nlines, "quoted"'})
    admin.put(f"/v1/console/turns/{first['id']}/verdict", json={"verdict": "wrong_source"})
    answer = admin.get("/v1/console/export.jsonl")
    assert answer.headers["content-type"] == "application/x-ndjson; charset=utf-8"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    rows = rows_of(admin.get("/v1/console/export.csv").content.decode("utf-8"))
    assert [(line["turn_id"], line["question"], line["comment"]) for line in lines] == [
        (row["turn_id"], row["question"], row["comment"] or None) for row in rows
    ]
    told = lines[0]
    assert (told["verdict"], told["rating"], told["locale"], told["channel"]) == (
        "wrong_source",
        "down",
        "en-GB",
        "json",
    )
    assert (told["shown"], told["sources"], told["claims"]) == (["refunds"], first["sources"], first["claims"])
    assert (told["cited"], told["answer"], told["model"]) == (["refunds"], first["answer"], "fake")
    assert "refunds" in told["read"]
    assert set(told["read"]) <= set(told["found"])
    assert (lines[1]["subject"], lines[1]["status"]) == ("someone", "insufficient")
    assert set(lines[1]["roles"]) == {"public", "signed-in", "partner"}
    filtered = admin.get("/v1/console/export.jsonl", params={"grounded": "true", "q": "refunds"}).text
    assert [json.loads(line)["turn_id"] for line in filtered.splitlines()] == [first["id"]]
    for kind in ("csv", "jsonl"):
        assert admin.get(f"/v1/console/export.{kind}", params={"status": "lost"}).status_code == 400
        assert admin.get(f"/v1/console/export.{kind}", params={"what": "everything"}).status_code == 400


def fill(server: RefdeskServer, count: int) -> None:
    """That many turns, straight into the database of a server that is not running."""

    async def write() -> None:
        database = SqliteDatabase(server.data)
        at = "2026-01-01T00:00:00Z"
        await SqlStore(database).add_visitor(Visitor("v_many", ("public",)), b"m" * 32, at)
        for n in range(count):
            row = TurnRow(f"t_{n}", f"c_{n}", "v_many", f"Question {n}?", at, new_conversation=True)
            turn = Turn(id=f"t_{n}", conversation_id=f"c_{n}", created_at=at, question=row.question, status="answered")
            await database.write(lambda connection, row=row: sql_turns.begin(connection, row, "test"))
            await database.write(lambda connection, turn=turn: sql_turns.finish(connection, turn, TurnTrail()))
        await database.close()

    asyncio.run(write())


def test_a_long_export_is_streamed_and_complete(new_server: Callable[..., RefdeskServer]) -> None:
    server = new_server()
    server.data.mkdir()
    fill(server, 701)
    server.start()
    with server.client(STAFF_KEY) as admin:
        for kind in ("csv", "jsonl"):
            answer = admin.get(f"/v1/console/export.{kind}")
            assert "content-length" not in answer.headers
            assert answer.headers["transfer-encoding"] == "chunked"
            text = answer.content.decode("utf-8")
            found = rows_of(text) if kind == "csv" else [json.loads(line) for line in text.splitlines()]
            assert [row["turn_id"] for row in found] == [f"t_{n}" for n in range(701)]
        with admin.stream("GET", "/v1/console/export.csv") as begun:
            next(begun.iter_raw())
        assert admin.get("/health/ready").status_code == 200, "whoever goes away half-way disturbs nobody"
