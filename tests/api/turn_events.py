"""Server-sent events as a conforming client reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import httpx2


class Event(NamedTuple):
    id: str
    name: str
    data: str

    @property
    def json(self) -> Any:
        return json.loads(self.data)


class EventReader:
    """Lines end with CR, LF or both, and with nothing else; a block without data is no event."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self.comments = 0
        self.last_id = ""
        self._chunks = response.iter_bytes()

    def __iter__(self) -> Iterator[Event]:
        fields: dict[str, list[str]] = {}
        for line in self._lines():
            if not line:
                if "data" in fields:
                    yield Event(self.last_id, (fields.get("event") or ["message"])[-1], "\n".join(fields["data"]))
                fields = {}
            elif line.startswith(":"):
                self.comments += 1
            else:
                name, _, value = line.partition(":")
                fields.setdefault(name, []).append(value.removeprefix(" "))
                if name == "id":
                    self.last_id = value.removeprefix(" ")

    def _lines(self) -> Iterator[str]:
        text = b""
        for chunk in self._chunks:
            text += chunk
            lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
            text = lines.pop()
            yield from (line.decode() for line in lines)
        assert not text, "the stream ends inside a line"


@contextmanager
def asked(client: httpx2.Client, question: str, **body: Any) -> Iterator[EventReader]:
    """Asks for the turn as events."""
    wanted = {"accept": "text/event-stream"}
    with client.stream("POST", "/v1/ask", json={"question": question, **body}, headers=wanted) as response:
        assert response.status_code == 200, response.read()
        yield EventReader(response)


@contextmanager
def resumed(client: httpx2.Client, turn_id: str, last: str | None = None) -> Iterator[EventReader]:
    headers = {} if last is None else {"last-event-id": last}
    with client.stream("GET", f"/v1/turns/{turn_id}/events", headers=headers) as response:
        assert response.status_code == 200, response.read()
        yield EventReader(response)


def all_events(client: httpx2.Client, question: str, **body: Any) -> list[Event]:
    with asked(client, question, **body) as reader:
        return list(reader)
