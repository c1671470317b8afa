"""Submission: from the options of qsub, qrsh … to a job, or to a refusal with its reason.

Owns the making of a job (statements SB, SO). `job_fields` checks its options, `admission` its owner. Submission places no job:
`-w e|v|p` ask `gridengine.placement.verify`.
"""

from __future__ import annotations

import base64
import posixpath

from daemons.qmaster.decide.errors import RefusedError
from daemons.qmaster.decide.jobs.admission import (
    check_limits,
    check_project,
    check_user,
    default_project,
    department_of,
    new_user,
)
from daemons.qmaster.decide.jobs.hold_rights import check_hold_rights, hold_kinds
from daemons.qmaster.decide.jobs.job_fields import ALL, check_job_name, job_fields, task_range
from daemons.qmaster.decide.jobs.job_request import range_text
from daemons.qmaster.decide.jobs.validation import verify_job
from daemons.qmaster.decide.jobs.whole_jobs import check_whole_job
from daemons.qmaster.decision import Decision, Payload, World
from daemons.qmaster.permissions import is_admin_host, is_operator, is_submit_host, not_submit_host
from gridengine.protocols.gdi.requests import Caller, Submit
from gridengine.state.jobs import Job
from gridengine.state.machines.job import JobSubmitted
from gridengine.state.state import State
from gridengine.values.ranges import Ranges

MAX_JOB_ID = 9_999_999
_NAMES = {"qlogin": "QLOGIN", "qrlogin": "QRLOGIN", "qsh": "INTERACTIVE"}
"""Names of jobs that have no command."""


def submit(state: State, request: Submit, caller: Caller, world: World) -> Decision:
    """Accept or refuse a job."""
    try:
        check_rights(state, request, caller, world)
        job = make_job(state, request, caller, world, next_job_id(state))
        script = script_of(request)
        going, decision = verify_job(state, job, request.verify, world)
    except RefusedError as refusal:
        return Decision().refuse(refusal.text, refusal.status, refusal.hint)
    if not going:
        return decision
    decision += accept_job(state, job, Payload(script, request.environment), world.now)
    decision.answer.data = {"job_id": job.id, "tasks": range_text(job), "name": job.name}
    if request.hold_jid and not job.predecessors and not all(item.isdecimal() for item in request.hold_jid):
        named = f"-hold_jid {','.join(request.hold_jid)}"
        text = f"{named}: {job.owner} has no unfinished job of that name, so job {job.id} waits for none"
        decision.answer.answers.append(("hint", text))
    return decision


def accept_job(state: State, job: Job, payload: Payload, now: float) -> Decision:
    """Add a new job to the cell, and its owner to the users if necessary."""
    events = [*new_user(state, state.configuration(), job.owner, now), JobSubmitted(job)]
    return Decision(events=events, payloads={job.id: payload})


def make_job(state: State, request: Submit, owner: Caller, world: World, number: int) -> Job:
    """The job of a request with every name resolved; raises RefusedError."""
    configuration = state.configuration()
    check_user(state, configuration, owner)
    check_limits(state, configuration, owner)
    name = request.name or _default_name(request)
    check_job_name(name)
    fields = job_fields(state, request, owner, ALL, world)
    fields["project"] = request.project or default_project(state, configuration, owner.user)
    check_project(state, configuration, fields["project"], owner)
    if request.tasks:
        most = configuration.max_aj_tasks
        fields["array"], fields["task_range"] = task_range(request.tasks, most)
    pending = fields.get("array") or Ranges.of((1,))
    job = Job(
        id=number,
        name=name,
        owner=owner.user,
        uid=owner.uid,
        group=owner.group,
        gid=owner.gid,
        submit_time=world.now,
        submit_host=owner.host,
        department=department_of(state, owner.user, owner.group),
        pending=pending,
        holds={kind.value: pending for kind in hold_kinds(request.holds)},
        **{**fields, "mail_list": request.mail_list or (f"{owner.user}@{owner.host}",)},
    )
    check_whole_job(state, job)
    return job


def next_job_id(state: State, taken: int = 0) -> int:
    """The next number that no job has; after 9999999 the numbers continue at 1 (SB-8). `taken`: the last number that this
    request has used already."""
    number = taken + 1 if taken else state.next_job_id
    while True:
        if number > MAX_JOB_ID:
            number = 1
        if number not in state.jobs:
            return number
        number += 1


def check_rights(state: State, request: Submit, caller: Caller, world: World) -> None:
    """The rights for a request: submit hosts, -p, -ot, -dl, holds (SO-11, SO-13, SO-25, SO-27). Raises RefusedError."""
    if not (is_submit_host(state, caller.host) or is_admin_host(state, caller.host)):
        raise RefusedError(not_submit_host(caller))
    operator = is_operator(state, caller, world.admin_user)
    if request.priority > 0 and not operator:
        raise RefusedError("job rejected: a positive priority (-p) requires operator privileges")
    if request.override_tickets and not operator:
        raise RefusedError(f'denied: "{caller.user}" must be operator to give override tickets (-ot)')
    if request.deadline:
        check_deadline(state, caller)
    check_hold_rights(state, caller, world, hold_kinds(request.holds), "set")


def check_deadline(state: State, caller: Caller) -> None:
    """-dl is for members of deadlineusers (SO-11). Raises RefusedError."""
    userset = state.usersets.get("deadlineusers")
    if userset is None or userset.entries.isdisjoint((caller.user, f"@{caller.group}")):
        raise RefusedError(f'job rejected: the user "{caller.user}" is not a deadline initiation user (deadlineusers)')


def script_of(request: Submit) -> bytes | None:
    """The script as bytes, None for a program. Raises RefusedError."""
    if request.binary:
        return None
    if request.script is None:
        raise RefusedError("denied: a script or a command is needed")
    if request.script_encoding == "base64":
        try:
            script = base64.b64decode(request.script, validate=True)
        except ValueError:
            raise RefusedError("denied: the script arrived damaged") from None
    else:
        script = request.script.encode()
    if not script:
        raise RefusedError("job rejected: the script is empty")
    if b"\0" in script:
        raise RefusedError("denied: the script contains NUL bytes; submit it with -b y if it is a program")
    return script


def _default_name(request: Submit) -> str:
    """SB-9; the name of a qrsh command, which a shell will read, ends at a blank or a semicolon."""
    if request.kind in _NAMES:
        return _NAMES[request.kind]
    if request.kind == "qrsh" and request.binary:
        arguments = request.script_file.replace(";", " ").split()
        return posixpath.basename(arguments[0]) if arguments else "QRSH"
    return posixpath.basename(request.script_file) or "STDIN"
