"""The log: one JSON object a line whatever people send, with no word of theirs, of an article, or a secret."""

from __future__ import annotations

import json
from collections.abc import Callable

from help_centre import REFUND_QUOTE
from model_replies import opens, refund_answer
from refdesk_server import IDENTITY_SECRET, MODEL_KEY, STAFF_KEY, RefdeskServer
from test_identity import claims, signed

from scripted_api import ScriptedModel

FORGED = '\n{"level":"ERROR","event":"forged"}\r\n\x1b[31mred\u2028'
PRIVATE = "jane.doe@example.org 4111 1111 1111 1111"


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
    with server.client(server.token()) as client:
        model.script(refund_answer())
        turn = client.post("/v1/ask", json={"question": "When are refunds issued?"}).json()
        paths = ("/", "/schema/openapi.json", "/health/ready", "/v1/none", "/metrics", f"/v1/turns/{turn['id']}")
        texts = [client.get(path).text for path in paths]
    with server.client(STAFF_KEY) as staff:
        texts.append(staff.get(f"/v1/console/conversations/{turn['conversation_id']}").text)
        texts.append(staff.get("/v1/console/sync").text)
    texts.append(json.dumps(model.bodies))
    stored = b"".join(path.read_bytes() for path in server.data.rglob("*") if path.is_file())
    for secret in (MODEL_KEY, STAFF_KEY, IDENTITY_SECRET):
        assert not [text for text in texts if secret in text]
        assert secret.encode() not in stored
