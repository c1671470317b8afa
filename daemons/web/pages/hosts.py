"""Execution hosts: their hardware, load reports and jobs. Source: GU-8; qhost(1)."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from multidict import MultiMapping

from daemons.web.mirror import MirroredChange
from daemons.web.pages.changing import why_not_configure
from daemons.web.pages.formats import iso_time, link
from daemons.web.pages.forms import Action, Question, action_route, listed, tasks_in
from daemons.web.pages.host_map import COLOURS, colour_of, coloured_hosts, host_map
from daemons.web.pages.offers import off_for_host, offers
from daemons.web.pages.page import CsvTable, Data, NotFoundError, Page, Visit, rows_of_page
from daemons.web.pages.states import silent_hosts
from daemons.web.pages.trends import trend_panel
from daemons.web.trends.cell_figures import exec_hosts
from daemons.web.trends.trend_store import HOST
from gridengine.protocols.gdi.requests import Answer, Caller
from gridengine.state.bookings import GLOBAL

ROWS = 100
#: of `values` in the rows of the view `hosts`
_COLUMNS = "arch processors sockets cores threads load memory memory_used swap swap_used".split()


async def host_list(visit: Visit) -> Data:
    """The exec hosts that match the filters, as a list or as a map."""
    name, state_code = visit.parameter("name"), visit.parameter("state")
    views = [("List", link(visit.here, view=None), None), ("Map", link(visit.here, view="map", **{"class": None}), None)]
    is_map = visit.parameter("view") == "map"
    shared: Data = {"views": views, "view": views[is_map][1], "name": name, "state": state_code, "map": None, "chosen": None}
    if is_map:
        state = visit.shared.mirror.state
        silent, known = silent_hosts(state), frozenset(exec_hosts(state))
        matches = frozenset(
            host for host in known if (not name or fnmatchcase(host, name)) and (state_code != "u" or host in silent)
        )
        return shared | host_map(visit, matches) | {"total": len(matches), "all": len(known)}
    matching, total = await _matching_hosts(visit)
    shown, pager = rows_of_page(visit, matching, ROWS)
    chosen, _ = _class_of(visit)
    return pager | shared | {"rows": shown, "all": total, "sort": visit.parameter("sort"), "chosen": chosen}


async def hosts_csv(visit: Visit) -> CsvTable:
    """All hosts that match the filters; memory in bytes."""
    columns = ("host", "state", "drain_reason", *_COLUMNS, "last_report")
    rows, _ = await _matching_hosts(visit)
    return CsvTable("hosts", columns, [
        (
            row["name"], "" if row["up"] else "u", row["drained"].reason if row["drained"] else "",
            *(row[column] for column in _COLUMNS), iso_time(row["heard"]),
        )
        for row in rows
    ])


async def _matching_hosts(visit: Visit) -> tuple[list[dict[str, Any]], int]:
    """The hosts that match the filters, in the order of the address; and the number of all hosts."""
    name, state_code = visit.parameter("name"), visit.parameter("state")
    hosts = await _hosts(visit, {"hosts": {}}, visit.caller)
    _, in_class = _class_of(visit)
    matching = [
        host
        for host in hosts
        if (not name or fnmatchcase(host["name"], name))
        and (state_code != "u" or not host["up"])
        and (in_class is None or host["name"] in in_class)
    ]
    sort = visit.parameter("sort")
    column = sort.lstrip("-")
    if column in ("name", *_COLUMNS):
        matching.sort(key=lambda host: (host[column] is None, host[column] or 0), reverse=sort.startswith("-"))
    return matching, len(hosts)


def _class_of(visit: Visit) -> tuple[dict[str, str] | None, frozenset[str] | None]:
    """The class of the map that the address chooses (its parameters and a label), and its hosts; None for all hosts."""
    if not (name := visit.parameter("class")):
        return None, None
    colour = colour_of(visit)
    coloured = coloured_hosts(visit.shared.mirror.state, colour)
    label = next((each.label for each in coloured.classes if each.name == name), name)
    in_class = frozenset(host for host, of_host in coloured.names.items() if of_host == name)
    return {"colour": colour, "class": name, "label": f"{COLOURS.get(colour, colour)}: {label}"}, in_class


_ACTIONS = {
    "daemon": Action("Stop execution daemon", "Stop the execution daemon of", "No job starts there until it runs again.", True),
    "jobs": Action("Stop daemon and kill jobs", "Stop the execution daemon and kill the jobs of", "This cannot be undone.", True),
    "drain": Action("Drain", result="Running tasks keep running; no other task starts there.", always=True),
    "resume": Action("Resume scheduling"),
}


async def host_details(visit: Visit) -> Data:
    """A host with its resources, load values, queue instances and jobs."""
    name = visit.parts["name"]
    if name not in visit.shared.mirror.state.kind("exec_host") or name in (GLOBAL, "template"):
        raise NotFoundError(f"There is no execution host {name}")
    body = {"hosts": {"hosts": [name], "resources": [], "load_values": True}, "queues": {"select": {"queues": [f"*@{name}"]}}}
    (host,) = await _hosts(visit, body, visit.caller)
    status: Any = (await visit.shared.read("status", {"queues": body["queues"]}, visit.caller)).data
    jobs = [row for row in visit.shared.jobs.all if any(instance.endswith(f"@{name}") for instance in row.places)]
    stopping = {name: _ACTIONS[name] for name in ("daemon", "jobs")}
    return trend_panel(visit, HOST, name) | {
        "trend_title": "Trends", "host": host,
        "instances": status["queues"], "jobs": jobs, "silent": silent_hosts(visit.shared.mirror.state),
        "buttons": offers(stopping, off_for_host(host["up"]), why_not_configure(visit), tuple(stopping)),
        "why_not_drain": why_not_configure(visit, operators=True), "actions": _ACTIONS,
        "aside": visit.shared.manual_states.of,
    }


def ask_about_host(visit: Visit, fields: MultiMapping[str]) -> Question | None:
    """Ask to confirm an action on hosts, with the number of tasks there."""
    action, hosts = fields.get("action", ""), fields.getall("host", [])
    if action not in _ACTIONS or not hosts:
        return None
    running = tasks_in(visit, lambda name: name.partition("@")[2] in hosts)
    tasks = f"{running} {'will be killed' if action == 'jobs' else 'will not be stopped'}." if running else "No tasks run there."
    return _ACTIONS[action].question(listed(hosts), len(hosts), [tasks])


async def change_hosts(visit: Visit, fields: MultiMapping[str]) -> list[Answer]:
    """Drain hosts, resume scheduling on them, or stop their daemons without or with their jobs, as qconf -ke and -kej."""
    action = fields.get("action", "")
    if action not in _ACTIONS:
        return [Answer(1, [("error", f'there is no action "{action}"')])]
    if fields.get("action") in ("drain", "resume"):
        drain = {"reason": fields.get("reason", ""), "end": fields.get("action") == "resume"}
        return [await visit.shared.ask("drain_hosts", {"hosts": fields.getall("host", []), **drain}, visit.caller)]
    body = {"what": "execd", "hosts": fields.getall("host", []), "kill_jobs": fields.get("action") == "jobs"}
    return [await visit.shared.ask("shutdown", body, visit.caller)]


async def _hosts(visit: Visit, body: dict[str, Any], caller: Caller) -> list[dict[str, Any]]:
    """Rows of the view `hosts` with values by name; `up`, `drained`, and `heard`: the time of the last report."""
    state = visit.shared.mirror.state
    status: Any = (await visit.shared.read("status", {"hosts": body["hosts"]}, caller)).data
    rows = []
    for row in status["hosts"]:
        if row["name"] == GLOBAL:
            continue
        known = state.hosts.get(row["name"])
        values = dict(zip(_COLUMNS, row["values"], strict=True))
        heard = {"up": known is not None and known.up, "heard": known.last_heard if known is not None else 0.0}
        rows.append({**row, **values, **heard, "drained": known.drained if known is not None else None})
    return rows


def _concerns(change: MirroredChange) -> bool:
    affected = change.affected
    return change.whole or bool(affected.heard or affected.lost or affected.returned or affected.instances or affected.kinds)


PAGES = [
    Page("/hosts", "hosts.html", host_list, _concerns, csv=hosts_csv),
    Page("/hosts/{name}", "host.html", host_details, _concerns),
]
ROUTES = [action_route("/hosts", change_hosts, ask_about_host)]
