"""The committed documents are what the sources say, and the events are as they describe."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import msgspec
from model_replies import opens, refund_answer
from turn_events import all_events

from refdesk.api.contract import events_text
from refdesk.api.routes import openapi_text
from refdesk.domain.events import PAYLOADS
from scripted_api import ScriptedModel

FOLDER = Path(__file__).parents[2] / "openapi"


def test_the_committed_document_is_the_generated_one(anonymous: httpx2.Client) -> None:
    committed = (FOLDER / "openapi.json").read_text("utf-8")
    assert committed == openapi_text() + "\n", "refdesk openapi > openapi/openapi.json"
    assert anonymous.get("/schema/openapi.json").json() == json.loads(committed)


def test_the_committed_events_are_the_generated_ones() -> None:
    assert (FOLDER / "events.schema.json").read_text("utf-8") == events_text() + "\n"


def test_every_operation_says_how_it_refuses() -> None:
    document = json.loads(openapi_text())
    for path, item in document["paths"].items():
        for method, operation in item.items():
            refusals = {status: said for status, said in operation["responses"].items() if status >= "400"}
            assert {"400", "403"} <= refusals.keys(), f"{method} {path}"
            for status, said in refusals.items():
                if (path, status) != ("/health/ready", "503"):
                    assert list(said["content"]) == ["application/problem+json"], f"{method} {path} {status}"


def test_events_decode_strictly_as_described(visitor: httpx2.Client, model: ScriptedModel) -> None:
    model.script(opens("refunds"), refund_answer())
    events = all_events(visitor, "When are refunds issued?")
    assert {event.name for event in events} == {"accepted", "step", "delta", "done"}
    for event in events:
        value = msgspec.json.decode(event.data, type=PAYLOADS[event.name], strict=True)
        assert json.loads(msgspec.json.encode(value)) == event.json
