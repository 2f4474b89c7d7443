"""The OpenAPI document: what Litestar derives from the handlers, and what it cannot know of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from litestar import Litestar
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, SecurityScheme

from refdesk import __version__
from refdesk.api import console_schemas
from refdesk.api.schemas import NO_NUL, NOT_BLANK, TEXTS, Request
from refdesk.domain.events import PAYLOADS

SESSION, STAFF, CONSOLE = "session", "staff", "console"
VISITOR_ONLY: list[dict[str, list[str]]] = [{SESSION: []}]
VISITOR_IF_ANY: list[dict[str, list[str]]] = [{}, {SESSION: []}]
STAFF_ONLY: list[dict[str, list[str]]] = [{STAFF: []}, {CONSOLE: []}]
SCHEMES: dict[str, Any] = {
    SESSION: SecurityScheme(type="http", scheme="bearer", description="The token of a visitor session."),
    STAFF: SecurityScheme(type="http", scheme="bearer", description="A staff key."),
    CONSOLE: SecurityScheme(
        type="apiKey", security_scheme_in="cookie", name="__Host-refdesk", description="Session of the console."
    ),
}
EVENT_STREAM = {"schema": {"description": "Server-sent events; their data is described in events.schema.json."}}


def openapi_document(handlers: Sequence[Any]) -> dict[str, Any]:
    config = OpenAPIConfig(
        title="Refdesk",
        version=__version__,
        path="/unserved",
        use_handler_docstrings=True,
        components=Components(security_schemes=SCHEMES),
    )
    document = Litestar(
        route_handlers=list(handlers), openapi_config=config, logging_config=None
    ).openapi_schema.to_schema()
    for path, item in document["paths"].items():
        for operation in item.values():
            complete_operation(path, operation)
    for name, schema in document["components"]["schemas"].items():
        complete_schema(name, schema)
    return document


def complete_operation(path: str, operation: dict[str, Any]) -> None:
    for parameter in operation.get("parameters", ()):
        complete_parameter(parameter)
    if path == "/v1/ask":
        operation["responses"]["200"]["content"]["text/event-stream"] = EVENT_STREAM
    if path.endswith(("/events", "/check")):
        operation["responses"]["200"]["content"] = {"text/event-stream": EVENT_STREAM}
    if path == "/v1/console/sync" and "202" in operation["responses"]:
        operation["responses"]["200"] = {**operation["responses"]["202"], "description": "The report, with `wait`"}
        operation["requestBody"]["required"] = False
    if "204" in operation["responses"]:
        operation["responses"]["204"].pop("content", None)


def complete_parameter(parameter: dict[str, Any]) -> None:
    if parameter["name"] == "q":
        parameter["schema"]["pattern"] = NOT_BLANK if parameter.get("required") else NO_NUL
    if parameter["name"] == "Idempotency-Key":
        parameter["schema"] = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[ -~]*[!-~][ -~]*$"}


def complete_schema(name: str, schema: dict[str, Any]) -> None:
    """An answer holds every field unless it is optional by its type; a request no other than its own."""
    fields: dict[str, Any] = schema.get("properties", {})
    kind = struct_of(name, fields)
    if kind is not None and issubclass(kind, Request):
        schema["additionalProperties"] = False
        for field, rule in {**TEXTS, **console_schemas.TEXTS}.get(name, {}).items():
            fields[field] = {**fields[field], **rule}
    elif kind is not None:
        schema["required"] = sorted(fields.keys() - optional_fields(kind))


def struct_of(name: str, fields: Collection[str]) -> type[msgspec.Struct] | None:
    """The struct that a schema describes."""
    kinds = list(msgspec.Struct.__subclasses__())
    for kind in kinds:  # grows while it is read
        kinds += kind.__subclasses__()
        if kind.__name__ == name and {field.encode_name for field in msgspec.structs.fields(kind)} == set(fields):
            return kind
    return None


def optional_fields(kind: type[msgspec.Struct]) -> set[str]:
    """What an answer may leave out."""
    left_out = kind.__struct_config__.omit_defaults
    fields = msgspec.structs.fields(kind)
    return {f.encode_name for f in fields if f.default is msgspec.UNSET or (left_out and not f.required)}


def document_text(handlers: Sequence[Any]) -> str:
    """As it is committed and served: stable order, one field a line."""
    return formatted(openapi_document(handlers))


def events_text() -> str:
    """JSON Schema of what the events of a stream hold, by event."""
    schemas, components = msgspec.json.schema_components(PAYLOADS.values(), ref_template="#/$defs/{name}")
    return formatted(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Data of the events of a turn, by event name",
            "properties": dict(zip(PAYLOADS, schemas, strict=True)),
            "$defs": components,
        }
    )


def formatted(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=1).decode()
