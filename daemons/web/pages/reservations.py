"""Advance reservations: the list, the page of a reservation, and the form for a new reservation.

Source: GU-9, GU-10; qrsub(1), qrstat(1), qrdel(1).
"""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from aiohttp import web
from multidict import MultiMapping

from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web.mirror import MirroredChange
from daemons.web.pages.formats import iso_time, link
from daemons.web.pages.forms import FORCED, Action, Question, action_route, form_route, listed, no_question, why_not_change
from daemons.web.pages.option_form import OptionForm
from daemons.web.pages.page import CsvTable, Data, NotFoundError, Page, Visit, page_route, rows_of_page, visit_of
from daemons.web.pages.states import silent_hosts
from daemons.web.pages.submitting import form_response
from daemons.web.pages.time_line import dragged_window, time_line
from gridengine.options.reservation import RESERVATION_OPTIONS
from gridengine.options.submit_folds import Submission
from gridengine.protocols.gdi.requests import Answer
from gridengine.state.reservations import AdvanceReservation
from gridengine.values.units import counted

ROWS = 100
_TIMES = ("-a", "-e", "-d", "-latest")
_STATES = {"w": "Waiting", "r": "Running", "W": "Warning", "E": "In error"}
FIELDS = {
    "When": (
        ("-a", "Start", "202612241800"),
        ("-e", "End", "202612242000"),
        ("-d", "Duration", "2:00:00"),
        ("-latest", "Latest start", "202612250600"),
        ("-recur", "Recurrence", "FREQ=DAILY;COUNT=5"),
    ),
    "What": (
        ("-l", "Resources", "h_vmem=4G"),
        ("-q", "Queues", "all.q,*@@big"),
        ("-pe", "Parallel environment and slots", "mpi 8"),
        ("-alloc", "Allocation rule", "$fill_up 8"),
        ("-masterq", "Queues for the master task", ""),
        ("-ckpt", "Checkpointing environment", ""),
        ("-now", "Interactive queues only", ""),
    ),
    "Access and notification": (
        ("-N", "Name", "maintenance"),
        ("-u", "Users who may use it", "alice,@students,!bob"),
        ("-A", "Account", ""),
        ("-he", "Hard error handling", ""),
        ("-heal", "Relocate if a host fails", ""),
        ("-idle", "Release when idle for", "0:30:00"),
        ("-m", "Mail when", "bea"),
        ("-M", "Mail to", ""),
    ),
}
"""Under each heading (option, label, example)."""
FORM = OptionForm("qrsub", RESERVATION_OPTIONS, FIELDS)


async def reservation_list(visit: Visit) -> Data:
    """The reservations that match the filters, as qrstat lists them."""
    state, owner, name = (visit.parameter(each) for each in ("state", "owner", "name"))
    over_time = visit.parameter("view") == "time"
    rows = await _matching_rows(visit)
    views = [("List", link(visit.here, view=None), None), ("Time line", link(visit.here, view="time"), None)]
    shared: Data = {"views": views, "view": views[over_time][1], "state": state, "owner": owner, "name": name}
    if over_time:
        return shared | {"line": None} | await time_line(visit, rows)
    counts = Counter(row["state"] for row in rows)
    tabs = [("All", link(visit.here, state=None), len(rows))]
    tabs += [(label, link(visit.here, state=state_code), counts[state_code]) for state_code, label in _STATES.items()]
    shown = _in_order(visit, rows)
    page_rows, pager = rows_of_page(visit, shown, ROWS)
    return pager | {
        "rows": page_rows, "tabs": tabs, "tab": link(visit.here, state=state or None), **shared, "line": None,
        "sort": visit.parameter("sort"),
    }


async def reservations_csv(visit: Visit) -> CsvTable:
    """All reservations that match the filters."""
    columns = ("id", "name", "owner", "state", "start", "end", "duration_s", "slots", "queue_instances", "warnings")
    return CsvTable("reservations", columns, [
        (
            row["id"], row["name"], row["owner"], row["state"], iso_time(row["start_time"]), iso_time(row["end_time"]),
            round(row["end_time"] - row["start_time"]), sum(slots for _, slots in row["granted"]),
            " ".join(instance for instance, _ in row["granted"]), "; ".join(row["errors"]),
        )
        for row in _in_order(visit, await _matching_rows(visit))
    ])


async def _matching_rows(visit: Visit) -> list[dict[str, Any]]:
    """The reservations that match the filters, regardless of their state."""
    owner, name = visit.parameter("owner"), visit.parameter("name")
    return [
        row
        for row in await _rows(visit, None)
        if (not owner or fnmatchcase(row["owner"], owner)) and (not name or fnmatchcase(row["name"], name))
    ]


