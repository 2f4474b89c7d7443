"""The ChatModel over the Messages API, or any endpoint that speaks it.

The `anthropic` SDK gives the connections, the headers with the key, and the status errors. Its retries are not used (it
obeys any Retry-After) nor its redirects (it would post the conversation to wherever it is sent). The stream is decoded
in anthropic_events.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import anthropic
import httpx2
import msgspec

from refdesk.adapters.anthropic_events import ReplyDecoder
from refdesk.adapters.anthropic_failures import PASSING_KINDS, fault_failure, status_error
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
READ_SECONDS = 0.05
"""How often a long reply that trickles is read: twenty times a second, as fast as one reads. What arrives between is
taken in one go, by us and by everyone behind us, instead of token by token."""
WAITED_SECONDS = 0.004
"""A read that took longer had to wait for the model."""
WAITS = 8
"""Reads that had to wait, before a reply counts as one that trickles: first words and short tool calls never do."""
KEEP_SECONDS = 30.0
CACHE_MARK = {"type": "ephemeral"}


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
        self._http = anthropic.DefaultAioHttpClient(timeout=timeout, limits=limits, follow_redirects=False)
        client = anthropic.AsyncAnthropic(
            api_key=api_key or "none",  # else the SDK looks for one in places that the settings do not know
            base_url=base_url or None,
            open_telemetry=False,
            http_client=self._http,
        )
        headers = {name: value for name, value in client.default_headers.items() if isinstance(value, str)}
        url = str(client.base_url).rstrip("/") + "/v1/messages"
        self._first = self._http.build_request("POST", url, headers=headers)
        self._headers = [one for one in self._first.headers.multi_items() if one[0] != "content-length"]

    async def close(self) -> None:
        await self._http.aclose()

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
        if asyncio.get_running_loop().time() >= deadline:
            raise out_of_time()
        try:
            async with asyncio.timeout_at(deadline):
                response = await self._send(body)
        except TimeoutError:
            raise out_of_time() from None
        except Exception as error:
            raise fault_failure(error, answered=False) from error
        exchange = Exchange(response, deadline)
        kind = response.headers.get("content-type", "")
        if not kind.lower().startswith("text/event-stream"):
            await exchange.close()
            raise invalid(f"the answer is {kind[:60] or 'of no type'}, not an event stream; check ANTHROPIC_BASE_URL")
        return exchange

    async def _send(self, body: bytes) -> httpx2.Response:
        """With the SDK's client, headers and errors, and without their request builders: those make every request anew
        from its parts, which is a third of a call's CPU time."""
        first = self._first
        request = httpx2.Request("POST", first.url, headers=self._headers, content=body, extensions=first.extensions)
        if self._http.cookies:  # a gateway leads its later calls to one and the same server by them
            self._http.cookies.set_cookie_header(request)
        response = await self._http.send(request, stream=True)
        if not response.is_success:
            try:
                await response.aread()
            finally:
                await response.aclose()
            raise status_error(response)
        return response

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
        self._waits = 0
        self._next_read = 0.0
        """By the clock of the event loop."""

    @property
    def started(self) -> bool:
        return self._decoder.started or self.ended

    @property
    def ended(self) -> bool:
        return self._decoder.reply is not None

    async def read(self) -> list[ModelEvent]:
        """What one network read gave, perhaps nothing. A failure is raised by the call after the events before it."""
        self._raise_failure()
        clock = asyncio.get_running_loop().time
        try:
            async with asyncio.timeout_at(self._deadline):
                if (early := self._next_read - clock()) > 0:
                    with unread(self._response):
                        await asyncio.sleep(early)
                began = clock()
                data = await anext(self._chunks, None)
        except TimeoutError:
            raise out_of_time() from None
        except Exception as error:
            raise fault_failure(error, answered=True) from error
        if data is None:
            self._decoder.finish()
            self._raise_failure()
            return []
        events = self._decoder.feed(data)
        now = clock()
        self._waits += bool(events) and now - began > WAITED_SECONDS
        if self._waits >= WAITS:
            self._next_read = now + READ_SECONDS
        return events

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


def transport_of(response: httpx2.Response) -> asyncio.ReadTransport | None:
    """The connection behind a response. The SDK does not tell, so it is looked for at its place, and may be missed."""
    raw: Any = getattr(getattr(response.stream, "_stream", None), "_aiohttp_response", None)
    connection = getattr(raw, "connection", None)
    return getattr(connection, "transport", None)


@contextlib.contextmanager
def unread(response: httpx2.Response) -> Iterator[None]:
    """What arrives meanwhile stays with the system, which wakes nobody for it; read as it comes where the connection
    is not known."""
    transport = transport_of(response)
    if transport is None or transport.is_closing():
        yield
        return
    transport.pause_reading()
    try:
        yield
    finally:
        if not transport.is_closing():
            transport.resume_reading()


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
