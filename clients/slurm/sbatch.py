"""sbatch: submit a script, with its #SBATCH lines. Source: sbatch(1) of 22.05; docs/slurm.md; adr/0160."""

import os
import sys

from clients import gdi, program
from clients.progress import records_of
from clients.slurm.command import run
from clients.slurm.job_options import SBATCH_ROWS, JobWishes, qsub_words
from clients.slurm.words import SlurmError, read_words
from clients.submission import read_submission, submit_request
from gridengine.options.option import OptionError, split_words

_MARK = b"#SBATCH"
_FAILED = 1


def sbatch(words: list[str]) -> int:
    """Submit; the exit status, with --wait that of the job."""
    job = JobWishes()
    operands = read_words(words, SBATCH_ROWS, job)
    script, name = _script(job, operands)
    wishes = JobWishes()
    for line in _directives(script):
        read_words(line, SBATCH_ROWS, wishes)
    # what the command line says comes later, and so it counts
    read_words(words, SBATCH_ROWS, wishes)
    wishes.name = wishes.name or name
    submission = read_submission("qsub", [*qsub_words(wishes), "-b", "n", name, *operands[1:]], script)
    request = submit_request(submission)
    if wishes.test_only:
        return _tested(request)
    answer = gdi.change("submit", request)
    if answer.data is None:
        texts = [text for level, text in answer.answers if level != "hint"]
        raise SlurmError(f"Batch job submission failed: {' '.join(texts) or 'no reason given'}")
    job_id = answer.data["job_id"]
    print(job_id if wishes.parsable else f"Submitted batch job {job_id}", flush=True)
    return _outcome(job_id) if wishes.wait else 0


def _script(job: JobWishes, operands: list[str]) -> tuple[bytes, str]:
    """The text of the script, and what the job is called without another name."""
    if job.wrap:
        if operands:
            raise SlurmError("Script arguments not permitted with --wrap option")
        return f"#!/bin/sh\n# This script was created by sbatch --wrap.\n\n{job.wrap}\n".encode(errors="surrogateescape"), "wrap"
    try:
        if operands:
            with open(operands[0], "rb") as file:
                return _whole(program.read_limited(file, program.SCRIPT_MOST), operands[0]), os.path.basename(operands[0])
        return _whole(program.read_limited(sys.stdin.buffer, program.SCRIPT_MOST), "standard input"), "sbatch"
    except OSError as error:
        raise SlurmError(f"Unable to open file {operands[0] if operands else 'stdin'}: {error.strerror}") from None


def _whole(script: bytes, name: str) -> bytes:
    """The script, if it is one. Raises SlurmError."""
    if not script.strip():
        raise SlurmError(f"Batch script is empty! ({name})")
    if not script.startswith(b"#!"):
        raise SlurmError(f"{name} is no batch script: its first line must be #! and the path of an interpreter")
    return script


def _directives(script: bytes) -> list[list[str]]:
    """The words of each #SBATCH line before the first command."""
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


def _tested(request: "dict[str, object]") -> int:
    """--test-only: whether it could run in the cell as it is configured."""
    answer = gdi.change("submit", {**request, "verify": "v"})
    for _, text in answer.answers:
        program.complain(f"sbatch: {text}")
    return _FAILED if answer.status else 0


def _outcome(job_id: int) -> int:
    """--wait: the highest exit code of its tasks, 1 where a signal ended one (O)."""
    status = 0
    for record in records_of(job_id):
        if record.get("deleted"):
            status = max(status, _FAILED)
        elif "exit_status" in record:
            # what failed did not end by itself, but by a signal, a limit or a fault
            status = max(status, _FAILED if record.get("failed") else int(record["exit_status"]))
    return status


def main() -> int:
    return run("sbatch", sbatch, SBATCH_ROWS, "script [ARGUMENTS...]")
