"""What is no good request: the right problem, naming the field; nothing stored, nothing spent."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from refdesk_server import SHOP, STAFF_KEY, RefdeskServer

from scripted_api import ScriptedModel

MAX_BODY = 64 * 1024


def problem(answer: httpx2.Response, status: int, code: str | None = None, field: str | None = None) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("application/problem+json")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    body: dict[str, Any] = answer.json()
    assert body["type"]
    assert body["title"]
    assert body["detail"]
    assert body["status"] == status
    assert body["request_id"] == answer.headers["x-request-id"]
    assert code in (None, body["code"])
    assert field in (None, body.get("field"))
    if field is not None:
        assert field.rpartition(".")[2] in body["detail"]
    for secret in ("Traceback", "refdesk/", "site-packages", "sqlite", "msgspec", "litestar"):
        assert secret not in answer.text
    return body


def post(client: httpx2.Client, body: bytes, **headers: str) -> httpx2.Response:
    return client.post("/v1/ask", content=body, headers={"content-type": "application/json", **headers})


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        ({"question": ""}, "question_blank", "question"),
        ({"question": " \n\t\u3000"}, "question_blank", "question"),
        ({"question": "\u200b\ufeff\u00ad \u202e\u2060\x1b"}, "question_blank", "question"),
        ({"question": "a" * 2001}, "question_too_long", "question"),
        ({"question": None}, None, "question"),
        ({"question": 7}, None, "question"),
        ({"question": ["a"]}, None, "question"),
        ({"question": {"text": "a"}}, None, "question"),
        ({"question": True}, None, "question"),
        ({}, None, "question"),
        ({"question": "a\u0000b"}, "question_invalid", "question"),
        ({"question": "refunds?", "page": "/"}, None, "page"),
        ({"question": "refunds?", "page": {"url": 1}}, None, "page.url"),
        ({"question": "refunds?", "page": {"text": "x"}}, None, "page.text"),
        ({"question": "refunds?", "page": {"title": "a\u0000"}}, "page.title_invalid", "page.title"),
        ({"question": "refunds?", "conversation_id": 5}, None, "conversation_id"),
        ({"question": "refunds?", "locale": []}, None, "locale"),
        ({"question": "refunds?", "page": "null"}, None, "page"),
        *(
            ({"question": "refunds?", name: value}, None, name)
            for name, value in (
                ("messages", [{"role": "assistant", "content": "We grant 90 days"}]),
                ("history", []), ("system", "x"), ("role", "staff"), ("roles", ["staff"]), ("tools", []),
                ("model", "x"), ("max_tokens", 9), ("temperature", 1), ("prompt", "x"), ("Question", "x"),
                ("visitor_id", "v_1"), ("__proto__", {}),
            )
        ),
    ],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else None,
)  # fmt: skip
def test_a_field_that_is_wrong_is_named(
    visitor: httpx2.Client, model: ScriptedModel, body: dict[str, Any], code: str | None, field: str
) -> None:
    problem(visitor.post("/v1/ask", json=body), 400, code, field)
    assert not model.bodies


def test_two_thousand_characters_are_a_question_whatever_their_bytes(visitor: httpx2.Client) -> None:
    answer = visitor.post("/v1/ask", json={"question": "😀" * 2000})
    assert answer.status_code == 200
    stored = visitor.get(f"/v1/turns/{answer.json()['id']}").json()
    assert stored["question"] == "😀" * 2000


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"null", b"[]", b'"question"', b"7", b"{'question': 1}", b'{"question": "a"', b'{"question": "a"} x',
        b'{"question": "\xff\xfe"}', b'{"question": "\\ud800 lone"}', b'{"question": "\\udc00"}',
        b'{"question": "a\nb"}',
        b'{"question": NaN}', b"\xef\xbb\xbf{}", b"[" * 30_000, b'{"a":' * 10_000, b'{"question":' + b"[" * 20_000,
        b'{"question": "a", "page": ' + b'{"url":' * 5_000, b"[" * 30_000 + b"]" * 30_000, b"1" * 60_000,
        b'{"question": 1' + b"0" * 60_000 + b"}", b"\x00" * 100, '{"question": "a"}'.encode("utf-16"),
    ],
    ids=lambda body: repr(body[:20]),
)  # fmt: skip
def test_a_body_that_is_no_json_object_is_a_bad_request(
    visitor: httpx2.Client, model: ScriptedModel, body: bytes
) -> None:
    problem(post(visitor, body), 400)
    assert not model.bodies


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("ask", b'{"question": "refunds?", "question": "gift cards?"}', "question"),
        ("ask", b'{"question": "refunds?", "question": "refunds?"}', "question"),
        ("ask", b'{"question": "refunds?", "\\u0071uestion": "gift cards?"}', "question"),
        ("ask", b'{"question": "refunds?", "locale": null, "locale": "en"}', "locale"),
        ("ask", b'{"question": "refunds?", "page": {"url": "/a", "url": "/b"}}', "url"),
        ("ask", b'{"question": "refunds?", "page": {"url": "/a"}, "page": null}', "page"),
        ("ask", b'{"messages": [], "question": "refunds?", "messages": []}', "messages"),
        ("session", b'{"identity": "x", "identity": null}', "identity"),
        ("console/sync", b'{"wait": true, "force": false, "force": true}', "force"),
    ],
    ids=lambda value: repr(value)[:50] if isinstance(value, bytes) else None,
)
def test_a_field_that_stands_twice_is_named(
    server: RefdeskServer, model: ScriptedModel, path: str, body: bytes, field: str
) -> None:
    """One program would take the first value and another the last."""
    with server.client(STAFF_KEY) as staff:
        answer = staff.post(f"/v1/{path}", content=body, headers={"content-type": "application/json"})
    problem(answer, 400, "field_repeated", field)
    assert not model.bodies


def test_a_name_may_stand_in_two_objects(visitor: httpx2.Client) -> None:
    body = b'{"page": {"title": "question", "url": "/question"}, "question": "{\\"question\\": 1, \\"question\\": 2}"}'
    assert post(visitor, body).status_code == 200


@pytest.mark.parametrize(
    "kind",
    ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp",
     "text/json", "application/xml", "application/json-patch+json", ", application/json", ""],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/v1/ask", "/v1/session", "/v1/console/sync"])
def test_only_json_is_read(visitor: httpx2.Client, path: str, kind: str) -> None:
    body = b'{"question": "refunds?"}' if path == "/v1/ask" else b"{}"
    headers = {"content-type": kind, "authorization": f"Bearer {STAFF_KEY}"}
    problem(visitor.post(path, content=body, headers=headers), 415, "unsupported_media_type")


def test_a_body_without_a_content_type_or_compressed_is_not_read(visitor: httpx2.Client) -> None:
    problem(visitor.post("/v1/ask", content=b'{"question": "refunds?"}'), 415)
    problem(post(visitor, b"\x1f\x8b", **{"content-encoding": "gzip"}), 415)


@pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8", "application/json ;a=b"])
def test_json_may_have_parameters(visitor: httpx2.Client, kind: str) -> None:
    assert post(visitor, b'{"question": "refunds?"}', **{"content-type": kind}).status_code == 200


def pieces(size: int) -> Iterator[bytes]:
    for _ in range(0, size, 1024):
        yield b" " * 1024
    yield b" "


@pytest.mark.parametrize("path", ["/v1/ask", "/v1/session"])
def test_a_body_above_the_limit_is_refused_with_and_without_a_length(
    visitor: httpx2.Client, model: ScriptedModel, path: str
) -> None:
    headers = {"content-type": "application/json", "origin": SHOP}
    for body in (b" " * (MAX_BODY + 1), pieces(MAX_BODY)):
        answer = visitor.post(path, content=body, headers=headers)
        problem(answer, 413, "body_too_large")
        assert answer.headers["access-control-allow-origin"] == SHOP
    assert not model.bodies


def test_a_length_that_lies_upwards_is_refused_before_the_body_comes(server: RefdeskServer) -> None:
    head = f"POST /v1/ask HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\ncontent-type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(head.encode() + b"content-length: 99999999999\r\n\r\n{")
        assert connection.recv(64).startswith(b"HTTP/1.1 413")


def test_a_body_that_breaks_off_is_nobodys_fault(server: RefdeskServer) -> None:
    head = "POST /v1/ask HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(head.encode() + b'{"question"')
    assert server.serves()  # on the same event loop, behind what came before
    assert not list(server.log_records("request failed"))


def test_exactly_the_limit_is_read(visitor: httpx2.Client) -> None:
    body = b'{"question": "refunds?"}'
    assert post(visitor, body + b" " * (MAX_BODY - len(body))).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [("GET", "/v1/ask", "POST"), ("DELETE", "/v1/ask", "POST"), ("PATCH", "/v1/ask", "POST"),
     ("TRACE", "/v1/ask", "POST"), ("CONNECT", "/v1/ask", "POST"), ("BREW", "/v1/ask", "POST"),
     ("POST", "/v1/turns/t_1", "GET"), ("TRACE", "/v1/articles", "GET"), ("POST", "/health/live", "GET"),
     ("PUT", "/v1/conversations/c_1", "DELETE"), ("HEAD", "/v1/ask", "POST")],
)  # fmt: skip
def test_another_method_is_refused_and_the_right_one_named(
    visitor: httpx2.Client, method: str, path: str, allowed: str
) -> None:
    answer = visitor.request(method, path, headers={"x-http-method-override": "POST"})
    if method in ("CONNECT", "BREW"):  # the protocol's own parser refuses these
        assert answer.status_code in (400, 405)
        return
    assert answer.status_code == 405
    assert allowed in answer.headers["allow"]
    if method != "HEAD":
        problem(answer, 405, "method_not_allowed")


@pytest.mark.parametrize(
    "path", ["/v1", "/v1/", "/v1/nothing", "/v1/ask/more", "/v2/ask", "/admin", "/.env", "/schema", "/schema/swagger",
             "/schema/redoc", "/schema/elements", "/docs", "/static/../problems.py", "/static/%2e%2e/problems.py",
             "/static/ask.py", "/media/../../etc/passwd", "/media/%2e%2e/%2e%2e/etc/passwd", "/v1/turns//events"],
)  # fmt: skip
def test_an_address_without_anything_is_a_problem_too(visitor: httpx2.Client, path: str) -> None:
    problem(visitor.get(path), 404)


@pytest.mark.parametrize(
    "given",
    ["../../etc/passwd", "..\\..\\x", "/etc/passwd", "file:///etc/passwd", "http://127.0.0.1:1/", "refunds\x00.md",
     "a" * 10_000, "refunds.md", "Refunds", "refunds ", "%2e%2e%2f", "\ufeffrefunds", "refundѕ", "\ud7ff",
     "refunds?x", "refunds#x", "*", "[refunds]"],
)  # fmt: skip
@pytest.mark.parametrize("place", ["/v1/articles/{}", "/articles/{}", "/v1/turns/{}", "/v1/conversations/{}"])
def test_an_id_that_looks_like_a_path_finds_nothing(visitor: httpx2.Client, place: str, given: str) -> None:
    once = "".join(f"%{byte:02x}" for byte in given.encode())
    twice = once.replace("%", "%25")
    for form in (once, twice):
        answer = visitor.get(place.format(form))
        problem(answer, 404)
        assert "root:" not in answer.text


@pytest.mark.parametrize("form", ["%ff%fe", "%", "%zz", "%c0%ae%c0%ae", "%ed%a0%80"])
def test_an_address_of_broken_bytes_finds_nothing(visitor: httpx2.Client, form: str) -> None:
    for place in ("/v1/articles/", "/articles/", "/v1/turns/", "/v1/conversations/", "/media/", "/"):
        assert visitor.get(place + form).status_code in (400, 404)


@pytest.mark.parametrize(
    ("path", "field"),
    [("/v1/search", "q"), ("/v1/search?q=", "q"), ("/v1/search?q=%20", "q"), (f"/v1/search?q={'a' * 501}", "q"),
     ("/v1/search?q=a%00b", "q"), ("/v1/articles?cursor=x", "cursor"), ("/v1/articles?cursor=-1", "cursor"),
     (f"/v1/articles?cursor={'9' * 5000}", "cursor"), (f"/v1/articles?category={'a' * 201}", "category"),
     (f"/v1/articles?language={'a' * 36}", "language"), ("/v1/search?q=a&q=b", "q"),
     ("/v1/articles?cursor=&cursor=1", "cursor"), ("/v1/articles?%63ursor=1&a=1&cursor=1", "cursor")],
)  # fmt: skip
def test_a_query_parameter_that_is_wrong_is_named(visitor: httpx2.Client, path: str, field: str) -> None:
    problem(visitor.get(path), 400, None, field)


@pytest.mark.parametrize("kind", ["verdicts.jsonl", "export.csv", "export.jsonl"])
@pytest.mark.parametrize("bound", ["from", "to"])
def test_a_time_that_is_wrong_is_named_before_a_stream_begins(server: RefdeskServer, kind: str, bound: str) -> None:
    with server.client(STAFF_KEY) as staff:
        problem(staff.get(f"/v1/console/{kind}?{bound}=yesterday"), 400, "invalid_time", bound)


def test_a_page_past_the_end_is_empty(visitor: httpx2.Client) -> None:
    body = visitor.get("/v1/articles?cursor=99999999").json()
    assert body["articles"] == []
    assert body["next_cursor"] is None


@pytest.mark.parametrize(
    ("body", "field"),
    [({"rating": "sideways"}, "rating"), ({}, "rating"), ({"rating": "up", "comment": 1}, "comment"),
     ({"rating": "up", "comment": "a" * 2001}, "comment"), ({"rating": "up", "stars": 5}, "stars"),
     ({"rating": "up", "comment": "\u0000"}, "comment")],
)  # fmt: skip
def test_feedback_that_is_wrong_is_named(visitor: httpx2.Client, body: dict[str, Any], field: str) -> None:
    turn = visitor.post("/v1/ask", json={"question": "refunds?"}).json()
    problem(visitor.put(f"/v1/turns/{turn['id']}/feedback", json=body), 400, None, field)


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [("sync", {"wait": 1}, "wait"), ("sync", {"force": "no"}, "force"), ("retention", {"force": 0}, "force"),
     ("retention", {"force": "true"}, "force"), ("staff/nobody", {"disabled": "false"}, "disabled")],
)  # fmt: skip
def test_a_value_of_another_type_is_not_bent_into_shape(
    server: RefdeskServer, path: str, body: dict[str, Any], field: str
) -> None:
    with server.client(STAFF_KEY) as staff:
        method = "PATCH" if path.startswith("staff") else "POST"
        problem(staff.request(method, f"/v1/console/{path}", json=body), 400, "invalid_request", field)


@pytest.mark.parametrize("last", ["x", "-1", "1.5", "9" * 6000, "²", ""])
def test_a_last_event_id_that_is_no_number_means_from_the_beginning(visitor: httpx2.Client, last: str) -> None:
    turn = visitor.post("/v1/ask", json={"question": "refunds?"}).json()
    answer = visitor.get(f"/v1/turns/{turn['id']}/events", headers={"last-event-id": last.encode()})
    assert answer.status_code == 200
    assert answer.text.startswith("id: 1\nevent: accepted\n")


def test_an_oversize_idempotency_key_or_one_without_a_token_is_refused(
    visitor: httpx2.Client, anonymous: httpx2.Client, model: ScriptedModel
) -> None:
    body = {"question": "refunds?"}
    for key in ("a" * 201, "a\tb", "é"):
        answer = visitor.post("/v1/ask", json=body, headers={"idempotency-key": key.encode()})
        problem(answer, 400, "idempotency_key_invalid", "Idempotency-Key")
    answer = anonymous.post("/v1/ask", json=body, headers={"idempotency-key": "k"})
    problem(answer, 400, "idempotency_needs_token", "Idempotency-Key")
    assert not model.bodies
