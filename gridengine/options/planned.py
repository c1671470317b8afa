"""Options of qsched. Source: qsched(1); statement UT-1. Owns the rows."""

from gridengine.errors import InvalidValueError
from gridengine.options import fields as fold
from gridengine.options.option import Option

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any


def order(target: "dict[str, Any]", field: str, values: list[str]) -> None:
    """`j`, the only order."""
    if values[0] != "j":
        raise InvalidValueError(f'"{values[0]}" is no order: j sorts by the number of the job')
    target[field] = True


def jobs(target: "dict[str, Any]", field: str, values: list[str]) -> None:
    """`12` and `12.3` divided by commas, as pairs of job and task; task 0 for all."""
    kept: list[tuple[int, int]] = target.setdefault(field, [])
    for text in values[0].split(","):
        job, point, task = text.partition(".")
        if not (job.isdecimal() and (task.isdecimal() or not point) and len(text) < 20):
            raise InvalidValueError(f'"{text}" is no number of a job, nor JOB.TASK')
        kept.append((int(job), int(task or 0)))


PLANNED_OPTIONS: tuple[Option, ...] = (
    Option("-a --all", "", "qsched", fold.flag, "all", "jobs of all users"),
    Option("-d --debug", "", "qsched", fold.flag, "debug", "without effect: no file is read"),
    Option("-f --full", "", "qsched", fold.flag, "full", "all details of each reservation"),
    Option("-h --help -help", "", "qsched", fold.flag, "help", "print this help"),
    Option("-j --jid", "job_task_list", "qsched", jobs, "jobs", "only these jobs, of any owner"),
    Option("-q --queues", "", "qsched", fold.flag, "queues", "queue instances with free slots and h_vmem, and waiting jobs"),
    Option("-s --sort", "j", "qsched", order, "by_job", "sort by number, not by time of start"),
    Option("-u --user", "user", "qsched", fold.text, "user", "jobs of this user, * for all; yourself if left out"),
)
