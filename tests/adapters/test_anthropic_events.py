"""The decoder against the SDK's own accumulator, and against everything that is no whole reply."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refdesk.adapters.anthropic_events import MOST_BLOCKS, ReplyDecoder
from refdesk.adapters.anthropic_wire import MAX_EVENT_BYTES
from refdesk.errors import ModelFailure
from refdesk.ports import ModelEvent, ModelReply, TextDelta, ToolInputDelta, ToolUse
from scripted_api import block, closing, error_event, event, opening, text, thinking, tool

STREAMS = sorted((Path(__file__).parent.parent / "data" / "streams").glob("*.sse"))
PING = event({"type": "ping"})


def decode(*chunks: bytes) -> tuple[list[ModelEvent], ReplyDecoder]:
    decoder = ReplyDecoder()
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    decoder.finish()
    return events, decoder


def reply_of(*chunks: bytes) -> ModelReply:
    decoder = decode(*chunks)[1]
    assert decoder.failure is None
    assert decoder.reply is not None
    return decoder.reply


def failure_of(*chunks: bytes) -> ModelFailure:
    failure = decode(*chunks)[1].failure
    assert failure is not None
    return failure


def merged(events: list[ModelEvent]) -> list[ModelEvent]:
    """Adjoining pieces joined, as the network's cuts decide how many there are."""
    out: list[ModelEvent] = []
    for item in events:
        last = out[-1] if out else None
        if isinstance(item, TextDelta) and isinstance(last, TextDelta):
            out[-1] = TextDelta(last.text + item.text)
        elif isinstance(item, ToolInputDelta) and isinstance(last, ToolInputDelta) and last.index == item.index:
            out[-1] = ToolInputDelta(item.index, last.text + item.text)
        else:
            out.append(item)
    return out


# --- the SDK ---------------------------------------------------------------------------------


async def sdk_message(data: bytes) -> dict[str, Any]:
    """What the SDK's accumulator makes of the same bytes."""

    def answer(_: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=data)

    client = anthropic.AsyncAnthropic(
        api_key="key", http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
    )
    async with client, client.messages.stream(model="fake", max_tokens=9, messages=[]) as stream:
        return (await stream.get_final_message()).to_dict()


def plain(block: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in block.items() if value is not None}


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_the_reply_is_what_the_sdk_accumulates(path: Path) -> None:
    data = path.read_bytes()
    theirs, ours = asyncio.run(sdk_message(data)), reply_of(data)
    assert [plain(block) for block in theirs["content"]] == list(ours.content)
    assert theirs["stop_reason"] == ours.stop_reason
    assert theirs["model"] == ours.usage.model
    usage = theirs["usage"]
    assert usage["input_tokens"] == ours.usage.input_tokens
    assert usage["output_tokens"] == ours.usage.output_tokens
    assert usage["cache_read_input_tokens"] == ours.usage.cache_read_tokens
    assert usage["cache_creation_input_tokens"] == ours.usage.cache_write_tokens


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_every_cut_of_the_network_gives_the_same_events(path: Path, line_end: bytes) -> None:
    data = path.read_bytes().replace(b"\n", line_end)
    whole, decoder = decode(path.read_bytes())
    assert decoder.reply is not None
    for cut in range(len(data) + 1):
        events, halves = decode(data[:cut], data[cut:])
        assert (merged(events), halves.reply) == (merged(whole), decoder.reply)


@pytest.mark.parametrize("path", STREAMS, ids=lambda path: path.stem)
def test_byte_by_byte(path: Path) -> None:
    data = path.read_bytes()
    events, decoder = decode(*(data[i : i + 1] for i in range(len(data))))
    assert (merged(events), decoder.reply) == (merged(decode(data)[0]), reply_of(data))


def test_pieces_that_arrive_together_are_one_event() -> None:
    events, _ = decode(opening() + text(0, "30 ", "days", ".") + tool(1, '{"query"', ': "a"', "}"))
    assert [item for item in events if isinstance(item, TextDelta | ToolInputDelta)] == [
        TextDelta("30 days."),
        ToolInputDelta(1, '{"query": "a"}'),
    ]


