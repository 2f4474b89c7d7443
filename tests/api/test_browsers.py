"""Pages of other origins, look-alikes among them, and names that are not ours: refused before anything is done."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable

import httpx2
import pytest
from refdesk_server import SHOP, STAFF_KEY, RefdeskServer
from turn_events import all_events, asked

from scripted_api import Answer, ScriptedModel, closing, event, opening

EVIL = "https://evil.test"
LOOKALIKES = [
    EVIL, "https://shop.example.com.evil.test", "https://evil-shop.example.com", "http://shop.example.com",
    "https://shop.example.com:444", "https://shopXexample.com", "https://shop.example.com@evil.test",
    "https://shop.example.com.", "null", "https://xn--shp-0na.example.com", "https://shop.example.com/",
    "https://shop.example.com/path", "https://shop.example.com?x", "https://shop.example.com#x", "",
    "https://a.shop.example.com", "https://example.com", "shop.example.com", "//shop.example.com",
    "https://shop.example.com https://evil.test", "https://shop.example.com,https://evil.test", "*",
    "https://shop.example.com:443:443", "https://shop.example.com:0443", "https://shop.example.com\\.evil.test",
    "file://", "chrome-extension://abc", "https://[shop.example.com",
    "https://shop.example.com%00.evil.test", "https://shop。example.com",
]  # fmt: skip


def foreign(answer: httpx2.Response) -> None:
    assert answer.status_code == 403, answer.text
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert answer.json()["code"] == "origin_not_allowed"
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("origin", LOOKALIKES)
def test_a_foreign_origin_is_refused_on_the_server(visitor: httpx2.Client, model: ScriptedModel, origin: str) -> None:
    headers = {"origin": origin.encode()}
    for accept in ("application/json", "text/event-stream"):
        foreign(visitor.post("/v1/ask", json={"question": "refunds?"}, headers={**headers, "accept": accept}))
    foreign(visitor.post("/v1/session", json={}, headers=headers))
    asking = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    foreign(visitor.options("/v1/ask", headers={**headers, **asking}))
    foreign(visitor.options("/v1/ask", headers=headers))
    for path in ("/v1/articles", "/v1/search?q=refunds", "/v1/nothing", "/health/live", "/"):
        foreign(visitor.get(path, headers=headers))
    assert not model.bodies


@pytest.mark.parametrize("origin", [SHOP, "https://SHOP.example.com", "HTTPS://shop.example.com", f"{SHOP}:443"])
def test_an_allowed_origin_is_answered_to_itself(visitor: httpx2.Client, origin: str) -> None:
    answer = visitor.post("/v1/ask", json={"question": "refunds?"}, headers={"origin": origin})
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == origin
    assert "Origin" in answer.headers["vary"]
    assert "access-control-allow-credentials" not in answer.headers


def test_the_page_of_the_server_itself_may_ask(server: RefdeskServer, visitor: httpx2.Client) -> None:
    for origin, host in ((server.url, None), (f"http://localhost:{server.port}", f"localhost:{server.port}")):
        headers = {"origin": origin, **({"host": host} if host else {})}
        assert visitor.post("/v1/ask", json={"question": "refunds?"}, headers=headers).status_code == 200


def test_a_preflight_says_what_is_allowed(visitor: httpx2.Client) -> None:
    wanted = {"access-control-request-method": "PUT", "access-control-request-headers": "authorization,idempotency-key"}
    answer = visitor.options("/v1/turns/t_1/feedback", headers={"origin": SHOP, **wanted})
    assert answer.status_code == 204
    assert answer.headers["access-control-allow-origin"] == SHOP
    assert "PUT" in answer.headers["access-control-allow-methods"]
    assert {"authorization", "content-type", "idempotency-key", "last-event-id"} <= {
        name.strip() for name in answer.headers["access-control-allow-headers"].split(",")
    }


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [("POST", "/v1/ask", {"question": ""}, 400), ("GET", "/v1/turns/t_1", None, 404), ("GET", "/v1/none", None, 404),
     ("GET", "/v1/ask", None, 405), ("POST", "/v1/session", {"identity": "x"}, 401),
     ("GET", "/v1/console/sync", None, 401), ("POST", "/v1/ask", {"question": "a", "b": 1}, 400),
     ("POST", "/v1/ask", {"question": "a" * 70_000}, 413)],
)  # fmt: skip
def test_errors_can_be_read_by_an_allowed_page(
    visitor: httpx2.Client, method: str, path: str, body: dict[str, str] | None, status: int
) -> None:
    answer = visitor.request(method, path, json=body, headers={"origin": SHOP})
    assert answer.status_code == status
    readable_by(answer, SHOP)


def readable_by(answer: httpx2.Response, origin: str) -> None:
    assert answer.headers["access-control-allow-origin"] == origin
    assert "retry-after" in answer.headers["access-control-expose-headers"].lower()


def test_what_is_not_allowed_to_a_caller_can_be_read_too(server: RefdeskServer) -> None:
    """403 for who is asking, not for where the page comes from."""
    with server.client(STAFF_KEY) as staff:
        answer = staff.delete("/v1/me", headers={"origin": SHOP})
    assert answer.status_code == 403
    readable_by(answer, SHOP)


def test_too_many_requests_can_be_read_by_an_allowed_page(new_server: Callable[..., RefdeskServer]) -> None:
    server = new_server(REFDESK_RATE_LIMITS="on").start()
    with server.client(server.token()) as visitor:
        for _ in range(21):
            headers = {"origin": SHOP, "x-forwarded-for": "203.0.113.9", "forwarded": "for=203.0.113.9"}
            answer = visitor.post("/v1/ask", json={"question": "refunds?"}, headers=headers)
        assert answer.status_code == 429
        assert answer.json()["code"] == "rate_limited"
        assert 1 <= int(answer.headers["retry-after"]) <= 60
        readable_by(answer, SHOP)
    with server.client() as fresh:  # a new session is no new quota
        codes = [fresh.post("/v1/ask", json={"question": "refunds?"}).status_code for _ in range(45)]
    assert codes[-1] == 429
    assert codes.count(200) < 40


def test_without_a_list_only_the_own_origin_may_ask(new_server: Callable[..., RefdeskServer]) -> None:
    server = new_server(REFDESK_ALLOWED_ORIGINS="").start()
    with server.client() as client:
        foreign(client.get("/v1/articles", headers={"origin": SHOP}))
        assert client.get("/v1/articles", headers={"origin": server.url}).status_code == 200
        assert client.get("/v1/articles").status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.test", "evil.test:8000", "127.0.0.1.evil.test", "localhost.evil.test", "", "[evil]",
             "127.0.0.1@evil.test", "localhost.", "2130706433", "shop.example.com",
             "localhost:1@evil.test", "localhost:x", "localhost:80:80", "[::1]evil.test", '127.0.0.1:1"'],
)  # fmt: skip
def test_a_foreign_host_is_refused(visitor: httpx2.Client, host: str) -> None:
    for path in ("/v1/articles", "/", "/health/live"):
        answer = visitor.get(path, headers={"host": host, "x-forwarded-host": "localhost"})
        assert answer.status_code == 400
        assert answer.json()["code"] == "unknown_host"


@pytest.mark.parametrize("lines", ["", "x-forwarded-host: localhost", "host: localhost\r\nhost: evil.test"])
def test_no_host_or_two_are_refused(server: RefdeskServer, lines: str) -> None:
    head = f"GET /v1/articles HTTP/1.1\r\n{lines}\r\n\r\n" if lines else "GET /v1/articles HTTP/1.1\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(head.encode())
        assert connection.recv(64).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("path", ["/v1/articles", "/v1/articles/refunds", "/articles/refunds", "/", "/health/live"])
def test_head_is_get_without_the_body(visitor: httpx2.Client, path: str) -> None:
    got, head = visitor.get(path), visitor.head(path)
    assert head.status_code == got.status_code == 200
    assert head.content == b""
    for name in ("content-type", "content-length", "cache-control"):
        assert head.headers[name] == got.headers[name]
    assert visitor.head("/v1/articles/none").status_code == 404
    assert "GET" in visitor.options(path).headers["allow"]


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/v1/articles", "application/json; charset=utf-8"), ("/articles/refunds", "text/html; charset=utf-8"),
     ("/", "text/html; charset=utf-8"), ("/v1/search?q=refunds", "application/json; charset=utf-8"),
     ("/schema/openapi.json", "application/vnd.oai.openapi+json; charset=utf-8"),
     ("/health/ready", "application/json; charset=utf-8"), ("/console/sign-in", "text/html; charset=utf-8"),
     ("/v1/console/export.csv", "text/csv; charset=utf-8"),
     ("/v1/console/export.jsonl", "application/x-ndjson; charset=utf-8"),
     ("/v1/console/sync", "application/json; charset=utf-8"), ("/metrics", "text/plain; version=0.0.4; charset=utf-8")],
)  # fmt: skip
def test_every_answer_is_told_apart_and_kept_out_of_caches(
    server: RefdeskServer, visitor: httpx2.Client, path: str, kind: str
) -> None:
    headers = {"authorization": f"Bearer {STAFF_KEY}"} if path.startswith(("/v1/console", "/metrics")) else {}
    answer = visitor.get(path, headers=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == kind
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "no-store" in answer.headers["cache-control"]
    assert "server" not in answer.headers
    if kind.startswith("text/html"):
        policy = answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy


@pytest.mark.parametrize(
    ("path", "kind"),
    [("/widget/refdesk.js", "text/javascript"), ("/widget/check.js", "text/javascript"),
     ("/static/ask.js", "text/javascript"), ("/static/page.css", "text/css"),
     ("/console/static/htmx.min.js", "text/javascript"), ("/console/static/console.css", "text/css"),
     ("/widget/refdesk.d.ts", "text/plain")],
)  # fmt: skip
def test_files_for_every_page_are_told_apart(visitor: httpx2.Client, path: str, kind: str) -> None:
    answer = visitor.get(path)
    assert answer.headers["content-type"] == f"{kind}; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "no-store" not in answer.headers["cache-control"]
    assert "server" not in answer.headers


def test_a_stream_is_not_held_back(visitor: httpx2.Client) -> None:
    body = {"question": "refunds?"}
    headers = {"accept": "text/event-stream", "accept-encoding": "gzip, br"}
    with visitor.stream("POST", "/v1/ask", json=body, headers=headers) as response:
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert response.headers["cache-control"] == "no-cache, no-transform"
        assert response.headers["x-accel-buffering"] == "no"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "content-encoding" not in response.headers
        assert "server" not in response.headers
        response.read()
    assert all_events(visitor, "refunds?")[0].name == "accepted"


def test_each_piece_comes_before_the_next_is_made(server: RefdeskServer, model: ScriptedModel) -> None:
    """Whatever a client says that it can unpack: the model goes on only once the piece before was read."""
    start = '{"outcome": "answered", "claims": [], "answer": "'
    pieces = [f"Refunds are issued within {n} days. " for n in (14, 15, 16)]
    gates = [threading.Event() for _ in pieces]
    block = {"type": "content_block_start", "index": 0,
             "content_block": {"type": "tool_use", "id": "toolu_1", "name": "answer", "input": {}}}  # fmt: skip
    chunks: list[bytes | threading.Event] = [opening(), event(block), given(start)]
    for piece, gate in zip(pieces, gates, strict=True):
        chunks += [given(piece), gate]
    stop = event({"type": "content_block_stop", "index": 0})
    model.script(Answer((*chunks, given('"}'), stop, closing("tool_use"))))
    client = server.client(server.token(), **{"accept-encoding": "gzip, deflate, br, zstd"})
    with client, asked(client, "When are refunds issued?") as reader:
        events, shown = iter(reader), ""
        for piece, gate in zip(pieces, gates, strict=True):
            while piece.strip() not in shown:
                came = next(events)
                assert came.name != "done"
                shown += came.json["text"] if came.name == "delta" else ""
            gate.set()
        assert list(events)[-1].json["answer"] == "".join(pieces)


def given(text: str) -> bytes:
    """A piece of a tool call's input."""
    delta = {"type": "input_json_delta", "partial_json": text}
    return event({"type": "content_block_delta", "index": 0, "delta": delta})
