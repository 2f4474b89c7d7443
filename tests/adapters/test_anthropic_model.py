"""The adapter over a real socket: what is sent, and one typed failure for every way in which a call can fail."""

from __future__ import annotations

import asyncio
import copy
import socket
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from email.utils import formatdate
from typing import Any

import msgspec
import pytest

from refdesk.adapters.anthropic_model import AnthropicModel, transport_of, unread
from refdesk.errors import ModelFailure
from refdesk.ports import ModelEvent, ModelReply, ModelRequest, TextDelta
from scripted_api import Answer, ScriptedApi, closing, error_event, opening, scripted_api, text, tool

KEY = "key-that-nobody-may-see"
REQUEST = ModelRequest("Be exact.", (), ({"role": "user", "content": "How long?"},), 100)
FAR_FUTURE = 4_102_444_800.0  # 2100-01-01: a test's name holds its value, so the value may not depend on the clock
HEAD = opening() + text(0, "You can refund")
GOOD = Answer((opening(), text(0, "30 days."), closing()))
Body = dict[str, Any]


class Sleeps(list[float]):
    """In place of asyncio.sleep: remembers how long, and does not wait."""

    async def __call__(self, seconds: float) -> None:
        self.append(seconds)


@asynccontextmanager
async def model_of(api_url: str, **options: Any) -> AsyncIterator[AnthropicModel]:
    options = {"api_key": KEY, "sleep": Sleeps(), "jitter": lambda: 0.5, **options}
    model = AnthropicModel(model="claude-test", base_url=api_url, **options)
    yield model
    await model.close()


def in_seconds(seconds: float) -> float:
    return asyncio.get_running_loop().time() + seconds


async def ask(model: AnthropicModel, request: ModelRequest = REQUEST, seconds: float = 20.0) -> list[ModelEvent]:
    return [event async for event in model.stream(request, deadline=in_seconds(seconds))]


async def failing(*answers: Answer, seconds: float = 20.0, **options: Any) -> tuple[ModelFailure, ScriptedApi, str]:
    """The failure, the server, and the text that had arrived before."""
    arrived = ""
    async with scripted_api(*answers) as api, model_of(api.url, **options) as model:
        try:
            async for event in model.stream(REQUEST, deadline=in_seconds(seconds)):
                arrived += event.text if isinstance(event, TextDelta) else ""
        except ModelFailure as failure:
            return failure, api, arrived
    raise AssertionError("no failure")


def problem(status: int, kind: str = "some_error", code: str | None = None, **headers: str) -> Answer:
    details = {"details": {"error_code": code}} if code else {}
    body = {"type": "error", "error": {"type": kind, "message": f"about {KEY}", **details}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer((msgspec.json.encode(body),), status, {"content-type": "application/json", **named})


# --- the request -----------------------------------------------------------------------------


async def sent(request: ModelRequest, **options: Any) -> tuple[Body, str]:
    async with scripted_api(GOOD) as api, model_of(api.url, **options) as model:
        await ask(model, request)
        return api.bodies[0], api.heads[0]


TOOLS = (
    {"name": "search", "input_schema": {"type": "object"}},
    {"name": "answer", "input_schema": {"type": "object"}, "strict": True, "eager_input_streaming": True},
)
MARK = {"type": "ephemeral"}


async def test_the_request_is_what_the_design_says() -> None:
    body, head = await sent(ModelRequest("Be exact.", TOOLS, REQUEST.messages, 100))
    assert body == {
        "model": "claude-test",
        "max_tokens": 100,
        "stream": True,
        "system": [{"type": "text", "text": "Be exact.", "cache_control": MARK}],
        "tools": list(TOOLS),
        "tool_choice": {"type": "auto"},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "How long?", "cache_control": MARK}]},
        ],
    }
    assert head.startswith("POST /v1/messages HTTP/1.1")
    assert head.count(KEY) == 1
    assert f"authorization: bearer {KEY}" in head.lower()


