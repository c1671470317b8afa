"""srun: run a command now, in this terminal; within a job as a step. Source: srun(1) of 22.05; docs/slurm.md."""

import os

from clients.interactive import run_session
from clients.slurm.arguments import SlurmError, SlurmOption, flag, read_options
from clients.slurm.command import run
from clients.slurm.job_options import JOB_ROWS, JobOptions, qsub_arguments
from gridengine.files.executables import execute

ROWS = (
    *JOB_ROWS,
    flag("--pty", lambda job, value: job.arguments.extend(["-pty", "y"])),
    flag("--unbuffered -u --label -l", lambda job, value: None),
    SlurmOption("--mpi", lambda job, value: None),
)
_MANY = (
    "one task is run: start several by mpirun, or one by one by qrsh -inherit, in a job with a parallel environment "
    "(SGE_SLURM_PE, docs/slurm.md)"
)


def srun(arguments: list[str]) -> int:
    """The exit status of the command."""
    job = JobOptions()
    command = read_options(arguments, ROWS, job)
    if not command:
        raise SlurmError("No command given to execute.")
    if "SLURM_JOB_ID" in os.environ:
        return _step(job, command)
    if job.tasks > 1:
        raise SlurmError(f"--ntasks={job.tasks}: {_MANY}")
    if job.output or job.error:
        raise SlurmError("--output has no counterpart here: the output comes to this terminal, redirect it")
    job.name = job.name or os.path.basename(command[0])
    files = ("-o", "-j")
    given = qsub_arguments(job)
    for option in files:
        at = given.index(option)
        del given[at : at + 2]
    return run_session("qrsh", ["-now", "n", *given, "-b", "y", "-noshell", *command], lambda _: "qrsh")


def _step(job: JobOptions, command: list[str]) -> int:
    """Within a job: replace this process by the command, on the same host."""
    tasks = job.tasks or int(os.environ.get("SLURM_NTASKS") or 1)
    if tasks > 1:
        raise SlurmError(f"{tasks} tasks: {_MANY}")
    if job.chdir:
        os.chdir(job.chdir)
    try:
        execute(command[0], command, {**os.environ, "SLURM_STEP_ID": "0", "SLURM_PROCID": "0"})
    except OSError as error:
        raise SlurmError(f"execve(): {command[0]}: {error.strerror}") from None


def main() -> int:
    return run("srun", srun, ROWS, "command [ARGUMENTS...]")
