"""One reply of the Messages API: bytes of the body in, events of the port out.

Own decoding because the SDK's helper costs 0.1 to 0.4 ms an event, hands over cut tool input as `{}` and takes a body
that ends early for a reply (performance.md, stack.md). Whatever is not a whole, well-formed reply is a `ModelFailure`.
"""

from __future__ import annotations

import copy
from typing import Any

import msgspec

from refdesk.adapters.anthropic_wire import (
    ERROR_KINDS,
    KNOWN_EVENTS,
    BlockDelta,
    BlockStart,
    BlockStop,
    ErrorEvent,
    EventSplitter,
    InputPiece,
    MessageDelta,
    MessageStart,
    MessageStop,
    Ping,
    SignaturePiece,
    TextPiece,
    ThinkingPiece,
    TokenCounts,
    WireError,
    invalid,
    read_event,
    type_of,
    upstream_failure,
)
from refdesk.domain.conversation import Usage
from refdesk.errors import ModelFailure
from refdesk.ports import ModelEvent, ModelReply, ReplyProgress, TextDelta, ToolInputDelta, ToolStarted, ToolUse

CUT_REASONS = frozenset({"max_tokens", "model_context_window_exceeded"})
"""Stop reasons of a reply that is whole as a stream and cut as a text."""
MOST_BLOCKS = 100
"""Content blocks of one reply. A turn runs twelve tools; thousands of calls would only cost us time."""


class Block:
    """One content block while it arrives, and afterwards as it must be replayed."""

    __slots__ = ("index", "input", "kind", "parts", "signature", "start")

    def __init__(self, index: int, start: dict[str, Any]) -> None:
        self.index, self.start, self.kind = index, start, str(start.get("type") or "")
        self.parts: list[str] = []
        self.signature = str(start.get("signature") or "")
        self.input: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def replay(self) -> dict[str, Any] | None:
        """None for a text without a visible character: the API refuses to read such a block."""
        if self.kind == "text":
            return {"type": "text", "text": self.text} if self.text.strip() else None
        if self.kind == "thinking":
            return {"type": "thinking", "thinking": self.text, "signature": self.signature}
        if self.kind == "tool_use":
            return {**self.start, "input": self.input or {}}
        return self.start

    def tool_use(self) -> ToolUse:
        return ToolUse(self.index, self.start["id"], self.start["name"], self.input)


def read_input(text: str) -> dict[str, Any] | None:
    """A tool's input, or None where it is not one whole JSON object."""
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class Batch:
    """The events of one network read. Pieces that arrived together become one: fewer steps for everyone behind."""

    TEXT = -1

    def __init__(self) -> None:
        self.events: list[ModelEvent] = []
        self._index = self.TEXT
        self._parts: list[str] = []

    def piece(self, index: int, text: str) -> None:
        if index != self._index:
            self.flush()
            self._index = index
        if text:
            self._parts.append(text)

    def add(self, event: ModelEvent) -> None:
        self.flush()
        self.events.append(event)

    def flush(self) -> None:
        if self._parts:
            text = "".join(self._parts)
            self.events.append(TextDelta(text) if self._index == self.TEXT else ToolInputDelta(self._index, text))
            self._parts.clear()