async def test_the_last_block_carries_the_mark_and_nothing_of_the_callers_changes() -> None:
    result = {"type": "tool_result", "tool_use_id": "a", "content": "x"}
    messages = (
        {"role": "user", "content": "How long?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "search", "input": {}}]},
        {"role": "user", "content": [result, dict(result)]},
    )
    before = copy.deepcopy(messages)
    body, _ = await sent(ModelRequest("", (), messages, 100))
    assert messages == before
    assert body["messages"][:2] == list(before[:2])
    assert body["messages"][2]["content"] == [result, {**result, "cache_control": MARK}]
    assert "system" not in body
    assert "tools" not in body
    assert "tool_choice" not in body


async def test_thinking_and_effort_are_sent_where_they_are_set() -> None:
    body, _ = await sent(REQUEST, thinking={"type": "adaptive"}, effort="low")
    assert (body["thinking"], body["output_config"]) == ({"type": "adaptive"}, {"effort": "low"})


async def test_a_cookie_of_the_endpoint_comes_back_to_it() -> None:
    answer = Answer(GOOD.chunks, 200, {"content-type": "text/event-stream", "set-cookie": "server=2"})
    async with scripted_api(answer, GOOD) as api, model_of(api.url) as model:
        await ask(model)
        await ask(model)
    assert ["cookie: server=2" in head.lower() for head in api.heads] == [False, True]


async def test_calls_share_a_connection_also_where_the_body_ends_later_than_the_reply() -> None:
    async with scripted_api(GOOD) as api, model_of(api.url) as model:
        for _ in range(3):
            assert isinstance((await ask(model))[-1], ModelReply)
    assert (len(api.bodies), api.connections) == (3, 1)


async def test_a_reply_counts_though_the_body_never_ends() -> None:
    async with scripted_api(Answer((HEAD + closing(),), ending="silence")) as api, model_of(api.url) as model:
        assert isinstance((await ask(model))[-1], ModelReply)


# --- status ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind", "calls"),
    [
        (400, "not_configured", 1),
        (401, "not_configured", 1),
        (402, "not_configured", 1),
        (403, "not_configured", 1),
        (404, "not_configured", 1),
        (413, "not_configured", 1),
        (418, "not_configured", 1),
        (408, "timeout", 1),
        (409, "unavailable", 3),
        (429, "rate_limited", 3),
        (500, "unavailable", 3),
        (502, "unavailable", 3),
        (504, "unavailable", 3),
        (529, "overloaded", 3),
    ],
)
async def test_each_status_is_one_kind(status: int, kind: str, calls: int) -> None:
    failure, api, _ = await failing(problem(status))
    assert (failure.kind, failure.status, len(api.bodies)) == (kind, status, calls)
    assert failure.permanent == (kind == "not_configured")
    assert str(status) in failure.hint
    assert KEY not in str(failure)


async def test_a_page_of_a_proxy_is_not_repeated_to_anybody() -> None:
    page = Answer((b"<html>secret internals</html>",), 502, {"content-type": "text/html"})
    failure, _, _ = await failing(page)
    assert failure.kind == "unavailable"
    assert "internals" not in failure.hint


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_never_followed(status: int) -> None:
    async with scripted_api(GOOD) as canary:
        away = Answer((), status, {"location": canary.url + "/v1/messages"})
        failure, _, _ = await failing(away)
        assert (failure.kind, canary.connections) == ("not_configured", 0)
        assert "ANTHROPIC_BASE_URL" in failure.hint


async def test_a_spent_budget_is_not_tried_again() -> None:
    failure, api, _ = await failing(problem(429, "rate_limit_error", "enforced_spend_limit_reached"))
    assert (failure.kind, failure.permanent, len(api.bodies)) == ("rate_limited", True, 1)


async def test_an_endpoint_may_forbid_another_try() -> None:
    failure, api, _ = await failing(problem(500, x_should_retry="false"))
    assert (failure.kind, failure.permanent, len(api.bodies)) == ("unavailable", False, 1)


# --- retries ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [
        problem(529),
        problem(429),
        problem(500),
        Answer(ending="reset", hold_head=True),
        Answer((opening(),), ending="cut"),
        Answer((error_event("overloaded_error"),)),
        Answer((opening(), error_event("api_error"))),
    ],
    ids=["529", "429", "500", "reset", "cut", "first-event", "before-content"],
)
async def test_a_passing_fault_before_the_content_is_retried(fault: Answer) -> None:
    sleeps = Sleeps()
    async with scripted_api(fault, fault, GOOD) as api, model_of(api.url, sleep=sleeps) as model:
        assert (await ask(model))[0] == TextDelta("30 days.")
    assert api.bodies[0] == api.bodies[1] == api.bodies[2]
    assert sleeps == [0.5, 1.0]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Answer((HEAD, error_event("overloaded_error"))), "overloaded"),
        (Answer((HEAD + error_event("overloaded_error"),)), "overloaded"),
        (Answer((HEAD,), ending="reset"), "unavailable"),
        (Answer((HEAD,), ending="cut"), "unavailable"),
        (Answer((HEAD,)), "invalid_response"),
        (Answer((HEAD, b"data: {not json\n\n")), "invalid_response"),
        (Answer((HEAD, closing("refusal"))), "refused"),
    ],
    ids=["overloaded", "overloaded-at-once", "reset", "cut", "clean-end", "garbage", "refusal"],
)
async def test_after_the_first_content_nothing_is_retried(fault: Answer, kind: str) -> None:
    failure, api, arrived = await failing(fault)
    assert (failure.kind, len(api.bodies), arrived) == (kind, 1, "You can refund")


