"""The OpenAPI 3.1 document of the API, generated from the table of resources and the types of requests.

Owns the document's form. Source: adr/0137; OpenAPI Specification 3.1.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

from daemons.runtime.idempotency import HEADER
from daemons.web.alarms.acknowledging import MAX_NOTE
from daemons.web.api.reports import QUERY as REPORT_QUERY
from daemons.web.api.resources import ANY, RESOURCES, Resource
from daemons.web.api.streams import STREAMS
from daemons.web.api.trends import QUERY, SCHEMA
from gridengine.protocols.gdi.reading import BODIES
from gridengine.protocols.gdi.requests import REQUESTS

_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        **{name: {"type": "string"} for name in ("type", "title", "detail")},
        **{name: {"type": "integer"} for name in ("status", "exit_status")},
        "answers": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
    },
}
_ANSWER = {"type": "object", "properties": {"answers": {"type": "array"}, "data": {}}}
_LIST = {
    "type": "object",
    "required": ["items", "total"],
    "properties": {"items": {"type": "array"}, "total": {"type": "integer"}},
}
_LIMITS = {"limit": "items of an answer, 1 to 1000", "cursor": "start of the next part, from its link"}
_FILTERS = dict.fromkeys(("state", "find", "owner", "queue", "name", "sort"), "as on the page of jobs")
_ALARM_STATE = {"state": "active (default) or ended"}
_ACKNOWLEDGEMENT = {
    "type": "object",
    "required": ["word"],
    "properties": {"word": {"type": "string", "minLength": 1, "maxLength": MAX_NOTE}},
}
_DRY_RUN = {"dry_run": "true: report the effects, change nothing"}
_ETAG = {"If-Match": "the ETag of the version to change"}
_IDEMPOTENCY_KEY = {HEADER: "a key of your choice: a repeated request with the same key gets the same answer, done only once"}


@cache
def document() -> dict[str, Any]:
    """The whole document."""
    named = {**REQUESTS, **BODIES}
    types = list(dict.fromkeys(named.values()))
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    bodies = dict(zip(types, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}

    def add(method: str, path: str, operation: dict[str, Any]) -> None:
        paths.setdefault(f"/api/v1{path}", {})[method.lower()] = operation

    add("GET", "/jobs", _operation("GET", "/jobs", "Running and waiting tasks.", {**_FILTERS, **_LIMITS}, None, _LIST))
    alarm_query = {**_ALARM_STATE, **_LIMITS}
    add("GET", "/alarms", _operation("GET", "/alarms", "Alarms with cause and next step.", alarm_query, None, _LIST))
    text = "The cell, a host or a cluster queue over time."
    add("GET", "/trends", _operation("GET", "/trends", text, QUERY, None, SCHEMA))
    add("GET", "/reports", _operation("GET", "/reports", "A report on a period and the period before.", REPORT_QUERY, None, {}))
    path, text = "/alarms/{id}/acknowledge", "Acknowledge an active alarm. For operators."
    add("POST", path, _operation("POST", path, text, {}, _ACKNOWLEDGEMENT, _ANSWER))
    for row in RESOURCES:
        add(row.method, row.path, _of_row(row, bodies[named[row.takes]] if row.takes else None))
    object_path = "/config/{kind}/{name}"
    attributes = {"type": "object", "additionalProperties": {"type": "string"}}
    for method, summary, body in (("PUT", "Add or change an object.", attributes), ("DELETE", "Remove an object.", None)):
        add(method, object_path, _operation(method, object_path, summary, _DRY_RUN, body, _ANSWER, _ETAG))
    for name in ANY:
        text = f"The raw GDI request {name}."
        path, body = f"/requests/{name}", bodies[named[name]]
        query, headers = ({}, {}) if name in BODIES else (_DRY_RUN, _IDEMPOTENCY_KEY)
        add("POST", path, _operation("POST", path, text, query, body, _ANSWER, headers))
    for name in STREAMS:
        path = f"/streams/{name}"
        stream_operation = _operation("POST", path, f"The stream {name} of the GDI.", {}, bodies[named[name]], {})
        stream_operation["responses"]["200"] = {"description": "JSON lines", "content": {"application/x-ndjson": {"schema": {}}}}
        add("POST", path, stream_operation)
    types_parameter = {"types": "types of events, separated by commas"}
    events_operation = _operation("GET", "/events", "Changes as server-sent events.", types_parameter, None, {})
    content = {"text/event-stream": {"schema": {"type": "string"}}}
    events_operation["responses"]["200"] = {"description": "the stream", "content": content}
    add("GET", "/events", events_operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Grid Engine", "version": "1", "description": "Every request of a cell, with its user's rights."},
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {**components, "Problem": _PROBLEM},
        },
    }


def _of_row(row: Resource, body: Any) -> dict[str, Any]:
    query = {**row.query, **(_LIMITS if row.listed else {})}
    if not row.is_read:
        query |= _DRY_RUN
    answer: dict[str, Any] = _LIST if row.listed else {} if row.is_read else _ANSWER
    return _operation(row.method, row.path, row.summary, query, body, answer, {} if row.is_read else _IDEMPOTENCY_KEY)


def _operation(
    method: str,
    path: str,
    summary: str,
    query: dict[str, str],
    body: Any,
    answer: dict[str, Any],
    headers: dict[str, str] | None = None,
) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string"}
    parameters = [{"name": name, "in": "path", "required": True, "schema": text} for name in re.findall(r"\{(\w+)\}", path)]
    for where, table in (("query", query), ("header", headers or {})):
        parameters += [{"name": name, "in": where, "description": each, "schema": text} for name, each in table.items()]
    name = re.sub(r"\W+", "_", f"{method.lower()}{path}").strip("_")
    operation: dict[str, Any] = {"operationId": name, "summary": summary, "parameters": parameters}
    if body is not None:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    operation["responses"] = {
        "200": {"description": "success", "content": {"application/json": {"schema": answer}}},
        "default": {
            "description": "the problem",
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        },
    }
    return operation
