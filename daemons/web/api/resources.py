"""The table of resources: the GDI request for each method and path, and its body made of path, query and body.

Owns that table; the routes and the OpenAPI document are generated from it. The qmaster decides on meaning and permission of a
request. Shapes of bodies and answers: docs/gdi.md. Source: adr/0137.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gridengine.protocols.gdi.reading import BODIES
from gridengine.protocols.gdi.requests import REQUESTS

Body = dict[str, Any]


class Call(NamedTuple):
    """A request to the API. `parts`: of the path; `query`: of the address; `body`: the JSON object that was sent, {} for none."""

    parts: Mapping[str, str]
    query: Mapping[str, str]
    body: Body

    def list_parameter(self, name: str) -> list[str]:
        """A query parameter that is a list separated by commas."""
        return [item for item in self.query.get(name, "").split(",") if item]


class Resource(NamedTuple):
    """`method`, `path`: of HTTP; `summary`: a text for the description of the API. `request`: of the GDI; `body(call)`: its body;
    `pick(data, call)`: the part of the answer to send, None for not found.

    `takes`: the request whose fields the JSON body has, "" for none; `query`: names and descriptions of query parameters;
    `listed`: the answer is a list, sent in parts.
    """

    method: str
    path: str
    request: str
    summary: str
    body: Callable[[Call], Body] = lambda call: {}
    pick: Callable[[Any, Call], Any] = lambda data, call: data
    takes: str = ""
    query: Mapping[str, str] = {}
    listed: bool = False

    @property
    def is_read(self) -> bool:
        """Whether the request changes nothing."""
        return self.request in BODIES


def _given(call: Call) -> Body:
    return dict(call.body)


def _target(call: Call) -> list[str]:
    return [call.parts["id"]]


def _status(part: str, **fields: Callable[[Call], Any]) -> Callable[[Call], Body]:
    """A body of `status` with one part."""
    return lambda call: {part: {name: value(call) for name, value in fields.items()}}


def _part(part: str, key: str = "") -> Callable[[Any, Call], Any]:
    """The data of a part, or its value under a key."""
    return lambda data, call: data[part][key] if key else data[part]


def _first(pick: Callable[[Any, Call], Any]) -> Callable[[Any, Call], Any]:
    def first(data: Any, call: Call) -> Any:
        picked = pick(data, call)
        return picked[0] if picked else None

    return first


def _object(data: Any, call: Call) -> Any:
    return data[0] if data else None


def _instances(call: Call) -> Body:
    lists = {name: call.list_parameter(name) for name in ("queues", "requests", "pe", "access")}
    return lists | {"states": call.query.get("states", "")}


def _users(call: Call) -> list[str]:
    return call.list_parameter("users") or ["*"]


def _hosts(call: Call) -> Body:
    return {"hosts": {"hosts": call.list_parameter("hosts"), "requests": call.list_parameter("requests"), "load_values": True}}


def _output(call: Call) -> Body:
    parameters = {name: call.query[name] for name in ("task", "stream", "bytes") if name in call.query}
    return {"job": _number(call)} | {name: text if name == "stream" else _digits(text) for name, text in parameters.items()}


def _history(call: Call) -> Body:
    parameters = {name: call.query[name] for name in ("kind", "name", "user") if name in call.query}
    return parameters | ({"before": _digits(call.query["before"])} if "before" in call.query else {}) | {"limit": 1000}


def _digits(text: str) -> int | str:
    """A number in a query; other texts pass unchanged, for the qmaster to refuse."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 12 else text


def _job_action(action: str, summary: str, request: str, body: Body, key: str = "targets") -> Resource:
    return Resource("POST", f"/jobs/{{id}}/{action}", request, summary, lambda call: {**body, key: _target(call)})


def _instance_action(action: str, summary: str) -> Resource:
    body = {"action": action, "what": "queue"}
    return Resource(
        "POST", f"/instances/{{id}}/{action}", "change_states", summary, body=lambda call: {**body, "targets": _target(call)}
    )


