"""The handlers of the API: rows of the table of resources, configuration objects with ETags, and raw GDI requests.

Owns HTTP: methods, JSON, paging, ETag and If-Match. Reads come from the mirror; the qmaster carries out changes on behalf of the
user. Source: adr/0137.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from aiohttp import hdrs, web

from daemons.runtime.idempotency import MalformedKeyError, key_of
from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web.alarms.acknowledging import acknowledge
from daemons.web.api.openapi import document
from daemons.web.api.problem import problem, refused
from daemons.web.api.reports import report
from daemons.web.api.resources import ANY, RESOURCES, Body, Call, Resource, object_name
from daemons.web.api.trends import trend_of
from daemons.web.finished_jobs import finished_job
from daemons.web.job_rows import JobFilter
from daemons.web.pages.page import NotFoundError
from daemons.web.shared import WEB, Web, caller_of
from gridengine.config import KINDS
from gridengine.errors import InvalidValueError, RefusalError
from gridengine.kinds import KIND
from gridengine.protocols.gdi.reading import BODIES
from gridengine.protocols.gdi.requests import Answer

ROOT = "/api/v1"
_API, _ANY_PATH = "/api/", "/api/{tail}"
"""The prefix of the API, and aiohttp's name for the catch-all resource of unknown paths."""
MAX_ITEMS, DEFAULT_ITEMS = 1000, 100
"""Items of one answer: the limit, and the default."""
_RETRY_S = 5
_STALE = 412

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class _BadRequestError(RefusalError):
    """A malformed request; the text is the reason."""


def with_problems(handler: Handler) -> Handler:
    """A handler that answers faults as problems."""

    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await handler(request)
        except (_BadRequestError, MalformedKeyError) as fault:
            return problem(400, str(fault))
        except (UnicodeError, OverflowError, RecursionError) as error:
            return problem(400, f"the request cannot be sent to the qmaster: {error}")
        except NoQmasterError as away:
            response = problem(503, str(away))
            response.headers["Retry-After"] = str(_RETRY_S)
            return response

    return handle


