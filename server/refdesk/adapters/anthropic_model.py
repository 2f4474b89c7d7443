"""The ChatModel over the Messages API, or any endpoint that speaks it.

The `anthropic` SDK carries the request, the key and the status errors; its retries are off (it obeys any Retry-After)
and so are redirects (it would post the conversation to wherever it is sent). The stream is decoded in anthropic_events.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

import anthropic
import httpx2
import msgspec

from refdesk.adapters.anthropic_events import ReplyDecoder
from refdesk.adapters.anthropic_failures import PASSING_KINDS, fault_failure
from refdesk.adapters.anthropic_wire import invalid
from refdesk.errors import ModelFailure
from refdesk.ports import ModelEvent, ModelReply, ModelRequest

RETRIES = 2
BACKOFF_SECONDS = 0.5
"""Before the first retry, twice that before the second, each times 0.5 to 1.5: 2.3 s at most, for a visitor waits."""
CONNECT_SECONDS = 3.0
"""Name look-up, connection and TLS together."""
DRAIN_SECONDS = 0.05
"""How long the end of the body may follow message_stop for the connection to be used again."""
KEEP_SECONDS = 30.0
CACHE_MARK = {"type": "ephemeral"}
JSON_CONTENT = {"Content-Type": "application/json"}


class AnthropicModel:
    """`idle_seconds`: longest time without a byte. `thinking`, `effort`: as the API takes them; None: left out."""

    def __init__(
        self,
        *,
        api_key: str,
        model: str,
        base_url: str | None = None,
        idle_seconds: float = 20.0,
        thinking: dict[str, Any] | None = None,
        effort: str | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._key, self._model, self._thinking, self._effort = api_key, model, thinking, effort
        self._sleep, self._jitter = sleep, jitter
        timeout = httpx2.Timeout(idle_seconds, connect=CONNECT_SECONDS, pool=CONNECT_SECONDS)
        limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=100, keepalive_expiry=KEEP_SECONDS)
        self._client = anthropic.AsyncAnthropic(
            api_key=api_key or "none",  # else the SDK looks for one in places that the settings do not know
            base_url=base_url or None,
            max_retries=0,
            timeout=timeout,
            open_telemetry=False,
            http_client=anthropic.DefaultAioHttpClient(timeout=timeout, limits=limits, follow_redirects=False),
        )

    async def close(self) -> None:
        await self._client.close()

    async def stream(self, request: ModelRequest, *, deadline: float) -> AsyncGenerator[ModelEvent, None]:
        """See ports.ChatModel. Closing the iterator, or cancelling its reader, ends the HTTP exchange at once; a reader
        that may stop half-way holds it in `contextlib.aclosing`."""
        if not self._key:
            raise ModelFailure("not_configured", "No key for the model: set ANTHROPIC_API_KEY.", permanent=True)
        try:
            exchange, events = await self._begin(request, deadline)
            try:
                while True:
                    for event in events:
                        yield event
                    if exchange.ended:
                        break
                    events = await exchange.read()
                yield await exchange.reply()
            finally:
                await exchange.close()
        except ModelFailure as failure:
            raise without(self._key, failure) from None

    async def _begin(self, request: ModelRequest, deadline: float) -> tuple[Exchange, list[ModelEvent]]:
        """An exchange that gives content, with what it gave first; passing faults before that are retried."""
        body = msgspec.json.encode(request_body(request, self._model, self._thinking, self._effort))
        attempt = 0
        while True:
            try:
                return await self._first_events(body, deadline)
            except ModelFailure as failure:
                passing = failure.kind in PASSING_KINDS and not failure.permanent
                if attempt == RETRIES or not request.retried or not passing:
                    raise
                await self._pause(failure, attempt, deadline)
            attempt += 1

    async def _first_events(self, body: bytes, deadline: float) -> tuple[Exchange, list[ModelEvent]]:
        exchange = await self._open(body, deadline)
        try:
            events: list[ModelEvent] = []
            while not exchange.started:
                events = await exchange.read()
        except BaseException:
            await exchange.close()
            raise
        return exchange, events

    async def _open(self, body: bytes, deadline: float) -> Exchange:
        """`post` and not `messages.create`, which copies and encodes the body in Python: a fifth of a call's time."""
        if asyncio.get_running_loop().time() >= deadline:
            raise out_of_time()
        try:
            async with asyncio.timeout_at(deadline):
                stream = await self._client.post(
                    "/v1/messages",
                    cast_to=object,
                    content=body,
                    options={"headers": JSON_CONTENT},
                    stream=True,
                    stream_cls=anthropic.AsyncStream[object],
                )
        except TimeoutError:
            raise out_of_time() from None
        except Exception as error:
            raise fault_failure(error, answered=False) from error
        exchange = Exchange(stream.response, deadline)
        kind = stream.response.headers.get("content-type", "")
        if not kind.lower().startswith("text/event-stream"):
            await exchange.close()
            raise invalid(f"the answer is {kind[:60] or 'of no type'}, not an event stream; check ANTHROPIC_BASE_URL")
        return exchange

    async def _pause(self, failure: ModelFailure, attempt: int, deadline: float) -> None:
        """Waits before a retry; gives up at once where the wait would outlast the deadline."""
        backoff = BACKOFF_SECONDS * 2**attempt * (0.5 + self._jitter())
        seconds = max(backoff, failure.retry_after or 0.0)
        if asyncio.get_running_loop().time() + seconds >= deadline:
            raise failure
        await self._sleep(seconds)


