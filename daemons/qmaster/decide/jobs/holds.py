"""Holds: qhold, qrls and the -h of qalter and qresub (statements SO-13, SO-49, AJ-6).

Owns the three levels of rights (user holds by the owner, operator holds by operators, system holds by managers) and the
messages, one for each task whose holds change. Source: qhold(1), qrls(1); O for texts and exit codes.
"""

from __future__ import annotations

from daemons.qmaster.decide.jobs.hold_rights import EXIT_RIGHTS, LETTERS, check_hold_rights, hold_kinds
from daemons.qmaster.decide.refused import Refused
from daemons.qmaster.decision import Decision, World
from daemons.qmaster.permissions import is_operator
from daemons.qmaster.selection import Selected, may_control, missing, not_owner, select_jobs
from gridengine.errors import SyntaxFault
from gridengine.gdi.requests import Answer, Caller, HoldJobs
from gridengine.ranges import Ranges
from gridengine.state.dependencies import unfinished
from gridengine.state.jobs import Hold, Job
from gridengine.state.machines.job import HoldsChanged
from gridengine.state.state import State

EXIT_UNKNOWN, EXIT_NOT_OWNER = 3, 18
"""Exit codes of qhold and qrls."""
NAMED = 5
"""Jobs that a hint names."""
SINGLE_LINES = 1000
"""Up to so many tasks are named one by one, more of them by their ranges."""


def hold_jobs(state: State, request: HoldJobs, caller: Caller, world: World) -> Decision:
    """Set or clear holds of jobs and tasks."""
    decision = Decision()
    operator = is_operator(state, caller, world.admin_user)
    if any(letter not in LETTERS for letter in request.holds):
        return decision.refuse(f'denied: unknown hold list "{request.holds}"', 7)
    try:
        selection = select_jobs(state, request.targets, request.tasks, request.users, "" if operator else caller.user)
    except SyntaxFault as fault:
        return decision.refuse(f"denied: {fault}")
    running: list[str] = []
    letters = request.holds.upper() if request.release else request.holds
    for target, matching in selection:
        if not matching:
            decision.answer.error(missing(target, request.users), EXIT_UNKNOWN)
        for selected in matching:
            if not may_control(selected.job, caller, operator):
                decision.answer.error(not_owner(selected.job, caller), EXIT_NOT_OWNER)
                continue
            try:
                changed = changed_holds(state, selected, letters, caller, world, EXIT_RIGHTS)
                decision += changed
                running += [selected.job.label()] if not request.release and _holds_running(selected.job, changed) else []
            except Refused as refusal:
                decision.answer.error(refusal.text, refusal.status, refusal.hint)
    if running:
        jobs = f"job {', '.join(running[:NAMED])}{' and others' if running[NAMED:] else ''}"
        text = f"{jobs} runs on: the hold counts if it is to start again (qmod -sj suspends it)"
        decision.answer.answers.append(("hint", text))
    decision.answer.answers = list(dict.fromkeys(decision.answer.answers))  # a task that is named twice changes once
    return decision


def changed_holds(
    state: State, selected: Selected, letters: str, caller: Caller, world: World, status: int = 1
) -> Decision:
    """What letters of u s o (set), U S O (clear), n (clear all) do to tasks of a job. Raises Refused with this exit status."""
    job = selected.job
    tasks = unfinished(job) if selected.tasks is None else unfinished(job) & selected.tasks
    every = Hold.USER | Hold.OPERATOR | Hold.SYSTEM
    unwanted = every if "n" in letters else hold_kinds(letter.lower() for letter in letters if letter.isupper())
    set_now = _difference(job, tasks, hold_kinds(letters) & ~unwanted)
    cleared = _existing(job, tasks, unwanted)
    check_hold_rights(state, caller, world, hold_kinds(letters) & ~unwanted, "set", status)
    # as in the original: whoever removes a hold needs the right for all that the letters name, -h n all three
    check_hold_rights(state, caller, world, unwanted if cleared else Hold(0), "remove", status)
    changed = Ranges()
    for part in (*set_now.values(), *cleared.values()):
        changed = changed | part
    if not changed:
        return Decision()
    event = HoldsChanged(job.id, changed, int(_kinds(set_now)), int(_kinds(cleared)))
    return Decision(Answer(answers=[("info", text) for text in _modified(job, changed)]), [event])


def _holds_running(job: Job, changed: Decision) -> bool:
    """Whether tasks that have a place are among those whose holds were changed."""
    held = [event.tasks for event in changed.events if isinstance(event, HoldsChanged)]
    return any(task.id in tasks for tasks in held for task in job.placed)


def _kinds(parts: dict[Hold, Ranges]) -> Hold:
    kinds = Hold(0)
    for kind in parts:
        kinds |= kind
    return kinds


def _difference(job: Job, tasks: Ranges, wanted: Hold) -> dict[Hold, Ranges]:
    """Tasks that do not have the wanted holds yet."""
    return {kind: tasks - job.holds.get(kind.value, Ranges()) for kind in wanted}


def _existing(job: Job, tasks: Ranges, unwanted: Hold) -> dict[Hold, Ranges]:
    """Tasks that have the unwanted holds."""
    parts = {kind: tasks & job.holds[kind.value] for kind in unwanted if kind.value in job.holds}
    return {kind: part for kind, part in parts.items() if part}


def _modified(job: Job, tasks: Ranges) -> list[str]:
    if not job.is_array:
        return [f"modified hold of job {job.id}"]
    if len(tasks) > SINGLE_LINES:
        return [f"modified hold of job-array tasks {tasks.summary()} of job {job.id}"]
    return [f"modified hold of job-array task {job.id}.{task_id}" for task_id in tasks]
