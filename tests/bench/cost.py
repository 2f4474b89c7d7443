"""What a thousand questions cost, at the listed price of each model.

    python tests/bench/cost.py                   the questions of the sample corpus; a scripted model answers
    python tests/bench/cost.py turns.log …       turns that a server has logged with REFDESK_LOG=json

Without a log: every question of `tests/data/corpus_questions.jsonl` goes through the whole turn; the scripted model
states two claims with their quotes and writes both sentences, in one call where the application's search has found
something. Tokens are estimated, a token for four bytes of the request; the prompt cache is taken for warm, as it is
under steady traffic: tools and system prompt are read from it, and the marked messages are written to it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import tempfile
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any

import structlog

from refdesk.adapters.anthropic_model import request_body
from refdesk.app import assistant_of, close_parts, open_parts
from refdesk.assistant.rehearsal import rehearse
from refdesk.domain.conversation import Usage
from refdesk.domain.prices import LISTED, PRICES
from refdesk.ports import ModelEvent, ModelReply, ModelRequest, ToolInputDelta, ToolStarted, ToolUse
from refdesk.settings import load

ROOT = Path(__file__).parents[2]
QUESTIONS = ROOT / "tests" / "data" / "corpus_questions.jsonl"
PASSAGE = re.compile(r"<<passage \w+>>\nid: (\S+)\ntitle: (.*)\n(?:.*\n)*?text:\n(.*)")
SHORTEST_CACHED = 1024
"""Tokens of a prefix below which the API caches nothing."""


def tokens(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False).encode()) // 4 + 1


class ScriptedModel:
    """Answers from the passages it was given, and counts what that would be billed for."""

    async def stream(self, request: ModelRequest, *, deadline: float) -> AsyncGenerator[ModelEvent, None]:
        answer = answer_to(request.messages[-1]["content"])
        body = request_body(request, "scripted", None, None)
        fixed = tokens(body["tools"]) + tokens(body["system"])
        asked = tokens(body["messages"])
        usage = Usage(model="scripted", calls=1, output_tokens=tokens(answer))
        if fixed >= SHORTEST_CACHED:
            usage.cache_read_tokens, usage.cache_write_tokens = fixed, asked
        else:
            usage.cache_write_tokens = fixed + asked
        call = {"type": "tool_use", "id": "toolu_1", "name": "answer", "input": answer}
        yield ToolStarted(0, "toolu_1", "answer")
        yield ToolInputDelta(0, json.dumps(answer))
        yield ToolUse(0, "toolu_1", "answer", answer)
        yield ModelReply("tool_use", (call,), usage)


def answer_to(content: list[dict[str, Any]]) -> dict[str, Any]:
    found = PASSAGE.findall("\n".join(str(block.get("text", "")) for block in content))[:2]
    said = [(article, title, text.split(". ")[0].strip()) for article, title, text in found]
    claims = [{"text": quote, "kind": "fact", "source_id": article, "quote": quote} for article, _, quote in said]
    prose = " ".join(f"{quote} ([{title}](doc:{article}))." for article, title, quote in said)
    known = {"conflicts": [], "missing_information": []}
    return {"outcome": "answered" if said else "insufficient", "claims": claims, **known, "answer": prose or "Unknown."}


async def asked() -> list[Usage]:
    """The usage of each question; without calls where no model was needed."""
    with tempfile.TemporaryDirectory() as folder:
        settings = load({"REFDESK_CORPUS": str(ROOT / "corpus"), "REFDESK_DATA": folder, "REFDESK_DENSE": "off"})
        parts = await open_parts(settings)
        parts.model = ScriptedModel()  # type: ignore[assignment]
        assistant = assistant_of(parts)
        rows = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
        usages = [(await rehearse(assistant, row["question"], ["public"])).trail.usage for row in rows]
        parts.model = None
        await close_parts(parts)
        return usages


def logged(paths: list[str]) -> Iterator[Usage]:
    for path in paths:
        for line in Path(path).read_text("utf-8", "replace").splitlines():
            turn = json.loads(line) if line.startswith("{") else {}
            if turn.get("event") == "turn":
                names = {f"{name}_tokens": count for name, count in turn["tokens"].items()}
                yield Usage(model=turn["model"], calls=turn["model_calls"], **names)


def report(usages: list[Usage]) -> None:
    calling = [usage for usage in usages if usage.calls]
    fields = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")
    print(f"{len(usages)} questions, {len(calling)} of them with a model ({sum(u.calls for u in usages)} calls)")
    for field in fields:
        print(
            f"  {field.replace('_', ' '):20} {sum(getattr(usage, field) for usage in usages) / len(usages):8.0f} each"
        )
    print(f"\n| model | US dollars for 1,000 questions (list of {LISTED}) |\n|---|---|")
    for model, price in PRICES.items():
        print(f"| `{model}` | {1000 * sum(map(price.cost, usages)) / len(usages):.2f} |")


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    report(list(logged(sys.argv[1:])) if len(sys.argv) > 1 else asyncio.run(asked()))
