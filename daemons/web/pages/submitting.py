"""The page that submits a job: a short form in plain units (`plain_request`), all options of qsub behind it, templates, a check
while the visitor types, and the equivalent command.

Owns the selection and layout of options in the form. The table of `gridengine.options` defines the options, as for qsub itself;
the qmaster decides on the job. Source: GU-5, GU-11; qsub(1).
"""

from __future__ import annotations

import asyncio
import pwd
import shlex
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from aiohttp import hdrs, web
from multidict import MultiMapping

from daemons.runtime.qmaster_client import NoQmasterError
from daemons.web.pages.forms import Question, form_route, no_question
from daemons.web.pages.option_form import OptionForm, fold
from daemons.web.pages.option_values import program_of, values_of
from daemons.web.pages.outlook import outlook
from daemons.web.pages.page import Data, NotFoundError, Page, Visit, html, page_route, problem, render, visit_of
from daemons.web.pages.plain_request import FIELDS, plain_fields, plain_options
from daemons.web.pages.preferences import keep
from daemons.web.pages.templating import templates
from daemons.web.preferences import PreferenceError
from daemons.web.site_templates import SiteTemplate, site_templates
from gridengine.options.option import OptionError, split_words
from gridengine.options.script_options import PREFIX, script_settings
from gridengine.options.submit import SUBMIT_OPTIONS
from gridengine.options.submit_folds import Submission
from gridengine.placement.verify import FOUND, NOT_FOUND
from gridengine.protocols.gdi.requests import Answer, Submit

ROWS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "Job": (
        ("-N", "Name", "simulate"),
        ("-t", "Tasks of an array", "1-100"),
        ("-tc", "Max. concurrent tasks", "10"),
        ("-P", "Project", ""),
        ("-p", "Priority", "0"),
        ("-js", "Job share", "0"),
        ("-ar", "Reservation", "17"),
        ("-comment", "Note", ""),
    ),
    "Placement": (
        ("-l", "Resource requests", "h_vmem=4G,h_rt=1:00:00"),
        ("soft -l", "Soft resource requests", "arch=lx-amd64"),
        ("-q", "Queues", "all.q,*@@big"),
        ("soft -q", "Preferred queues", "fast.q"),
        ("-masterq", "Queues for the master task", "all.q@node1"),
        ("-pe", "Parallel environment and slots", "mpi 4-8"),
        ("-alloc", "Allocation rule", "$fill_up 8"),
        ("-binding", "Binding to cores", "linear:2"),
        ("-R", "Reserve resources", ""),
    ),
    "When": (
        ("-a", "Not before", "202612241800"),
        ("-dl", "Deadline", "202612311200"),
        ("-hold_jid", "After jobs", "12,build*"),
        ("-hold_jid_ok", "After jobs that succeed", "12"),
        ("-hold_jid_fail", "After jobs that fail", "12"),
        ("-hold_jid_ad", "After tasks of arrays", "12"),
        ("-now", "Start immediately or fail", ""),
        ("-h", "Submit with a user hold", ""),
    ),
    "Files and variables": (
        ("-wd", "Directory", "/home/alice/project"),
        ("-o", "Output", "/home/alice/logs"),
        ("-e", "Error output", "/home/alice/logs"),
        ("-j", "Merge stderr into stdout", ""),
        ("-i", "Input", ""),
        ("-S", "Shell", "/bin/bash"),
        ("-shell", "Run through a shell", ""),
        ("-v", "Variables", "CASE=3,MODE=fast"),
    ),
    "Notifications and restart": (
        ("-r", "Rerunnable", ""),
        ("-notify", "Signal before suspend/kill", ""),
        ("-ckpt", "Checkpointing environment", ""),
        ("-c", "Checkpoint when", "sx"),
        ("-m", "Mail when", "ae"),
        ("-M", "Mail to", ""),
        ("-A", "Account", ""),
        ("-ac", "Context", "step=3"),
    ),
}
"""Under each heading: option, label, example of a value."""
SHORT_OPTIONS = ("-N", "-wd")
"""Options in the short form."""
_MOST_REASONS = 10
"""Maximum of reasons why a job cannot run."""
FORM = OptionForm("qsub", SUBMIT_OPTIONS, ROWS)


class FilledForm(NamedTuple):
    """A filled-in form. `arguments`: of the command line that submits the same job. `faults`: errors by field; with faults,
    `request` is incomplete."""

    arguments: list[str]
    request: dict[str, Any]
    faults: dict[str, str]

    @property
    def command(self) -> str:
        """The equivalent command."""
        return shlex.join(["qsub", *self.arguments])