async def test_what_is_no_reply_is_not_asked_for_again() -> None:
    failure, api, _ = await failing(Answer((opening() + closing(),)))
    assert (failure.kind, len(api.bodies)) == ("invalid_response", 1)


async def test_retry_after_is_waited_for() -> None:
    sleeps = Sleeps()
    async with scripted_api(problem(429, retry_after="2"), GOOD) as api, model_of(api.url, sleep=sleeps) as model:
        await ask(model)
    assert sleeps == [2.0]


@pytest.mark.parametrize("value", ["3600", "1e400", formatdate(FAR_FUTURE, usegmt=True)])
async def test_retry_after_beyond_the_deadline_fails_at_once(value: str) -> None:
    sleeps = Sleeps()
    failure, api, _ = await failing(problem(429, retry_after=value), sleep=sleeps)
    assert (failure.kind, len(api.bodies), sleeps) == ("rate_limited", 1, [])


@pytest.mark.parametrize("value", ["soon", "nan", "-5", "", "0", formatdate(0, usegmt=True)])
async def test_a_useless_retry_after_is_passed_over(value: str) -> None:
    sleeps = Sleeps()
    async with scripted_api(problem(429, retry_after=value), GOOD) as api, model_of(api.url, sleep=sleeps) as model:
        await ask(model)
    assert sleeps == [0.5]


async def test_a_wait_that_would_outlast_the_deadline_is_not_begun() -> None:
    sleeps = Sleeps()
    failure, api, _ = await failing(problem(529), seconds=0.45, sleep=sleeps)
    assert (failure.kind, len(api.bodies), sleeps) == ("overloaded", 1, [])


# --- the connection --------------------------------------------------------------------------


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.parametrize(
    ("scheme", "host"), [("http", "127.0.0.1"), ("https", "127.0.0.1"), ("http", "no-such-host.invalid")]
)
async def test_no_connection(scheme: str, host: str) -> None:
    async with model_of(f"{scheme}://{host}:{closed_port()}") as model:
        with pytest.raises(ModelFailure) as failure:
            await ask(model)
    assert (failure.value.kind, failure.value.permanent) == ("unavailable", False)


async def test_plain_http_where_tls_was_expected() -> None:
    async def answer_in_clear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer_in_clear, "127.0.0.1", 0)
    async with server, model_of(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}") as model:
        with pytest.raises(ModelFailure) as failure:
            await ask(model)
    assert failure.value.kind == "unavailable"


async def test_no_http_at_all() -> None:
    async def talk_nonsense(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"220 mail ready\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(talk_nonsense, "127.0.0.1", 0)
    async with server, model_of(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}") as model:
        with pytest.raises(ModelFailure) as failure:
            await ask(model)
    assert failure.value.kind == "invalid_response"


@pytest.mark.parametrize(
    ("key", "url"),
    [("", None), ("bad\nkey", None), (KEY, "ftp://127.0.0.1"), (KEY, "nonsense")],
)
async def test_settings_that_cannot_work(key: str, url: str | None) -> None:
    async with scripted_api(GOOD) as api, model_of(url or api.url, api_key=key) as model:
        with pytest.raises(ModelFailure) as failure:
            await ask(model)
    assert (failure.value.kind, failure.value.permanent) == ("not_configured", True)


@pytest.mark.parametrize("kind", ["text/html", "application/json", "", "text/plain"])
async def test_an_answer_that_is_no_event_stream(kind: str) -> None:
    headers = {"content-type": kind} if kind else {}
    failure, api, _ = await failing(Answer((b"<html>hello</html>",), 200, headers))
    assert (failure.kind, len(api.bodies)) == ("invalid_response", 1)


# --- the pace of reading -----------------------------------------------------------------------


async def test_a_long_reply_that_trickles_is_read_in_batches() -> None:
    pieces = [f"word {number} " for number in range(100)]
    chunks = [event + b"\n\n" for event in text(0, *pieces).split(b"\n\n") if event]
    answer = Answer((opening(), *chunks, closing()), pace=0.01)
    async with scripted_api(answer) as api, model_of(api.url) as model:
        shown = [event.text for event in await ask(model) if isinstance(event, TextDelta)]
    assert "".join(shown) == "".join(pieces)
    assert len(shown) < 60


async def test_the_connection_of_a_response_is_where_it_is_looked_for() -> None:
    """Else nothing breaks, but every token wakes the server."""
    async with scripted_api(GOOD) as api, model_of(api.url) as model:
        response = await model._send(b"{}")
        with unread(response):
            transport = transport_of(response)
            assert transport is not None
            assert not transport.is_reading()
        assert transport.is_reading()
        await response.aclose()


# --- time ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [Answer(ending="silence", hold_head=True), Answer(ending="silence"), Answer((HEAD,), ending="silence")],
    ids=["before-the-head", "after-the-head", "in-the-middle"],
)
async def test_silence_ends_after_the_idle_time(answer: Answer) -> None:
    failure, api, _ = await failing(answer, idle_seconds=1.0)
    assert (failure.kind, len(api.bodies)) == ("timeout", 1)
    assert "silent" in failure.hint


