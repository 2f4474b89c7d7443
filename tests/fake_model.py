"""A ChatModel that answers from a script. It passes the same contract suite as the adapter of the Messages API."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import Any, Literal

import msgspec

from refdesk.domain.conversation import Usage
from refdesk.errors import ModelFailure
from refdesk.ports import (
    ModelEvent,
    ModelReply,
    ModelRequest,
    ReplyProgress,
    TextDelta,
    ToolInputDelta,
    ToolStarted,
    ToolUse,
)


class Say(msgspec.Struct, frozen=True):
    pieces: tuple[str, ...]


class Think(msgspec.Struct, frozen=True):
    text: str
    signature: str = "signed"


class Call(msgspec.Struct, frozen=True):
    """A tool call; `pieces` are its input's JSON, whole or broken."""

    id: str
    name: str
    pieces: tuple[str, ...]


class Reply(msgspec.Struct, frozen=True):
    """`breaks`: what happens after the blocks, in place of the end."""

    blocks: tuple[Say | Think | Call, ...]
    stop_reason: str = "end_turn"
    breaks: Literal["overloaded", "silence"] | None = None
    input_tokens: int = 10
    output_tokens: int = 5

    @property
    def usage(self) -> Usage:
        return Usage(model="fake", calls=1, input_tokens=self.input_tokens, output_tokens=self.output_tokens)


def say(text: str) -> Reply:
    """A plain text, a word at a time."""
    return Reply((Say(tuple(text.replace(" ", " \0").split("\0"))),))


def call(name: str, value: dict[str, Any], id: str = "toolu_1") -> Reply:
    return Reply((Call(id, name, (msgspec.json.encode(value).decode(),)),), "tool_use")


class FakeChatModel:
    """One reply a call; the last one again and again. `requests` keeps what was asked, `active` counts open streams."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies = list(replies)
        self.requests: list[ModelRequest] = []
        self.active = 0

    async def close(self) -> None:
        pass

    async def stream(self, request: ModelRequest, *, deadline: float) -> AsyncGenerator[ModelEvent, None]:
        reply = self._replies[min(len(self.requests), len(self._replies) - 1)]
        self.requests.append(request)
        self.active += 1
        try:
            for event in events_of(reply):
                await asyncio.sleep(0)
                yield event
            if reply.breaks == "overloaded":
                raise ModelFailure("overloaded", "by the script")
            if reply.breaks == "silence":
                await until(deadline)
            yield ModelReply(reply.stop_reason, replayed(reply.blocks), reply.usage)
        finally:
            self.active -= 1


async def until(deadline: float) -> None:
    try:
        async with asyncio.timeout_at(deadline):
            await asyncio.Event().wait()
    except TimeoutError:
        raise ModelFailure("timeout", "by the script") from None


def events_of(reply: Reply) -> Iterator[ModelEvent]:
    for index, block in enumerate(reply.blocks):
        if isinstance(block, Say):
            yield from (TextDelta(piece) for piece in block.pieces)
        elif isinstance(block, Call):
            yield ReplyProgress(reply.usage, replayed(reply.blocks[:index]))
            yield ToolStarted(index, block.id, block.name)
            yield from (ToolInputDelta(index, piece) for piece in block.pieces if piece)
            yield ToolUse(index, block.id, block.name, input_of(block))


def input_of(block: Call) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode("".join(block.pieces) or "{}", type=dict[str, Any])
    except msgspec.DecodeError:
        return None


def replayed(blocks: Sequence[Say | Think | Call]) -> tuple[dict[str, Any], ...]:
    content: list[dict[str, Any]] = []
    for block in blocks:
        if isinstance(block, Say):
            content.append({"type": "text", "text": "".join(block.pieces)})
        elif isinstance(block, Think):
            content.append({"type": "thinking", "thinking": block.text, "signature": block.signature})
        else:
            content.append({"type": "tool_use", "id": block.id, "name": block.name, "input": input_of(block) or {}})
    return tuple(content)
