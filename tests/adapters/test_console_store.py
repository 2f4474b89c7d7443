"""The contract of ConsoleStore, on SQLite and PostgreSQL: log, full text, notes, staff, audit, privacy, figures."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from sqlalchemy import exc, text
from test_conversation_store import ANNA, BEN, NOON, TRAIL, answer, row

from refdesk.adapters import sql_turns
from refdesk.adapters.cursors import to_cursor
from refdesk.adapters.sql_console import SqlConsole
from refdesk.adapters.sql_database import Database
from refdesk.adapters.sql_store import SqlStore
from refdesk.domain.console import (
    AuditEntry,
    LogFilter,
    LogPage,
    Note,
    Retention,
    StaffAccount,
    StaffKey,
    TurnVerdict,
)
from refdesk.domain.conversation import Feedback, TurnTrail, Usage, Visitor
from refdesk.errors import RequestError, StorageUnavailable
from refdesk.ports import ConsoleStore

LATER = "2026-02-03T13:00:00Z"


@pytest.fixture
def console(database: Database) -> ConsoleStore:
    return SqlConsole(database)


@pytest.fixture
async def store(database: Database) -> SqlStore:
    opened = SqlStore(database)
    await opened.add_visitor(ANNA, b"a" * 32, NOON)
    await opened.add_visitor(BEN, b"b" * 32, NOON)
    return opened


async def ask(
    store: SqlStore,
    turn: str,
    conversation: str,
    *,
    visitor: str = ANNA.id,
    at: str = NOON,
    trail: TurnTrail = TRAIL,
    **changes: Any,
) -> None:
    new = await store.conversation(conversation, None) is None
    question = changes.get("question", "How do I set up SSO?")
    await store.begin_turn(row(turn, conversation, visitor=visitor, new=new, question=question, created_at=at))
    finished = answer(turn, conversation, **changes)
    finished.created_at = at
    await store.finish_turn(finished, trail)


async def listed(console: ConsoleStore, **wanted: Any) -> list[str]:
    page = await console.log(LogFilter(**wanted))
    return [entry.turn.id for entry in page.entries]


# --- the log ---------------------------------------------------------------------------------


async def test_log_shows_each_conversation_at_its_newest_turn(console: ConsoleStore, store: SqlStore) -> None:
    await ask(store, "t_1", "c_1")
    await ask(store, "t_2", "c_2", visitor=BEN.id)
    await ask(store, "t_3", "c_1", at=LATER)
    first, second = (await console.log(LogFilter())).entries
    assert (first.conversation_id, first.turns, first.turn.id) == ("c_1", 2, "t_3")
    assert (first.visitor_id, first.subject, first.created_at) == (ANNA.id, None, NOON)
    assert (second.conversation_id, second.turns, second.subject) == ("c_2", 1, "ben@x")


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"status": "insufficient"}, ["t_2"]),
        ({"grounded": False}, ["t_3", "t_2"]),
        ({"grounded": True}, ["t_4", "t_1"]),
        ({"kind": "catalogue"}, ["t_3"]),
        ({"language": "cs"}, ["t_2"]),
        ({"rating": "down"}, ["t_1"]),
        ({"rating": "up"}, []),
        ({"verdict": "wrong_source"}, ["t_4"]),
        ({"tag": "billing"}, ["t_4"]),
        ({"visitor_id": BEN.id}, ["t_4"]),
        ({"since": "2026-02-03T14:00:00+01:00"}, ["t_4", "t_3"]),
        ({"until": "2026-02-03T13:00:00Z"}, ["t_2", "t_1"]),
        ({"since": "2026-02-03T12:30:00Z", "until": "2026-02-03T13:30:00Z"}, ["t_3"]),
        ({"grounded": True, "language": "cs"}, []),
        ({"grounded": False, "q": "refund"}, ["t_2"]),
    ],
)
async def test_log_filters(console: ConsoleStore, store: SqlStore, wanted: Any, expected: list[str]) -> None:
    await ask(store, "t_1", "c_1")
    await store.set_feedback("t_1", ANNA.id, Feedback("down"))
    refund = {"question": "Refund?", "language": "cs", "grounded": False, "status": "insufficient"}
    await ask(store, "t_2", "c_2", **refund)
    await ask(store, "t_3", "c_3", at=LATER, kind="catalogue", grounded=False)
    await ask(store, "t_4", "c_4", visitor=BEN.id, at="2026-02-03T14:00:00Z")
    await console.set_verdict(TurnVerdict("t_4", "wrong_source", "kim", LATER))
    await console.change_tags("c_4", add=["billing"], author="kim", at=LATER)
    assert await listed(console, **wanted) == expected


async def test_filter_holds_of_one_and_the_same_turn(console: ConsoleStore, store: SqlStore) -> None:
    await ask(store, "t_1", "c_1", language="cs")
    await ask(store, "t_2", "c_1", grounded=False)
    assert await listed(console, language="cs") == ["t_1"]
    assert await listed(console, language="cs", grounded=False) == []


@pytest.mark.parametrize("q", ["", "metadata"])
async def test_conversation_is_on_one_page_only_even_if_its_turns_spread(
    console: ConsoleStore, store: SqlStore, q: str
) -> None:
    for number in range(12):
        await ask(store, f"t_{number}", f"c_{number % 4}", answer="metadata" if number < 11 else "other")
    pages, cursor = [], None
    for _ in range(4):
        page = await console.log(LogFilter(q=q), cursor=cursor, limit=1)
        pages.append([entry.turn.id for entry in page.entries])
        cursor = page.next_cursor
    assert pages == ([["t_10"], ["t_9"], ["t_8"], ["t_7"]] if q else [["t_11"], ["t_10"], ["t_9"], ["t_8"]])
    assert cursor is None


async def test_pages_join_without_gap_or_repetition(console: ConsoleStore, store: SqlStore) -> None:
    for number in range(23):
        await ask(store, f"t_{number}", f"c_{number % 11}", at=LATER)
    seen, cursor = [], None
    while True:
        page = await console.log(LogFilter(), cursor=cursor, limit=3)
        seen += [entry.conversation_id for entry in page.entries]
        await ask(store, f"t_new_{len(seen)}", f"c_new_{len(seen)}")  # what comes meanwhile is on none of them
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [f"c_{number % 11}" for number in range(22, 11, -1)]


@pytest.mark.parametrize("cursor", ["x", "x" * 1000, "é", "\0", "\ud800", "bm4", "bi0x"])
async def test_cursor_that_is_none_of_ours_is_refused(console: ConsoleStore, cursor: str) -> None:
    with pytest.raises(RequestError) as caught:
        await console.log(LogFilter(), cursor=cursor)
    assert (caught.value.status, caught.value.code, caught.value.field) == (400, "invalid_cursor", "cursor")


async def test_page_past_the_end_is_empty(console: ConsoleStore, store: SqlStore) -> None:
    await ask(store, "t_1", "c_1")
    assert await console.log(LogFilter(), cursor=to_cursor(1)) == LogPage((), None)


@pytest.mark.parametrize("time", ["x", "", "2026-13-01", "0001-01-01T00:00:00+23:59", "9" * 500, "2026-01-01\0"])
async def test_time_that_is_none_is_refused(console: ConsoleStore, time: str) -> None:
    with pytest.raises(RequestError, match="from") as caught:
        await console.log(LogFilter(since=time))
    assert (caught.value.status, caught.value.code, caught.value.field) == (400, "invalid_time", "from")


# --- full text -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("q", "found"),
    [
        ("metadata", True),
        ("METADATA url", True),
        ("meta", True),
        ("etadata", False),
        ("privet", False),
        ("příliš", True),
        ("prilis zlutoucky", True),
        ("ПРИВЕТ", True),
        ("ещё", True),
        ("еще", True),
        ("退款", True),
        ("款", True),
        ("O'Brien", True),
        ("export.csv", True),
        ("metadata absent", False),
        ('"metadata" OR absent*', False),
        ("metadata -url", True),
        ("?!", False),
        ("   ", True),
        ("'; DROP TABLE turns; --", False),
        ("x" * 5000, False),
        ("metadata\0", True),
        ("\ud800", False),
        ("a " * 500, False),
    ],
)
async def test_full_text(console: ConsoleStore, store: SqlStore, q: str, found: bool) -> None:
    said = "Paste the **metadata** URL. Příliš žluťoučký. Привет, ещё! 我要退款。 O'Brien's /export.csv"
    await ask(store, "t_1", "c_1", question="How?", answer=said)
    assert await listed(console, q=q) == (["t_1"] if found else [])


async def test_question_is_found_too_and_an_interrupted_one(console: ConsoleStore, store: SqlStore) -> None:
    await ask(store, "t_1", "c_1", question="Where is Waldo?")
    await store.begin_turn(row("t_2", "c_2", new=True, question="Waldo again?"))
    assert await listed(console, q="waldo") == ["t_1"]
    await store.database.write(sql_turns.interrupt_all)
    assert await listed(console, q="waldo") == ["t_2", "t_1"]


async def test_deleted_text_is_not_found(console: ConsoleStore, store: SqlStore) -> None:
    await ask(store, "t_1", "c_1", question="Waldo?")
    await ask(store, "t_2", "c_2", question="Waldo?")
    await store.delete_conversation("c_1", ANNA.id)
    assert await listed(console, q="waldo") == ["t_2"]


# --- export ----------------------------------------------------------------------------------


async def test_export_gives_every_turn_once_oldest_first(console: ConsoleStore, store: SqlStore) -> None:
    for number in range(7):
        await ask(store, f"t_{number}", f"c_{number % 2}", visitor=(ANNA, BEN)[number % 2].id)
    await console.set_verdict(TurnVerdict("t_1", "right", "kim", LATER))
    turns, cursor = [], None
    while True:
        page = await console.exported(LogFilter(grounded=True), cursor=cursor, limit=3)
        turns += page.turns
        cursor = page.next_cursor
        if cursor is None:
            break
    assert [logged.stored.turn.id for logged in turns] == [f"t_{number}" for number in range(7)]
    assert [logged.verdict for logged in turns[:3]] == [None, "right", None]
    assert (turns[1].visitor_id, turns[1].subject, turns[1].stored.trail) == (BEN.id, "ben@x", TRAIL)
    assert (await console.exported(LogFilter(grounded=False))).turns == ()


# --- notes, tags, verdicts -------------------------------------------------------------------


async def test_notes_and_tags_of_several_agents_all_stay(console: ConsoleStore, store: SqlStore) -> None:
    await ask(store, "t_1", "c_1")
    agents = ["kim", "lee", "mia"]
    notes = (console.add_note("c_1", Note(agent, NOON, f"by {agent}")) for agent in agents)
    tags = (console.change_tags("c_1", add=[agent, "vip"], author=agent, at=NOON) for agent in agents)
    assert all(await asyncio.gather(*notes, *tags))
    await console.change_tags("c_1", remove=["lee", "absent"], author="kim", at=NOON)
    kept = await console.annotations("c_1")
    assert sorted(note.text for note in kept.notes) == ["by kim", "by lee", "by mia"]
    assert kept.tags == ("kim", "mia", "vip")
    assert (await console.log(LogFilter())).entries[0].tags == ("kim", "mia", "vip")


async def test_verdict_is_one_per_turn_and_may_change(console: ConsoleStore, store: SqlStore) -> None:
    await ask(store, "t_1", "c_1")
    await console.set_verdict(TurnVerdict("t_1", "right", "kim", NOON))
    changed = TurnVerdict("t_1", "should_have_answered", "lee", "2026-02-03T13:00:00.000Z", "see refunds")
    assert await console.set_verdict(changed)
    assert (await console.annotations("c_1")).verdicts == (changed,)


async def test_nothing_hangs_on_what_does_not_exist(console: ConsoleStore) -> None:
    assert not await console.add_note("c_none", Note("kim", NOON, "x"))
    assert not await console.change_tags("c_none", add=["x"], author="kim", at=NOON)
    assert not await console.set_verdict(TurnVerdict("t_none", "right", "kim", NOON))
    assert (await console.annotations("c_none")).notes == ()


async def test_annotations_go_with_their_conversation(console: ConsoleStore, store: SqlStore) -> None:
    await ask(store, "t_1", "c_1")
    await console.add_note("c_1", Note("kim", NOON, "x"))
    await console.set_verdict(TurnVerdict("t_1", "right", "kim", NOON))
    await store.delete_conversation("c_1", ANNA.id)
    kept = await console.annotations("c_1")
    assert (kept.notes, kept.verdicts) == ((), ())


# --- staff -----------------------------------------------------------------------------------

KIM = StaffAccount("kim", "agent", NOON, "$argon2id$1")


async def test_accounts(console: ConsoleStore) -> None:
    assert await console.add_staff(KIM)
    assert not await console.add_staff(StaffAccount("kim", "admin", NOON))
    assert await console.add_staff(StaffAccount("ada", "admin", NOON))
    assert await console.staff_account("kim") == KIM
    assert await console.staff_account("KIM") is None
    assert [account.name for account in await console.staff_accounts()] == ["ada", "kim"]
    assert await console.change_staff("kim", role="admin")
    assert await console.staff_account("kim") == StaffAccount("kim", "admin", NOON, "$argon2id$1")
    assert not await console.change_staff("nobody", role="admin")


async def test_session_ends_with_its_time_its_logout_or_its_account(console: ConsoleStore) -> None:
    await console.add_staff(KIM)
    for session in (b"1", b"2"):
        await console.open_staff_session(session, "kim", at=NOON, expires_at=LATER)
    assert await console.staff_by_session(b"1", now=NOON) == KIM
    assert await console.staff_by_session(b"1", now="2026-02-03T13:00:00Z") is None
    assert await console.staff_by_session(b"3", now=NOON) is None
    assert await console.close_staff_session(b"1")
    assert not await console.close_staff_session(b"1")
    assert await console.staff_by_session(b"1", now=NOON) is None
    await console.change_staff("kim", disabled=True)
    assert await console.staff_by_session(b"2", now=NOON) is None
    await console.change_staff("kim", disabled=False)
    assert await console.staff_by_session(b"2", now=NOON) is None


async def test_new_password_ends_every_session(console: ConsoleStore) -> None:
    await console.add_staff(KIM)
    await console.open_staff_session(b"1", "kim", at=NOON, expires_at=LATER)
    await console.change_staff("kim", password_hash="$argon2id$2")
    assert await console.staff_by_session(b"1", now=NOON) is None


async def test_key_acts_for_its_account(console: ConsoleStore) -> None:
    key = StaffKey("k1", "kim", "ci", NOON)
    assert not await console.add_staff_key(key, b"h" * 32)
    await console.add_staff(KIM)
    assert await console.add_staff_key(key, b"h" * 32)
    assert await console.staff_by_key("k1", b"h" * 32) == KIM
    assert await console.staff_by_key("k1", b"x" * 32) is None
    assert await console.staff_by_key("k2", b"h" * 32) is None
    assert await console.staff_keys("kim") == [key]
    await console.change_staff("kim", disabled=True)
    assert await console.staff_by_key("k1", b"h" * 32) is None
    await console.change_staff("kim", disabled=False)
    assert await console.disable_staff_key("k1")
    assert await console.staff_by_key("k1", b"h" * 32) is None
    assert [listed.disabled for listed in await console.staff_keys()] == [True]


async def test_audit_log_is_paged_newest_first(console: ConsoleStore) -> None:
    for number in range(5):
        await console.add_audit(AuditEntry(NOON, "kim", "::1", "login", f"x{number}", {"ok": True}))
    page = await console.audit(limit=3)
    assert [entry.target for entry in page.entries] == ["x4", "x3", "x2"]
    rest = await console.audit(cursor=page.next_cursor, limit=3)
    assert [entry.target for entry in rest.entries] == ["x1", "x0"]
    assert (rest.next_cursor, rest.entries[0]) == (None, AuditEntry(NOON, "kim", "::1", "login", "x1", {"ok": True}))


AUDIT_ROW = "INTO audit (seq, created_at, actor, ip, action, target, detail) VALUES (1, '', 'x', '', '', '', '{}')"
OVERWRITE = f"INSERT {AUDIT_ROW} ON CONFLICT (seq) DO UPDATE SET actor = 'x'"


@pytest.mark.parametrize(
    "change", ["UPDATE audit SET actor = 'x'", "DELETE FROM audit", OVERWRITE, f"REPLACE {AUDIT_ROW}", "TRUNCATE audit"]
)
async def test_audit_log_only_grows(console: ConsoleStore, database: Database, change: str) -> None:
    """Also where a statement is of one of the databases only: the other refuses it anyway."""
    entry = AuditEntry(NOON, "kim", "::1", "login")
    await console.add_audit(entry)
    with pytest.raises((exc.DBAPIError, StorageUnavailable)):
        await database.write(lambda connection: connection.execute(text(change)))
    assert (await console.audit()).entries == (entry,)
    await console.add_audit(entry)
    assert (await console.audit()).entries == (entry, entry)


async def test_what_a_failed_statement_was_given_is_not_in_its_error(database: Database) -> None:
    """An error that nobody foresaw is logged; what it was about to store is what a visitor wrote."""
    statement = text("SELECT * FROM servers WHERE id = :word AND beat_at = CAST(:word AS integer) AND no_column = 1")
    with pytest.raises((exc.DBAPIError, StorageUnavailable)) as caught:
        await database.write(lambda connection: connection.execute(statement, {"word": "cerase"}))
    cause = caught.value.__cause__
    assert "cerase" not in f"{caught.value} {cause}"
    assert "no_column" in f"{caught.value} {cause}"


# --- privacy ---------------------------------------------------------------------------------

CARL = Visitor(id="v_carl", roles=("public", "signed-in"), subject="carl")


async def signed_in(console: ConsoleStore, visitor: Visitor, token: bytes, earlier: str | None = None) -> Visitor:
    return await console.sign_in(visitor, token, at=NOON, expires_at=LATER, earlier=earlier)


async def test_visitor_who_signs_in_keeps_the_conversations_of_the_browser(
    console: ConsoleStore, store: SqlStore
) -> None:
    await ask(store, "t_1", "c_1")
    assert await signed_in(console, CARL, b"c" * 32, ANNA.id) == CARL
    assert await store.turn("t_1", CARL.id) is not None
    assert await store.turn("t_1", ANNA.id) is None
    assert [owned.id for owned in await console.conversations_of(CARL.id)] == ["c_1"]


async def test_one_subject_is_one_visitor_with_the_roles_of_the_session(console: ConsoleStore, store: SqlStore) -> None:
    await signed_in(console, CARL, b"c" * 32)
    again = await signed_in(console, Visitor("v_2", ("public", "signed-in", "partner"), "carl"), b"d" * 32)
    assert again == Visitor("v_carl", ("public", "signed-in", "partner"), "carl")
    assert await store.visitor_by_token(b"c" * 32, now=NOON) == CARL
    assert (await store.visitor_by_token(b"d" * 32, now=NOON)) is not None
    assert await store.visitor_by_token(b"d" * 32, now=LATER) is None


async def test_expired_tokens_go_when_their_owner_signs_in_again(
    console: ConsoleStore, store: SqlStore, database: Database
) -> None:
    for number in range(3):
        at, end = f"2026-02-0{number + 1}T12:00:00Z", f"2026-02-0{number + 2}T12:00:00Z"
        await console.sign_in(CARL, b"%032d" % number, at=at, expires_at=end, earlier=None)
    counted = text("SELECT count(*) FROM visitor_tokens WHERE visitor_id = 'v_carl'")
    assert await database.read(lambda connection: connection.execute(counted).scalar()) == 1
    assert await store.visitor_by_token(b"%032d" % 2, now="2026-02-03T13:00:00Z") == CARL
    assert await store.visitor_by_token(b"a" * 32, now=LATER) == ANNA


async def test_nobody_signs_in_over_another_subject(console: ConsoleStore, store: SqlStore) -> None:
    await ask(store, "t_1", "c_1", visitor=BEN.id)
    await signed_in(console, CARL, b"c" * 32, BEN.id)
    assert await store.turn("t_1", BEN.id) is not None
    assert await store.turn("t_1", CARL.id) is None


async def test_erased_visitor_is_gone_and_nobody_else(console: ConsoleStore, store: SqlStore) -> None:
    await ask(store, "t_1", "c_1", question="cerase")
    await store.set_feedback("t_1", ANNA.id, Feedback("down", "cerase"))
    await console.add_note("c_1", Note("kim", NOON, "cerase"))
    await ask(store, "t_2", "c_2", visitor=BEN.id)
    assert await console.erase_visitor(ANNA.id)
    assert not await console.erase_visitor(ANNA.id)
    assert await store.visitor_by_token(b"a" * 32, now=NOON) is None
    assert await listed(console) == ["t_2"]
    assert await listed(console, q="cerase") == []
    assert await console.erase_subject("ben@x")
    assert not await console.erase_subject("ben@x")
    assert await listed(console) == []


async def test_retention_deletes_what_is_old_and_keeps_the_counts(console: ConsoleStore, store: SqlStore) -> None:
    await ask(store, "t_old", "c_1", at="2025-11-01T00:00:00Z")
    await ask(store, "t_mixed", "c_1")
    for number in range(4):
        await ask(store, f"t_{number}", f"c_new_{number}", at=LATER)
    before = await console.day_counts(since="2025-01-01", until="2026-12-31")
    assert await console.retain(since="2025-12-01T00:00:00Z") == Retention(deleted=1, due=1, total=6)
    assert await console.day_counts(since="2025-01-01", until="2026-12-31") == before
    assert [stored.turn.id for stored in await store.turns("c_1")] == ["t_mixed"]
    assert await console.retain(since="2025-12-01T00:00:00Z") == Retention(deleted=0, due=0, total=5)


async def test_retention_that_would_delete_much_stops(console: ConsoleStore, store: SqlStore) -> None:
    for number in range(4):
        await ask(store, f"t_{number}", f"c_{number}", at=("2025-11-01T00:00:00Z", LATER)[number > 0])
    stopped = await console.retain(since="2025-12-01T00:00:00Z")
    assert stopped == Retention(deleted=0, due=1, total=4, stopped=True)
    assert await store.turn("t_0", None) is not None
    assert await console.retain(since="2025-12-01T00:00:00Z", force=True) == Retention(deleted=1, due=1, total=4)
    assert await store.conversation("c_0", None) is None


async def test_retention_forgets_visitors_who_have_nothing_left(console: ConsoleStore, store: SqlStore) -> None:
    old = "2025-11-01T00:00:00Z"
    await store.add_visitor(Visitor("v_old", ("public",)), b"o" * 32, old)
    await store.add_visitor(Visitor("v_staff_key", ()), b"k" * 32, old)
    await store.add_visitor(Visitor("v_busy", ("public",)), b"y" * 32, old)
    await ask(store, "t_1", "c_1", visitor="v_busy")
    await console.retain(since="2025-12-01T00:00:00Z")
    known = [await store.visitor_by_token(token * 32, now=NOON) is not None for token in (b"o", b"k", b"y", b"a")]
    assert known == [False, True, True, True]


# --- figures ---------------------------------------------------------------------------------


async def test_days_are_counted(console: ConsoleStore, store: SqlStore) -> None:
    usage = Usage(model="haiku", calls=1, input_tokens=100, output_tokens=7)
    await ask(store, "t_1", "c_1", trail=TurnTrail(usage=usage, timings={"first_word_ms": 180.0, "total_ms": 1200.0}))
    await ask(store, "t_2", "c_2", trail=TurnTrail(usage=usage, timings={"total_ms": 99_999.0}), grounded=False)
    refusal = {"status": "insufficient", "grounded": False, "language": "ru"}
    await ask(store, "t_3", "c_3", trail=TurnTrail(reason="low_coverage"), **refusal)
    down = {"status": "evidence", "grounded": False, "model_error": "overloaded"}
    await ask(store, "t_4", "c_4", trail=TurnTrail(), at="2026-02-04T00:00:00Z", **down)
    await store.begin_turn(row("t_5", "c_5", new=True))
    await store.set_feedback("t_1", ANNA.id, Feedback("up"))
    first, second = await console.day_counts(since="2026-02-03", until="2026-02-04")
    assert (first.day, second.day) == ("2026-02-03", "2026-02-04")
    assert first.counts == {
        "turns": 3,
        "status:answered": 2,
        "status:insufficient": 1,
        "kind:question": 3,
        "language:en": 2,
        "language:ru": 1,
        "reason:low_coverage": 1,
        "grounded": 1,
        "no_source": 1,
        "feedback:up": 1,
        "turns:haiku": 2,
        "input_tokens:haiku": 200,
        "output_tokens:haiku": 14,
        "first_word_ms<=200": 1,
        "total_ms<=1500": 1,
        "total_ms<=inf": 1,
    }
    assert second.counts["model_error:overloaded"] == second.counts["status:evidence"] == 1
    assert await console.day_counts(since="2026-02-04", until="2026-02-04") == [second]
    await store.delete_conversation("c_1", ANNA.id)
    assert await console.day_counts(since="2026-02-03", until="2026-02-03") == [first]


async def counts(console: ConsoleStore) -> dict[str, float]:
    """Of the one day that has any."""
    found = await console.day_counts(since="2026-02-01", until="2026-02-28")
    return found[0].counts if found else {}


async def test_a_rating_that_changes_is_counted_once(console: ConsoleStore, store: SqlStore) -> None:
    await ask(store, "t_1", "c_1")
    for rating in ("up", "down", "down"):
        assert await store.set_feedback("t_1", ANNA.id, Feedback(rating))
        found = await counts(console)
        assert {name: value for name, value in found.items() if name.startswith("feedback")} == {
            f"feedback:{rating}": 1
        }
    assert not await store.set_feedback("t_1", BEN.id, Feedback("up"))
    assert (await counts(console))["feedback:down"] == 1


async def test_a_rating_given_while_the_turn_runs_counts_when_it_ends(console: ConsoleStore, store: SqlStore) -> None:
    await store.begin_turn(row("t_1", "c_1", new=True))
    await store.set_feedback("t_1", ANNA.id, Feedback("up"))
    assert await counts(console) == {}
    await store.finish_turn(answer("t_1", "c_1"), TRAIL)
    found = await counts(console)
    assert (found["turns"], found["feedback:up"]) == (1, 1)


async def test_an_interrupted_turn_counts_and_once_only_when_it_ends_after_all(
    console: ConsoleStore, store: SqlStore, database: Database
) -> None:
    await ask(store, "t_0", "c_0")
    usual = await counts(console)
    await store.begin_turn(row("t_1", "c_1", new=True))
    assert await database.write(sql_turns.interrupt_all) == 1
    assert (await counts(console))["status:interrupted"] == 1
    await store.finish_turn(answer("t_1", "c_1"), TRAIL)
    await store.finish_turn(answer("t_1", "c_1"), TRAIL)
    assert await counts(console) == {name: 2 * value for name, value in usual.items()}


async def test_turns_that_end_together_are_all_counted(console: ConsoleStore, store: SqlStore) -> None:
    await asyncio.gather(*(ask(store, f"t_{number}", f"c_{number}") for number in range(24)))
    found = await counts(console)
    assert (found["turns"], found["status:answered"], found["grounded"]) == (24, 24, 24)