_SELECT = {
    "queues": "queue expressions", "requests": "name=value of -l", "pe": "parallel environments", "access": "users",
    "states": "state codes",
}
_STATE = {"action": "", "what": "job"}

RESOURCES: tuple[Resource, ...] = (
    Resource("POST", "/jobs", "submit", "Submit a job.", _given, takes="submit"),
    Resource(
        "GET", "/jobs/{id}", "status", "All about a job, as qstat -j; for a finished job its outcome and usage.",
        body=_status("job_detail", jobs=_target), pick=_first(_part("job_detail", "jobs")),
    ),
    Resource(
        "PATCH", "/jobs/{id}", "alter_jobs", "Change a job, as qalter: the submission fields to change.",
        body=lambda call: {"targets": _target(call), "changes": _given(call)}, takes="submit",
    ),
    Resource(
        "DELETE", "/jobs/{id}", "delete_jobs", "Delete a job, or tasks of it (ID.TASKS), as qdel.",
        body=lambda call: {"targets": _target(call), "force": call.query.get("force") == "true"},
        query={"force": "true: also if its host does not answer"},
    ),
    Resource(
        "GET", "/jobs/{id}/explanation", "explain_job", "Pending reason of a job and the smallest helpful change (qexplain).",
        body=lambda call: {"jobs": _target(call)}, pick=_first(lambda data, call: data["jobs"]),
    ),
    *(
        Resource(
            "GET", f"/jobs/{{id}}/{name}", "forecast", summary,
            body=lambda call, about=about: {"jobs": _target(call), "about": about},  # type: ignore[misc]
            pick=_first(lambda data, call: data["jobs"]),
        )
        for name, about, summary in (
            ("start", "start", "Expected start of a job as a range, with its basis (qexplain -when)."),
            ("priority", "order", "The priority of a job term by term, and the jobs before it (qexplain -priority)."),
            ("duration", "duration", "Likely run time of a job, learned from ended jobs (qexplain -duration)."),
        )
    ),
    Resource(
        "GET", "/forecasts", "forecast", "How often jobs started in the range of their forecast (gridengine policy forecast).",
        body=lambda call: {"jobs": [], "about": "calibration"}, pick=lambda data, call: {"classes": data["classes"]},
    ),
    Resource(
        "GET", "/jobs/{id}/story", "job_story", "Event log of a job, also of a job that is gone.",
        body=lambda call: {"jobs": [_number(call)]}, pick=_first(lambda data, call: data["jobs"]),
    ),
    Resource(
        "GET", "/jobs/{id}/output", "job_output", "The end of a task's output, for its owner only.", body=_output,
        query={"task": "default: the first running task", "stream": "stdout (default) or stderr", "bytes": "1 to 65536"},
    ),
    _job_action("hold", "Put a user hold on a job.", "hold_jobs", {"holds": "u"}),
    _job_action("release", "Take the user hold off a job.", "hold_jobs", {"holds": "u", "release": True}),
    _job_action("suspend", "Suspend a job.", "change_states", {**_STATE, "action": "suspend"}),
    _job_action("resume", "Resume a suspended job.", "change_states", {**_STATE, "action": "unsuspend"}),
    _job_action("reschedule", "Restart a job on another host.", "change_states", {**_STATE, "action": "reschedule"}),
    _job_action("clear", "Take the error state off a job.", "change_states", {**_STATE, "action": "clear"}),
    _job_action("copy", "Submit a copy of a job, as qresub, also of one of the last ended.", "resubmit_jobs", {"ended": True}),
    Resource(
        "GET", "/instances", "status", "Queue instances with slots, load and states, as qstat -f.",
        body=lambda call: {"queues": {"select": _instances(call), "explain": "aAcdE"}}, pick=_part("queues"), query=_SELECT,
        listed=True,
    ),
    Resource(
        "GET", "/instances/{id}", "status", "One queue instance with its resources, as qstat -F.",
        body=lambda call: {"queues": {"select": {"queues": _target(call)}, "resources": [], "explain": "aAcdE"}},
        pick=_first(_part("queues")),
    ),
    *(
        _instance_action(action, f"{action.capitalize()} a queue instance, as qmod.")
        for action in ("enable", "disable", "suspend", "unsuspend", "clear", "reschedule")
    ),
    Resource(
        "GET", "/queues", "status", "Cluster queues, as qstat -g c.",
        body=lambda call: {"cluster_queues": {"select": _instances(call)}}, pick=_part("cluster_queues"), query=_SELECT,
        listed=True,
    ),
    Resource(
        "GET", "/hosts", "status", "Execution hosts with what they report, as qhost.",
        body=_hosts, pick=_part("hosts"), query={"hosts": "names", "requests": "name=value of -l"}, listed=True,
    ),
    Resource(
        "GET", "/reservations", "status", "Advance reservations, as qrstat.",
        body=_status("reservations", users=_users), pick=_part("reservations", "reservations"),
        query={"users": "owners, default: all"}, listed=True,
    ),
    Resource("POST", "/reservations", "reserve", "Reserve slots, as qrsub.", _given, takes="reserve"),
    Resource(
        "GET", "/reservations/{id}", "status", "One advance reservation, as qrstat -ar.",
        body=_status("reservations", targets=_target), pick=_first(_part("reservations", "reservations")),
    ),
    Resource(
        "PATCH", "/reservations/{id}", "alter_reservations", "Change a reservation, as qralter.",
        body=lambda call: {"targets": _target(call), "changes": _given(call)}, takes="reserve",
    ),
    Resource(
        "DELETE", "/reservations/{id}", "delete_reservations", "Delete a reservation, as qrdel.",
        body=lambda call: {"targets": _target(call), "users": ["*"], "series": call.query.get("series") == "true"},
        query={"series": "true: with the rest of its series"},
    ),
    Resource(
        "GET", "/quotas", "status", "Resource quotas and their usage, as qquota.",
        body=_status("quotas", users=_users), pick=_part("quotas"), query={"users": "patterns of users, default: all"},
        listed=True,
    ),
    Resource(
        "GET", "/share-tree", "status", "The share tree with targets and usage.",
        body=_status("share_tree"), pick=_part("share_tree"),
    ),
    Resource(
        "GET", "/config/{kind}", "config_list", "Names of the objects of a kind.",
        body=lambda call: {"kind": call.parts["kind"]}, listed=True,
    ),
    Resource(
        "GET", "/config/{kind}/{name}", "config_show", "An object of the configuration, as qconf shows it.",
        body=lambda call: {"kind": call.parts["kind"], "names": [object_name(call)]}, pick=_object,
    ),
    Resource(
        "GET", "/history", "config_history", "Changes of the configuration, the newest first.",
        body=_history, query={"kind": "of objects", "name": "of an object", "user": "author", "before": "a revision"},
        listed=True,
    ),
)


def object_name(call: Call) -> str:
    """The name of the object at a path, "" for `-`: the only object of its kind."""
    return "" if call.parts["name"] == "-" else call.parts["name"]


def _number(call: Call) -> int:
    text = call.parts["id"]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 else 0


UNLISTED = {
    **dict.fromkeys(("execd_hello", "mirror"), "for daemons of the cell"),
    **dict.fromkeys(("session", "start_slave"), "for clients of interactive jobs, which need the host they run on"),
    **dict.fromkeys(("events", "wait"), "streams of the GDI, at /streams/NAME; /events is that of the API"),
    "job_list": "a stream of the GDI: /jobs is sent in parts",
    "task_ends": "a stream of the GDI for libraries on a host of the cell",
}
"""Requests that are not offered to programs here, with the reason."""
ANY: tuple[str, ...] = tuple(sorted((REQUESTS.keys() | BODIES.keys()) - UNLISTED.keys()))
"""Requests that may be posted unchanged to `/requests/NAME`."""