class Exchange:
    """One request and its answer, from the status line to the end of the body."""

    def __init__(self, response: httpx2.Response, deadline: float) -> None:
        self._response, self._deadline = response, deadline
        self._chunks: AsyncIterator[bytes] = response.aiter_bytes()
        self._decoder = ReplyDecoder()

    @property
    def started(self) -> bool:
        return self._decoder.started or self.ended

    @property
    def ended(self) -> bool:
        return self._decoder.reply is not None

    async def read(self) -> list[ModelEvent]:
        """What one network read gave, perhaps nothing. A failure is raised by the call after the events before it."""
        self._raise_failure()
        try:
            async with asyncio.timeout_at(self._deadline):
                data = await anext(self._chunks, None)
        except TimeoutError:
            raise out_of_time() from None
        except Exception as error:
            raise fault_failure(error, answered=True) from error
        if data is None:
            self._decoder.finish()
            self._raise_failure()
            return []
        return self._decoder.feed(data)

    async def reply(self) -> ModelReply:
        """After the end: waits briefly for the body to end too, so that the connection can be used again."""
        with contextlib.suppress(Exception):  # the reply is whole, whatever becomes of the connection
            async with asyncio.timeout(DRAIN_SECONDS):
                async for data in self._chunks:
                    self._decoder.feed(data)
        self._raise_failure()
        if self._decoder.reply is None:
            raise invalid("it has not ended")
        return self._decoder.reply

    async def close(self) -> None:
        with contextlib.suppress(Exception):  # a broken connection needs no closing
            await self._response.aclose()

    def _raise_failure(self) -> None:
        if self._decoder.failure:
            raise self._decoder.failure


def request_body(
    request: ModelRequest, model: str, thinking: dict[str, Any] | None, effort: str | None
) -> dict[str, Any]:
    """The body of a request. What never changes ends in a cache mark; the second mark stands at the end of
    the messages, so that the next call of the turn reads everything so far from the cache."""
    body: dict[str, Any] = {"model": model, "max_tokens": request.max_tokens, "stream": True}
    body["messages"] = marked(request.messages)
    if request.system:
        body["system"] = [{"type": "text", "text": request.system, "cache_control": CACHE_MARK}]
    if request.tools:
        body |= {"tools": list(request.tools), "tool_choice": {"type": "auto"}}
    if thinking is not None:
        body["thinking"] = thinking
    if effort is not None:
        body["output_config"] = {"effort": effort}
    return body


def marked(messages: tuple[dict[str, Any], ...]) -> list[dict[str, Any]]:
    """The messages with a cache mark on the last block; the caller's values stay as they are."""
    *before, last = messages
    content = last["content"]
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
    if blocks:
        blocks[-1] = {**blocks[-1], "cache_control": CACHE_MARK}
    return [*before, {**last, "content": blocks}]


def out_of_time() -> ModelFailure:
    return ModelFailure("timeout", "The turn's time ran out before the model had answered.")


def without(key: str, failure: ModelFailure) -> ModelFailure:
    """The failure with the key blotted out, should an endpoint or an error message repeat it."""
    if len(key) < 8 or key not in failure.hint:
        return failure
    return ModelFailure(
        failure.kind,
        failure.hint.replace(key, "[key]"),
        status=failure.status,
        retry_after=failure.retry_after,
        permanent=failure.permanent,
    )
