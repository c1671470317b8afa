"""The pages that change a job or a reservation: the options of qalter or qralter with current values; only changes are sent.

Source: GU-10, GU-11; qalter(1); AR-125. The qmaster decides whether a change is possible.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from aiohttp import web

from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web.pages.forms import form_route, no_question
from daemons.web.pages.option_form import OptionForm
from daemons.web.pages.option_values import reservation_values, values_of
from daemons.web.pages.page import Data, Handler, Page, Visit, page_route, problem, visit_of
from daemons.web.pages.reservations import FIELDS, find_reservation
from daemons.web.pages.submitting import ROWS, form_response, grade_answers, job_request
from gridengine.options.option import Option, options_of
from gridengine.options.reservation import RESERVATION_OPTIONS
from gridengine.options.submit import SUBMIT_OPTIONS
from gridengine.options.submit_folds import Submission


class Alterable(NamedTuple):
    """A type of object that a form alters. `noun`: its name on pages; `path`: of its list; `request`: of the GDI; `form`: its
    fields.

    `current(visit, number)`: the current values of the fields; raises NotFoundError, NoQmasterError.
    """

    noun: str
    path: str
    request: str
    form: OptionForm
    current: Callable[[Visit, str], Awaitable[dict[str, str]]]

    def page(self) -> Page:
        """The page with the form."""

        async def data(visit: Visit) -> Data:
            values = await self.current(visit, visit.parts["number"])
            return self.form_data(visit.parts["number"], values, json.dumps(values))

        return Page(f"{self.path}/{{number}}/alter", "alter.html", data)

    def form_data(self, number: str, values: Mapping[str, str], before: str) -> Data:
        """The template's data for a form without result. `before`: the values when the form was loaded, as JSON."""
        form: Data = {"noun": self.noun, "thing": f"{self.path}/{number}", "number": number, "command_name": self.form.command}
        form |= {"groups": self.form.groups, "values": values, "before": before}
        return form | {"faults": {}, "answers": [], "command": "", "typed": False}


Rows = Mapping[str, tuple[tuple[str, str, str], ...]]


def _rows_of(command: str, table: tuple[Option, ...], rows: Rows, without: set[str]) -> Rows:
    """The rows of a form whose options `command` has as well."""
    known = options_of(command, table).keys() - without
    return {heading: tuple(row for row in of if row[0].removeprefix("soft ") in known) for heading, of in rows.items()}


def _replace_ac_by_sc(rows: Rows) -> Rows:
    """The rows with -sc instead of -ac, which cannot remove a variable."""
    return {heading: tuple((name.replace("-ac", "-sc"), label, text) for name, label, text in of) for heading, of in rows.items()}


class FormChanges(NamedTuple):
    """The changes in a form. `command`: the command line that makes the same changes. `faults`: errors by field; with faults,
    `changes` is incomplete."""

    command: str
    changes: dict[str, Any]
    faults: dict[str, str]


async def current_job_values(visit: Visit, number: str) -> dict[str, str]:
    """The options of a job."""
    request, _ = await job_request(visit, number)
    values = values_of(request, visit.shared.zone)
    if "-ac" in values:
        values["-sc"] = values.pop("-ac")
    return values


async def current_reservation_values(visit: Visit, number: str) -> dict[str, str]:
    """The options of a reservation."""
    return reservation_values(find_reservation(visit, number), visit.shared.zone)


def alter_handler(thing: Alterable) -> Handler:
    """A handler that checks or makes the changes in a form, and answers with the form: errors at their fields, or the result."""
    page = thing.page()

    async def alter(request: web.Request) -> web.Response:
        visit, fields = visit_of(request), await request.post()
        number = visit.parts["number"]
        values = {name: value for name, value in fields.items() if isinstance(value, str)}
        try:
            before = msgspec.json.decode(values.get("before", ""), type=dict[str, str])
        except (msgspec.DecodeError, RecursionError):
            return problem(visit, 400, "The form does not come from these pages.")
        changed = changes_of(thing.form, number, before, values, time.time())
        data = thing.form_data(number, values, json.dumps(before)) | {"faults": changed.faults}
        if not changed.faults:
            data["command"] = changed.command
            data["answers"] = await _send(visit, thing.request, number, changed.changes, "check" in values)
        return form_response(page, visit, data, request)

    return alter


def changes_of(form: OptionForm, number: str, before: Mapping[str, str], values: Mapping[str, str], now: float) -> FormChanges:
    """The fields that differ from the values when the form was loaded, parsed as the command does. now: epoch s."""
    target = Submission(form.command, {}, "", now)
    given = {name: values.get(name, "").strip() for name in form.fields}
    changed = {name: value for name, value in given.items() if value != before.get(name, "")}
    fields = form.read(changed, target, changed.keys())
    for name, value in changed.items():
        if not value and form.fields[name].kind == "flag":
            fields.faults[name] = f"{form.command} can set this option, but not clear it"
    return FormChanges(shlex.join([form.command, *fields.arguments, number]), target.request, fields.faults)


async def _send(visit: Visit, name: str, number: str, changes: dict[str, Any], check: bool) -> list[tuple[str, str]]:
    """Send the changes to the qmaster, for a dry run or for good; return its answers."""
    if not changes:
        return [("warning", "no field has changed")]
    body: dict[str, Any] = {"targets": [number], "changes": changes}
    if "verify" in changes:
        body["verify"] = changes.pop("verify")
    try:
        if not check:
            return grade_answers((await visit.shared.ask(name, body, visit.caller)).answers)
        answer = await visit.shared.ask("dry_run", {name: body}, visit.caller)
        answers: Any = answer.data[name]["answers"] if isinstance(answer.data, dict) else answer.answers
        return grade_answers([(level, f"Preview: {text}" if level == "info" else text) for level, text in answers])
    except NoQmasterError as away:
        return [("error", str(away))]


_OPTIONS_WITH_BUTTONS = {"-h"}
_OPERATOR_ROWS = {"By operators": (("-ot", "Override tickets", "100"),)}
_JOB_ROWS = _replace_ac_by_sc(_rows_of("qalter", SUBMIT_OPTIONS, {**ROWS, **_OPERATOR_ROWS}, _OPTIONS_WITH_BUTTONS))
JOBS = Alterable("job", "/jobs", "alter_jobs", OptionForm("qalter", SUBMIT_OPTIONS, _JOB_ROWS), current_job_values)
_RESERVATION_ROWS = _rows_of("qralter", RESERVATION_OPTIONS, FIELDS, set())
RESERVATIONS = Alterable(
    noun="reservation", path="/reservations", request="alter_reservations",
    form=OptionForm("qralter", RESERVATION_OPTIONS, _RESERVATION_ROWS), current=current_reservation_values,
)
ROUTES = [
    route
    for thing in (JOBS, RESERVATIONS)
    for route in (page_route(thing.page()), form_route(thing.page().path, alter_handler(thing), no_question))
]