async def _call(request: web.Request) -> Call:
    """Decode a request. Raises _BadRequestError."""
    body: Any = {}
    if request.method not in (hdrs.METH_GET, hdrs.METH_HEAD) and request.body_exists:
        try:
            body = msgspec.json.decode(await request.read())
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            raise _BadRequestError(f"the body is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise _BadRequestError("the body is not a JSON object")
    return Call(request.match_info, request.query, body)


def _is_dry_run(call: Call) -> bool:
    """Raises _BadRequestError."""
    value = call.query.get("dry_run", "false")
    if value not in ("true", "false"):
        raise _BadRequestError(f'dry_run must be true or false, not "{value}"')
    return value == "true"


async def _answer_resource(resource: Resource, request: web.Request) -> web.StreamResponse:
    """Answer a request by a row of the table."""
    shared, call = request.app[WEB], await _call(request)
    body, is_single = resource.body(call), bool(call.parts)
    if not resource.is_read:
        return await _answer_change(request, resource.request, body, _is_dry_run(call), is_single)
    answer = await shared.read(resource.request, body, caller_of(request))
    if answer.status:
        return refused(answer, is_single)
    try:
        data = resource.pick(answer.data, call)
    except (KeyError, TypeError):
        data = None
    if data is None and resource.path.endswith("}"):
        return problem(404, f"there is nothing at {request.path}")
    return _part_of_list(request, shared, data) if resource.listed else _with_age(shared, _json(data))


async def _answer_change(request: web.Request, name: str, body: Body, dry_run: bool, is_single: bool) -> web.Response:
    """The answer to a change, or to its dry run."""
    shared, caller = request.app[WEB], caller_of(request)
    if dry_run:
        answer = await shared.ask("dry_run", {name: body}, caller)
        if not answer.status:
            answer = msgspec.convert(answer.data, dict[str, Answer])[name]
    else:
        answer = await shared.ask(name, body, caller, key_of(request.headers))
    return _answer_response(answer, is_single)


def _answer_response(answer: Answer, is_single: bool) -> web.Response:
    return refused(answer, is_single) if answer.status else _json({"answers": answer.answers, "data": answer.data})


def _ready_shared(request: web.Request) -> Web:
    """The shared objects. Raises NoQmasterError until the first mirroring is complete: an empty mirror gives wrong answers."""
    shared = request.app[WEB]
    if not shared.mirror.ready:
        raise NoQmasterError("the mirror of the qmaster is not loaded yet", sent=False)
    return shared


async def _jobs(request: web.Request) -> web.StreamResponse:
    """`GET /jobs`: running and waiting tasks, with the filters of the page of jobs."""
    shared = _ready_shared(request)
    rows = shared.jobs.select_rows(JobFilter.of(request.query)).rows
    return _part_of_list(request, shared, rows, lambda row: row._asdict())


async def _job(request: web.Request) -> web.StreamResponse:
    """`GET /jobs/ID`: all about a job; for a finished job its accounting record."""
    shared, call, caller = _ready_shared(request), await _call(request), caller_of(request)
    number = call.parts["id"].partition(".")[0]
    answer = await shared.read("status", {"job_detail": {"jobs": [number]}}, caller)
    if answer.status:
        return refused(answer, True)
    jobs: Any = answer.data["job_detail"]["jobs"]  # type: ignore[index]
    if jobs:
        return _with_age(shared, _json(jobs[0]))
    ended = await finished_job(shared, caller, int(number)) if re.fullmatch("[0-9]{1,7}", number, re.ASCII) else None
    if ended is None:
        return problem(404, f"there is nothing at {request.path}")
    return _with_age(shared, _json({**ended._asdict(), "tasks": [task._asdict() for task in ended.tasks]}))


async def _alarms(request: web.Request) -> web.StreamResponse:
    """`GET /alarms`: the active alarms, or with `state=ended` the history."""
    shared, state = request.app[WEB], request.query.get("state", "active")
    if state not in ("active", "ended"):
        raise _BadRequestError(f'state must be active or ended, not "{state}"')
    entries = shared.alarms.history if state == "ended" else shared.alarms.active
    return _part_of_list(request, shared, entries, lambda entry: entry.public())


async def _acknowledge(request: web.Request) -> web.StreamResponse:
    """`POST /alarms/ID/acknowledge`."""
    call = await _call(request)
    number = call.parts["id"]
    if not re.fullmatch("[0-9]{1,15}", number, re.ASCII):
        return problem(404, f"there is nothing at {request.path}")
    shared, caller = request.app[WEB], caller_of(request)
    return _answer_response(await acknowledge(shared, caller, [int(number)], call.body.get("word")), True)


async def _trends(request: web.Request) -> web.StreamResponse:
    """`GET /trends`."""
    shared = _ready_shared(request)
    try:
        return _with_age(shared, _json(await trend_of(shared, request.query)))
    except InvalidValueError as fault:
        return problem(400, str(fault))
    except NotFoundError as missing:
        return problem(404, str(missing))


def _part_of_list(request: web.Request, shared: Web, items: Any, form: Callable[[Any], Any] = lambda item: item) -> web.Response:
    """A part of a list, with the address of the next part in the header. Raises _BadRequestError."""
    limit, begin = request.query.get("limit", str(DEFAULT_ITEMS)), 0
    if not (limit.isascii() and limit.isdigit() and len(limit) < 5 and 1 <= int(limit) <= MAX_ITEMS):
        raise _BadRequestError(f"limit must be a number from 1 to {MAX_ITEMS}")
    if cursor := request.query.get("cursor", ""):
        try:
            begin = int(urlsafe_b64decode(cursor.encode()))
        except ValueError:
            raise _BadRequestError("cursor must come from the link to the next part") from None
    if not 0 <= begin <= len(items):
        raise _BadRequestError("there is no such part of the list: start again without a cursor")
    end = begin + int(limit)
    response = _json({"items": [form(item) for item in items[begin:end]], "total": len(items)})
    if end < len(items):
        after = urlsafe_b64encode(str(end).encode()).decode()
        response.headers[hdrs.LINK] = f'<{request.rel_url.update_query(cursor=after)}>; rel="next"'
    return _with_age(shared, response)


def _with_age(shared: Web, response: web.Response) -> web.Response:
    """The response with its age, while the qmaster is unreachable."""
    if not shared.mirror.connected:
        response.headers[hdrs.AGE] = f"{shared.mirror.age_s:.0f}"
    return response


def _json(data: Any, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(data), status=status, content_type="application/json")


# --- objects of the configuration ----------------------------------------------------------------------------------------


def etag_of(attributes: Mapping[str, str]) -> str:
    """The hash that identifies this version of an object."""
    return hashlib.sha256(json.dumps(attributes, sort_keys=True).encode()).hexdigest()[:32]


async def _show(request: web.Request) -> web.StreamResponse:
    """`GET /config/KIND/NAME`, with its ETag; 304 for a client that has this version."""
    kind, name, stored = _stored(request, await _call(request))
    if stored is None:
        return problem(404, f"there is no {KIND[kind].noun} {name}" if kind in KIND else f"there is no kind of object {kind}")
    tag = etag_of(stored)
    known = request.if_none_match or ()
    response = web.Response(status=304) if any(each.value in (tag, "*") for each in known) else _json(stored)
    response.headers[hdrs.ETAG] = f'"{tag}"'
    return _with_age(request.app[WEB], response)


async def _change(request: web.Request) -> web.StreamResponse:
    """`PUT` and `DELETE /config/KIND/NAME`: of the version that If-Match names, or of a new object."""
    shared, call = request.app[WEB], await _call(request)
    kind, name, stored = _stored(request, call)
    if kind not in KINDS:
        return problem(404, f"there is no kind of object {kind}")
    removing = request.method == hdrs.METH_DELETE
    if removing and stored is None:
        return problem(404, f"there is no {KIND[kind].noun} {name}")
    if stored is not None and request.if_match is None:
        return problem(428, "If-Match must name the version to change: the ETag of a GET")
    tags = request.if_match or ()
    if any(each.value != "*" for each in tags) and (stored is None or etag_of(stored) not in {each.value for each in tags}):
        return _stale(f"{KIND[kind].noun} {name} has been changed since", stored, call.body)
    change = {"kind": kind, "name": name, "before": stored, "after": None if removing else _attributes(call)}
    body = {"changes": [change], "plan": _is_dry_run(call)}
    answer = await shared.ask("config_change", body, caller_of(request))
    if answer.status:
        response = refused(answer, True)
        if response.status != _STALE:
            return response
        return _stale(answer.answers[0][1], shared.mirror.state.kind(kind).get(name), call.body)
    if refusals := _planned_refusals(answer):
        return refused(Answer(1, [("error", text) for text in refusals]), True)
    return _json({"answers": answer.answers, "data": answer.data})


def _stored(request: web.Request, call: Call) -> tuple[str, str, dict[str, str] | None]:
    kind, name = call.parts["kind"], object_name(call)
    return kind, name, _ready_shared(request).mirror.state.kind(kind).get(name) if kind in KINDS else None


def _attributes(call: Call) -> dict[str, str]:
    """Raises _BadRequestError."""
    for name, value in call.body.items():
        if not isinstance(value, str):
            raise _BadRequestError(f"{name}: attributes must be strings, as in a file of qconf")
    return call.body


def _stale(detail: str, current: Mapping[str, str] | None, yours: Mapping[str, Any]) -> web.Response:
    return problem(_STALE, detail, current=current, yours=yours)


def _planned_refusals(answer: Answer) -> list[str]:
    """The refusals in a plan."""
    return list(answer.data.get("refused", ())) if isinstance(answer.data, dict) else []


# --- raw requests, the document, unknown paths ------------------------------------------------------------------------------


async def _forward_request(request: web.Request) -> web.StreamResponse:
    """`POST /requests/NAME`: a raw request of the GDI."""
    shared, call = request.app[WEB], await _call(request)
    name = call.parts["name"]
    if name not in ANY:
        return problem(404, f'there is no request "{name}" for programs')
    if name not in BODIES:
        return await _answer_change(request, name, call.body, _is_dry_run(call), is_single=False)
    return _answer_response(await shared.read(name, call.body, caller_of(request)), is_single=False)


async def _document(request: web.Request) -> web.StreamResponse:
    """`GET /openapi.json`."""
    return _json(document())


async def _no_such_path(request: web.Request) -> web.StreamResponse:
    """The answer for an unknown path, or an unknown method of a path."""
    methods: set[str] = set()
    for resource in request.app.router.resources():
        if resource.canonical != _ANY_PATH:
            methods |= (await resource.resolve(request))[1]
    if not methods:
        return problem(404, f"there is nothing at {request.path}")
    response = problem(405, f"{request.path} has no method {request.method}")
    response.headers[hdrs.ALLOW] = ", ".join(sorted(methods))
    return response


def routes() -> list[web.RouteDef]:
    """All routes below `/api`."""
    own = {("GET", "/config/{kind}/{name}"), ("GET", "/jobs/{id}")}
    table = [
        web.route(row.method, ROOT + row.path, with_problems(partial(_answer_resource, row)))
        for row in RESOURCES
        if (row.method, row.path) not in own
    ]
    objects = f"{ROOT}/config/{{kind}}/{{name}}"
    return [
        web.get(f"{ROOT}/openapi.json", _document),
        web.get(f"{ROOT}/jobs", with_problems(_jobs)),
        web.get(f"{ROOT}/jobs/{{id}}", with_problems(_job)),
        web.get(f"{ROOT}/alarms", with_problems(_alarms)),
        web.get(f"{ROOT}/trends", with_problems(_trends)),
        web.get(f"{ROOT}/reports", with_problems(report)),
        web.post(f"{ROOT}/alarms/{{id}}/acknowledge", with_problems(_acknowledge)),
        web.get(objects, with_problems(_show)),
        web.put(objects, with_problems(_change)),
        web.delete(objects, with_problems(_change)),
        web.post(f"{ROOT}/requests/{{name}}", with_problems(_forward_request)),
        *table,
        web.route("*", f"{_API}{{tail:.*}}", _no_such_path),
    ]


ROUTES = routes()
