"""An HTTP server on loopback that sends what a test tells it to: the Messages API with any fault."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, Literal

import msgspec

from fake_model import Call, Reply, Say, Think

EVENT_STREAM = {"content-type": "text/event-stream; charset=utf-8"}
PING = b'event: ping\ndata: {"type": "ping"}\n\n'
Ending = Literal["end", "cut", "reset", "silence", "pings"]


PATIENCE = 30.0
"""Seconds after which a test that waits for something has failed."""


class Answer(msgspec.Struct, frozen=True):
    """`ending` of the body. cut: without its last chunk; reset: by RST; silence, pings: not before the client goes.

    A threading.Event among the chunks: what comes after it is held back until the test sets it."""

    chunks: tuple[bytes | threading.Event, ...] = ()
    status: int = 200
    headers: dict[str, str] = msgspec.field(default_factory=lambda: dict(EVENT_STREAM))
    ending: Ending = "end"
    hold_head: bool = False
    """Not even a status line is sent."""
    pace: float = 0.0
    """Seconds before each chunk, for a reply that trickles."""


UNSCRIPTED = Answer((b"{}",), 400, {"content-type": "application/json"})


class ScriptedApi:
    """One answer a request; the last one again and again. `choose` decides by the request's body instead."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.choose: Callable[[dict[str, Any]], Answer | None] | None = None
        self.bodies: list[dict[str, Any]] = []
        self.heads: list[str] = []
        self.connections = 0
        self.url = ""
        self._open: dict[Any, asyncio.StreamWriter] = {}
        self.idle = asyncio.Event()
        self.busy = asyncio.Event()
        """Set while an answer is being given; `idle` is its opposite."""

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open[asyncio.current_task()] = writer
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._serve(reader, writer)
        finally:  # also where it is cancelled at the end of a test
            writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        goes_on = True
        while goes_on:
            await self._read(reader)
            answer = self._next()
            self.idle.clear()
            self.busy.set()
            try:
                goes_on = await self._give(answer, reader, writer)
            finally:
                self.busy.clear()
                self.idle.set()

    def _next(self) -> Answer:
        if self.choose is not None:
            return self.choose(self.bodies[-1]) or UNSCRIPTED
        return self.answers[min(len(self.bodies), len(self.answers)) - 1] if self.answers else UNSCRIPTED

    async def close(self) -> None:
        for writer in self._open.values():
            writer.close()
        await asyncio.gather(*self._open)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = next(line for line in head.lower().split("\r\n") if line.startswith("content-length:"))
        body = await reader.readexactly(int(length.partition(":")[2]))
        self.heads.append(head)
        self.bodies.append(json.loads(body))

    async def _give(self, answer: Answer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection may serve another request."""
        if not answer.hold_head:
            headers = {**answer.headers, "transfer-encoding": "chunked"}
            lines = [f"HTTP/1.1 {answer.status} Any", *(f"{name}: {value}" for name, value in headers.items())]
            writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
            for chunk in answer.chunks:
                if isinstance(chunk, threading.Event):
                    await asyncio.to_thread(chunk.wait, PATIENCE)
                    continue
                await asyncio.sleep(answer.pace)
                writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                await writer.drain()
        if answer.ending == "end":
            writer.write(b"0\r\n\r\n")
            return True
        if answer.ending == "reset":
            await asyncio.sleep(0.02)  # what was sent must arrive first: a reset discards it
            linger = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            writer.transport.abort()
        while answer.ending == "pings" and not (reader.at_eof() or writer.is_closing()):  # a reset is no end of file
            writer.write(b"%x\r\n%s\r\n" % (len(PING), PING))
            await asyncio.sleep(0.01)
        if answer.ending == "silence":
            await reader.read()
        return False


@asynccontextmanager
async def scripted_api(*answers: Answer) -> AsyncIterator[ScriptedApi]:
    api = ScriptedApi()
    api.answers = list(answers)
    server = await asyncio.start_server(api.handle, "127.0.0.1", 0)
    api.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield api
    server.close()
    await api.close()


class ScriptedModel:
    """The scripted API on a thread of its own, for tests that are not coroutines."""

    def __init__(self, api: ScriptedApi) -> None:
        self._api = api
        self.url = api.url

    def script(self, *answers: Answer | Reply) -> None:
        """What the next requests get; what was received so far is forgotten."""
        self._api.bodies, self._api.heads, self._api.choose = [], [], None
        self._api.answers = [answer_of(item) if isinstance(item, Reply) else item for item in answers]

    def choose(self, answer: Callable[[dict[str, Any]], Answer | None]) -> None:
        """`answer` gets a request's body; for turns that run side by side. None: of another test, whose turn may still
        be trying again."""
        self.script()
        self._api.choose = answer

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return list(self._api.bodies)

    @property
    def heads(self) -> list[str]:
        return list(self._api.heads)


@contextmanager
def scripted_model() -> Iterator[ScriptedModel]:
    started, loops = threading.Event(), list[tuple[ScriptedApi, asyncio.AbstractEventLoop, asyncio.Event]]()

    async def serve() -> None:
        async with scripted_api() as api:
            stop = asyncio.Event()
            loops.append((api, asyncio.get_running_loop(), stop))
            started.set()
            await stop.wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),), name="scripted model")
    thread.start()
    started.wait(PATIENCE)
    api, loop, stop = loops[0]
    yield ScriptedModel(api)
    loop.call_soon_threadsafe(stop.set)
    thread.join(PATIENCE)


def event(data: dict[str, Any]) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def opening(input_tokens: int = 10) -> bytes:
    usage = {"input_tokens": input_tokens, "output_tokens": 1}
    return event({"type": "message_start", "message": {"type": "message", "model": "fake", "usage": usage}})


def block(index: int, start: dict[str, Any], deltas: Sequence[dict[str, Any]]) -> bytes:
    pieces = [event({"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas]
    stop = event({"type": "content_block_stop", "index": index})
    return event({"type": "content_block_start", "index": index, "content_block": start}) + b"".join(pieces) + stop


def text(index: int, *pieces: str) -> bytes:
    return block(index, {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces])


def tool(index: int, *pieces: str, id: str = "toolu_1", name: str = "search") -> bytes:
    start = {"type": "tool_use", "id": id, "name": name, "input": {}}
    return block(index, start, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces])


def thinking(index: int, words: str, signature: str) -> bytes:
    deltas = [{"type": "thinking_delta", "thinking": words}, {"type": "signature_delta", "signature": signature}]
    return block(index, {"type": "thinking", "thinking": "", "signature": ""}, deltas)


def closing(stop_reason: str | None = "end_turn", output_tokens: int = 5) -> bytes:
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    end = event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": output_tokens}})
    return end + event({"type": "message_stop"})


def error_event(kind: str, message: str = "said so") -> bytes:
    return event({"type": "error", "error": {"type": kind, "message": message}})


def answer_of(reply: Reply) -> Answer:
    """The reply of the fake model as the API would send it."""
    chunks = [opening(reply.input_tokens)]
    for index, part in enumerate(reply.blocks):
        if isinstance(part, Say):
            chunks.append(text(index, *part.pieces))
        elif isinstance(part, Think):
            chunks.append(thinking(index, part.text, part.signature))
        elif isinstance(part, Call):
            chunks.append(tool(index, *part.pieces, id=part.id, name=part.name))
    if reply.breaks == "silence":
        return Answer(tuple(chunks), ending="silence")
    ending = error_event("overloaded_error") if reply.breaks else closing(reply.stop_reason, reply.output_tokens)
    return Answer((*chunks, ending))
