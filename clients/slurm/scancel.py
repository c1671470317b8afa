"""scancel: delete, suspend or resume jobs. Source: scancel(1) of 22.05; docs/slurm.md."""

from clients import gdi, program
from clients.slurm.arguments import SlurmError, SlurmOption, flag, read_options
from clients.slurm.command import run
from clients.slurm.jobs import JobChoice, SlurmJob, add_me, add_states, parse_target, read_jobs

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from collections.abc import Callable

_DELETES = ("", "KILL", "9", "TERM", "15")
_STATES = {"STOP": "suspend", "19": "suspend", "TSTP": "suspend", "20": "suspend", "CONT": "unsuspend", "18": "unsuspend"}


class Cancellation(JobChoice):
    """The jobs to cancel, and the signal."""

    def __init__(self) -> None:
        super().__init__()
        self.signal = ""


def _list(name: str) -> "Callable[[Cancellation, str], None]":
    return lambda options, value: getattr(options, name).extend(value.split(","))


ROWS = (
    SlurmOption("--user -u", _list("users")),
    flag("--me", add_me),
    SlurmOption("--name --jobname -n", _list("names")),
    SlurmOption("--partition -p", _list("partitions")),
    SlurmOption("--state -t", add_states),
    SlurmOption("--signal -s", lambda options, value: setattr(options, "signal", value.upper().removeprefix("SIG"))),
    flag("--quiet -Q --verbose -v --full -f --batch -b", lambda options, value: None),
)


def scancel(arguments: list[str]) -> int:
    """Carry out the cancellation; 1 if a job could not be cancelled."""
    options = Cancellation()
    targets = read_options(arguments, ROWS, options)
    if options.signal not in _DELETES and options.signal not in _STATES:
        raise SlurmError(f"--signal={options.signal} has no counterpart: KILL and TERM end a job, STOP suspends it until CONT")
    filters = (options.users, options.names, options.partitions, options.states)
    if not targets and not any(filters):
        raise SlurmError("No job identification provided")
    jobs = read_jobs()
    status = 0
    requested = [(target, *parse_target(target)) for target in targets]
    for target, number, tasks in requested or [(str(job.number), job.number, set()) for job in jobs if options.selects(job)]:
        selected = [job for job in jobs if job.number == number and (not tasks or not tasks.isdisjoint(job.tasks))]
        if not selected:
            # no failure: scripts also cancel jobs that have ended
            program.print_error(f"scancel: error: Kill job error on job id {target}: Invalid job id specified")
        elif chosen := [job for job in selected if options.selects(job)]:
            status = _carry_out(options.signal, target, _qdel_names(chosen, tasks)) or status
    return status


def _qdel_names(jobs: list[SlurmJob], tasks: "set[int]") -> list[str]:
    """The names of these tasks of a job for qdel."""
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
        program.print_error(f"scancel: error: Kill job error on job id {target}: {text}")
    return 1 if answer.status else 0


def main() -> int:
    return run("scancel", scancel, ROWS, "[job_id[_task]...]")
