"""squeue: pending and running jobs. Source: squeue(1) of 22.05; docs/slurm.md."""

import time

from clients import program
from clients.expected_starts import expected_starts
from clients.slurm import layout
from clients.slurm.arguments import SlurmError, SlurmOption, flag, read_options
from clients.slurm.command import run
from clients.slurm.jobs import STATES, JobChoice, SlurmJob, add_me, add_states, parse_target, read_jobs
from clients.slurm.values import date, duration

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable

_FORM = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
_START_FORM = "%.18i %.9P %.8j %.8u %.2t %.19S %.6D %R"
"""Of --start. 22.05 has the column SCHEDNODES before the last column; nodes are not known before the start."""


class JobListing(JobChoice):
    """The jobs to list, and their format."""

    def __init__(self) -> None:
        super().__init__()
        self.form, self.heading, self.each_task, self.start = "", True, False, False


def _list(name: str) -> "Callable[[JobListing, str], None]":
    return lambda options, value: getattr(options, name).extend(value.split(","))


def _set(name: str, value: bool) -> "Callable[[JobListing, str], None]":
    return lambda options, _: setattr(options, name, value)


ROWS = (
    SlurmOption("--user -u", _list("users")),
    flag("--me", add_me),
    SlurmOption("--jobs --job -j", _list("jobs"), optional=False),
    SlurmOption("--name -n", _list("names")),
    SlurmOption("--partition -p", _list("partitions")),
    SlurmOption("--states -t", add_states),
    flag("--noheader -h", _set("heading", False)),
    flag("--start", _set("start", True)),
    flag("--array -r", _set("each_task", True)),
    SlurmOption("--format -o", lambda options, value: setattr(options, "form", value)),
)
_NOW = time.time()
COLUMNS = {
    "i": ("JOBID", lambda job: job.label),
    "A": ("JOBID", lambda job: str(job.number)),
    "F": ("ARRAY_JOB_ID", lambda job: str(job.number)),
    "K": ("ARRAY_TASK_ID", lambda job: job.task_list),
    "P": ("PARTITION", lambda job: job.queue),
    "j": ("NAME", lambda job: job.name),
    "u": ("USER", lambda job: job.user),
    "t": ("ST", lambda job: job.state),
    "T": ("STATE", lambda job: STATES[job.state]),
    "M": ("TIME", lambda job: duration(_NOW - job.start if job.start else 0)),
    "l": ("TIME_LIMIT", lambda job: duration(job.limit)),
    "L": ("TIME_LEFT", lambda job: duration(_left(job))),
    "D": ("NODES", lambda job: str(_nodes(job))),
    "C": ("CPUS", lambda job: str(job.slots)),
    "N": ("NODELIST", lambda job: job.hosts),
    "r": ("REASON", lambda job: job.reason),
    "R": ("NODELIST(REASON)", lambda job: job.hosts or f"({job.reason})"),
    "S": ("START_TIME", lambda job: date(job.start)),
    "p": ("PRIORITY", lambda job: f"{job.priority:.14f}"),
    "Q": ("PRIORITY", lambda job: str(int(job.priority * 1_000_000))),
}


def _left(job: SlurmJob) -> "float | None":
    if job.limit is None or not job.start:
        return job.limit
    return job.limit - (_NOW - job.start)


def _nodes(job: SlurmJob) -> int:
    return job.node_count or 1


def squeue(arguments: list[str]) -> int:
    """Print the jobs; the exit status."""
    options = JobListing()
    if rest := read_options(arguments, ROWS, options):
        raise SlurmError(f"Unrecognized option: {rest[0]}")
    jobs = read_jobs()
    requested = [parse_target(target) for target in options.jobs]
    if len(requested) == 1 and not any(job.number == requested[0][0] for job in jobs):
        program.print_error("slurm_load_jobs error: Invalid job id specified")
        return 1
    shown = [job for job in jobs if options.selects(job) and (not requested or any(_matches(job, *one) for one in requested))]
    if options.start:
        shown = _pending(shown)
    if options.each_task:
        shown = [part for job in shown for part in job.parts()]
    form = options.form or (_START_FORM if options.start else _FORM)
    program.show(layout.lines(form, COLUMNS, shown, options.heading))
    return 0


def _pending(jobs: list[SlurmJob]) -> list[SlurmJob]:
    """The pending jobs with their expected starts, the first to start first; jobs without a known start last."""
    pending = [job for job in jobs if job.state == "PD"]
    starts = expected_starts(job.number for job in pending)
    for job in pending:
        row = starts.get(job.number, {})
        job.start = row.get("expected") or row.get("latest") or 0.0
    return sorted(pending, key=lambda job: job.start or float("inf"))


def _matches(job: SlurmJob, number: int, tasks: "set[int]") -> bool:
    return job.number == number and (not tasks or not tasks.isdisjoint(job.tasks))


def main() -> int:
    return run("squeue", squeue, ROWS, "")