def _in_order(visit: Visit, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows in the state of the address, in its order."""
    shown = [row for row in rows if visit.parameter("state") in ("", row["state"])]
    sort = visit.parameter("sort")
    if (column := sort.lstrip("-")) in ("id", "name", "owner", "state", "start_time", "end_time"):
        shown.sort(key=lambda row: row[column], reverse=sort.startswith("-"))
    return shown


async def reservation_details(visit: Visit) -> Data:
    """All about a reservation, and its jobs."""
    rows = await _rows(visit, [str(find_reservation(visit, visit.parts["number"]).id)])
    jobs = sorted(visit.shared.mirror.state.reserved.jobs.get(rows[0]["id"], ()))
    inside = [row for number in jobs for row in visit.shared.jobs.of_job(number)]
    silent = silent_hosts(visit.shared.mirror.state)
    why_not = why_not_change(visit, "reservation", rows[0]["owner"])
    return {"reservation": rows[0], "jobs": inside, "silent": silent, "why_not": why_not}


def find_reservation(visit: Visit, number: str) -> AdvanceReservation:
    """The reservation with this number. Raises NotFoundError."""
    reservations = visit.shared.mirror.state.reservations
    reservation = reservations.get(int(number)) if number.isascii() and number.isdigit() and len(number) < 9 else None
    if reservation is None:
        raise NotFoundError(f"There is no reservation {number}")
    return reservation


_ACTIONS = {
    "delete": Action("Delete", result="The slots are released. This cannot be undone.", always=True),
    "series": Action(
        "Delete with the later reservations of the series", "Delete the later reservations of the series and", always=True
    ),
}


def ask_about_reservations(visit: Visit, fields: MultiMapping[str]) -> Question | None:
    """Ask to confirm the deletion of reservations, with the number of jobs in them."""
    targets, reservations = fields.getall("target", []), visit.shared.mirror.state.reservations
    action = _ACTIONS["series" if fields.get("action") == "series" else "delete"]
    known = [each for each in reservations.values() if str(each.id) in targets]
    if not targets:
        return None
    jobs = sum(len(visit.shared.mirror.state.reserved.jobs.get(each.id, ())) for each in known)
    names = listed([f"{each.id} {each.name}".strip() for each in known] or targets)
    subject = f"reservation {names}" if len(targets) == 1 else f"{counted(len(targets), 'reservation')}: {names}"
    details = [f"{counted(jobs, 'job')} in it: deleted." if jobs else "No jobs use it.", FORCED if fields.get("force") else ""]
    return action.question(subject, len(targets), details)


async def delete(visit: Visit, fields: MultiMapping[str]) -> list[Answer]:
    """Delete the selected reservations."""
    targets = fields.getall("target", [])
    if not targets:
        return [Answer(1, [("warning", "no reservations are selected")])]
    body = {"targets": targets, "users": ["*"], "series": fields.get("action") == "series", "force": bool(fields.get("force"))}
    return [await visit.shared.ask("delete_reservations", body, visit.caller)]


async def reserve_form(visit: Visit) -> Data:
    """The form, filled in from the address."""
    empty: Data = {"faults": {}, "answers": [], "command": "", "made": False, "windows": [], "typed": False}
    return {"groups": FORM.groups, "values": dict(visit.query) | dragged_window(visit), **empty}


async def reserve(request: web.Request) -> web.Response:
    """Check a form, find available time slots, or reserve."""
    visit, fields = visit_of(request), await request.post()
    values = {name: value for name, value in fields.items() if isinstance(value, str)}
    data = await reserve_form(visit) | {"values": values, "typed": False}
    target = Submission("qrsub", {}, "", time.time())
    given = FORM.read(values, target)
    data["faults"] = given.faults
    if not given.faults:
        data["command"] = shlex.join(["qrsub", *given.arguments])
        await _send(visit, target.request, values.get("do", ""), data)
    return form_response(RESERVE, visit, data, request)


async def _send(visit: Visit, body: dict[str, Any], do: str, data: Data) -> None:
    if do == "check":
        body["verify"] = "v"
    elif do == "find":
        body["find"] = 5
    try:
        answer = await visit.shared.ask("reserve", body, visit.caller)
    except NoQmasterError as away:
        answer = Answer(1, [("error", str(away))])
    data["answers"] = answer.answers
    windows = answer.data.get("windows", []) if isinstance(answer.data, dict) else []
    data["windows"] = [(start, end, granted, _form_of(data["values"], start, end)) for start, end, granted in windows]
    data["made"] = not answer.status and do not in ("check", "find")


def _form_of(values: Mapping[str, str], begin: float, end: float) -> str:
    """The address of the form with these values, for a window."""
    kept = {name: value for name, value in values.items() if name in FORM.fields and name not in _TIMES and value}
    return link("/reservations/new", begin=int(begin), end=int(end), **kept)


async def _rows(visit: Visit, targets: list[str] | None) -> list[dict[str, Any]]:
    body = {"reservations": {"targets": targets, "users": ["*"]}}
    status: Any = (await visit.shared.read("status", body, visit.caller)).data
    rows: list[dict[str, Any]] = status["reservations"]["reservations"]
    return rows


def _concerns(change: MirroredChange) -> bool:
    """Whether a change may alter a reservation. All durable changes may: of its host, its queue, its jobs."""
    return change.whole or change.affected.durable or bool(change.affected.lost or change.affected.returned)


RESERVE = Page("/reservations/new", "reserve.html", reserve_form)
PAGES = [
    Page("/reservations", "reservations.html", reservation_list, _concerns, csv=reservations_csv),
    Page("/reservations/{number}", "reservation.html", reservation_details, _concerns),
]
ROUTES = [
    page_route(RESERVE),
    form_route("/reservations/new", reserve, no_question),
    action_route("/reservations", delete, ask_about_reservations),
]