@pytest.mark.parametrize(
    "answer",
    [Answer(ending="silence", hold_head=True), Answer((opening(),), ending="pings"), Answer((HEAD,), ending="pings")],
    ids=["before-the-head", "pings-only", "pings-in-the-middle"],
)
async def test_the_deadline_ends_whatever_still_breathes(answer: Answer) -> None:
    failure, api, _ = await failing(answer, seconds=1.5)
    assert (failure.kind, len(api.bodies)) == ("timeout", 1)
    assert "time ran out" in failure.hint


async def test_after_the_deadline_nothing_is_sent() -> None:
    failure, api, _ = await failing(GOOD, seconds=-1)
    assert (failure.kind, api.bodies) == ("timeout", [])


@pytest.mark.parametrize(
    "answer",
    [Answer(ending="silence", hold_head=True), Answer((opening(),), ending="silence"), Answer((HEAD,), ending="pings")],
    ids=["before-the-head", "before-content", "in-the-middle"],
)
async def test_cancelling_the_reader_ends_the_exchange(answer: Answer) -> None:
    async with scripted_api(answer) as api, model_of(api.url) as model:
        task = asyncio.create_task(ask(model))
        await asyncio.wait_for(api.busy.wait(), 5)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()
        await asyncio.wait_for(api.idle.wait(), 1)


async def test_cancelling_during_the_wait_for_a_retry() -> None:
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    async with scripted_api(problem(529)) as api, model_of(api.url, sleep=sleep) as model:
        task = asyncio.create_task(ask(model))
        await asyncio.wait_for(waiting.wait(), 5)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    assert (task.cancelled(), len(api.bodies)) == (True, 1)


@pytest.mark.parametrize("leave", ["aclosing", "dropped"])
async def test_a_reader_that_leaves_ends_the_exchange(leave: str) -> None:
    async with scripted_api(Answer((HEAD,), ending="silence")) as api, model_of(api.url) as model:
        stream = model.stream(REQUEST, deadline=in_seconds(20))
        assert await anext(stream) == TextDelta("You can refund")
        if leave == "aclosing":
            async with aclosing(stream):
                pass
        del stream
        await asyncio.wait_for(api.idle.wait(), 1)


async def test_a_deadline_that_passes_between_two_reads_does_not_cancel_the_reader() -> None:
    """The reader's own work, such as writing to a visitor, is not the model's to cancel."""
    async with scripted_api(Answer((HEAD,), ending="pings")) as api, model_of(api.url) as model:
        stream = model.stream(REQUEST, deadline=in_seconds(0.1))
        assert await anext(stream) == TextDelta("You can refund")
        await asyncio.sleep(0.2)
        with pytest.raises(ModelFailure) as failure:
            await anext(stream)
    assert failure.value.kind == "timeout"


async def test_many_calls_at_once() -> None:
    answer = Answer((opening(), tool(0, '{"query": "a"}'), closing("tool_use")))
    async with scripted_api(answer) as api, model_of(api.url) as model:
        replies = await asyncio.gather(*(ask(model) for _ in range(20)))
    assert all(isinstance(events[-1], ModelReply) for events in replies)
    assert len(api.bodies) == 20
