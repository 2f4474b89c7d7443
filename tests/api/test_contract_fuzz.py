"""Requests made up from the OpenAPI document, good and bad ones, against a real server: no answer that the document
does not describe, no server error, no rule of a field that is described and not kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from refdesk_server import STAFF_KEY, RefdeskServer
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

DOCUMENT = json.loads((Path(__file__).parents[2] / "openapi" / "openapi.json").read_text("utf-8"))
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
OPERATIONS = [(path, method) for path, item in DOCUMENT["paths"].items() for method in item]
NAMES = [f"{method.upper()} {path}" for path, method in OPERATIONS]
MEANINGS = frozenset(
    "article_unknown erase_what idempotency_mismatch invalid_cursor invalid_time name_invalid name_missing"
    " password_weak role_unknown".split()
)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RefdeskServer]:
    started = RefdeskServer(tmp_path_factory.mktemp("fuzzed"), REFDESK_HEARTBEAT_SECONDS="0.1").start()
    yield started
    assert "Traceback" not in started.log()
    assert not list(started.log_records("request failed"))
    assert started.stop() == 0


class Caller:
    """Speaks for a visitor who has asked something, or for staff where the document wants a staff key."""

    def __init__(self, server: RefdeskServer) -> None:
        self._url = server.url
        token = server.token()
        with server.client(token) as client:
            turn = client.post("/v1/ask", json={"question": "When are refunds issued?"}).json()
        self._real = {"turn_id": turn["id"], "conversation_id": turn["conversation_id"], "article_id": "refunds"}
        self._visitor = token

    def __call__(self, case: Any, real: bool) -> None:
        if real:
            known = {name: self._real[name] for name in case.path_parameters or {} if name in self._real}
            case.path_parameters = {**(case.path_parameters or {}), **known}
        if case.formatted_path != case.path and case.formatted_path in DOCUMENT["paths"]:
            return  # `merge` for the id of a gap is the address of another operation
        case.headers.pop("Host", None)  # the client cannot send each; foreign names have tests of their own
        token = STAFF_KEY if case.path.startswith("/v1/console") else self._visitor
        answer = case.call(base_url=self._url, headers={"Authorization": f"Bearer {token}"}, timeout=30)
        excluded = [positive_data_acceptance] if refused_for_its_meaning(answer) else []
        if is_padded(case.body):  # lengths count after trimming
            excluded.append(negative_data_rejection)
        if is_another_on_the_wire(case.query, known_names(case)):
            excluded.append(negative_data_rejection)
        case.validate_response(answer, excluded_checks=excluded)


def refused_for_its_meaning(answer: Any) -> bool:
    """Whether a request of the right form was refused for something that no schema can tell."""
    return answer.status_code in (400, 422) and answer.json()["code"] in MEANINGS


def fuzz(server: RefdeskServer, path: str, method: str, examples: int, *, derandomize: bool) -> None:
    operation, call = SCHEMA[path][method.upper()], Caller(server)
    for mode in GenerationMode:
        cases = operation.as_strategy(generation_mode=mode)

        @given(cases, st.booleans())
        @settings(
            max_examples=examples,
            derandomize=derandomize,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.generate],
        )
        def run(case: Any, real: bool) -> None:
            call(case, real)

        with suppress(Unsatisfiable):  # nothing in it can be wrong
            run()


def is_padded(value: Any) -> bool:
    """Whether a text in it has white space around it."""
    if isinstance(value, str):
        return value != value.strip()
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(is_padded, items))


def known_names(case: Any) -> set[str]:
    """Of query parameters."""
    operation = DOCUMENT["paths"][case.path][case.method.lower()]
    return {parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "query"}


def is_another_on_the_wire(query: Any, known: set[str]) -> bool:
    """Whether a value of another type is sent as something that is allowed: as an empty text, as parameters, or under a
    name that nobody reads."""
    sent = (query or {}).items()
    return any(name not in known or value in ("", None) or isinstance(value, dict | list) for name, value in sent)


@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=NAMES)
def test_no_request_gets_what_the_document_does_not_describe(fuzzed: RefdeskServer, path: str, method: str) -> None:
    fuzz(fuzzed, path, method, 10, derandomize=True)


@pytest.mark.long
@pytest.mark.parametrize(("path", "method"), OPERATIONS, ids=NAMES)
def test_two_thousand_requests_get_what_the_document_describes(fuzzed: RefdeskServer, path: str, method: str) -> None:
    examples = 20 if path == "/v1/widget/check" else 1000  # which streams for seconds
    fuzz(fuzzed, path, method, examples, derandomize=False)
