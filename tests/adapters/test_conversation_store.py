"""The contract of ConversationStore, on the fake, on SQLite and on PostgreSQL."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from refdesk.domain.conversation import Feedback, QuotedText, Source, StoredTurn, Turn, TurnTrail, Usage, Visitor
from refdesk.errors import RequestError
from refdesk.ports import ConversationStore, TurnRow

NOON = "2026-02-03T12:00:00.000Z"
ANNA, BEN = Visitor(id="v_anna", roles=("public",)), Visitor(id="v_ben", roles=("signed-in", "public"), subject="ben@x")
SOURCE = Source(
    id="sso",
    title="SSO",
    url="/articles/sso",
    section="Steps",
    excerpt="Paste it.",
    language="en",
    updated_at="2026-02-03",
    version="9f",
    retrieved_at=NOON,
    cited=True,
    basis="opened",
    show=True,
)


def row(
    turn: str, conversation: str = "c_1", *, visitor: str = ANNA.id, new: bool = False, **changes: object
) -> TurnRow:
    values = {"question": "How do I set up SSO?", "created_at": NOON, **changes}
    return TurnRow(turn_id=turn, conversation_id=conversation, visitor_id=visitor, new_conversation=new, **values)  # type: ignore[arg-type]


def answer(turn: str, conversation: str = "c_1", **changes: object) -> Turn:
    values = {"status": "answered", "grounded": True, "answer": "Open **Settings**.", "sources": (SOURCE,), **changes}
    return Turn(
        id=turn, conversation_id=conversation, created_at=NOON, **{"question": "How do I set up SSO?", **values}
    )  # type: ignore[arg-type]


TRAIL = TurnTrail(
    reason=None,
    links_dropped=("https://evil.test",),
    usage=Usage(model="m", calls=2, input_tokens=10, output_tokens=3),
    timings={"total_ms": 12.5},
    quoted=(QuotedText(article_id="sso", start=0, end=9, text="Paste it."),),
    roles=("public",),
)


@pytest.fixture
async def people(store: ConversationStore) -> ConversationStore:
    await store.add_visitor(ANNA, b"a" * 32, NOON)
    await store.add_visitor(BEN, b"b" * 32, NOON)
    return store


async def ask(store: ConversationStore, turn: str, conversation: str = "c_1", *, new: bool = False) -> None:
    assert await store.begin_turn(row(turn, conversation, new=new)) is None
    await store.finish_turn(answer(turn, conversation), TRAIL)


async def refused(store: ConversationStore, asked: TurnRow) -> RequestError:
    with pytest.raises(RequestError) as caught:
        await store.begin_turn(asked)
    return caught.value


async def test_visitor_is_known_by_token_only(people: ConversationStore) -> None:
    assert await people.visitor_by_token(b"a" * 32, now=NOON) == ANNA
    assert await people.visitor_by_token(b"b" * 32, now=NOON) == BEN
    assert await people.visitor_by_token(b"c" * 32, now=NOON) is None
    assert await people.visitor_by_token(b"", now=NOON) is None


async def test_visitor_who_is_added_twice_at_once_is_one(people: ConversationStore) -> None:
    again = (people.add_visitor(ANNA, b"a" * 32, NOON) for _ in range(5))
    await asyncio.gather(*again)
    assert await people.visitor_by_token(b"a" * 32, now=NOON) == ANNA


async def test_a_newcomer_is_stored_with_the_question_or_not_at_all(people: ConversationStore) -> None:
    cleo = Visitor("v_cleo", ("public",))
    refused = row("t_1", visitor=cleo.id, newcomer=(cleo, b"c" * 32))
    with pytest.raises(RequestError):
        await people.begin_turn(refused)
    assert await people.visitor_by_token(b"c" * 32, now=NOON) is None
    await people.begin_turn(msgspec.structs.replace(refused, new_conversation=True))
    assert await people.visitor_by_token(b"c" * 32, now=NOON) == cleo
    assert (await people.turn("t_1", cleo.id)) is not None


async def test_turn_is_running_until_finished_and_then_as_finished(people: ConversationStore) -> None:
    await people.begin_turn(row("t_1", new=True))
    running = await people.turn("t_1", ANNA.id)
    assert running == StoredTurn(
        Turn(id="t_1", conversation_id="c_1", created_at=NOON, question="How do I set up SSO?"), TurnTrail()
    )
    await people.finish_turn(answer("t_1"), TRAIL)
    assert await people.turn("t_1", ANNA.id) == StoredTurn(answer("t_1"), TRAIL)


async def test_strangers_see_what_does_not_exist(people: ConversationStore) -> None:
    await ask(people, "t_1", new=True)
    assert await people.turn("t_1", BEN.id) is None
    assert await people.conversation("c_1", BEN.id) is None
    assert not await people.set_feedback("t_1", BEN.id, Feedback("up"))
    assert not await people.delete_conversation("c_1", BEN.id)
    stranger = await refused(people, row("t_2", visitor=BEN.id))
    missing = await refused(people, row("t_2", "c_none", visitor=BEN.id))
    assert (stranger.status, stranger.code, stranger.detail) == (missing.status, missing.code, missing.detail)
    assert (stranger.status, stranger.code) == (404, "conversation_not_found")
    assert await people.turn("t_1", ANNA.id) == StoredTurn(answer("t_1"), TRAIL)


async def test_staff_see_everything(people: ConversationStore) -> None:
    await ask(people, "t_1", new=True)
    assert (await people.turn("t_1", None)).turn == answer("t_1")  # type: ignore[union-attr]
    assert (await people.conversation("c_1", None)).visitor_id == ANNA.id  # type: ignore[union-attr]
    assert await people.turn("t_none", None) is None


async def test_unknown_visitor_begins_nothing(people: ConversationStore) -> None:
    assert (await refused(people, row("t_1", visitor="v_none", new=True))).status == 404
    assert await people.conversation("c_1", None) is None


async def test_nobody_can_take_a_conversation_over_by_its_id(people: ConversationStore) -> None:
    await ask(people, "t_1", new=True)
    assert (await refused(people, row("t_2", visitor=BEN.id, new=True))).status == 404
    assert (await people.conversation("c_1", None)).visitor_id == ANNA.id  # type: ignore[union-attr]


async def test_turns_come_in_order_of_asking(people: ConversationStore) -> None:
    for number in range(5):
        await ask(people, f"t_{number}", new=number == 0)
    await ask(people, "t_other", "c_2", new=True)
    assert [stored.turn.id for stored in await people.turns("c_1")] == ["t_0", "t_1", "t_2", "t_3", "t_4"]
    assert [stored.turn.id for stored in await people.turns("c_1", last=2)] == ["t_3", "t_4"]
    assert len(await people.turns("c_1", last=50)) == 5
    assert await people.turns("c_1", last=0) == []
    assert await people.turns("c_none") == []


async def test_one_running_turn_per_conversation(people: ConversationStore) -> None:
    await people.begin_turn(row("t_1", new=True))
    busy = await refused(people, row("t_2"))
    assert (busy.status, busy.code) == (409, "turn_running")
    assert (busy.retry_after or 0) > 0
    await people.begin_turn(row("t_3", "c_2", new=True))
    await people.finish_turn(answer("t_1"), TRAIL)
    assert await people.begin_turn(row("t_2")) is None


async def test_simultaneous_questions_leave_one_running(people: ConversationStore) -> None:
    await ask(people, "t_0", new=True)
    outcomes = await asyncio.gather(
        *(people.begin_turn(row(f"t_{number}")) for number in range(1, 21)), return_exceptions=True
    )
    refusals = [outcome for outcome in outcomes if outcome is not None]
    assert len(refusals) == 19
    assert all(isinstance(refusal, RequestError) and refusal.code == "turn_running" for refusal in refusals)
    assert len(await people.turns("c_1")) == 2


async def test_same_key_and_body_give_the_same_turn(people: ConversationStore) -> None:
    first = row("t_1", new=True, idempotency=("key", "body"))
    await people.begin_turn(first)
    again = row("t_2", "c_2", new=True, idempotency=("key", "body"))
    running = await refused(people, again)
    assert (running.status, running.code) == (409, "idempotency_running")
    assert running.retry_after
    await people.finish_turn(answer("t_1"), TRAIL)
    assert await people.begin_turn(again) == StoredTurn(answer("t_1"), TRAIL)
    assert await people.turn("t_2", None) is None
    assert await people.conversation("c_2", None) is None


async def test_same_key_with_another_body_is_refused(people: ConversationStore) -> None:
    await people.begin_turn(row("t_1", new=True, idempotency=("key", "body")))
    mismatch = await refused(people, row("t_2", "c_2", new=True, idempotency=("key", "other")))
    assert (mismatch.status, mismatch.code) == (422, "idempotency_mismatch")


async def test_keys_belong_to_a_visitor_and_last_a_day(people: ConversationStore) -> None:
    await people.begin_turn(row("t_1", new=True, idempotency=("key", "body")))
    await people.finish_turn(answer("t_1"), TRAIL)
    assert await people.begin_turn(row("t_2", "c_2", visitor=BEN.id, new=True, idempotency=("key", "x"))) is None
    late = row("t_3", "c_3", new=True, idempotency=("key", "x"), created_at="2026-02-04T11:59:59Z")
    assert (await refused(people, late)).code == "idempotency_mismatch"
    later = row("t_3", "c_3", new=True, idempotency=("key", "x"), created_at="2026-02-04T12:00:00Z")
    assert await people.begin_turn(later) is None


async def test_simultaneous_retries_are_one_turn(people: ConversationStore) -> None:
    retries = (row(f"t_{n}", f"c_{n}", new=True, idempotency=("key", "body")) for n in range(20))
    outcomes = await asyncio.gather(*(people.begin_turn(retry) for retry in retries), return_exceptions=True)
    assert outcomes.count(None) == 1
    codes = {outcome.code for outcome in outcomes if isinstance(outcome, RequestError)}
    assert codes == {"idempotency_running"}
    stored = [await people.turn(f"t_{number}", None) for number in range(20)]
    assert sum(turn is not None for turn in stored) == 1


async def test_feedback_can_be_changed_and_survives(people: ConversationStore) -> None:
    await ask(people, "t_1", new=True)
    assert await people.set_feedback("t_1", ANNA.id, Feedback("down", "Wrong link"))
    assert await people.set_feedback("t_1", ANNA.id, Feedback("up"))
    stored = await people.turn("t_1", ANNA.id)
    assert stored is not None
    assert stored.turn.feedback == Feedback("up")
    assert not await people.set_feedback("t_none", ANNA.id, Feedback("up"))


async def test_deleted_conversation_is_gone(people: ConversationStore) -> None:
    await people.begin_turn(row("t_1", new=True, idempotency=("key", "body")))
    await people.finish_turn(answer("t_1"), TRAIL)
    await ask(people, "t_2", "c_2", new=True)
    assert await people.delete_conversation("c_1", ANNA.id)
    assert not await people.delete_conversation("c_1", ANNA.id)
    assert await people.turn("t_1", None) is None
    assert await people.turns("c_1") == []
    assert (await refused(people, row("t_3"))).code == "conversation_not_found"
    assert await people.turn("t_2", ANNA.id) is not None
    assert await people.begin_turn(row("t_4", "c_4", new=True, idempotency=("key", "other"))) is None


async def test_turn_that_ends_after_its_deletion_is_not_stored_again(people: ConversationStore) -> None:
    await people.begin_turn(row("t_1", new=True))
    assert await people.delete_conversation("c_1", ANNA.id)
    await people.finish_turn(answer("t_1"), TRAIL)
    assert await people.turn("t_1", None) is None


@pytest.mark.parametrize("question", ["a\0b", "\0", "x\ud800", "\udfff"])
async def test_text_that_is_none_is_refused(people: ConversationStore, question: str) -> None:
    refusal = await refused(people, row("t_1", new=True, question=question))
    assert (refusal.status, refusal.code, refusal.field) == (400, "invalid_text", "question")
    assert await people.turn("t_1", None) is None


async def test_any_other_text_comes_back_equal(people: ConversationStore) -> None:
    question = "😀" * 2000
    await people.begin_turn(row("t_1", new=True, question=question))
    finished = answer("t_1", question=question, answer="a\0b “q” \u2028 '; DROP TABLE turns; -- \\ %s :x")
    trail = msgspec.structs.replace(TRAIL, usage=Usage(model="as an endpoint names it: \0", calls=1))
    await people.finish_turn(finished, trail)
    assert await people.turn("t_1", ANNA.id) == StoredTurn(finished, trail)


@pytest.mark.parametrize("odd", ["t\0", "\ud800", "' OR 1=1 --", "x" * 10_000, ""])
async def test_odd_ids_are_not_found(people: ConversationStore, odd: str) -> None:
    await ask(people, "t_1", new=True)
    assert await people.turn(odd, ANNA.id) is None
    assert await people.conversation(odd, ANNA.id) is None
    assert not await people.delete_conversation(odd, ANNA.id)
    assert not await people.set_feedback(odd, ANNA.id, Feedback("up"))
    assert (await refused(people, row("t_2", odd))).code == "conversation_not_found"


async def test_stop_is_asked_for_by_the_owner_only(people: ConversationStore) -> None:
    await people.begin_turn(row("t_1", "c_1", new=True))
    await people.begin_turn(row("t_2", "c_2", new=True))
    assert await people.to_stop(["t_1", "t_2"]) == []
    assert not await people.request_stop("t_1", BEN.id)
    assert not await people.request_stop("t_none", ANNA.id)
    assert await people.to_stop(["t_1", "t_2"]) == []
    assert await people.request_stop("t_1", ANNA.id)
    assert await people.to_stop(["t_1", "t_2"]) == ["t_1"]


async def test_erased_turn_is_to_stop(people: ConversationStore) -> None:
    await people.begin_turn(row("t_1", "c_1", new=True))
    await people.delete_conversation("c_1", ANNA.id)
    assert await people.to_stop(["t_1"]) == ["t_1"]


async def test_ping_answers(store: ConversationStore) -> None:
    await store.ping()
