"""qexplain: pending reasons of jobs, the smallest change that lets them start, expected starts, priorities, and histories.

Beyond Grid Engine; see `qstat -j`.
"""


from clients import program
from gridengine.options.explain import EXPLAIN_OPTIONS
from gridengine.values.printable import printable
from gridengine.values.quantities import iso_date, long_date

#: events of the log as people read them; -json has the names of the log
EVENTS = {
    "JobSubmitted": "submitted",
    "JobChanged": "changed",
    "HoldsChanged": "hold changed",
    "PendingTasksDeleted": "pending tasks deleted",
    "JobErrorChanged": "error state changed",
    "TaskDispatched": "dispatched",
    "TaskStarted": "started",
    "TaskUsageRecorded": "usage recorded",
    "TaskCheckpointed": "checkpoint made",
    "CommandApplied": "command carried out",
    "NicenessApplied": "priority set on the host",
    "MasterEnded": "master task ended",
    "TaskEnded": "ended",
    "TaskRequeued": "requeued",
    "TaskErrorCleared": "error state cleared",
    "TaskDeletionRequested": "deletion requested",
    "TaskReschedulingRequested": "rescheduling requested",
    "TaskSuspensionChanged": "suspension changed",
    "SlaveRequested": "slave task requested",
    "SlaveCommandApplied": "slave task: command",
    "SlaveUsageRecorded": "slave task: usage",
    "SlaveEnded": "slave task ended",
}

#: option -> what the request `forecast` is about
FORECASTS = {"priority": "order", "when": "start", "duration": "duration"}

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any



def qexplain(arguments: list[str]) -> int:
    """Explain the jobs named by number, name or pattern; exit 1 if a named job does not exist."""
    options, operands = program.simple_options("qexplain", EXPLAIN_OPTIONS, arguments)
    targets = [target for operand in operands for target in operand.split(",") if target]
    if not targets:
        return program.report_misuse("qexplain", "qexplain: no jobs are named")
    chosen = [name for name in ("story", *FORECASTS) if options.get(name)]
    if len(chosen) > 1:
        return program.report_misuse("qexplain", f"qexplain: -{chosen[0]} and -{chosen[1]} exclude each other")
    if chosen == ["story"]:
        return _show_histories(targets, bool(options.get("json")))
    if chosen:
        return _show_forecasts(FORECASTS[chosen[0]], targets, bool(options.get("json")))
    data = program.read("explain_job", {"jobs": targets})
    if options.get("json"):
        from clients.render import json_records

        program.print_json(json_records.explanations(data))
    else:
        program.show(f"{line}\n" for job in printable(data["jobs"]) for line in explanation_lines(job))
    return _report_unknown(data["unknown"])


def _report_unknown(unknown: "list[str]") -> int:
    """Report the targets that match no job; exit 1 if there are any."""
    for target in unknown:
        program.print_error(f'job "{target}" does not exist')
    if unknown:
        program.print_end_hints(unknown)
    return 1 if unknown else 0


def _show_forecasts(about: str, targets: "list[str]", json: bool) -> int:
    """Print the order, the expected starts or the run times of jobs; exit 1 if a named job does not exist."""
    from clients.render import forecasts

    data = program.read("forecast", {"about": about, "jobs": targets})
    if json:
        program.print_json(forecasts.forecasts_json(data))
        return _report_unknown(data["unknown"])
    is_single = len(data["jobs"]) == 1
    for job in printable(data["jobs"]):
        if about == "start":
            lines = forecasts.start_lines(job, whole=is_single)
        else:
            lines = forecasts.duration_lines(job) if about == "duration" else forecasts.order_lines(job)
        program.show(f"{line}\n" for line in lines)
    return _report_unknown(data["unknown"])


def _show_histories(targets: "list[str]", json: bool) -> int:
    """Print the histories of jobs; exit 1 if a job has no history."""
    for target in targets:
        if not target.isdecimal() or len(target) > 7:
            program.print_error(f'-story expects job numbers, "{target}" is no job number')
            return 1
    data = program.read("job_story", {"jobs": [int(target) for target in targets]})
    if json:
        from clients.render import json_records

        program.print_json(json_records.histories(data))
    else:
        program.show(f"{line}\n" for job in printable(data["jobs"]) for line in history_lines(job))
    for target in data["unknown"]:
        program.print_error(f'no history of job "{target}"')
    return 1 if data["unknown"] else 0


def history_lines(job: "dict[str, Any]") -> "Iterator[str]":
    """The lines of a job's history."""
    yield f"job {job['id']}{', latest events' if job['cut'] else ''}"
    many = any(task > 1 for _, task, _, _ in job["events"])
    for time, task, event, cause in job["events"]:
        event_text = EVENTS.get(event, event)
        event_text = f"{event_text} (task {task})" if many and task else event_text
        yield f"  {iso_date(time)}  {f'{event_text:<26} {cause}' if cause else event_text}"


def explanation_lines(job: "dict[str, Any]") -> "Iterator[str]":
    """The lines about one job."""
    head = f'job {job["id"]} ("{job["name"]}")'
    yield from _pending_lines(job, head) if job["pending"] else (f"{head} is not pending",)
    for text in job["tasks"]:
        yield f"  {text}"


def _pending_lines(job: "dict[str, Any]", head: str) -> "Iterator[str]":
    """The lines about the pending tasks."""
    tasks = f", tasks {job['pending']}" if job["array"] else ""
    if not job["causes"]:
        yield f"{head} is pending{tasks}: it waits for the next scheduling cycle"
        return
    state = "is in error state" if job["causes"][0]["kind"] == "error" and not job["array"] else "is pending"
    yield f"{head} {state}{tasks}, because"
    for number, cause in enumerate(job["causes"], start=1):
        yield f"  {number}. {cause['text']}"
        reasons = cause.get("reasons", [])
        for reason in reasons:
            yield f"       {reason}"
        if cause.get("count", 0) > len(reasons):
            yield f"       and {cause['count'] - len(reasons)} more"
        holders = cause.get("holders", [])
        if holders:
            yield "     in use by:"
        for holder in holders:
            yield f"       {holder}"
        if cause.get("holder_count", 0) > len(holders):
            yield f"       and {cause['holder_count'] - len(holders)} more"
    change = job.get("change")
    if change:
        yield f"  it could {'start now' if change.get('now') else 'run'} with"
        for text in change["texts"]:
            yield f"       {text}"
        if change.get("options"):
            yield f"       qalter {change['options']} {job['id']}"
    if job.get("expected_start"):
        yield f"  expected start: {long_date(job['expected_start'])} at the latest, if no job of higher priority comes"
