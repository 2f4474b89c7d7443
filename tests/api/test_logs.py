"""The log: one JSON object a line whatever people send, with no word of theirs, of an article, or a secret."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from help_centre import REFUND_QUOTE
from model_replies import opens, refund_answer
from refdesk_server import IDENTITY_SECRET, MODEL_KEY, STAFF_KEY, RefdeskServer
from test_identity import claims, signed

from refdesk.logs import LossyStream
from scripted_api import Answer, ScriptedModel, closing, opening, tool

FORGED = '\n{"level":"ERROR","event":"forged"}\r\n\x1b[31mred\u2028'
PRIVATE = "jane.doe@example.org 4111 1111 1111 1111"
HOSTILE = (FORGED.encode("unicode_escape").decode().replace("\\x1b", "\\u001b").replace('"', '\\"'),
           "\\ud800 \\udfff", "\\u0000", "\\u202e\\u2066", "\\ud83d\\ude42", "\\u0085\\u2029")  # fmt: skip
"""As they stand in JSON."""
ECHO = json.dumps({"type": "error", "error": {"type": "invalid_request_error", "message": "'C_WORDS\n' is bad"}})
FAULTS = (
    Answer((ECHO.encode(),), 400, {"content-type": "application/json"}),
    Answer((b"<html>C_WORDS</html>",), 200, {"content-type": "text/html"}),
    Answer((b"event: C_WORDS\ndata: {C_WORDS\n\n",)),
    Answer((), ending="reset"),
    Answer((b'{"C_WORDS": 1}',), 529, {"content-type": "application/json"}),
    Answer((opening(), tool(0, '{"id": C_WORDS}'), closing("tool_use"))),
)


def test_the_log_holds_verdicts_and_no_words(
    new_server: Callable[..., RefdeskServer], shared_model: ScriptedModel
) -> None:
    server = new_server(shared_model.url, ANTHROPIC_LOG="debug", REFDESK_TURN_SECONDS="30").start()
    shared_model.script(opens("refunds"), refund_answer("Refunds take C_ANSWER days ([Refunds](doc:refunds))."))
    identity = signed(claims())
    tokens = [server.token(identity), server.token()]
    question = f"When are refunds issued? {PRIVATE} {FORGED}"
    for token in tokens:
        with server.client(token, **{"user-agent": 'x" {"event":"forged"}', "referer": "http://a/forged"}) as client:
            body = {"question": question, "page": {"url": "/C_PAGE", "title": f"C_TITLE {FORGED}"}}
            turn = client.post("/v1/ask", json={**body, "question": "When are refunds issued?"}).json()
            client.post("/v1/ask", json=body)
            client.put(f"/v1/turns/{turn['id']}/feedback", json={"rating": "down", "comment": "C_COMMENT"})
            client.get("/v1/%0a%7b%22event%22:%22forged%22%7d%1b[31m")
            client.get("/v1/search?q=C_SEARCH")
            client.post("/v1/ask", content=b"[" * 30_000, headers={"content-type": "application/json"})
            client.post("/v1/ask", json={"question": "C_BAD\u0000"})
    assert server.stop() == 0
    records = list(server.log_records())
    assert not [record for record in records if record.get("event") == "forged"]
    turns = [record for record in records if record["event"] == "turn"]
    assert len(turns) == 4
    first = turns[0]
    assert {"turn_id", "status", "sources", "claims", "timings", "tokens", "generation"} <= first.keys()
    assert first["sources"][0].keys() == {"id", "version", "basis", "show"}
    log = server.log()
    for words in (
        "jane.doe",
        "4111 1111",
        "C_PAGE",
        "C_TITLE",
        "C_COMMENT",
        "C_SEARCH",
        "C_ANSWER",
        "C_BAD",
        "When are",
    ):
        assert words not in log, words
    assert REFUND_QUOTE not in log
    for secret in (*tokens, identity, STAFF_KEY, IDENTITY_SECRET, MODEL_KEY):
        assert secret not in log
    assert "\x1b" not in log


def test_no_secret_is_anywhere(server: RefdeskServer, model: ScriptedModel) -> None:
    token, other = server.token(), server.token()
    with server.client(other) as client:
        model.script(refund_answer())
        others = client.post("/v1/ask", json={"question": "When are refunds issued?"}).json()
    with server.client(token) as client:
        visitor_id = client.get("/v1/me/export").json()["visitor_id"]
        turn = client.post("/v1/ask", json={"question": "When are refunds issued?"}).json()
        paths = ("/", "/schema/openapi.json", "/health/ready", "/v1/none", "/metrics", f"/v1/turns/{turn['id']}")
        texts = [client.get(path).text for path in paths]
    with server.client(STAFF_KEY) as staff:
        texts.append(staff.get(f"/v1/console/conversations/{turn['conversation_id']}").text)
        console = ("sync", "export.csv", "export.jsonl", "audit", "keys")
        paths = (*(f"/v1/console/{name}" for name in console), "/console/settings", "/metrics")
        texts += [staff.get(path).text for path in paths]
    told = json.dumps(model.bodies)
    stored = b"".join(path.read_bytes() for path in server.data.rglob("*") if path.is_file())
    for secret in (MODEL_KEY, STAFF_KEY, IDENTITY_SECRET, token, other):
        assert not [text for text in (*texts, told) if secret in text]
        assert secret.encode() not in stored
    assert len(model.bodies) == 2
    for known in (visitor_id, *(one[name] for one in (turn, others) for name in ("id", "conversation_id"))):
        assert known not in told, "the model knows nobody's id"


def test_a_turn_is_told_with_its_request(new_server: Callable[..., RefdeskServer], shared_model: ScriptedModel) -> None:
    """Whatever is asked, and however the model fails: every line is one JSON object and says whose it is."""
    server = new_server(shared_model.url, REFDESK_DENSE="on", ANTHROPIC_LOG="debug").start()
    asked: dict[str, str] = {}
    with server.client(server.token()) as client:
        for number, fault in enumerate(FAULTS):
            shared_model.script(fault)
            body = f'{{"question": "When are refunds issued? C_WORDS {HOSTILE[number % len(HOSTILE)]}"}}'
            answer = client.post("/v1/ask", content=body, headers={"content-type": "application/json"})
            if answer.status_code == 200:
                asked[answer.json()["id"]] = answer.headers["x-request-id"]
        (server.corpus / "C_FILE\n\x1b[31m.md").write_text("---\naudience: [C_NOBODY]\n---\n\ntext\n", "utf-8")
        with server.client(STAFF_KEY) as staff:
            staff.post("/v1/console/sync", json={"wait": True})
    assert server.stop() == 0
    told = {record["turn_id"]: record["request_id"] for record in server.log_records("turn")}
    assert told == asked
    assert len(asked) >= 4
    failed = list(server.log_records("model failed"))
    assert failed
    for record in failed:
        assert asked[record["turn_id"]] == record["request_id"]
    assert not [word for word in ("C_WORDS", "\x1b", MODEL_KEY, STAFF_KEY) if word in server.log()]


def test_whatever_ends_a_start_is_in_the_log(tmp_path: Path) -> None:
    """A program that reads the log reads why, too."""
    environment = {**os.environ, "REFDESK_LOG": "json", "REFDESK_PORT": "eighty", "REFDESK_DATA": str(tmp_path)}
    command = [sys.executable, "-m", "refdesk.cli", "serve"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    [line] = ended.stderr.splitlines()
    assert json.loads(line)["event"] == "not started"
    assert "REFDESK_PORT" in json.loads(line)["reason"]


@pytest.mark.parametrize("form", ["json", "console"])
def test_what_nobody_foresaw_is_told_without_its_values(form: str) -> None:
    code = f"""
