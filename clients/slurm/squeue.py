"""squeue: jobs that wait and run. Source: squeue(1) of 22.05; docs/slurm.md."""

import time

from clients import program
from clients.slurm import layout
from clients.slurm.command import run
from clients.slurm.jobs import STATES, JobChoice, SlurmJob, add_me, add_states, parsed, read_jobs
from clients.slurm.values import date, duration
from clients.slurm.words import SlurmError, SlurmOption, flag, read_words

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable

_FORM = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"


class JobListing(JobChoice):
    """What is to be listed, and how."""

    def __init__(self) -> None:
        super().__init__()
        self.form, self.heading, self.each_task = _FORM, True, False


def _list(name: str) -> "Callable[[JobListing, str], None]":
    return lambda wishes, value: getattr(wishes, name).extend(value.split(","))


def _set(name: str, value: bool) -> "Callable[[JobListing, str], None]":
    return lambda wishes, _: setattr(wishes, name, value)


ROWS = (
    SlurmOption("--user -u", _list("users")),
    flag("--me", add_me),
    SlurmOption("--jobs --job -j", _list("jobs"), optional=False),
    SlurmOption("--name -n", _list("names")),
    SlurmOption("--partition -p", _list("partitions")),
    SlurmOption("--states -t", add_states),
    flag("--noheader -h", _set("heading", False)),
    flag("--array -r", _set("each_task", True)),
    SlurmOption("--format -o", lambda wishes, value: setattr(wishes, "form", value)),
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


def squeue(words: list[str]) -> int:
    """Print what is asked for; the exit status."""
    wishes = JobListing()
    if rest := read_words(words, ROWS, wishes):
        raise SlurmError(f"Unrecognized option: {rest[0]}")
    jobs = read_jobs()
    wanted = [parsed(target) for target in wishes.jobs]
    if len(wanted) == 1 and not any(job.number == wanted[0][0] for job in jobs):
        program.complain("slurm_load_jobs error: Invalid job id specified")
        return 1
    shown = [job for job in jobs if wishes.means(job) and (not wanted or any(_is(job, *one) for one in wanted))]
    if wishes.each_task:
        shown = [part for job in shown for part in job.parts()]
    program.show(layout.lines(wishes.form, COLUMNS, shown, wishes.heading))
    return 0


def _is(job: SlurmJob, number: int, tasks: "set[int]") -> bool:
    return job.number == number and (not tasks or not tasks.isdisjoint(job.tasks))


def main() -> int:
    return run("squeue", squeue, ROWS, "")
