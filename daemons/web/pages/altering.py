"""The pages that change a job or a reservation: the options of qalter or qralter, filled in as they are; what differs is sent.

Source: GU-10, GU-11; qalter(1); AR-125. Whether something can be changed so, the qmaster says.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from aiohttp import web

from daemons.runtime.qmaster_client import NoQmaster
from daemons.web.pages.forms import form_route, never
from daemons.web.pages.job_values import values_of
from daemons.web.pages.option_form import OptionForm
from daemons.web.pages.page import Answered, Data, Page, Visit, page_route, problem, visit_of
from daemons.web.pages.reservation_values import reservation_values
from daemons.web.pages.reservations import FIELDS, the_reservation
from daemons.web.pages.submitting import ROWS, form_again, job_request, judged
from gridengine.options.option import Option, options_of
from gridengine.options.reservation import RESERVATION_OPTIONS
from gridengine.options.submission import Submission
from gridengine.options.submit import SUBMIT_OPTIONS


class Alterable(NamedTuple):
    """Something that is altered in a form. `noun`: what one is called; `path`: the list of them; `request`: of GDI.

    `current(visit, number)`: the fields as they are now; raises Missing, NoQmaster.
    """

    noun: str
    path: str
    request: str
    form: OptionForm
    current: Callable[[Visit, str], Awaitable[dict[str, str]]]

    def page(self) -> Page:
        """Where the form is."""

        async def data(visit: Visit) -> Data:
            values = await self.current(visit, visit.parts["number"])
            return self.shown(visit.parts["number"], values, json.dumps(values))

        return Page(f"{self.path}/{{number}}/alter", "alter.html", data)

    def shown(self, number: str, values: Mapping[str, str], before: str) -> Data:
        """What the template needs; nothing has come of it yet. `before`: the values that the form was made of, as JSON."""
        form: Data = {"noun": self.noun, "thing": f"{self.path}/{number}", "number": number, "command_name": self.form.command}
        form |= {"groups": self.form.groups, "values": values, "before": before}
        return form | {"faults": {}, "answers": [], "command": "", "typed": False}


Rows = Mapping[str, tuple[tuple[str, str, str], ...]]


def _rows_of(command: str, table: tuple[Option, ...], rows: Rows, without: set[str]) -> Rows:
    """Those rows of a form whose options another command has, too."""
    known = options_of(command, table).keys() - without
    return {heading: tuple(row for row in of if row[0].removeprefix("soft ") in known) for heading, of in rows.items()}


def _with_context_as_a_whole(rows: Rows) -> Rows:
    """-sc instead of -ac, which cannot take a variable away."""
    return {heading: tuple((name.replace("-ac", "-sc"), label, text) for name, label, text in of) for heading, of in rows.items()}


class Changed(NamedTuple):
    """What somebody changed. `faults`: what is wrong, by field; then `changes` is of no use."""

    command: str
    changes: dict[str, Any]
    faults: dict[str, str]


async def job_as_it_is(visit: Visit, number: str) -> dict[str, str]:
    """The options of a job."""
    wish, _ = await job_request(visit, number)
    values = values_of(wish, visit.shared.zone)
    if "-ac" in values:
        values["-sc"] = values.pop("-ac")
    return values


async def reservation_as_it_is(visit: Visit, number: str) -> dict[str, str]:
    """The options of a reservation."""
    return reservation_values(the_reservation(visit, number), visit.shared.zone)


def altering(thing: Alterable) -> Answered:
    """Check what is changed, or change it: the form again with what is wrong at its fields, or what was done."""
    page = thing.page()

    async def alter(request: web.Request) -> web.Response:
        visit, fields = visit_of(request), await request.post()
        number = visit.parts["number"]
        values = {name: value for name, value in fields.items() if isinstance(value, str)}
        try:
            before = msgspec.json.decode(values.get("before", ""), type=dict[str, str])
        except (msgspec.DecodeError, RecursionError):
            return problem(visit, 400, "The form is not one of these pages.")
        changed = changes_of(thing.form, number, before, values, time.time())
        data = thing.shown(number, values, json.dumps(before)) | {"faults": changed.faults}
        if not changed.faults:
            data["command"] = changed.command
            data["answers"] = await _ask(visit, thing.request, number, changed.changes, "check" in values)
        return form_again(page, visit, data, request)

    return alter


def changes_of(form: OptionForm, number: str, before: Mapping[str, str], values: Mapping[str, str], now: float) -> Changed:
    """The fields that differ from what the form was made of, as the command would read them. now: epoch s."""
    target = Submission(form.command, {}, "", now)
    given = {name: values.get(name, "").strip() for name in form.fields}
    changed = {name: value for name, value in given.items() if value != before.get(name, "")}
    fields = form.read(changed, target, changed.keys())
    for name, value in changed.items():
        if not value and form.fields[name].kind == "flag":
            fields.faults[name] = f"{form.command} can set it, and cannot take it back"
    return Changed(shlex.join([form.command, *fields.words, number]), target.request, fields.faults)


async def _ask(visit: Visit, name: str, number: str, changes: dict[str, Any], check: bool) -> list[tuple[str, str]]:
    """Have the qmaster say what would come of it, or do it."""
    if not changes:
        return [("warning", "nothing is changed yet")]
    body: dict[str, Any] = {"targets": [number], "changes": changes}
    if "verify" in changes:
        body["verify"] = changes.pop("verify")
    try:
        if not check:
            return judged((await visit.shared.ask(name, body, visit.caller)).answers)
        answer = await visit.shared.ask("dry_run", {name: body}, visit.caller)
        told: Any = answer.data[name]["answers"] if isinstance(answer.data, dict) else answer.answers
        return judged([(level, f"It would be so: {text}" if level == "info" else text) for level, text in told])
    except NoQmaster as away:
        return [("error", str(away))]


_HAVE_BUTTONS = {"-h"}
_OF_OPERATORS = {"By operators": (("-ot", "Override tickets", "100"),)}
_JOB_ROWS = _with_context_as_a_whole(_rows_of("qalter", SUBMIT_OPTIONS, {**ROWS, **_OF_OPERATORS}, _HAVE_BUTTONS))
JOBS = Alterable("job", "/jobs", "alter_jobs", OptionForm("qalter", SUBMIT_OPTIONS, _JOB_ROWS), job_as_it_is)
_RESERVATION_ROWS = _rows_of("qralter", RESERVATION_OPTIONS, FIELDS, set())
RESERVATIONS = Alterable(
    *("reservation", "/reservations", "alter_reservations"),
    *(OptionForm("qralter", RESERVATION_OPTIONS, _RESERVATION_ROWS), reservation_as_it_is),
)
ROUTES = [
    route
    for thing in (JOBS, RESERVATIONS)
    for route in (page_route(thing.page()), form_route(thing.page().path, altering(thing), never))
]
