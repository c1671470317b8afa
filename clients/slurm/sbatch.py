"""sbatch: submit a script, with its #SBATCH lines. Source: sbatch(1) of 22.05; docs/slurm.md; adr/0160."""

import os
import sys

from clients import gdi, program
from clients.progress import records_of
from clients.slurm.arguments import SlurmError, read_options
from clients.slurm.command import run
from clients.slurm.job_options import SBATCH_ROWS, JobOptions, qsub_arguments
from clients.submission import read_submission, submit_request
from gridengine.options.option import OptionError, split_words

_MARK = b"#SBATCH"
_FAILED = 1


def sbatch(arguments: list[str]) -> int:
    """Submit a job; the exit status, with --wait the job's exit status."""
    job = JobOptions()
    operands = read_options(arguments, SBATCH_ROWS, job)
    script, name = _script(job, operands)
    options = JobOptions()
    for line in _directives(script):
        read_options(line, SBATCH_ROWS, options)
    # options of the command line come later, and override the script's
    read_options(arguments, SBATCH_ROWS, options)
    options.name = options.name or name
    submission = read_submission("qsub", [*qsub_arguments(options), "-b", "n", name, *operands[1:]], script)
    request = submit_request(submission)
    if options.test_only:
        return _verify(request)
    answer = gdi.change("submit", request)
    if answer.data is None:
        texts = [text for level, text in answer.answers if level != "hint"]
        raise SlurmError(f"Batch job submission failed: {' '.join(texts) or 'no reason given'}")
    job_id = answer.data["job_id"]
    print(job_id if options.parsable else f"Submitted batch job {job_id}", flush=True)
    return _wait_for_exit(job_id) if options.wait else 0


def _script(job: JobOptions, operands: list[str]) -> tuple[bytes, str]:
    """The text of the script, and the default name of the job."""
    if job.wrap:
        if operands:
            raise SlurmError("Script arguments not permitted with --wrap option")
        return f"#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{job.wrap}\n".encode(errors="surrogateescape"), "wrap"
    try:
        if operands:
            with open(operands[0], "rb") as file:
                script = program.read_limited(file, program.MAX_SCRIPT_SIZE)
                return _checked_script(script, operands[0]), os.path.basename(operands[0])
        return _checked_script(program.read_limited(sys.stdin.buffer, program.MAX_SCRIPT_SIZE), "standard input"), "sbatch"
    except OSError as error:
        raise SlurmError(f"Unable to open file {operands[0] if operands else 'stdin'}: {error.strerror}") from None


def _checked_script(script: bytes, name: str) -> bytes:
    """The script, after a check. Raises SlurmError if it is no script."""
    if not script.strip():
        raise SlurmError(f"Batch script is empty! ({name})")
    if not script.startswith(b"#!"):
        raise SlurmError(f"{name} is no batch script: its first line must be #! and the path of an interpreter")
    return script


def _directives(script: bytes) -> list[list[str]]:
    """The arguments of each #SBATCH line before the first command."""
    found = []
    for number, line in enumerate(script.split(b"\n"), start=1):
        if line.startswith(_MARK):
            text = line[len(_MARK) :].decode("utf-8", "surrogateescape").partition(" #")[0]
            try:
                found.append(split_words(text))
            except OptionError as error:
                raise SlurmError(f"line {number} of the script: {error.text}") from None
        elif line.strip() and not line.startswith(b"#"):
            break
    return found


def _verify(request: "dict[str, object]") -> int:
    """--test-only: check whether the job could run in the cell as configured."""
    answer = gdi.change("submit", {**request, "verify": "v"})
    for _, text in answer.answers:
        program.print_error(f"sbatch: {text}")
    return _FAILED if answer.status else 0


def _wait_for_exit(job_id: int) -> int:
    """--wait: the highest exit code of its tasks, 1 for a task ended by a signal (O)."""
    status = 0
    for record in records_of(job_id):
        if record.get("deleted"):
            status = max(status, _FAILED)
        elif "exit_status" in record:
            # a failed task ended by a signal, a limit or a fault
            status = max(status, _FAILED if record.get("failed") else int(record["exit_status"]))
    return status


def main() -> int:
    return run("sbatch", sbatch, SBATCH_ROWS, "script [ARGUMENTS...]")
