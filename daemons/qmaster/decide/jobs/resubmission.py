"""Resubmission: copies of jobs (qresub; statement SO-45).

Owns the rules: owners copy their own jobs, managers all jobs; a copy has everything of the original, script and environment
included, except its number, its holds and its past. A copy of an array may have a part of the tasks (adr/0285). Source:
sge_submit(1) qresub; O for texts and exit codes.
"""

from __future__ import annotations

from msgspec.structs import replace

from daemons.qmaster.decide.errors import RefusedError
from daemons.qmaster.decide.jobs.hold_rights import check_hold_rights, hold_kinds
from daemons.qmaster.decide.jobs.job_request import range_text, request_of
from daemons.qmaster.decide.jobs.submission import accept_job, make_job, next_job_id, script_of
from daemons.qmaster.decision import Decision, Payload, World
from daemons.qmaster.permissions import is_admin_host, is_manager, is_submit_host, not_submit_host
from gridengine.errors import InvalidValueError
from gridengine.protocols.gdi.bounds import TaskNumbers
from gridengine.protocols.gdi.requests import Caller, RequestBody, ResubmitJobs, Submit
from gridengine.state.jobs import KEPT_JOBS, Job
from gridengine.state.state import State
from gridengine.values.ranges import Ranges

EXIT_NOT_COPIED = 4


class VerifiedCopy(RequestBody):
    """`submit_request`: a copy of a job of `owner` changed by the server's verifier. `tasks`: as in `ResubmitJobs`. Never on
    the wire."""

    submit_request: Submit
    owner: Caller
    tasks: TaskNumbers = ""


def resubmit_jobs(state: State, request: ResubmitJobs, caller: Caller, world: World) -> Decision:
    """Copy jobs. A job that cannot be copied is reported; the other jobs are copied nevertheless."""
    decision = Decision()
    if not (is_submit_host(state, caller.host) or is_admin_host(state, caller.host)):
        return decision.refuse(not_submit_host(caller), EXIT_NOT_COPIED)
    last = 0
    for target in request.targets:
        try:
            original, copied = requested_copy(state, target, request, caller, world)
            job = make_job(state, copied, owner_of(original, caller.host), world, next_job_id(state, last))
            job = _with_tasks(job, request.tasks)
        except RefusedError as refusal:
            decision.answer.error(refusal.text, EXIT_NOT_COPIED)
            continue
        last = job.id
        decision += _accept(state, job, world.payload(original.id), world.now)
    return decision


def requested_copy(
    state: State, target: str, request: ResubmitJobs, caller: Caller, world: World
) -> tuple[Job, Submit]:
    """A job that the caller may copy, and the request for the copy, without its payload. Raises RefusedError."""
    check_hold_rights(state, caller, world, hold_kinds(request.holds), "set")
    original = _original(state, target, request.ended, caller, world)
    copied = request_of(original)
    copied.holds = request.holds
    copied.session = ""  # no program waits for the copy
    return original, copied


def accept_copy(state: State, request: VerifiedCopy, caller: Caller, world: World) -> Decision:
    """Make a copy as changed by a verifier; the rights of the caller were checked before."""
    try:
        job = _with_tasks(make_job(state, request.submit_request, request.owner, world, next_job_id(state)), request.tasks)
        payload = Payload(script_of(request.submit_request), request.submit_request.environment)
    except RefusedError as refusal:
        return Decision().refuse(refusal.text, EXIT_NOT_COPIED)
    return _accept(state, job, payload, world.now)


def _with_tasks(job: Job, tasks: str) -> Job:
    """The job with the given tasks alone, "" for all tasks. `array` stays, so tasks still see the first and
    the last number of the original. Raises RefusedError."""
    if not tasks:
        return job
    try:
        chosen = Ranges.parse(tasks)
    except InvalidValueError as fault:
        raise RefusedError(f"job rejected: {fault}") from None
    if missing := chosen - (job.array or Ranges()):
        raise RefusedError(f"job rejected: the original job has no tasks {missing.summary()}")
    return replace(job, pending=chosen, holds=dict.fromkeys(job.holds, chosen))


def _accept(state: State, job: Job, payload: Payload, now: float) -> Decision:
    decision = accept_job(state, job, payload, now)
    tasks = range_text(job) if job.array is None or job.pending == job.array else job.pending.summary()
    kind, label = ("Your job-array", f"{job.id}.{tasks}") if tasks else ("Your job", str(job.id))
    decision.answer.info(f'{kind} {label} ("{job.name}") has been submitted')
    return decision


def _original(state: State, target: str, ended: bool, caller: Caller, world: World) -> Job:
    """The job to copy. An ended job can be copied only if all of its data is still known. Raises RefusedError."""
    head, dot, _ = target.partition(".")
    number = int(head) if head.isdecimal() else 0
    job = state.jobs.get(number) or (state.ended_job(number) if ended else None)
    if job is None and ended and number:
        raise RefusedError(f"the script of job {number} is no longer known: that of the last {KEPT_JOBS} ended jobs is kept")
    if job is None:
        raise RefusedError(f'job "{target}" does not exist')
    if dot:
        raise RefusedError("denied: the selected option works only on jobs and not on tasks")
    if job.owner != caller.user and not is_manager(state, caller, world.admin_user):
        raise RefusedError(f"job rejected: {caller.user}@{caller.host} is not allowed to resubmit jobs of user {job.owner}")
    return job


def owner_of(job: Job, host: str) -> Caller:
    """The owner of a job, as a caller on a host."""
    return Caller(job.owner, job.uid, job.group, job.gid, host)
