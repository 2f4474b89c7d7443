"""The model's loop, and nothing else: call the model, run its tools, until it has answered or a limit is reached."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import Any, Literal

import msgspec

from refdesk.assistant import prompts
from refdesk.assistant.answer_reader import AnswerReader
from refdesk.assistant.draft import AnswerDraft
from refdesk.assistant.history import tokens_of
from refdesk.assistant.tools import Toolbox, ToolOutcome
from refdesk.domain.conversation import Usage
from refdesk.domain.trail import ToolCall
from refdesk.errors import ModelFailure
from refdesk.ports import (
    ChatModel,
    ModelEvent,
    ModelRequest,
    ReplyProgress,
    TextDelta,
    ToolInputDelta,
    ToolStarted,
    ToolUse,
)

ANSWER = "answer"


class Limits(msgspec.Struct, frozen=True):
    """The limits of one turn (model.md). `seconds` is set per deployment."""

    seconds: float = 60.0
    model_calls: int = 6
    tool_runs: int = 12
    tools_at_once: int = 4
    input_tokens: int = 60_000
    output_tokens: int = 4_000
    least_output: int = 200
    """A call with less room than this is not worth making."""
    malformed: int = 1
    """Replies whose tool JSON cannot be read, before the model counts as failed."""


class Room:
    """What still fits into the model's input: everything that was sent or handed over so far counts."""

    def __init__(self, limit: int) -> None:
        self.left = limit

    def take(self, text: str) -> bool:
        needed = tokens_of(text)
        if needed > self.left:
            return False
        self.left -= needed
        return True


class LoopEnd(msgspec.Struct):
    """How the loop ended: with a draft, or with the reason why there is none."""

    draft: AnswerDraft | None = None
    failure: ModelFailure | None = None
    truncated: Literal["length", "tool_rounds", "deadline"] | None = None


class Reply:
    """One reply of the model as far as it was read."""

    def __init__(self) -> None:
        self.text = ""
        self.tools: list[ToolUse] = []
        self.content: list[dict[str, Any]] = []
        self.stop_reason = ""
        self.usage = Usage()
        self.repair: ToolUse | None = None
        """An `answer` call that was stopped because claims failed: its id and the part of its input that had come."""
        self.reading: tuple[ToolStarted, AnswerReader] | None = None
        """The reply's first `answer` call."""

    @property
    def unread(self) -> bool:
        """The `answer` call is JSON, and yet could not be read to its end: it is too long."""
        return self.reading is not None and self.reading[1].overlong

    @property
    def cut(self) -> bool:
        return self.stop_reason in ("max_tokens", "model_context_window_exceeded")


