"""Alteration: qalter (statements SO-42 … SO-44, DP-5, SO-2, SO-18, ST-20).

Owns the permitted changes, the rights for them, and the messages in their order. The code of submission checks the changed job.
Options for the start of a job take effect for tasks that are not running; consumables of running jobs cannot change. Source:
sge_submit(1) qalter; O for texts and exit codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from daemons.qmaster.decide.errors import RefusedError
from daemons.qmaster.decide.jobs.admission import check_project
from daemons.qmaster.decide.jobs.holds import change_holds
from daemons.qmaster.decide.jobs.job_fields import check_job_name, job_fields
from daemons.qmaster.decide.jobs.job_request import request_of
from daemons.qmaster.decide.jobs.resubmission import owner_of
from daemons.qmaster.decide.jobs.submission import check_deadline
from daemons.qmaster.decide.jobs.validation import verify_job
from daemons.qmaster.decide.jobs.whole_jobs import check_whole_job
from daemons.qmaster.decision import Decision, Payload, World
from daemons.qmaster.permissions import is_operator
from daemons.qmaster.selection import Selected, may_control, missing, not_owner, select_jobs
from gridengine.errors import InvalidValueError
from gridengine.protocols.gdi.requests import AlterJobs, Answer, Caller, Changes
from gridengine.protocols.gdi.shape_faults import shape_fault
from gridengine.state.jobs import Job, JobChanges
from gridengine.state.machines.job import JobChanged
from gridengine.state.state import State
from gridengine.values.field_names import FIELD_NAMES, PARAMETER_OF

EXIT_WHOLE_JOBS_ONLY = 4
NEVER = frozenset(field.name for field in FIELD_NAMES if field.fixed)
"""Fields that stay as they were submitted (SO-5, SO-42)."""

_ACTIONS = (
    ("priority", "sets scheduling priority of job {id} to {value}"),
    ("job_share", "sets job share of job {id} to {value}"),
    ("override_tickets", "sets override tickets of job {id} to {value}"),
)
_PLACEMENT_FIELDS = frozenset(("ar", "hard", "pe", "pe_range", "allocation_rule", "hard_queues", "master_queues", "checkpoint"))
"""Fields that a reservation must be able to fulfil."""
_LISTS = {"hold_jid": "predecessors", "hold_jid_ad": "array_predecessors"}


def alter_jobs(state: State, request: AlterJobs, caller: Caller, world: World) -> Decision:
    """Change jobs. A job that cannot be changed is reported; the other jobs are changed nevertheless."""
    decision = Decision()
    operator = is_operator(state, caller, world.admin_user)
    given = frozenset(request.changes)
    try:
        changes = msgspec.convert(request.changes, Changes)
        selection = select_jobs(state, request.targets, request.tasks, request.users, "" if operator else caller.user)
    except (InvalidValueError, msgspec.ValidationError) as error:
        return decision.refuse(f"denied: {shape_fault(error)}")
    if fixed := sorted(given & NEVER):
        return decision.refuse(f"denied: {', '.join(fixed)} of a job cannot be changed")
    if unverified := unverified_parameters(state, given):
        text = f"denied: changes of {unverified} are not allowed by jsv_allowed_mod"
        hint = "this cell's job submission verifier checks jobs when they are submitted: submit the job again, or ask a manager"
        return decision.refuse(text, hint=hint)
    for target, matching in selection:
        if not matching:
            decision.answer.error(missing(target, request.users))
        for selected in matching:
            if not may_control(selected.job, caller, operator):
                decision.answer.error(not_owner(selected.job, caller))
                continue
            try:
                decision += _alter_job(state, selected, changes, given, request.verify, caller, world)
            except RefusedError as refusal:
                decision.answer.error(refusal.text, refusal.status, refusal.hint)
    return decision


def unverified_parameters(state: State, given: frozenset[str]) -> str:
    """Changed parameters outside jsv_allowed_mod, if the cell has a server verifier; "" for none. Source: sge_conf(5); JV-5."""
    configuration = state.configuration()
    if not configuration.jsv_url:
        return ""
    return ", ".join(sorted({PARAMETER_OF.get(field, field) for field in given} - configuration.jsv_allowed_mod))


def _alter_job(
    state: State, selected: Selected, changes: Changes, given: frozenset[str], verify: str, caller: Caller, world: World
) -> Decision:
    """The change of one job, all of it or nothing. Raises RefusedError."""
    job = selected.job
    whole = given - {"holds"}
    if (whole or verify not in ("", "n")) and selected.tasks is not None:
        raise RefusedError("denied: the selected option works only on jobs and not on tasks", EXIT_WHOLE_JOBS_ONLY)
    _check_rights(state, job, changes, given, caller, world)
    fields = _fields(state, job, changes, given, world) if whole else {}
    going, decision, warning = _verify_change(state, job, fields, verify, world)
    if not going:
        decision += warning
        return decision
    holds = change_holds(state, selected, changes.holds, caller, world) if "holds" in given else Decision()
    if whole:
        actions = [f"{caller.user}@{caller.host} {action}" for action in _action_texts(job, changes, given)]
        texts = [*actions, *_modification_texts(state, job, fields, changes, given)]
        payloads = {job.id: _payload(job, changes, world)} if "environment" in given else {}
        answer = Answer(answers=[("info", text) for text in texts])
        decision += Decision(answer, [JobChanged(job.id, JobChanges(**fields))], payloads)
    decision += warning
    decision += holds
    return decision


def _verify_change(
    state: State, job: Job, fields: dict[str, Any], verify: str, world: World
) -> tuple[bool, Decision, Decision]:
    """-w for a changed job: whether to continue, the answer before the changes, and the answer after them. A job that runs or
    is held is not checked, as in the original."""
    runs = job.runs
    inside = fields.get("ar", job.ar) and not _PLACEMENT_FIELDS.isdisjoint(fields) and not runs
    implied, verify = not verify, verify or ("e" if inside else "n")  # AR-89
    if verify == "n":
        return True, Decision(), Decision()
    if runs or (job.holds and not implied):
        answer = Answer(answers=[("info", "verification: job is already running or is held")])
        return verify in "ew", Decision(answer), Decision()
    going, verdict = verify_job(state, msgspec.structs.replace(job, **fields), verify, world)
    if verdict.answer.answers:  # after a warning the change is made, and the exit code reports the warning
        verdict.answer.status = verdict.answer.status or int(verify == "w")
    return going, Decision(), verdict


def _check_rights(
    state: State, job: Job, changes: Changes, given: frozenset[str], caller: Caller, world: World
) -> None:
    operator = is_operator(state, caller, world.admin_user)
    if "priority" in given and changes.priority > job.priority and not operator:
        raise RefusedError(f'denied: "{caller.user}" must be operator to increase job priority')
    if "override_tickets" in given and not operator:
        raise RefusedError(f'denied: "{caller.user}" must be operator to change amount of override tickets')
    if "ar" in given and any(task.granted for task in job.tasks.values()):
        raise RefusedError(f"denied: cannot modify running job {job.id}: it stays in its advance reservation")  # AR-95, X-17
    if "deadline" in given and changes.deadline:
        check_deadline(state, caller)


def _fields(state: State, job: Job, changes: Changes, given: frozenset[str], world: World) -> dict[str, Any]:
    """The new values of the fields of the job. Raises RefusedError."""
    request = request_of(job)
    for name in given - {"holds", "context_changes", "environment"}:
        setattr(request, name, getattr(changes, name))
    owner = owner_of(job, job.submit_host)
    fields = job_fields(state, request, owner, given, world, job)
    if "name" in given:
        check_job_name(changes.name)
        fields["name"] = changes.name
    if "project" in given:
        check_project(state, state.configuration(), changes.project, owner)
    if "context_changes" in given:
        fields["context"] = _context(job.context, changes.context_changes)
    if "mail_list" in given and not changes.mail_list:
        fields["mail_list"] = (f"{job.owner}@{job.submit_host}",)
    if "hard" in fields and any(task.granted for task in job.tasks.values()):
        _check_consumables(state, job, fields["hard"])
    check_whole_job(state, msgspec.structs.replace(job, **fields))
    return fields


def _check_consumables(state: State, job: Job, hard: dict[str, str]) -> None:
    """Consumables that running tasks hold cannot change (SO-43). Raises RefusedError."""
    for name in sorted({*job.hard, *hard}):
        entry = state.complexes.get(name)
        if entry is not None and entry.is_consumable and job.hard.get(name) != hard.get(name):
            raise RefusedError(f'denied: job {job.id} is running, its request of the consumable "{name}" cannot change')


def _context(context: dict[str, str], changes: list[tuple[Any, str, str]]) -> dict[str, str]:
    """The context after -ac, -dc and -sc in the order in which they were given (SO-2)."""
    result = dict(context)
    for verb, variable, value in changes:
        if verb == "sc":
            result.clear()
        elif verb == "dc":
            result.pop(variable, None)
        else:
            result[variable] = value
    return result


def _payload(job: Job, changes: Changes, world: World) -> Payload:
    """The old script, with the exported variables replaced; other variables of the payload stay."""
    payload = world.payload(job.id)
    old = {name: value for name, value in payload.environment.items() if name not in job.environment_names}
    return Payload(payload.script, {**old, **changes.environment})


def _action_texts(job: Job, changes: Changes, given: frozenset[str]) -> list[str]:
    return [text.format(id=job.id, value=getattr(changes, name)) for name, text in _ACTIONS if name in given]


def _modification_texts(
    state: State, job: Job, fields: dict[str, Any], changes: Changes, given: frozenset[str]
) -> Iterator[str]:
    """The texts on the other changes, a line for each attribute; for predecessors also the list of existing jobs."""
    for name, noun in ((field.name, field.noun) for field in FIELD_NAMES):
        if name not in given or not noun:
            continue
        yield f"modified {noun} of job {job.id}"
        if name in _LISTS:
            gone = [item for item in getattr(changes, name) if item.isdecimal() and int(item) not in state.jobs]
            yield f"   blocking jobs: {_listed(fields[_LISTS[name]])}"
            yield f"   exited jobs:   {_listed(gone)}"


def _listed(items: list[Any]) -> str:
    return ",".join(map(str, items)) or "NONE"