# --- tool input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "value"), [("tool_use", {}), ("max_tokens", None), ("model_context_window_exceeded", None)]
)
def test_no_input_at_all_is_an_empty_object_unless_the_reply_was_cut(reason: str, value: Any) -> None:
    events, decoder = decode(opening() + tool(0, "") + closing(reason))
    assert [item.input for item in events if isinstance(item, ToolUse)] == [value]
    assert decoder.reply is not None
    assert decoder.reply.content[0]["input"] == {}


def test_a_call_without_arguments_before_another_that_was_cut_is_whole() -> None:
    events, _ = decode(opening() + tool(0, id="a") + tool(1, '{"id": "re', id="b") + closing("max_tokens"))
    assert [(item.id, item.input) for item in events if isinstance(item, ToolUse)] == [("a", {}), ("b", None)]


@pytest.mark.parametrize(
    "json", ["[" * 100_000, '{"a": "\\ud83d"}', '{"a": NaN}', '{"a": 1' + "0" * 5000 + "}", "null"]
)
def test_hostile_input_is_none(json: str) -> None:
    events, _ = decode(opening() + tool(0, json) + closing("tool_use"))
    assert [item.input for item in events if isinstance(item, ToolUse)] == [None]


def test_input_that_stands_in_the_start_of_the_block_counts() -> None:
    whole = block(0, {"type": "tool_use", "id": "a", "name": "search", "input": {"query": "refund"}}, [])
    events, _ = decode(opening() + whole + closing("tool_use"))
    assert [item.input for item in events if isinstance(item, ToolUse)] == [{"query": "refund"}]


# --- replay ----------------------------------------------------------------------------------


def test_blank_text_is_not_replayed_for_the_api_refuses_it() -> None:
    reply = reply_of(opening() + text(0, "\n\n") + tool(1, "{}") + closing("tool_use"))
    assert [part["type"] for part in reply.content] == ["tool_use"]


def test_a_block_of_an_unknown_type_is_replayed_as_it_came() -> None:
    novel = {"type": "novel", "glow": [1, 2]}
    reply = reply_of(
        opening() + block(0, novel, [{"type": "input_json_delta", "partial_json": "{"}]) + text(1, "Yes.") + closing()
    )
    assert reply.content == (novel, {"type": "text", "text": "Yes."})


def test_a_piece_of_an_unknown_type_beside_text_changes_nothing() -> None:
    """Such as a citation without a text of its own."""
    pieces = [
        {"type": "text_delta", "text": "30 "},
        {"type": "citations_delta", "citation": {"type": "char_location", "cited_text": "30 days"}},
        {"type": "text_delta", "text": "days."},
    ]
    reply = reply_of(opening() + block(0, {"type": "text", "text": ""}, pieces) + closing())
    assert reply.content == ({"type": "text", "text": "30 days."},)


def test_a_cut_reply_without_text_is_a_reply() -> None:
    reply = reply_of(opening() + thinking(0, "hm", "s") + closing("max_tokens"))
    assert (reply.stop_reason, len(reply.content)) == ("max_tokens", 1)


# --- what is no reply ------------------------------------------------------------------------