class ReplyDecoder:
    """Decodes one reply. Nothing is raised while bytes are fed: a fault is kept in `failure`, behind the events before
    it, so that the same bytes give the same events however the network cuts them."""

    def __init__(self) -> None:
        self.started = False
        """A content block has begun: the call may not be repeated any more."""
        self.reply: ModelReply | None = None
        """Set by `message_stop`."""
        self.failure: ModelFailure | None = None
        self._splitter = EventSplitter()
        self._usage: Usage | None = None
        self._stop_reason: str | None = None
        self._blocks: list[Block] = []
        self._open: dict[int, Block] = {}
        self._unsettled: Block | None = None
        """A closed tool call without a byte of input: a call without arguments, or one that was cut at once."""

    def feed(self, data: bytes) -> list[ModelEvent]:
        if self.failure:
            return []
        batch = Batch()
        try:
            for payload in self._splitter.feed(data):
                self._take(payload, batch)
        except ModelFailure as failure:
            self.failure = failure
        batch.flush()
        return batch.events

    def finish(self) -> None:
        """The body has ended; without `message_stop` it was cut short, whatever it held."""
        if self.reply is None and self.failure is None:
            self.failure = invalid("it ended before the reply did")

    def _take(self, payload: bytes, batch: Batch) -> None:
        if self.reply is not None:
            return self._take_late(payload)
        event = read_event(payload)
        if isinstance(event, BlockDelta):
            return self._delta(event, batch)
        if isinstance(event, ErrorEvent):
            raise self._named_failure(event.error)
        if event is None or isinstance(event, Ping):
            return None
        if (self._usage is None) != isinstance(event, MessageStart):
            raise invalid("message_start is missing or not the first event")
        return self._structure(event, batch)

    def _take_late(self, payload: bytes) -> None:
        """After the end only keep-alives and other people's end marks may follow."""
        if type_of(payload) in KNOWN_EVENTS - {"ping"}:
            raise invalid("it went on after message_stop")

    def _structure(
        self, event: MessageStart | BlockStart | BlockStop | MessageDelta | MessageStop, batch: Batch
    ) -> None:
        match event:
            case MessageStart():
                self._usage = Usage(model=event.message.model or "", calls=1)
                self._count(event.message.usage)
            case BlockStart():
                self._start_block(event, batch)
            case BlockStop():
                self._stop_block(event.index, batch)
            case MessageDelta():
                self._count(event.usage)
                self._end(event.delta.stop_reason, batch)
            case MessageStop():
                self.reply = self._whole()

    @staticmethod
    def _named_failure(error: WireError) -> ModelFailure:
        kind = ERROR_KINDS.get(error.type, "unavailable")
        hint = "The model endpoint broke off with an error."
        return upstream_failure(kind, hint, error.type, error.message, permanent=kind == "not_configured")

    def _count(self, counts: TokenCounts | None) -> None:
        usage = self._usage
        if counts is None or usage is None:
            return
        if counts.input_tokens is not None:
            usage.input_tokens = counts.input_tokens
        if counts.output_tokens is not None:
            usage.output_tokens = counts.output_tokens
        if counts.cache_read_input_tokens is not None:
            usage.cache_read_tokens = counts.cache_read_input_tokens
        if counts.cache_creation_input_tokens is not None:
            usage.cache_write_tokens = counts.cache_creation_input_tokens

    def _start_block(self, event: BlockStart, batch: Batch) -> None:
        if self._stop_reason or any(block.index == event.index for block in self._blocks):
            raise invalid("a content block begins twice or after the end")
        if len(self._blocks) == MOST_BLOCKS:
            raise invalid("it has too many content blocks")
        self._settle(batch, cut=False)
        self.started = True
        block = Block(event.index, event.content_block)
        if not block.kind:
            raise invalid("a content block has no type")
        self._blocks.append(block)
        self._open[event.index] = block
        if block.kind == "tool_use":
            names = (block.start.get("id"), block.start.get("name"))
            if not all(isinstance(name, str) and name for name in names):
                raise invalid("a tool call has no id or no name")
            batch.add(ReplyProgress(copy.copy(self._usage or Usage()), self._closed_blocks()))
            batch.add(ToolStarted(event.index, str(names[0]), str(names[1])))
        elif block.kind in ("text", "thinking") and (first := block.start.get(block.kind)):
            self._append(block, block.kind, str(first), batch)

    def _delta(self, event: BlockDelta, batch: Batch) -> None:
        block = self._open.get(event.index)
        if block is None:
            raise invalid("a piece belongs to no open content block")
        match event.delta:
            case TextPiece(text=text):
                self._append(block, "text", text, batch)
            case InputPiece(partial_json=text):
                self._append(block, "tool_use", text, batch)
            case ThinkingPiece(thinking=text):
                self._append(block, "thinking", text, batch)
            case SignaturePiece(signature=signature):
                block.signature = signature

    @staticmethod
    def _append(block: Block, kind: str, text: str, batch: Batch) -> None:
        if block.kind != kind:
            if block.kind in ("text", "thinking", "tool_use"):
                raise invalid("a piece does not fit its content block")
            return  # part of a block whose type is unknown
        block.parts.append(text)
        if kind == "text":
            batch.piece(batch.TEXT, text)
        elif kind == "tool_use":
            batch.piece(block.index, text)

    def _stop_block(self, index: int, batch: Batch) -> None:
        block = self._open.pop(index, None)
        if block is None:
            raise invalid("a content block ends that is not open")
        if block.kind != "tool_use":
            return
        if text := block.text:
            block.input = read_input(text)
            batch.add(block.tool_use())
        else:
            self._unsettled = block

    def _settle(self, batch: Batch, *, cut: bool) -> None:
        """A call without arguments sends no input at all, and so does a call that was cut at its first byte."""
        block, self._unsettled = self._unsettled, None
        if block is None:
            return
        given = block.start.get("input")
        block.input = given if isinstance(given, dict) and not cut else None
        batch.add(block.tool_use())

    def _end(self, stop_reason: str | None, batch: Batch) -> None:
        if stop_reason is None:
            return
        if stop_reason == "refusal":
            raise ModelFailure("refused", "The model declined to answer (stop reason refusal).")
        self._stop_reason = stop_reason
        self._settle(batch, cut=stop_reason in CUT_REASONS)

    def _whole(self) -> ModelReply:
        if self._stop_reason is None or self._open or self._usage is None:
            raise invalid("it stopped in the middle")
        if self._stop_reason not in CUT_REASONS and not any(self._says_something(block) for block in self._blocks):
            raise invalid("it is empty")
        return ModelReply(self._stop_reason, self._closed_blocks(), self._usage)

    def _closed_blocks(self) -> tuple[dict[str, Any], ...]:
        closed = (block for block in self._blocks if block.index not in self._open)
        return tuple(replay for block in closed if (replay := block.replay()) is not None)

    @staticmethod
    def _says_something(block: Block) -> bool:
        return block.kind == "tool_use" or (block.kind == "text" and bool(block.text.strip()))
