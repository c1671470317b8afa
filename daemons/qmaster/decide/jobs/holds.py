"""Holds: qhold, qrls and the -h of qalter and qresub (statements SO-13, SO-49, AJ-6).

Owns the three levels of rights (user holds by the owner, operator holds by operators, system holds by managers) and a message
for each task whose holds change. Source: qhold(1), qrls(1); O for texts and exit codes.
"""

from __future__ import annotations

from daemons.qmaster.decide.errors import RefusedError
from daemons.qmaster.decide.jobs.hold_rights import EXIT_RIGHTS, HOLD_CODES, check_hold_rights, hold_kinds
from daemons.qmaster.decision import Decision, World
from daemons.qmaster.permissions import is_operator
from daemons.qmaster.selection import Selected, may_control, missing, not_owner, select_jobs
from gridengine.errors import InvalidValueError
from gridengine.protocols.gdi.requests import Answer, Caller, HoldJobs
from gridengine.state.dependencies import unfinished
from gridengine.state.jobs import Hold, Job
from gridengine.state.machines.job import HoldsChanged
from gridengine.state.state import State
from gridengine.values.ranges import Ranges

EXIT_UNKNOWN, EXIT_NOT_OWNER = 3, 18
"""Exit codes of qhold and qrls."""
MAX_NAMED_JOBS = 5
"""Jobs that a hint names."""
SINGLE_LINES = 1000
"""Up to this number of tasks each task has a line; more tasks are listed by their ranges."""


def hold_jobs(state: State, request: HoldJobs, caller: Caller, world: World) -> Decision:
    """Set or clear holds of jobs and tasks."""
    decision = Decision()
    operator = is_operator(state, caller, world.admin_user)
    if any(code not in HOLD_CODES for code in request.holds):
        return decision.refuse(f'denied: unknown hold list "{request.holds}"', 7)
    try:
        selection = select_jobs(state, request.targets, request.tasks, request.users, "" if operator else caller.user)
    except InvalidValueError as fault:
        return decision.refuse(f"denied: {fault}")
    running: list[str] = []
    codes = request.holds.upper() if request.release else request.holds
    for target, matching in selection:
        if not matching:
            decision.answer.error(missing(target, request.users), EXIT_UNKNOWN)
        for selected in matching:
            if not may_control(selected.job, caller, operator):
                decision.answer.error(not_owner(selected.job, caller), EXIT_NOT_OWNER)
                continue
            try:
                changed = change_holds(state, selected, codes, caller, world, EXIT_RIGHTS)
                decision += changed
                running += [selected.job.label()] if not request.release and _holds_running(selected.job, changed) else []
            except RefusedError as refusal:
                decision.answer.error(refusal.text, refusal.status, refusal.hint)
    if running:
        jobs = f"job {', '.join(running[:MAX_NAMED_JOBS])}{' and others' if running[MAX_NAMED_JOBS:] else ''}"
        text = f"{jobs} runs on: the hold counts if it is to start again (qmod -sj suspends it)"
        decision.answer.answers.append(("hint", text))
    decision.answer.answers = list(dict.fromkeys(decision.answer.answers))  # a task that is named twice changes once
    return decision


def change_holds(
    state: State, selected: Selected, codes: str, caller: Caller, world: World, status: int = 1
) -> Decision:
    """Set (u s o), clear (U S O) or clear all (n) holds of tasks of a job. Raises RefusedError with this exit status."""
    job = selected.job
    tasks = unfinished(job) if selected.tasks is None else unfinished(job) & selected.tasks
    every = Hold.USER | Hold.OPERATOR | Hold.SYSTEM
    kinds_to_clear = every if "n" in codes else hold_kinds(code.lower() for code in codes if code.isupper())
    set_now = _difference(job, tasks, hold_kinds(codes) & ~kinds_to_clear)
    cleared = _existing(job, tasks, kinds_to_clear)
    check_hold_rights(state, caller, world, hold_kinds(codes) & ~kinds_to_clear, "set", status)
    # as in the original: to remove a hold, the caller needs the rights for all named kinds, with -h n for all three
    check_hold_rights(state, caller, world, kinds_to_clear if cleared else Hold(0), "remove", status)
    changed = Ranges()
    for part in (*set_now.values(), *cleared.values()):
        changed = changed | part
    if not changed:
        return Decision()
    event = HoldsChanged(job.id, changed, int(_kinds(set_now)), int(_kinds(cleared)))
    return Decision(Answer(answers=[("info", text) for text in _change_texts(job, changed)]), [event])


def _holds_running(job: Job, changed: Decision) -> bool:
    """Whether tasks with granted slots are among the tasks with changed holds."""
    held = [event.tasks for event in changed.events if isinstance(event, HoldsChanged)]
    return any(task.id in tasks for tasks in held for task in job.placed)


def _kinds(parts: dict[Hold, Ranges]) -> Hold:
    kinds = Hold(0)
    for kind in parts:
        kinds |= kind
    return kinds


def _difference(job: Job, tasks: Ranges, requested: Hold) -> dict[Hold, Ranges]:
    """Tasks that do not have the requested holds yet."""
    return {kind: tasks - job.holds.get(kind.value, Ranges()) for kind in requested}


def _existing(job: Job, tasks: Ranges, kinds_to_clear: Hold) -> dict[Hold, Ranges]:
    """Tasks that have the holds to clear."""
    parts = {kind: tasks & job.holds[kind.value] for kind in kinds_to_clear if kind.value in job.holds}
    return {kind: part for kind, part in parts.items() if part}


def _change_texts(job: Job, tasks: Ranges) -> list[str]:
    if not job.is_array:
        return [f"modified hold of job {job.id}"]
    if len(tasks) > SINGLE_LINES:
        return [f"modified hold of job-array tasks {tasks.summary()} of job {job.id}"]
    return [f"modified hold of job-array task {job.id}.{task_id}" for task_id in tasks]