async def submit_form(visit: Visit) -> Data:
    """The form, filled in from the address: options by their names, `script`, `command`, the job `from`, the site's template
    `template`, or the visitor's own template `own`."""
    kept = visit.shared.preferences.of(visit.caller)
    offered = await asyncio.to_thread(site_templates, visit.shared.cell.common)
    data: Data = {"groups": _LONG_GROUPS, "values": visit.query, "faults": {}, "answers": [], "command": "", "outlook": None}
    data |= {"job": None, "typed": False, "plain": plain_fields(visit.shared.mirror.state, visit.caller)}
    data |= {"site_templates": offered, "own_templates": kept.templates}
    if name := visit.parameter("template"):
        data["values"] = {**visit.query, "script": _script_of(name, offered)}
    if name := visit.parameter("own"):
        if (template := kept.template(name)) is None:
            raise NotFoundError(f"You have no template {name}")
        data["values"] = template.values
    if number := visit.parameter("from"):
        request, whole = await job_request(visit, number)
        data["values"] = values_of(request, visit.shared.zone) | program_of(request) | dict(visit.query)
        if not whole:
            data["answers"] = [("warning", f"script and variables of job {number} are its owner's: they are not copied")]
    return data


async def job_request(visit: Visit, number: str) -> tuple[Submit, bool]:
    """The submit request of a job, and whether script and variables are included. Raises NotFoundError, NoQmasterError."""
    if number.isascii() and number.isdigit() and len(number) < 8:
        data: Any = (await visit.shared.ask("job_request", {"job": int(number)}, visit.caller)).data
        if data:
            return msgspec.convert(data["request"], Submit), data["whole"]
    raise NotFoundError(f"There is no job {number}")


async def submit_job(request: web.Request) -> web.Response:
    """Check or submit a form; answer with the form: errors at their fields, or the result."""
    visit, fields = visit_of(request), await request.post()
    values = {name: value for name, value in fields.items() if isinstance(value, str)}
    faults = await _take_upload(fields.get("upload"), values)
    plain = plain_options(visit.shared.mirror.state, visit.caller, values)
    filled = read_form(plain.values, time.time())
    faults |= plain.faults | filled.faults
    data = await submit_form(visit) | {"values": values, "faults": faults}
    if "save" in values:
        await _save_template(visit, values, data)
    elif not faults:
        data["command"] = filled.command
        await _send(visit, filled, "check" in values, _is_typed(request), data)
    return form_response(SUBMIT, visit, data, request)


async def _take_upload(upload: object, values: dict[str, str]) -> dict[str, str]:
    """Put an uploaded script in the place of the typed one. Returns errors by field."""
    if not isinstance(upload, web.FileField) or not upload.filename:
        return {}
    try:
        values["script"] = (await asyncio.to_thread(upload.file.read)).decode()
    except UnicodeDecodeError:
        return {"upload": "the file is not a text in UTF-8"}
    return {}


def _script_of(name: str, offered: list[SiteTemplate]) -> str:
    """The script of a site's template. Raises NotFoundError."""
    for each in offered:
        if each.name == name:
            return each.script
    raise NotFoundError(f"There is no template {name}")


async def _save_template(visit: Visit, values: Mapping[str, str], data: Data) -> None:
    """Save the form as a template of the visitor."""
    known = {*FORM.fields, *FIELDS, "script", "command"}
    given = {name: value for name, value in values.items() if value.strip() and name in known}
    name = values.get("template_name", "").strip()
    try:
        await keep(visit, visit.shared.preferences.of(visit.caller).with_template(name, given))
    except PreferenceError as refusal:
        data["faults"] = {"template_name": str(refusal)}
        return
    data |= {"faults": {}, "own_templates": visit.shared.preferences.of(visit.caller).templates}
    data["answers"] = [("info", f"the form is saved as the template {name}")]


async def delete_template(request: web.Request) -> web.Response:
    """Delete a template of the visitor."""
    visit, fields = visit_of(request), await request.post()
    try:
        await keep(visit, visit.shared.preferences.of(visit.caller).without_template(str(fields.get("name", ""))))
    except PreferenceError as refusal:
        return problem(visit, 503, "The template is not deleted.", f"{refusal}.")
    return web.Response(status=303, headers={hdrs.LOCATION: SUBMIT.path})


def ask_about_template(visit: Visit, fields: MultiMapping[Any]) -> Question:
    """Ask to confirm the deletion of a template."""
    return Question(f"Delete the template {fields.get('name', '')}?", "Delete", ["This cannot be undone."])


def form_response(page: Page, visit: Visit, data: Data, request: web.Request) -> web.Response:
    """The sent form with its result; only the result while the visitor types."""
    if _is_typed(request):
        return html(templates().get_template("outcome.html").render(data | {"typed": True}))
    return html(render(page, visit, data, alone="HX-Request" in request.headers))


