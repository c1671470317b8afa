"""scancel: delete jobs, or stop and go on with them. Source: scancel(1) of 22.05; docs/slurm.md."""

from clients import gdi, program
from clients.slurm.command import run
from clients.slurm.jobs import JobChoice, SlurmJob, add_me, add_states, parsed, read_jobs
from clients.slurm.words import SlurmError, SlurmOption, flag, read_words

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable

_DELETES = ("", "KILL", "9", "TERM", "15")
_STATES = {"STOP": "suspend", "19": "suspend", "TSTP": "suspend", "20": "suspend", "CONT": "unsuspend", "18": "unsuspend"}


class Cancellation(JobChoice):
    """Whom it is to meet, and with which signal."""

    def __init__(self) -> None:
        super().__init__()
        self.signal = ""


def _list(name: str) -> "Callable[[Cancellation, str], None]":
    return lambda wishes, value: getattr(wishes, name).extend(value.split(","))


ROWS = (
    SlurmOption("--user -u", _list("users")),
    flag("--me", add_me),
    SlurmOption("--name --jobname -n", _list("names")),
    SlurmOption("--partition -p", _list("partitions")),
    SlurmOption("--state -t", add_states),
    SlurmOption("--signal -s", lambda wishes, value: setattr(wishes, "signal", value.upper().removeprefix("SIG"))),
    flag("--quiet -Q --verbose -v --full -f --batch -b", lambda wishes, value: None),
)


def scancel(words: list[str]) -> int:
    """Carry it out; 1 when something could not be."""
    wishes = Cancellation()
    targets = read_words(words, ROWS, wishes)
    if wishes.signal not in _DELETES and wishes.signal not in _STATES:
        raise SlurmError(f"--signal={wishes.signal} has no counterpart: KILL and TERM end a job, STOP suspends it until CONT")
    filters = (wishes.users, wishes.names, wishes.partitions, wishes.states)
    if not targets and not any(filters):
        raise SlurmError("No job identification provided")
    jobs = read_jobs()
    status = 0
    wanted = [(target, *parsed(target)) for target in targets]
    for target, number, tasks in wanted or [(str(job.number), job.number, set()) for job in jobs if wishes.means(job)]:
        meant = [job for job in jobs if job.number == number and (not tasks or not tasks.isdisjoint(job.tasks))]
        if not meant:
            # no failure: what is over needs no ending, and scripts clean up so
            program.complain(f"scancel: error: Kill job error on job id {target}: Invalid job id specified")
        elif chosen := [job for job in meant if wishes.means(job)]:
            status = _carry_out(wishes.signal, target, _names(chosen, tasks)) or status
    return status


def _names(jobs: list[SlurmJob], tasks: "set[int]") -> list[str]:
    """How qdel names these tasks of a job."""
    job = jobs[0]
    if not tasks:
        return [str(job.number)]
    known = {number for each in jobs for number in each.tasks}
    return [f"{job.number}.{number + job.offset}" for number in sorted(tasks & known)]


def _carry_out(signal: str, target: str, names: list[str]) -> int:
    if action := _STATES.get(signal):
        answer = gdi.change("change_states", {"action": action, "what": "job", "targets": names})
    else:
        answer = gdi.change("delete_jobs", {"targets": names})
    if answer.status:
        text = " ".join(text for level, text in answer.answers if level != "hint")
        program.complain(f"scancel: error: Kill job error on job id {target}: {text}")
    return 1 if answer.status else 0


def main() -> int:
    return run("scancel", scancel, ROWS, "[job_id[_task]...]")
