"""The page that changes a job: the options of qalter, filled in as they are, of which those are sent that somebody has changed.

Source: GU-11; qalter(1). Whether a job can be changed so, the qmaster says.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from aiohttp import web

from daemons.runtime.qmaster_link import NoQmaster
from daemons.web.pages.job_values import values_of
from daemons.web.pages.option_form import OptionForm
from daemons.web.pages.page import Data, Page, Visit, form_route, page_route, problem, visit_of
from daemons.web.pages.submitting import ROWS, form_again, job_request
from gridengine.options.option import options_of
from gridengine.options.submission import Submission
from gridengine.options.submit import SUBMIT_OPTIONS

_KNOWN = options_of("qalter", SUBMIT_OPTIONS).keys() - {"-h", "-ac"}
"""Holds have their own buttons; a context is set as a whole (-sc), since -ac cannot take a variable away."""
FORM = OptionForm(
    "qalter",
    SUBMIT_OPTIONS,
    {
        heading: tuple(
            (name.replace("-ac", "-sc"), label, example)
            for name, label, example in rows
            if name.removeprefix("soft ") in {*_KNOWN, "-ac"}
        )
        for heading, rows in ROWS.items()
    },
)


class Changed(NamedTuple):
    """What somebody changed. `faults`: what is wrong, by field; then `changes` is of no use."""

    command: str
    changes: dict[str, Any]
    faults: dict[str, str]


async def alter_form(visit: Visit) -> Data:
    """The form of a job, as it is now."""
    wish, _ = await job_request(visit, visit.parts["job"])
    values = values_of(wish, visit.shared.zone)
    if "-ac" in values:
        values["-sc"] = values.pop("-ac")
    return _data(visit.parts["job"], values, json.dumps(values))


async def alter_job(request: web.Request) -> web.Response:
    """Check what is changed, or change it: the form again with what is wrong at its fields, or what was done."""
    visit, fields = visit_of(request), await request.post()
    number = visit.parts["job"]
    values = {name: value for name, value in fields.items() if isinstance(value, str)}
    try:
        before = msgspec.json.decode(values.get("before", ""), type=dict[str, str])
    except (msgspec.DecodeError, RecursionError):
        return problem(visit, 400, "The form is not one of these pages.")
    changed = changes_of(number, before, values, time.time())
    data = _data(number, values, json.dumps(before)) | {"faults": changed.faults}
    if not changed.faults:
        data["command"] = changed.command
        data["answers"] = await _ask(visit, number, changed.changes, "check" in values)
    return form_again(ALTER, visit, data, request)


def changes_of(number: str, before: Mapping[str, str], values: Mapping[str, str], now: float) -> Changed:
    """The fields that differ from what the form was made of, as qalter would read them. now: epoch s."""
    target = Submission("qalter", {}, "", now)
    given = {name: values.get(name, "").strip() for name in FORM.fields}
    changed = {name: value for name, value in given.items() if value != before.get(name, "")}
    fields = FORM.read(changed, target, changed.keys())
    for name, value in changed.items():
        if not value and FORM.fields[name].kind == "flag":
            fields.faults[name] = "qalter can set it, and cannot take it back"
    return Changed(shlex.join(["qalter", *fields.words, number]), target.request, fields.faults)


async def _ask(visit: Visit, number: str, changes: dict[str, Any], check: bool) -> list[tuple[str, str]]:
    """Have the qmaster say what would come of it, or do it."""
    if not changes:
        return [("warning", "nothing is changed yet")]
    body: dict[str, Any] = {"targets": [number], "changes": changes}
    if "verify" in changes:
        body["verify"] = changes.pop("verify")
    try:
        if not check:
            return (await visit.shared.ask("alter_jobs", body, visit.caller)).answers
        answer = await visit.shared.ask("dry_run", {"alter_jobs": body}, visit.caller)
        told: Any = answer.data["alter_jobs"]["answers"] if isinstance(answer.data, dict) else answer.answers
        return [(level, f"It would be so: {text}" if level == "info" else text) for level, text in told]
    except NoQmaster as away:
        return [("error", str(away))]


def _data(number: str, values: Mapping[str, str], before: str) -> Data:
    form: Data = {"number": number, "groups": FORM.groups, "values": values, "before": before}
    return form | {"faults": {}, "answers": [], "command": "", "typed": False}


ALTER = Page("/jobs/{job}/alter", "alter.html", alter_form)
ROUTES = [page_route(ALTER), form_route(ALTER.path, alter_job)]