def _is_typed(request: web.Request) -> bool:
    """Whether the page sends the form by itself, while the visitor types."""
    return request.headers.get("HX-Target", "").endswith("#outcome")


async def _send(visit: Visit, filled: FilledForm, check: bool, typed: bool, data: Data) -> None:
    """Send a job to the qmaster, to check or to submit it."""
    host = visit.shared.cell.own_name()
    body = filled.request | await asyncio.to_thread(_origin_fields, visit.caller.user, host, filled.request)
    if check:
        body["verify"] = "v"
    try:
        answer = await visit.shared.ask("submit", body, visit.caller)
    except NoQmasterError as away:
        answer = Answer(1, [("error", str(away))])
    data["answers"] = grade_answers(answer.answers) if check else answer.answers
    is_cheap = len(visit.shared.mirror.state.instances) <= MAX_INSTANCES_TYPED
    data["outlook"] = outlook(visit, body) if check and (is_cheap or not typed) else None
    if data["outlook"] is not None and data["outlook"].tone != "ok":  # no green line below the reasons why a job has to wait
        others = (each for each in data["answers"] if FOUND not in each[1])
        data["answers"] = [("warning" if level == "info" else level, text) for level, text in others]
    if isinstance(answer.data, dict) and not check:
        tasks = f".{answer.data['tasks']}" if answer.data.get("tasks") else ""
        data["job"] = answer.data["job_id"]
        data["answers"] = [*answer.answers, ("info", f"Your job {data['job']}{tasks} has been submitted")]


def grade_answers(answers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The answers to a check, with their levels. A job that cannot run is a warning here, where the commands print a plain line:
    the verdict first, then the first reasons.
    """
    verdict = [text for _, text in answers if NOT_FOUND in text]
    if not verdict:
        return answers
    reasons = [("warning" if level == "info" else level, text) for level, text in answers if NOT_FOUND not in text]
    more = [("warning", f"and {len(reasons) - _MOST_REASONS:,} more reasons")] if len(reasons) > _MOST_REASONS else []
    return [*(("warning", text) for text in verdict), *reasons[:_MOST_REASONS], *more]


def read_form(values: Mapping[str, str], now: float) -> FilledForm:
    """Parse a form as qsub does. now: epoch s."""
    target = Submission("qsub", {}, "", now)
    script = values.get("script", "").replace("\r\n", "\n")
    faults: dict[str, str] = {}
    if script:
        try:
            for settings in script_settings(script.encode(), PREFIX, "script", FORM.options):
                fold(target, settings)
        except OptionError as error:
            faults["script"] = error.text
    target.level = 1
    given = FORM.read(values, target)
    faults |= given.faults
    operands = _operands(values, script, target.request, faults)
    return FilledForm([*given.arguments, *operands], target.request, faults)


def _operands(values: Mapping[str, str], script: str, request: dict[str, Any], faults: dict[str, str]) -> list[str]:
    """Put the script or command with its arguments into the request; return the operands of qsub."""
    try:
        arguments = split_words(values.get("command", ""))
    except OptionError as error:
        faults["command"] = error.text
        return []
    if script.strip():
        request |= {"script": script, "script_file": "STDIN", "args": arguments}
        return ["script.sh", *arguments]
    if not arguments:
        faults["command"] = "a script or a command is required"
        return []
    request |= {"binary": True, "script_file": arguments[0], "args": arguments[1:]}
    return ["-b", "y", *arguments]


def _origin_fields(user: str, host: str, request: Mapping[str, Any]) -> dict[str, Any]:
    """The origin of the job as qsub on this host reports it: the directory is the user's home by default."""
    try:
        known = pwd.getpwnam(user)
        home, shell = known.pw_dir, known.pw_shell
    except KeyError:
        home, shell = "/", "/bin/sh"
    cwd = str(request.get("cwd") or home)
    origin = {"HOME": home, "LOGNAME": user, "SHELL": shell, "HOST": host, "WORKDIR": cwd}
    variables = {f"SGE_O_{name}": value for name, value in origin.items()}
    environment = {**variables, **request.get("environment", {})}
    return {"environment": environment, "home": home, "login_shell": shell, "submit_cwd": cwd}


MAX_INSTANCES_TYPED = 1000
"""Queue instances up to which the outlook is also computed while the visitor types; in larger cells by *Check* alone."""
_LONG_GROUPS = {
    heading: [field for field in fields if field.name not in SHORT_OPTIONS] for heading, fields in FORM.groups.items()
}
SUBMIT = Page("/submit", "submit.html", submit_form)
ROUTES = [
    page_route(SUBMIT),
    form_route("/submit", submit_job, no_question),
    form_route("/submit/templates/delete", delete_template, ask_about_template),
]
