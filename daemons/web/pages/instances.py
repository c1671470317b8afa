"""Queue instances: slots, load, states with the reasons, and actions. Source: GU-4, GU-13; qmod(1)."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from multidict import MultiMapping

from daemons.qmaster.permissions import is_operator, owns_queue
from daemons.web.mirror import MirroredChange
from daemons.web.pages.forms import AWAY, FORCED, Action, Question, action_route, listed, tasks_in
from daemons.web.pages.offers import off_for_instance, offers
from daemons.web.pages.page import CsvTable, Data, NotFoundError, Page, Visit, rows_of_page
from daemons.web.pages.states import silent_hosts
from gridengine.protocols.gdi.requests import Answer
from gridengine.values.units import counted

ROWS = 100
_ACTIONS = {
    "enable": Action("Enable", key="e"),
    "disable": Action("Disable", result="Running tasks keep running; no other task starts there.", always=True, key="d"),
    "suspend": Action("Suspend", result="Running tasks stop until a user resumes them.", always=True, key="s"),
    "unsuspend": Action("Resume", key="u"),
    "clear": Action("Clear error", "Clear the error of", key="c"),
    "reschedule": Action(
        "Reschedule", "Reschedule all tasks of", "Rerunnable tasks are killed and start again from the beginning.", always=True
    ),
    "clean": Action("Remove all jobs", "Remove all jobs of", "They are killed. This cannot be undone.", always=True),
}
_SORTED = {"name": "name", "slots": "used", "load": "load", "state": "states"}


async def instance_list(visit: Visit) -> Data:
    """The instances that match the filters."""
    matching, total = await _matching_instances(visit)
    shown, pager = rows_of_page(visit, matching, ROWS)
    return pager | {
        "rows": shown, "all": total, "sort": visit.parameter("sort"),
        "queue": visit.parameter("queue"), "host": visit.parameter("host"), "state": visit.parameter("state"),
        "free": bool(visit.parameter("free")),
        "actions": _ACTIONS, "why_not": _why_not(visit, [row["name"] for row in shown]),
        "aside": visit.shared.manual_states.of,
    }


async def instances_csv(visit: Visit) -> CsvTable:
    """All instances that match the filters."""
    columns = ("instance", "type", "slots_used", "slots_reserved", "slots_total", "load", "architecture", "state")
    keys = ("name", "type", "used", "resv", "total", "load", "arch", "states")
    rows, _ = await _matching_instances(visit)
    return CsvTable("instances", columns, [[row[key] for key in keys] for row in rows])


async def _matching_instances(visit: Visit) -> tuple[list[dict[str, Any]], int]:
    """The instances that match the filters, in the order of the address; and the number of all instances."""
    queue, host, state_codes = visit.parameter("queue"), visit.parameter("host"), visit.parameter("state")
    status = await visit.shared.read("status", {"queues": {"explain": "aAcdE"}}, visit.caller)
    rows: list[dict[str, Any]] = status.data["queues"]  # type: ignore[index]
    matching = [
        row
        for row in rows
        if (not queue or fnmatchcase(row["name"], queue) or fnmatchcase(row["name"].partition("@")[0], queue))
        and (not host or fnmatchcase(row["name"].partition("@")[2], host))
        and (not state_codes or not set(state_codes).isdisjoint(row["states"]))
        and (not visit.parameter("free") or (row["total"] > row["used"] and not row["states"]))
    ]
    sort = visit.parameter("sort")
    if column := _SORTED.get(sort.lstrip("-")):
        matching.sort(key=lambda row: _key(row[column]), reverse=sort.startswith("-"))
    return matching, len(rows)


async def change_instances(visit: Visit, fields: MultiMapping[str]) -> list[Answer]:
    """Carry out the action of a button on the selected instances, as qmod and qconf -cq."""
    action, targets = fields.get("action", ""), fields.getall("target", [])
    if action not in _ACTIONS:
        return [Answer(1, [("error", f'there is no action "{action}"')])]
    if not targets:
        return [Answer(1, [("warning", "no queue instances are selected")])]
    if action == "clean":
        return [await visit.shared.ask("clean_queues", {"queues": targets}, visit.caller)]
    body = {"action": action, "what": "queue", "targets": targets, "force": bool(fields.get("force"))}
    return [await visit.shared.ask("change_states", body, visit.caller)]


def ask_about_instances(visit: Visit, fields: MultiMapping[str]) -> Question | None:
    """Ask to confirm an action on instances, with the number of tasks there."""
    action, targets = fields.get("action", ""), fields.getall("target", [])
    if action not in _ACTIONS or not targets:
        return None
    running = tasks_in(visit, set(targets).__contains__)
    subject = targets[0] if len(targets) == 1 else f"{counted(len(targets), 'queue instance')}: {listed(targets)}"
    tasks = f"{running} there." if running else "No tasks run there."
    forced = FORCED if action != "clean" and fields.get("force") else ""
    return _ACTIONS[action].question(subject, len(targets), [tasks, forced])


async def instance_details(visit: Visit) -> Data:
    """An instance with all resources: value, source, and deciding level (GU-13)."""
    name = visit.parts["name"]
    selected = {"queues": [name]}
    body = {"queues": {"select": selected, "resources": [], "explain": "aAcdE"}, "queue_configurations": selected}
    status: Any = (await visit.shared.read("status", body, visit.caller)).data
    rows = [row for row in (status or {"queues": []})["queues"] if row["name"] == name]
    if not rows:
        raise NotFoundError(f"There is no queue instance {name}")
    jobs = [row for row in visit.shared.jobs.all if name in row.places]
    why_not = _why_not(visit, [name])
    configured = {each["name"]: each["attributes"] for each in status["queue_configurations"]["found"]}
    return {
        "row": rows[0], "jobs": jobs, "attributes": configured.get(name, {}), "why_not": why_not,
        "buttons": offers(_ACTIONS, off_for_instance(rows[0]["states"], rows[0]["used"]), why_not, ("reschedule", "clean")),
        "silent": silent_hosts(visit.shared.mirror.state), "aside": visit.shared.manual_states.of,
    }


def _why_not(visit: Visit, names: list[str]) -> str:
    """The reason why the visitor may change none of these instances, "" if there is no reason; the qmaster decides."""
    shared, caller = visit.shared, visit.caller
    if not shared.mirror.connected:
        return AWAY
    state = shared.mirror.state
    if is_operator(state, caller, shared.cell.admin_user) or any(owns_queue(state, caller, name) for name in names):
        return ""
    return f"{caller.user} is neither an operator nor an owner of these queues."


def _key(value: Any) -> Any:
    """A value to sort by: loads are texts, or null."""
    return value if isinstance(value, int) else (0.0 if value is None else _number_or_text(value))


def _number_or_text(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _concerns(change: MirroredChange) -> bool:
    affected = change.affected
    return change.whole or bool(affected.instances or affected.kinds or affected.lost or affected.returned or affected.heard)


PAGES = [
    Page("/instances", "instances.html", instance_list, _concerns, csv=instances_csv),
    Page("/instances/{name}", "instance.html", instance_details, _concerns),
]
ROUTES = [action_route("/instances", change_instances, ask_about_instances)]
