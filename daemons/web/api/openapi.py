"""The OpenAPI 3.1 document of the API, made of the table of resources and the types of requests.

Owns the document's form. Source: adr/0137; OpenAPI Specification 3.1.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import msgspec

from daemons.runtime.idempotency import HEADER
from daemons.web.api.resources import ANY, RESOURCES, Resource
from daemons.web.api.streams import STREAMS
from gridengine.gdi.reading import BODIES
from gridengine.gdi.requests import REQUESTS

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
_LIMITS = {"limit": "items of an answer, 1 to 1000", "cursor": "where to go on: of the link to the next part"}
_FILTERS = dict.fromkeys(("state", "find", "owner", "queue", "name", "sort"), "as at the page of jobs")
_DRY = {"dry_run": "true: say what would be, and change nothing"}
_ETAG = {"If-Match": "the ETag of the version that is meant"}
_KEY = {HEADER: "of your own making: asked again under it, the same is answered and nothing is done twice"}


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

    add("GET", "/jobs", _operation("GET", "/jobs", "Running tasks and what waits.", {**_FILTERS, **_LIMITS}, None, _LIST))
    for row in RESOURCES:
        add(row.method, row.path, _of_row(row, bodies[named[row.takes]] if row.takes else None))
    place = "/config/{kind}/{name}"
    attributes = {"type": "object", "additionalProperties": {"type": "string"}}
    for method, summary, body in (("PUT", "Add or change an object.", attributes), ("DELETE", "Remove an object.", None)):
        add(method, place, _operation(method, place, summary, _DRY, body, _ANSWER, _ETAG))
    for name in ANY:
        text = f"The request {name} of the GDI as it is."
        path, body = f"/requests/{name}", bodies[named[name]]
        query, headers = ({}, {}) if name in BODIES else (_DRY, _KEY)
        add("POST", path, _operation("POST", path, text, query, body, _ANSWER, headers))
    for name in STREAMS:
        path = f"/streams/{name}"
        followed = _operation("POST", path, f"The stream {name} of the GDI.", {}, bodies[named[name]], {})
        followed["responses"]["200"] = {"description": "JSON lines", "content": {"application/x-ndjson": {"schema": {}}}}
        add("POST", path, followed)
    types_wanted = {"types": "of events, between commas"}
    stream = _operation("GET", "/events", "What changes, as server-sent events.", types_wanted, None, {})
    stream["responses"]["200"] = {"description": "the stream", "content": {"text/event-stream": {"schema": {"type": "string"}}}}
    add("GET", "/events", stream)
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
    if not row.reads:
        query |= _DRY
    answer: dict[str, Any] = _LIST if row.listed else {} if row.reads else _ANSWER
    return _operation(row.method, row.path, row.summary, query, body, answer, {} if row.reads else _KEY)


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
    parts = [{"name": name, "in": "path", "required": True, "schema": text} for name in re.findall(r"\{(\w+)\}", path)]
    asked = [{"name": name, "in": "query", "description": words, "schema": text} for name, words in query.items()]
    heads = [{"name": name, "in": "header", "description": words, "schema": text} for name, words in (headers or {}).items()]
    name = re.sub(r"\W+", "_", f"{method.lower()}{path}").strip("_")
    found: dict[str, Any] = {"operationId": name, "summary": summary, "parameters": [*parts, *asked, *heads]}
    if body is not None:
        found["requestBody"] = {"required": True, "content": {"application/json": {"schema": body}}}
    found["responses"] = {
        "200": {"description": "done, or as asked", "content": {"application/json": {"schema": answer}}},
        "default": {
            "description": "what is wrong",
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        },
    }
    return found