HEAD = opening() + text(0, "You can")
BROKEN = {
    "garbage": HEAD + b"event: content_block_delta\ndata: {not json\n\n",
    "not-utf-8": HEAD + b'data: {"type": "ping", "x": "\xff"}\n\n',
    "no-stop": HEAD,
    "no-stop-after-the-reason": HEAD + event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
    "nothing": b"",
    "only-pings": PING * 3,
    "html": b"<html><body>Bad gateway</body></html>\n\n",
    "no-reason": HEAD + closing(None),
    "empty": opening() + closing(),
    "blank": opening() + text(0, " \n") + closing(),
    "only-thinking": opening() + thinking(0, "hm", "s") + closing(),
    "no-start": text(0, "You can") + closing(),
    "two-starts": HEAD + opening() + closing(),
    "block-twice": HEAD + text(0, "again") + closing(),
    "piece-without-block": opening() + text(0, "a")[len(text(0)) // 2 :] + closing(),
    "block-not-closed": HEAD
    + event({"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}})
    + closing(),
    "wrong-piece": opening() + block(0, {"type": "text"}, [{"type": "input_json_delta", "partial_json": "{}"}]),
    "tool-without-id": opening() + block(0, {"type": "tool_use", "name": "search"}, []) + closing("tool_use"),
    "block-without-type": opening() + block(0, {"text": "a"}, []) + closing(),
    "no-type": HEAD + b"data: {}\n\n" + closing(),
    "wrong-shape": HEAD + event({"type": "message_delta", "delta": {"stop_reason": 7}}) + closing(),
    "null-piece": opening() + block(0, {"type": "text"}, [{"type": "text_delta", "text": None}]) + closing(),
    "fewer-tokens-than-none": HEAD + event({"type": "message_delta", "delta": {}, "usage": {"output_tokens": -1}}),
    "more-tokens-than-any": HEAD
    + event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 2**63}})
    + event({"type": "message_stop"}),
    "goes-on": HEAD + closing() + text(1, " more"),
    "block-after-the-reason": HEAD + closing()[: -len(event({"type": "message_stop"}))] + text(1, "more") + closing(),
    "deep": HEAD
    + b'data: {"type": "content_block_start", "index": 1, "content_block": {"a": '
    + b"[" * 90_000
    + b"\n\n",
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_it_is_an_invalid_response(data: bytes) -> None:
    assert failure_of(data).kind == "invalid_response"


@pytest.mark.parametrize("late", [b"data: [DONE]\n\n", PING, b"<html>\n\n", b": bye\n\n"])
def test_end_marks_of_proxies_behind_a_whole_reply_do_no_harm(late: bytes) -> None:
    assert reply_of(HEAD + closing() + late).stop_reason == "end_turn"


def test_a_refusal_is_a_failure_whatever_was_said_before() -> None:
    assert failure_of(HEAD + closing("refusal")).kind == "refused"
    assert failure_of(opening() + closing("refusal")).kind == "refused"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", "overloaded"),
        ("rate_limit_error", "rate_limited"),
        ("api_error", "unavailable"),
        ("timeout_error", "timeout"),
        ("authentication_error", "not_configured"),
        ("some_new_error", "unavailable"),
    ],
)
def test_an_error_in_the_stream_is_named_by_its_type(kind: str, expected: str) -> None:
    events, decoder = decode(HEAD + error_event(kind, "first\nline " + "x" * 900))
    assert decoder.failure is not None
    assert decoder.failure.kind == expected
    assert "\n" not in decoder.failure.hint
    assert len(decoder.failure.hint) < 300
    assert events == [TextDelta("You can")]


@pytest.mark.parametrize(
    "endless", [b"data: " + b"x" * (MAX_EVENT_BYTES + 1), *[b"data: x\n" * 200_000]], ids=["line", "event"]
)
def test_an_event_without_end_does_not_fill_the_memory(endless: bytes) -> None:
    assert failure_of(opening() + endless).kind == "invalid_response"


def test_a_flood_of_calls_is_no_reply() -> None:
    calls = [tool(index, "{}", id=f"toolu_{index}") for index in range(MOST_BLOCKS + 1)]
    assert len(reply_of(opening(), *calls[:-1], closing("tool_use")).content) == MOST_BLOCKS
    assert failure_of(opening(), *calls, closing("tool_use")).kind == "invalid_response"


def test_a_reply_without_end_does_not_fill_the_memory() -> None:
    decoder = ReplyDecoder()
    decoder.feed(opening())
    for _ in range(300):
        decoder.feed(PING * 3000)
    assert decoder.failure is not None


PARTS = [*BROKEN.values(), HEAD, closing(), PING]


@given(st.lists(st.sampled_from(PARTS), max_size=4).map(b"".join), st.integers(1, 400))
@settings(max_examples=60, deadline=None)
def test_any_bytes_end_in_a_reply_or_a_typed_failure(data: bytes, size: int) -> None:
    events, decoder = decode(*(data[i : i + size] for i in range(0, len(data), size)))
    again, whole = decode(data)
    assert (decoder.reply is None) or (decoder.failure is None) or "message_stop" in decoder.failure.hint
    assert merged(events) == merged(again)
    assert decoder.reply == whole.reply
    assert getattr(decoder.failure, "kind", None) == getattr(whole.failure, "kind", None)


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None)
def test_noise_is_never_an_answer(noise: bytes) -> None:
    assert failure_of(noise).kind == "invalid_response"
