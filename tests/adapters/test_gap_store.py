"""The contract of GapStore, on SQLite and PostgreSQL: intake, grouping, edits by hand, reopening, erasure, outbox."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from sqlalchemy import create_engine
from test_console_store import ask
from test_conversation_store import ANNA, BEN, NOON

from refdesk.adapters import sql_gap_intake
from refdesk.adapters.sql_console import SqlConsole
from refdesk.adapters.sql_database import Database
from refdesk.adapters.sql_gaps import SqlGaps
from refdesk.adapters.sql_store import SqlStore
from refdesk.adapters.sql_tables import metadata
from refdesk.domain.conversation import FoundArticle, TurnTrail, Visitor
from refdesk.domain.gap_queue import (
    Answer,
    Fresh,
    GapBody,
    GapChange,
    GapFilter,
    GapRow,
    Happened,
    InQueue,
    Regrouping,
    Unanswered,
)
from refdesk.errors import RequestError
from refdesk.gap_ports import GapStore
from refdesk.gaps.service import GapService
from refdesk.ports import TurnRow

LATER, LATEST = "2026-02-03T13:00:00.000Z", "2026-02-03T14:00:00.000Z"
FOUND = TurnTrail(
    documents=(
        FoundArticle(
            id="sso", title="SSO", version="9f", forms=("full",), calls=(0,), tools=("search",), read=True, cited=True,
            source=True, show=True, reason="",
        ),
    )
)  # fmt: skip
ANSWER = Answer("sso", "SSO", LATER, "search")


@pytest.fixture
def gaps(database: Database) -> GapStore:
    return SqlGaps(database)


@pytest.fixture
async def store(database: Database) -> SqlStore:
    opened = SqlStore(database)
    await opened.add_visitor(ANNA, b"a" * 32, NOON)
    await opened.add_visitor(BEN, b"b" * 32, NOON)
    return opened


async def unanswered(
    store: SqlStore, turn: str, *, visitor: str = ANNA.id, at: str = NOON, trail: TurnTrail | None = None
) -> None:
    trail = trail or TurnTrail()
    await ask(store, turn, f"c_{turn}", visitor=visitor, at=at, status="insufficient", sources=(), trail=trail)


def question(fresh: Fresh, wording: str, cause: str = "nothing_found") -> Unanswered:
    turn = fresh.stored.turn
    body = GapBody(missing=("how to export",), roles=("public",), versions={"sso": "9f"})
    return Unanswered(fresh.seq, wording, turn.created_at, "en", cause, f"How? ({wording})", body)  # type: ignore[arg-type]


async def taken_in(gaps: GapStore, **wordings: str) -> None:
    """Everything that is fresh, each turn with its wording; a turn that is not named is no gap."""
    batch = await gaps.fresh(100)
    asked = [question(one, wordings[one.stored.turn.id]) for one in batch if one.stored.turn.id in wordings]
    await gaps.take_in([one.seq for one in batch], asked)


async def put(gaps: GapStore, at: str = NOON, *, announce: bool = False, **where: str) -> list[Happened] | None:
    pile = await gaps.pile(100)
    return await gaps.regroup(Regrouping(pile.version, where, at, announce))


async def queue(gaps: GapStore) -> list[tuple[str, int, int]]:
    return [(gap.id, gap.visitors, gap.count) for gap in (await gaps.gaps(GapFilter())).gaps]


async def one(gaps: GapStore, gap_id: str) -> GapRow:
    found = await gaps.gap(gap_id)
    assert found is not None
    return found


async def two_gaps(gaps: GapStore, store: SqlStore) -> None:
    """g_1 with the wordings a and b, g_2 with c."""
    for turn in ("t_1", "t_2", "t_3"):
        await unanswered(store, turn)
    await taken_in(gaps, t_1="a", t_2="b", t_3="c")
    await put(gaps, a="g_1", b="g_1", c="g_2")


# --- turns ---


async def test_a_turn_is_fresh_once_it_has_ended_and_until_it_was_taken_in(gaps: GapStore, store: SqlStore) -> None:
    await unanswered(store, "t_1", visitor=BEN.id)
    (fresh,) = await gaps.fresh(10)
    assert (fresh.visitor_id, fresh.stored.turn.id, fresh.stored.turn.status) == (BEN.id, "t_1", "insufficient")
    await taken_in(gaps)
    assert await gaps.fresh(10) == []
    await unanswered(store, "t_2")
    assert [one.stored.turn.id for one in await gaps.fresh(10)] == ["t_2"]


async def test_a_batch_counts_once_though_two_servers_bring_it(gaps: GapStore, store: SqlStore) -> None:
    await unanswered(store, "t_1")
    (fresh,) = await gaps.fresh(10)
    await asyncio.gather(*(gaps.take_in([fresh.seq], [question(fresh, "a")]) for _ in range(3)))
    assert [wording.visitors for wording in (await gaps.pile(10)).wordings] == [1]


async def test_article_counts_add_up_by_day_and_language(gaps: GapStore, store: SqlStore) -> None:
    for turn, language in (("t_1", "en"), ("t_2", "en"), ("t_3", "ru")):
        await ask(store, turn, f"c_{turn}", visitor=ANNA.id, at=NOON, language=language, trail=FOUND)
    english, russian = await gaps.article_counts("sso", since="2026-02-03", until="2026-02-03")
    assert (english.language, english.found, english.cited, english.failed) == ("en", 2, 2, 0)
    assert (russian.language, russian.found) == ("ru", 1)
    assert await gaps.article_counts("sso", since="2026-02-04", until="2026-02-28") == []
    assert await gaps.article_counts("ss", since="2026-02-03", until="2026-02-03") == []


async def test_totals_of_articles_are_the_sums_of_their_days(gaps: GapStore, store: SqlStore) -> None:
    days = ("2026-02-03T23:59:59Z", "2026-02-04T00:00:00Z", "2026-02-05T12:00:00Z")
    for number, at in enumerate(days):
        await ask(store, f"t_{number}", f"c_{number}", visitor=ANNA.id, at=at, language="en", trail=FOUND)
    (total,) = await gaps.article_totals(since="2026-02-03", until="2026-02-04")
    assert (total.article_id, total.language, total.day, total.found, total.cited) == ("sso", "en", "", 2, 2)
    assert await gaps.article_totals(since="2026-02-06", until="2026-02-28") == []


async def test_articles_that_are_opened_and_never_cited_are_listed(gaps: GapStore, store: SqlStore) -> None:
    def opened(article_id: str, *, cited: bool = False) -> FoundArticle:
        found = FOUND.documents[0]
        return msgspec.structs.replace(found, id=article_id, forms=("full",), cited=cited)

    for number, ids in enumerate((("a", "b"), ("a", "b"), ("a", "c"))):
        trail = TurnTrail(documents=tuple(opened(name, cited=name == "b" and number == 0) for name in ids))
        await ask(store, f"t_{number}", f"c_{number}", visitor=ANNA.id, at=NOON, trail=trail)
    days = {"since": "2026-02-01", "until": "2026-02-28"}
    assert await gaps.never_cited(**days, least=1, limit=9) == [("a", 3), ("c", 1)]
    assert await gaps.never_cited(**days, least=2, limit=9) == [("a", 3)]
    assert await gaps.never_cited(**days, least=1, limit=1) == [("a", 3)]
    assert await gaps.never_cited(since="2026-03-01", until="2026-03-02", least=1, limit=9) == []


async def test_a_turn_counts_once_though_it_is_stored_again_and_though_it_is_deleted(
    gaps: GapStore, store: SqlStore
) -> None:
    await unanswered(store, "t_1", trail=FOUND)
    stored = await store.turn("t_1", ANNA.id)
    assert stored is not None
    await store.finish_turn(stored.turn, stored.trail)
    assert await store.delete_conversation("c_t_1", ANNA.id)
    (count,) = await gaps.article_totals(since="2026-02-01", until="2026-02-28")
    assert (count.article_id, count.found, count.failed) == ("sso", 1, 1)


async def test_staff_tests_count_for_no_article_and_are_no_gap(gaps: GapStore, store: SqlStore) -> None:
    tester = Visitor("v_staff_anna", ("public",))
    await store.add_visitor(tester, b"s" * 32, NOON)
    await unanswered(store, "t_1", visitor=tester.id, trail=FOUND)
    assert await gaps.fresh(10) == []
    assert await gaps.article_totals(since="2026-02-01", until="2026-02-28") == []


def test_a_look_reads_only_the_turns_that_wait() -> None:
    engine = create_engine("sqlite://")
    metadata.create_all(engine)
    query = sql_gap_intake.WAITING.compile(engine, compile_kwargs={"literal_binds": True})
    with engine.connect() as connection:
        plan = str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {query}").all())
    engine.dispose()
    assert "ix_turns_to_look_at" in plan


async def test_what_cannot_be_a_gap_is_never_looked_at(
    gaps: GapStore, store: SqlStore, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[dict[str, Any]] = [
        {"status": "answered"},
        {"status": "evidence"},
        {"status": "stopped", "sources": ()},
        {"status": "failed", "sources": ()},
        {"status": "answered", "sources": (), "kind": "smalltalk"},
        {"status": "insufficient", "sources": (), "model_error": "budget"},
    ]
    for number, end in enumerate(ends):
        await ask(store, f"t_{number}", f"c_{number}", visitor=ANNA.id, at=NOON, **end)
    await store.begin_turn(TurnRow("t_running", "c_running", ANNA.id, "How?", NOON, True))
    unused: Any = None
    queue = GapService(
        store=gaps, retriever=unused, clock=unused, settings=unused, assistant=unused, model=None,
        embedders=dict, waiting=lambda: False,
    )  # fmt: skip

    async def no_write(job: object) -> None:
        raise AssertionError(f"written: {job}")

    monkeypatch.setattr(database, "write", no_write)
    await queue.look()
    await queue.group()
    assert await gaps.fresh(10) == []


# --- grouping ---


async def test_most_distinct_visitors_come_first_then_the_newest(gaps: GapStore, store: SqlStore) -> None:
    for number in range(5):
        await unanswered(store, f"t_{number}")
    await unanswered(store, "t_5", visitor=BEN.id)
    await unanswered(store, "t_6", visitor=ANNA.id, at=LATER)
    await unanswered(store, "t_7", visitor=ANNA.id, at=LATEST)
    await taken_in(gaps, t_0="a", t_1="a", t_2="a", t_3="a", t_4="b", t_5="b", t_6="c", t_7="d")
    await put(gaps, a="g_a", b="g_b", c="g_c", d="g_d")
    assert await queue(gaps) == [("g_b", 2, 2), ("g_d", 1, 1), ("g_c", 1, 1), ("g_a", 1, 4)]


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_pages_hold_every_gap_once(gaps: GapStore, store: SqlStore, limit: int) -> None:
    for number in range(5):
        await unanswered(store, f"t_{number}", at=LATER if number % 2 else NOON)
    await taken_in(gaps, **{f"t_{number}": f"w{number}" for number in range(5)})
    await put(gaps, **{f"w{number}": f"g_{number}" for number in range(5)})
    seen: list[str] = []
    cursor = None
    for _ in range(10):
        page = await gaps.gaps(GapFilter(), cursor=cursor, limit=limit)
        seen += [gap.id for gap in page.gaps]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == ["g_1", "g_3", "g_0", "g_2", "g_4"]


async def test_a_cursor_that_is_none_of_ours_is_refused(gaps: GapStore) -> None:
    for cursor in ("x", "é", "bjEy", "!!!!", "A" * 500):
        with pytest.raises(RequestError) as refused:
            await gaps.gaps(GapFilter(), cursor=cursor)
        assert refused.value.code == "invalid_cursor"


async def test_nothing_is_grouped_over_what_somebody_did_meanwhile(gaps: GapStore, store: SqlStore) -> None:
    await two_gaps(gaps, store)
    pile = await gaps.pile(10)
    await gaps.change_gap("g_1", GapChange(status="in_progress"), actor="eva", at=NOON)
    assert await gaps.regroup(Regrouping(pile.version, {"a": "g_2", "b": "g_2", "c": "g_2"}, NOON)) is None
    assert await queue(gaps) == [("g_1", 1, 2), ("g_2", 1, 1)]


async def test_a_gap_that_loses_all_its_questions_stands_for_where_they_went(gaps: GapStore, store: SqlStore) -> None:
    await two_gaps(gaps, store)
    await put(gaps, a="g_1", b="g_1", c="g_1")
    assert await queue(gaps) == [("g_1", 1, 3)]
    assert (await one(gaps, "g_2")).id == "g_1"
    assert [event.what for event in await gaps.history("g_2")] == ["created", "merged"]


async def test_the_cause_is_the_most_frequent_one_unless_a_person_says_it(gaps: GapStore, store: SqlStore) -> None:
    for turn in ("t_1", "t_2", "t_3"):
        await unanswered(store, turn)
    batch = await gaps.fresh(10)
    causes = ("nothing_found", "opened_but_silent", "opened_but_silent")
    await gaps.take_in(
        [fresh.seq for fresh in batch],
        [question(fresh, "a", cause) for fresh, cause in zip(batch, causes, strict=True)],
    )
    await put(gaps, a="g_1")
    assert (await one(gaps, "g_1")).cause == "opened_but_silent"
    await gaps.change_gap("g_1", GapChange(cause="out_of_scope"), actor="eva", at=NOON)
    await put(gaps, a="g_1")
    assert await queue(gaps) == []
    assert (await gaps.gaps(GapFilter())).out_of_scope == 1
    assert (await gaps.gaps(GapFilter(status="done"))).out_of_scope == 0
    asked_for = await gaps.gaps(GapFilter(cause="out_of_scope"))
    assert ([gap.id for gap in asked_for.gaps], asked_for.out_of_scope) == (["g_1"], 0)
    assert await gaps.in_queue("c_t_1") == {"t_1": InQueue("nothing_found", "g_1", "out_of_scope")}
    assert await gaps.in_queue("c_nobody") == {}


# --- by hand ---


async def test_a_merge_takes_everything_along_and_pins_the_wordings(gaps: GapStore, store: SqlStore) -> None:
    await two_gaps(gaps, store)
    await gaps.change_gap("g_2", GapChange(note="same thing"), actor="eva", at=NOON)
    assert await gaps.merge_gaps("g_1", ["g_2"], actor="eva", at=LATER)
    assert await queue(gaps) == [("g_1", 1, 3)]
    assert [note.text for note in await gaps.notes("g_2")] == ["same thing"]
    assert {wording.pin for wording in (await gaps.pile(10)).wordings} == {"g_1"}
    assert not await gaps.merge_gaps("g_1", ["g_unknown"], actor="eva", at=LATER)
    assert await gaps.merge_gaps("g_1", ["g_2"], actor="eva", at=LATER), "merged already"


async def test_a_split_takes_whole_wordings_and_both_sides_stay(gaps: GapStore, store: SqlStore) -> None:
    await two_gaps(gaps, store)
    await unanswered(store, "t_4", visitor=BEN.id)
    await taken_in(gaps, t_4="a")
    await put(gaps, a="g_1", b="g_1", c="g_2")
    assert await gaps.split_gap("g_1", ["t_1"], "g_new", actor="eva", at=LATER) == "g_new"
    assert await queue(gaps) == [("g_new", 2, 2), ("g_1", 1, 1), ("g_2", 1, 1)]
    pins = {wording.wording: (wording.pin, wording.held) for wording in (await gaps.pile(10)).wordings}
    assert pins == {"a": ("g_new", True), "b": ("g_1", True), "c": (None, False)}
    assert await gaps.split_gap("g_1", ["t_2"], "g_x", actor="eva", at=LATER) is None, "nothing would be left"
    assert await gaps.split_gap("g_1", ["t_3"], "g_x", actor="eva", at=LATER) is None, "not a question of it"


async def test_what_people_change_is_told_with_who_and_when(gaps: GapStore, store: SqlStore) -> None:
    await two_gaps(gaps, store)
    change = GapChange(status="in_progress", assignee="eva", note="on it")
    assert await gaps.change_gap("g_1", change, actor="max", at=LATER)
    assert await gaps.change_gap("g_1", GapChange(assignee=None), actor="max", at=LATEST)
    assert not await gaps.change_gap("g_unknown", change, actor="max", at=LATER)
    gap = await one(gaps, "g_1")
    assert (gap.status, gap.assignee, gap.held) == ("in_progress", None, True)
    history = [(event.at, event.actor, event.what, event.detail) for event in await gaps.history("g_1")]
    assert history[1:] == [
        (LATER, "max", "note", {}),
        (LATER, "max", "status", {"from": "open", "to": "in_progress"}),
        (LATER, "max", "assignee", {"from": None, "to": "eva"}),
        (LATEST, "max", "assignee", {"from": "eva", "to": None}),
    ]
    assert [(note.author, note.text) for note in await gaps.notes("g_1")] == [("max", "on it")]


@pytest.mark.parametrize("status", ["done", "not_supported", "dismissed"])
async def test_what_is_closed_leaves_the_queue_and_only_done_comes_back(
    gaps: GapStore, store: SqlStore, status: str
) -> None:
    await two_gaps(gaps, store)
    await gaps.change_gap("g_1", GapChange(status=status), actor="eva", at=LATER)  # type: ignore[arg-type]
    assert await queue(gaps) == [("g_2", 1, 1)]
    assert await put(gaps, a="g_1", b="g_1", c="g_2") == [], "what was asked before it was closed opens nothing"
    await unanswered(store, "t_9", visitor=BEN.id, at=LATEST)
    await taken_in(gaps, t_9="a")
    happened = await put(gaps, LATEST, a="g_1", b="g_1", c="g_2")
    gap = await one(gaps, "g_1")
    if status == "done":
        assert happened == [Happened("gap.reopened", "g_1", LATEST)]
        assert (gap.status, gap.closed_at, gap.visitors) == ("open", None, 2)
        assert [event.what for event in await gaps.history("g_1")] == ["created", "status", "reopened"]
    else:
        assert (happened, gap.status) == ([], status)


# --- checking again ---


async def test_an_answer_waits_for_confirmation_or_closes(gaps: GapStore, store: SqlStore) -> None:
    await two_gaps(gaps, store)
    assert await gaps.set_answer("g_1", ANSWER, close=False, at=LATER)
    assert await gaps.set_answer("g_1", ANSWER, close=False, at=LATEST)
    assert ((await one(gaps, "g_1")).status, (await one(gaps, "g_1")).answered_by) == ("open", ANSWER)
    assert [event.what for event in await gaps.history("g_1")] == ["created", "answered"], "told once"
    assert await gaps.set_answer("g_2", ANSWER, close=True, at=LATER)
    closed = await one(gaps, "g_2")
    assert (closed.status, closed.article, closed.closed_at, closed.held) == ("done", "sso", LATER, True)
    assert not await gaps.set_answer("g_2", None, close=False, at=LATEST), "it does not wait any more"
    await gaps.set_answer("g_1", None, close=False, at=LATEST)
    assert (await one(gaps, "g_1")).answered_by is None


async def test_the_state_of_checking_is_kept(gaps: GapStore) -> None:
    assert await gaps.checked() == ""
    for state in ("one", "two"):
        await gaps.set_checked(state)
        assert await gaps.checked() == state


# --- erasure ---


async def test_an_erased_visitor_leaves_nothing_in_the_queue(
    gaps: GapStore, store: SqlStore, database: Database
) -> None:
    await two_gaps(gaps, store)
    await unanswered(store, "t_4", visitor=BEN.id)
    await taken_in(gaps, t_4="a")
    await put(gaps, a="g_1", b="g_1", c="g_2")
    await SqlConsole(database).erase_visitor(ANNA.id)
    assert await queue(gaps) == [("g_1", 1, 1)]
    assert [asked.turn_id for asked in (await gaps.asked(["g_1"]))["g_1"]] == ["t_4"]
    await put(gaps, a="g_1")
    assert await gaps.gap("g_2") is None, "nobody has worked on it"
    await SqlConsole(database).erase_visitor(BEN.id)
    await put(gaps)
    assert await gaps.gap("g_1") is None
    assert (await gaps.pile(10)).wordings == ()


async def test_a_gap_that_people_worked_on_outlives_its_questions(
    gaps: GapStore, store: SqlStore, database: Database
) -> None:
    await two_gaps(gaps, store)
    await gaps.merge_gaps("g_1", ["g_2"], actor="eva", at=NOON)
    await SqlConsole(database).erase_visitor(ANNA.id)
    await put(gaps)
    assert (await one(gaps, "g_1")).count == 0
    await unanswered(store, "t_9", visitor=BEN.id)
    await taken_in(gaps, t_9="c")
    (wording,) = (await gaps.pile(10)).wordings
    assert (wording.gap_id, wording.pin) == (None, "g_1"), "the merge still holds"


# --- the outbox ---


async def test_an_event_is_due_until_it_is_delivered_or_given_up(gaps: GapStore) -> None:
    down = Happened("feedback.down", "t_1", NOON)
    await gaps.add_event(down)
    await gaps.add_event(Happened("feedback.down", "t_1", LATER))
    (item,) = await gaps.due_events(now=NOON, limit=10)
    assert (item.happened, item.tries) == (down, 0), "once for each turn"
    await gaps.event_tried(item.seq, delivered_at=None, due_at=LATER)
    assert await gaps.due_events(now=NOON, limit=10) == []
    (item,) = await gaps.due_events(now=LATER, limit=10)
    assert item.tries == 1
    await gaps.event_tried(item.seq, delivered_at=LATER, due_at=None)
    assert await gaps.due_events(now=LATEST, limit=10) == []


async def test_new_gaps_are_announced_only_where_somebody_listens(gaps: GapStore, store: SqlStore) -> None:
    await unanswered(store, "t_1")
    await taken_in(gaps, t_1="a")
    assert await put(gaps, a="g_1") == [Happened("gap.new", "g_1", NOON)]
    assert await gaps.due_events(now=LATER, limit=10) == []
    await unanswered(store, "t_2")
    await taken_in(gaps, t_2="b")
    await put(gaps, announce=True, a="g_1", b="g_2")
    assert [item.happened.target for item in await gaps.due_events(now=LATER, limit=10)] == ["g_2"]
