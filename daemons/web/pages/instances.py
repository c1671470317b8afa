"""Queue instances: slots, load, states with the reasons, and what can be done with them. Source: GU-4, GU-13; qmod(1)."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from multidict import MultiMapping

from daemons.qmaster.permissions import is_operator, owns_queue
from daemons.web.mirror import MirroredChange
from daemons.web.pages.forms import FORCED, Action, Question, act_route, listed, tasks_in
from daemons.web.pages.page import Data, Missing, Page, Visit
from daemons.web.pages.states import silent_hosts
from gridengine.gdi.requests import Answer
from gridengine.units import counted

ROWS = 100
_ACTIONS = {
    "enable": Action("Enable"),
    "disable": Action("Disable", result="Running tasks keep running; no other task starts there.", always=True),
    "suspend": Action("Suspend", result="Running tasks stop until somebody resumes them.", always=True),
    "unsuspend": Action("Resume"),
    "clear": Action("Clear error", "Clear the error of"),
    "reschedule": Action(
        "Reschedule", "Reschedule all tasks of", "Rerunnable tasks are killed and start again from the beginning.", always=True
    ),
    "clean": Action("Remove all jobs", "Remove all jobs of", "They are killed. This cannot be undone.", always=True),
}
_SORTED = {"name": "name", "slots": "used", "load": "load", "state": "states"}


async def instance_list(visit: Visit) -> Data:
    """The instances that the filters mean."""
    queue, host, letters = visit.said("queue"), visit.said("host"), visit.said("state")
    status = await visit.shared.read("status", {"queues": {"explain": "aAcdE"}}, visit.caller)
    rows: list[dict[str, Any]] = status.data["queues"]  # type: ignore[index]
    found = [
        row
        for row in rows
        if (not queue or fnmatchcase(row["name"], queue) or fnmatchcase(row["name"].partition("@")[0], queue))
        and (not host or fnmatchcase(row["name"].partition("@")[2], host))
        and (not letters or not set(letters).isdisjoint(row["states"]))
        and (not visit.said("free") or (row["total"] > row["used"] and not row["states"]))
    ]
    sort = visit.said("sort")
    if column := _SORTED.get(sort.lstrip("-")):
        found.sort(key=lambda row: _key(row[column]), reverse=sort.startswith("-"))
    number = min(visit.number("page"), max(1, -(-len(found) // ROWS)))
    shown = found[(number - 1) * ROWS : number * ROWS]
    return {
        **{"rows": shown, "total": len(found), "all": len(rows), "page": number, "size": ROWS, "sort": sort},
        **{"queue": queue, "host": host, "state": letters, "free": bool(visit.said("free"))},
        **{"actions": _ACTIONS, "why_not": _why_not(visit, [row["name"] for row in shown])},
        "aside": visit.shared.manual_states.of,
    }


async def act_on_instances(visit: Visit, fields: MultiMapping[str]) -> list[Answer]:
    """What a button does with the instances that are selected, as qmod does, and qconf -cq."""
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
    """What to confirm: the instances, and how many tasks run there."""
    action, targets = fields.get("action", ""), fields.getall("target", [])
    if action not in _ACTIONS or not targets:
        return None
    running = tasks_in(visit, set(targets).__contains__)
    what = targets[0] if len(targets) == 1 else f"{counted(len(targets), 'queue instance')}: {listed(targets)}"
    tasks = f"{running} there." if running else "No tasks run there."
    forced = FORCED if action != "clean" and fields.get("force") else ""
    return _ACTIONS[action].question(what, len(targets), [tasks, forced])


async def one_instance(visit: Visit) -> Data:
    """One instance with all resources: value, where it comes from, and which level decides (GU-13)."""
    name = visit.parts["name"]
    selected = {"queues": [name]}
    body = {"queues": {"select": selected, "resources": [], "explain": "aAcdE"}, "queue_configurations": selected}
    status: Any = (await visit.shared.read("status", body, visit.caller)).data
    rows = [row for row in (status or {"queues": []})["queues"] if row["name"] == name]
    if not rows:
        raise Missing(f"There is no queue instance {name}")
    jobs = [row for row in visit.shared.jobs.all if name in row.places]
    configured = {each["name"]: each["attributes"] for each in status["queue_configurations"]["found"]}
    return {
        **{"row": rows[0], "jobs": jobs, "attributes": configured.get(name, {}), "actions": _ACTIONS},
        "silent": silent_hosts(visit.shared.mirror.state),
        **{"why_not": _why_not(visit, [name]), "aside": visit.shared.manual_states.of},
    }


def _why_not(visit: Visit, names: list[str]) -> str:
    """Why the visitor can do nothing to any of these, "" if he can to some; the qmaster decides."""
    shared, caller = visit.shared, visit.caller
    if not shared.mirror.connected:
        return "The qmaster does not respond: nothing can be changed."
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
    Page("/instances", "instances.html", instance_list, _concerns),
    Page("/instances/{name}", "instance.html", one_instance, _concerns),
]
ROUTES = [act_route("/instances", act_on_instances, ask_about_instances)]
