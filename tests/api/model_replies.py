"""Replies of the scripted model, in the shapes that the loop knows."""

from __future__ import annotations

import json
from typing import Any

from help_centre import REFUND_QUOTE

from fake_model import Call, Reply, Say, call

REFUND_CLAIM = {
    "text": "Refunds are issued within 14 days.",
    "kind": "fact",
    "source_id": "refunds",
    "quote": REFUND_QUOTE,
}


def answering(text: str, *claims: dict[str, Any], outcome: str = "answered", **more: Any) -> Reply:
    given = {"outcome": outcome, "claims": list(claims), "conflicts": [], "missing_information": [], "answer": text}
    return call("answer", {**given, **more}, id="toolu_answer")


def refund_answer(text: str = "Refunds are issued within 14 days ([Refunds](doc:refunds)).") -> Reply:
    return answering(text, REFUND_CLAIM)


def calls(*wanted: tuple[str, dict[str, Any]]) -> Reply:
    blocks = [Call(f"toolu_{n}", name, (json.dumps(given),)) for n, (name, given) in enumerate(wanted, 1)]
    return Reply(tuple(blocks), "tool_use")


def opens(*ids: str) -> Reply:
    return calls(*(("get_document", {"id": id}) for id in ids))


def says(text: str) -> Reply:
    return Reply((Say((text,)),))


def tool_results(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The results that the last message of a request hands over."""
    content = body["messages"][-1]["content"]
    found = [block for block in content if isinstance(block, dict) and block["type"] == "tool_result"]
    return [{name: value for name, value in block.items() if name != "cache_control"} for block in found]