import logging, threading, warnings
import structlog
from refdesk.logs import configure_logging
configure_logging({form!r})
log = structlog.get_logger()
words = "where is my order\\n\\x1b[31m \\ud800"
def fall():
    try:
        {{}}[words]
    except KeyError as error:
        raise ValueError(f'no such thing: "{{words}}') from error
try:
    fall()
except ValueError as error:
    log.error("fell", exc_info=error)
    logging.getLogger("library").error("it\\nfell", exc_info=error)
warnings.warn("a\\nwarning", stacklevel=1)
thread = threading.Thread(target=fall)
if {form!r} == "json":
    thread.start()
    thread.join()
    fall()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "where is my order" not in ended.stderr
    assert "ValueError" in ended.stderr
    assert ended.stdout == ""
    if form == "json":
        records = [json.loads(line) for line in ended.stderr.splitlines()]
        assert [record["event"] for record in records if "exception" in record] == [
            "fell", "it\nfell", "thread ended by an error", "ended by an error"
        ]  # fmt: skip
        assert records[0]["exception"][0]["exc_value"] == "no such thing: '…'"
        assert records[0]["exception"][0]["frames"]


def test_a_log_that_cannot_be_written_ends_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk takes the beginning of a line; what follows it is whole again."""
    path, write = tmp_path / "log", os.write
    with path.open("w") as file:
        stream = LossyStream(file)
        room: list[int | None] = [None, 4, 0, None]

        def some(descriptor: int, data: bytes) -> int:
            left = room.pop(0)
            if left == 0:
                raise OSError(errno.ENOSPC, "full")
            return write(descriptor, data[:left])

        monkeypatch.setattr(os, "write", some)
        for line in ("first\n", "second\n", "third\n", "fourth \ud800\n"):
            stream.write(line)
            stream.flush()
    assert path.read_text("utf-8").splitlines() == ["first", "seco", "fourth \\ud800"]
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(os, "write", write)
    with open(writing, "w") as gone:
        LossyStream(gone).write("nobody reads this\n")
