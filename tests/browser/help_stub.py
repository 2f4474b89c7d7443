"""A help centre of a test's making: the API's answers, cuts and pauses as told, and pages that embed the widget.

The real server is used wherever it can show the same; this one is for what it cannot do on demand: to cut a stream
after the third event, to be older or newer than the widget, to wait at a certain word until the test says go."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sample_turns import ARTICLE, Json, turn

WIDGET = Path(__file__).parents[2] / "widget" / "dist" / "refdesk.js"
STRICT = (
    "default-src 'none'; script-src {host}; connect-src {host}; img-src {host}; style-src 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
TAG = '<script async src="{src}/widget/refdesk.js"></script>'


class Problem(Exception):
    def __init__(self, status: int, code: str, retry_after: int | None = None) -> None:
        self.status, self.code, self.retry_after = status, code, retry_after


class QuietServer(ThreadingHTTPServer):
    """Browsers end connections as they like; that is nobody's fault."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class HelpStub:
    """`answers[question]` is the turn, `streams[question]` may hold other (name, data) pairs, with pauses and cuts.

    A pair ("hold", name) waits for `release(name)`, ("cut", None) ends the connection there."""

    def __init__(self) -> None:
        self.settings: Json | None = {
            "name": "Help of Example",
            "language": "en",
            "languages": ["en"],
            "greeting": "Hello from Example!",
            "starter_questions": ["How do I set up SSO?"],
            "disclosure": "",
            "notice": "",
            "contact": {"url": "", "mail": "", "callback": ""},
        }
        self.answers: dict[str, Json] = {}
        self.streams: dict[str, list[tuple[str, Any]]] = {}
        self.articles: dict[str, Json] = {"sso-setup": ARTICLE}
        self.pages: dict[str, tuple[str, dict[str, str]]] = {}
        self.scripts: dict[str, str] = {}
        self.turns: dict[str, Json] = {}
        self.events: dict[str, list[tuple[str, Any]]] = {}
        self.requests: list[tuple[str, str, dict[str, str], Any]] = []
        self.problems: list[tuple[str, Problem]] = []
        """(path prefix, problem): the first that fits is used up."""
        self.waits: dict[str, str] = {}
        """(path prefix, gate): a request that fits waits for `release(gate)`."""
        self.tokens = {"vt_0"}
        self.widget = WIDGET
        self._gates: dict[str, threading.Event] = {}
        self._lock = threading.Lock()
        self._server = QuietServer(("127.0.0.1", 0), handler_for(self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        for gate in self._gates.values():
            gate.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def gate(self, name: str) -> threading.Event:
        with self._lock:
            return self._gates.setdefault(name, threading.Event())

    def release(self, name: str) -> None:
        self.gate(name).set()

    def page(self, body: str = "", *, path: str = "/", head: str = TAG, csp: bool = False, lang: str = "en") -> str:
        """Adds a page and gives its address."""
        text = (
            f'<!doctype html><html lang="{lang}"><head><meta charset="utf-8"><title>Shop</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"{head.replace('{src}', self.url)}</head>"
            f"<body><main><h1>Shop</h1><p>Goods and prices.</p>{body}</main></body></html>"
        )
        headers = {"Content-Security-Policy": STRICT.replace("{host}", self.url)} if csp else {}
        self.pages[path] = (text, headers)
        return self.url + path

    def asked(self) -> list[Json]:
        return [body for method, path, _, body in self.requests if method == "POST" and path == "/v1/ask"]

    def paths(self, method: str, prefix: str) -> list[str]:
        return [path for used, path, _, _ in self.requests if used == method and path.startswith(prefix)]

    # --- what the handler asks ---

    def take_problem(self, path: str) -> Problem | None:
        with self._lock:
            for index, (prefix, problem) in enumerate(self.problems):
                if path.startswith(prefix):
                    del self.problems[index]
                    return problem
        return None

    def begin(self, question: str, conversation: str | None) -> str:
        with self._lock:
            number = len(self.turns) + 1
            ids = {"id": f"t_{number}", "conversation_id": conversation or f"c_{number}", "question": question}
            done = {**self.answers.get(question, turn()), **ids}
            self.turns[ids["id"]] = done
            script = self.streams.get(question) or self._plain(done)
            accepted = {"turn_id": ids["id"], "conversation_id": ids["conversation_id"]}
            self.events[ids["id"]] = [("accepted", accepted), *script]
            return ids["id"]

    @staticmethod
    def _plain(done: Json) -> list[tuple[str, Any]]:
        search = {"tool": "search", "input": {"query": "sso"}, "articles": []}
        opened = {
            "tool": "get_document",
            "input": {"id": "sso-setup"},
            "articles": [{"id": "sso-setup", "title": "SSO setup", "form": "full"}],
        }
        words = done["answer"].split(" ") if done["status"] == "answered" else []
        deltas = [
            ("delta", {"text": word + (" " if index < len(words) - 1 else "")}) for index, word in enumerate(words)
        ]
        return [("step", search), ("step", opened), *deltas, ("done", None)]


def handler_for(stub: HelpStub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def _body(self) -> Any:
            length = int(self.headers.get("content-length") or 0)
            return json.loads(self.rfile.read(length)) if length else None

        def _send(self, status: int, content: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in {
                "Content-Type": kind,
                "Content-Length": str(len(content)),
                "Access-Control-Allow-Origin": "*",
                "Access-Control-Allow-Headers": "*, authorization",
                "Access-Control-Allow-Methods": "*",
                "Access-Control-Expose-Headers": "retry-after",
                "Cross-Origin-Resource-Policy": "cross-origin",
                "Cache-Control": "no-store",
                **(headers or {}),
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def _json(self, value: Any, status: int = 200) -> None:
            self._send(status, json.dumps(value).encode(), "application/json")

        def _problem(self, problem: Problem) -> None:
            body = {
                "type": "about:blank",
                "title": "No",
                "status": problem.status,
                "code": problem.code,
                "detail": "no",
            }
            after = {} if problem.retry_after is None else {"Retry-After": str(problem.retry_after)}
            self._send(problem.status, json.dumps(body).encode(), "application/problem+json", after)

        def _handle(self) -> None:
            path, body = urlsplit(self.path).path, self._body()
            headers = {name.lower(): value for name, value in self.headers.items()}
            stub.requests.append((self.command, path, headers, body))
            for prefix, gate in stub.waits.items():
                if path.startswith(prefix):
                    stub.gate(gate).wait(20)
            if problem := stub.take_problem(path):
                self._problem(problem)
                return
            try:
                self._route(path, body, headers)
            except Problem as problem:
                self._problem(problem)
            except (ConnectionError, TimeoutError):
                self.close_connection = True

        do_GET = do_POST = do_PUT = do_DELETE = do_OPTIONS = _handle

        def _route(self, path: str, body: Any, headers: dict[str, str]) -> None:
            parts = path.strip("/").split("/")
            if self.command == "OPTIONS":
                self._send(204, b"", "text/plain")
            elif path == "/widget/refdesk.js":
                self._send(200, stub.widget.read_bytes(), "text/javascript; charset=utf-8")
            elif path in stub.scripts:
                self._send(200, stub.scripts[path].encode(), "text/javascript; charset=utf-8")
            elif path in stub.pages:
                text, more = stub.pages[path]
                self._send(200, text.encode(), "text/html; charset=utf-8", more)
            elif path == "/v1/widget/settings" and stub.settings is not None:
                self._json(stub.settings)
            elif path == "/v1/session":
                token = f"vt_{len(stub.tokens)}"
                stub.tokens.add(token)
                self._json({"token": token}, 201)
            elif parts[:2] == ["v1", "articles"] and parts[2] in stub.articles:
                self._json(stub.articles[parts[2]])
            elif parts[:1] == ["media"]:
                self._send(200, PIXEL, "image/png")
            elif parts[:1] == ["v1"]:
                self._private(parts[1:], body, headers)
            else:
                raise Problem(404, "not_found")

        def _private(self, parts: list[str], body: Any, headers: dict[str, str]) -> None:
            if headers.get("authorization", "").removeprefix("Bearer ") not in stub.tokens:
                raise Problem(401, "token_invalid")
            if parts == ["ask"]:
                known = {each["conversation_id"] for each in stub.turns.values()} | {None}
                if body["conversation_id"] not in known:
                    raise Problem(404, "conversation_not_found")
                self._follow(stub.begin(body["question"], body["conversation_id"]), 0)
            elif parts[0] == "turns" and parts[1] in stub.turns:
                self._turn(parts[1], parts[2] if len(parts) > 2 else "", body, headers)
            elif parts[0] == "conversations":
                turns = [each for each in stub.turns.values() if each["conversation_id"] == parts[1]]
                if not turns:
                    raise Problem(404, "conversation_not_found")
                if self.command == "DELETE":
                    for each in turns:
                        del stub.turns[each["id"]]
                    self._send(204, b"", "text/plain")
                else:
                    self._json({"id": parts[1], "created_at": "2026-05-01T10:00:00Z", "turns": turns})
            else:
                raise Problem(404, "not_found")

        def _turn(self, turn_id: str, verb: str, body: Any, headers: dict[str, str]) -> None:
            if verb == "events":
                self._follow(turn_id, int(headers.get("last-event-id", "0")))
            elif verb == "stop":
                stopped = {**stub.turns[turn_id], "status": "stopped", "sources": [], "answer": "Open"}
                stub.turns[turn_id] = stopped
                self._json(stopped)
            elif verb == "feedback":
                stub.turns[turn_id]["feedback"] = body
                self._json(body)
            else:
                self._json(stub.turns[turn_id])

        def _follow(self, turn_id: str, after: int) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream; charset=utf-8")
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True
            for chunk in self._chunks(turn_id, after):
                self.wfile.write(chunk)
                self.wfile.flush()

        def _chunks(self, turn_id: str, after: int) -> Iterator[bytes]:
            number = 0
            for name, data in list(stub.events[turn_id]):
                if name == "hold":
                    stub.gate(data).wait(20)
                    continue
                if name == "cut":
                    # once only: who comes back gets the rest
                    if number > after:
                        return
                    continue
                number += 1
                if number <= after:
                    continue
                value = stub.turns[turn_id] if name == "done" and data is None else data
                yield f"id: {number}\nevent: {name}\ndata: {json.dumps(value)}\n\n".encode()

    return Handler


PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)