class TurnLoop:
    """`new_draft` makes the place an answer is written to, told whether one before it failed its check; `on_tool` hears
    of every finished tool call."""

    def __init__(
        self,
        model: ChatModel,
        toolbox: Toolbox,
        limits: Limits,
        *,
        deadline: float,
        new_draft: Callable[[bool], AnswerDraft],
        on_tool: Callable[[ToolCall], None],
    ) -> None:
        self._model, self._toolbox, self._limits, self._deadline = model, toolbox, limits, deadline
        self._new_draft, self._on_tool = new_draft, on_tool
        self.draft = new_draft(False)
        self.usage = Usage()
        self._runs = self._malformed = 0
        self._repaired = False
        self._gate = asyncio.Semaphore(limits.tools_at_once)

    async def run(self, system: str, messages: list[dict[str, Any]]) -> LoopEnd:
        try:
            return await self._rounds(system, messages)
        except ModelFailure as failure:
            late = asyncio.get_running_loop().time() >= self._deadline
            return LoopEnd(failure=failure, truncated="deadline" if late else None)

    async def _rounds(self, system: str, messages: list[dict[str, Any]]) -> LoopEnd:
        for number in range(1, self._limits.model_calls + 1):
            last = number == self._limits.model_calls
            if last:
                messages[-1] = with_note(messages[-1], prompts.LAST_CALL)
            room = self._limits.output_tokens - self.usage.output_tokens
            if room < self._limits.least_output:
                failure = ModelFailure("budget", "the output tokens of the turn are used up")
                return LoopEnd(failure=failure, truncated="length")
            reply = await self._reply(ModelRequest(system, prompts.TOOLS, tuple(messages), room), last)
            end = self._ended(reply, last)
            if end is not None:
                return end
            messages.append({"role": "assistant", "content": self._replayed(reply)})
            messages.append({"role": "user", "content": await self._results(reply)})
        raise ModelFailure("budget", "the turn ran out of model calls")

    # --- one reply ---

    async def _reply(self, request: ModelRequest, last: bool) -> Reply:
        """Reads one reply. An answer goes to the draft while it arrives; text is held, for a tool call may follow."""
        reply = Reply()
        self.draft = self._new_draft(self._repaired)
        self.draft.allow_repair(not self._repaired and not last)
        self.usage.calls += 1
        try:
            stream: Any = self._model.stream(request, deadline=self._deadline)
            async with aclosing(stream) as events:
                async for event in events:
                    self._take(event, reply)
                    if reply.repair is not None:
                        self._repaired = True
                        break
        except ModelFailure as failure:
            self.usage.calls -= failure.kind == "budget"  # the call was not made
            raise
        finally:
            self._add(reply.usage)
        return reply

    def _take(self, event: ModelEvent, reply: Reply) -> None:
        if isinstance(event, ToolInputDelta):
            self._take_input(event, reply)
        elif isinstance(event, TextDelta):
            reply.text += event.text
        elif isinstance(event, ToolStarted):
            if event.name == ANSWER and reply.reading is None:
                reply.reading = (event, AnswerReader())
        elif isinstance(event, ToolUse):
            reply.tools.append(event)
        elif isinstance(event, ReplyProgress):
            reply.usage, reply.content = event.usage, list(event.content)
        else:
            reply.stop_reason, reply.content, reply.usage = event.stop_reason, list(event.content), event.usage

    def _take_input(self, event: ToolInputDelta, reply: Reply) -> None:
        """Hands what has become complete to the draft; marks the reply for a repair where its claims failed."""
        if reply.reading is None or reply.reading[0].index != event.index:
            return
        started, reader = reply.reading
        for name, value in reader.feed(event.text):
            self.draft.take(name, value)
            if self.draft.wants_repair:
                reply.repair = ToolUse(started.index, started.id, ANSWER, self.draft.arrived())
                reply.usage.output_tokens = max(reply.usage.output_tokens, tokens_of(str(reply.repair.input)))
                return

    def _add(self, usage: Usage) -> None:
        total = self.usage
        total.model = usage.model or total.model
        total.input_tokens += usage.input_tokens
        total.output_tokens += usage.output_tokens
        total.cache_read_tokens += usage.cache_read_tokens
        total.cache_write_tokens += usage.cache_write_tokens

    # --- what it means ---

    def _ended(self, reply: Reply, last: bool) -> LoopEnd | None:
        """The end of the turn, if this reply is one."""
        if reply.repair is not None:
            return None
        truncated: Any = "length" if reply.cut else "tool_rounds" if last else None
        answer = next((tool for tool in reply.tools if tool.name == ANSWER), None)
        if answer is not None:
            return self._answered(answer, reply, truncated)
        if reply.tools and last:
            failure = ModelFailure("budget", "the model kept calling tools")
            return LoopEnd(failure=failure, truncated="tool_rounds")
        if reply.tools:
            return None
        if not reply.text.strip():
            raise ModelFailure("invalid_response", "the model's reply was empty")
        self.draft.plain(reply.text, cut=reply.cut)
        return LoopEnd(draft=self.draft, truncated=truncated)

    def _answered(self, answer: ToolUse, reply: Reply, truncated: Any) -> LoopEnd | None:
        """An answer whose JSON broke off is one only if it was cut for length after its text had begun."""
        whole = answer.input is not None and not reply.unread
        if not whole and not (reply.cut and self.draft.begun):
            if self.draft.begun or reply.unread:
                raise ModelFailure("invalid_response", "the answer's JSON broke off in the middle or is too long")
            return None
        self.draft.end(cut=reply.cut)
        if self.draft.empty:
            raise ModelFailure("invalid_response", "the answer was empty")
        return LoopEnd(draft=self.draft, truncated=truncated)

    def _replayed(self, reply: Reply) -> list[dict[str, Any]]:
        """The reply's blocks as the API wants them back; of a stopped one, what had arrived."""
        if reply.repair is None:
            return reply.content
        call = {"type": "tool_use", "id": reply.repair.id, "name": ANSWER, "input": reply.repair.input or {}}
        return [*(block for block in reply.content if block.get("type") != "tool_use"), call]

    # --- tools ---

    async def _results(self, reply: Reply) -> list[dict[str, Any]]:
        """One user message with a result for each call, in the model's order; the runs go on side by side."""
        if reply.repair is not None:
            return [tool_result(reply.repair.id, prompts.rejection(self.draft.reasons()), True)]
        if any(tool.input is None for tool in reply.tools):
            self._count_malformed()
        outcomes = await asyncio.gather(*(self._run(tool) for tool in reply.tools))
        pairs = zip(reply.tools, outcomes, strict=True)
        return [tool_result(tool.id, outcome.text, outcome.is_error) for tool, outcome in pairs]

    async def _run(self, tool: ToolUse) -> ToolOutcome:
        call = self._toolbox.begin(tool.name, tool.input or {})
        if tool.input is None:
            return self._toolbox.refuse(call, "The input was not a JSON object. Call the tool again.")
        self._runs += 1
        if self._runs > self._limits.tool_runs:
            return self._toolbox.refuse(call, "The limit of tool calls for this turn is reached. Call `answer` now.")
        async with self._gate:
            outcome = await self._toolbox.run(call, tool.input)
        self._on_tool(call)
        return outcome

    def _count_malformed(self) -> None:
        self._malformed += 1
        if self._malformed > self._limits.malformed:
            raise ModelFailure("invalid_response", "the model's tool input was not JSON, twice")


def tool_result(call_id: str, text: str, is_error: bool) -> dict[str, Any]:
    result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id, "content": text}
    return {**result, "is_error": True} if is_error else result


def with_note(message: dict[str, Any], note: str) -> dict[str, Any]:
    """The message with a text block behind its content."""
    content = message["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    return {**message, "content": [*blocks, {"type": "text", "text": note}]}
