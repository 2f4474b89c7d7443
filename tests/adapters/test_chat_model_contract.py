"""What every ChatModel keeps to: the fake that other tests use, and the adapter over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing

import pytest

from fake_model import Call, FakeChatModel, Reply, Say, Think, call, say
from refdesk.adapters.anthropic_model import AnthropicModel
from refdesk.errors import ModelFailure
from refdesk.ports import (
    ChatModel,
    ModelEvent,
    ModelReply,
    ModelRequest,
    ReplyProgress,
    TextDelta,
    ToolInputDelta,
    ToolStarted,
    ToolUse,
)
from scripted_api import answer_of, scripted_api

REQUEST = ModelRequest("Be exact.", (), ({"role": "user", "content": "How long?"},), 100)
Make = Callable[..., Awaitable[ChatModel]]


def soon(seconds: float = 20.0) -> float:
    return asyncio.get_running_loop().time() + seconds


async def read(model: ChatModel, deadline: float | None = None) -> list[ModelEvent]:
    return [event async for event in model.stream(REQUEST, deadline=deadline or soon())]


async def read_until_failure(model: ChatModel, deadline: float | None = None) -> tuple[list[ModelEvent], ModelFailure]:
    events: list[ModelEvent] = []
    try:
        async for event in model.stream(REQUEST, deadline=deadline or soon()):
            events.append(event)
    except ModelFailure as failure:
        return events, failure
    raise AssertionError("no failure")


def text_of(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.fixture(params=["fake", "anthropic"])
async def make(request: pytest.FixtureRequest) -> AsyncIterator[Make]:
    async with AsyncExitStack() as stack:

        async def build(*replies: Reply) -> ChatModel:
            if request.param == "fake":
                return FakeChatModel(replies)
            api = await stack.enter_async_context(scripted_api(*(answer_of(reply) for reply in replies)))
            model = AnthropicModel(api_key="key", model="fake", base_url=api.url)
            stack.push_async_callback(model.close)
            return model

        yield build


async def test_text_arrives_and_the_reply_comes_last(make: Make) -> None:
    events = await read(await make(say("30 days after purchase.")))
    assert text_of(events) == "30 days after purchase."
    reply = events[-1]
    assert isinstance(reply, ModelReply)
    assert (reply.stop_reason, reply.content) == ("end_turn", ({"type": "text", "text": "30 days after purchase."},))
    assert (reply.usage.calls, reply.usage.input_tokens, reply.usage.output_tokens) == (1, 10, 5)
    assert reply.usage.model == "fake"


async def test_tool_calls_arrive_in_order_with_their_whole_input(make: Make) -> None:
    calls = (Call("a", "search", ('{"query"', ': "refund"}')), Call("b", "list_articles", ("",)))
    events = await read(await make(Reply((Say(("Looking.",)), *calls), "tool_use")))
    kinds = [type(event) for event in events if not isinstance(event, ToolInputDelta)]
    assert kinds == [TextDelta, *[ReplyProgress, ToolStarted, ToolUse] * 2, ModelReply]
    assert [event for event in events if isinstance(event, ToolUse)] == [
        ToolUse(1, "a", "search", {"query": "refund"}),
        ToolUse(2, "b", "list_articles", {}),
    ]
    pieces = [event.text for event in events if isinstance(event, ToolInputDelta) and event.index == 1]
    assert "".join(pieces) == '{"query": "refund"}'


async def test_progress_before_a_call_holds_the_blocks_that_are_complete(make: Make) -> None:
    events = await read(await make(Reply((Think("hm"), Call("a", "search", ("{}",))), "tool_use")))
    progress = next(event for event in events if isinstance(event, ReplyProgress))
    assert progress.content == ({"type": "thinking", "thinking": "hm", "signature": "signed"},)
    assert progress.usage.input_tokens == 10


@pytest.mark.parametrize("json", ['{"id": bad}', '{"id": "refu', '["refund"]', "3", '{"id": "a"}, oops'])
async def test_broken_tool_input_is_none_and_is_replayed_as_an_empty_object(make: Make, json: str) -> None:
    events = await read(await make(Reply((Call("a", "get_document", (json,)),), "tool_use")))
    assert [event.input for event in events if isinstance(event, ToolUse)] == [None]
    reply = events[-1]
    assert isinstance(reply, ModelReply)
    assert reply.content == ({"type": "tool_use", "id": "a", "name": "get_document", "input": {}},)


async def test_thinking_is_replayed_and_never_an_event(make: Make) -> None:
    events = await read(await make(Reply((Think("secret plan", "c2ln"), Say(("Yes.",))))))
    assert [type(event) for event in events] == [TextDelta, ModelReply]
    reply = events[-1]
    assert isinstance(reply, ModelReply)
    assert reply.content[0] == {"type": "thinking", "thinking": "secret plan", "signature": "c2ln"}


async def test_a_failure_in_the_middle_comes_after_what_arrived(make: Make) -> None:
    events, failure = await read_until_failure(await make(Reply((Say(("You can refund",)),), breaks="overloaded")))
    assert text_of(events) == "You can refund"
    assert failure.kind == "overloaded"


async def test_silence_ends_at_the_deadline(make: Make) -> None:
    model = await make(Reply((Say(("You can",)),), breaks="silence"))
    events, failure = await read_until_failure(model, soon(0.2))
    assert (text_of(events), failure.kind) == ("You can", "timeout")


async def test_a_reader_may_stop_half_way_and_ask_again(make: Make) -> None:
    model = await make(Reply((Say(("You can",)),), breaks="silence"), call("search", {"query": "refund"}))
    async with aclosing(model.stream(REQUEST, deadline=soon())) as events:  # type: ignore[type-var]
        assert await anext(events) == TextDelta("You can")
    uses = [event for event in await read(model) if isinstance(event, ToolUse)]
    assert [use.input for use in uses] == [{"query": "refund"}]
