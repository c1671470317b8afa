"""Interactive jobs on the client side: submit, wait for the start, connect, and exit with the status of the job.

Owns the steps of qrsh, qlogin and qsh, and their messages. Source: sge_submit(1) qrsh, qlogin; IA, SO-22, SO-24, SO-29;
texts and exit codes as other programs parse them (O).
"""

import os

from clients import program
from clients.interactive_session import InteractiveSession
from clients.progress import records_of
from clients.submission import ReadSubmission, read_submission, submit_request
from gridengine.options.option import OptionError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

    from clients.ending_signals import EndingSignals

_FAILED = 1


def submit_interactive(command: str, kind: str, job: ReadSubmission, signals: "EndingSignals") -> "tuple[int, str] | int":
    """Submit; the job's id and name, or the exit status of a command without a job to wait for."""
    if job.settings.get("help"):
        return program.show_help(command)
    request = job.target.request
    request.setdefault("now", True)
    environment = request.setdefault("environment", {})
    for name in ("TERM", "QRSH_WRAPPER"):
        if os.environ.get(name):
            environment.setdefault(name, os.environ[name])
    request = submit_request(job, kind)
    if job.settings.get("verify"):
        from clients.render.job_detail import unsubmitted_job_text

        program.show([unsubmitted_job_text(request)])
        return 0
    answer = signals.submit(request)
    if answer.data is None:
        status = program.show_answers(answer)
        is_verification = request.get("verify") in ("v", "p")
        return status if is_verification and not any(level == "error" for level, _ in answer.answers) else status or _FAILED
    program.show_answers(answer)
    return answer.data["job_id"], answer.data["name"]


def run_session(command: str, arguments: list[str], kind_of: "Any") -> int:
    """Run qrsh or qlogin; the exit status. `kind_of(job)`: the kind of job that the command line requests."""
    job = read_submission(command, arguments)
    if job.settings.get("inherit"):
        from clients.inherit import run_inherited

        return run_inherited(job)
    if "attach" in job.settings:
        return _attach(job.settings["attach"])
    verbose = command == "qlogin" or bool(job.settings.get("verbose"))
    from clients.ending_signals import SignalledError
    from clients.terminal import Terminal

    terminal = Terminal()
    terminal.watch_signals()
    session: InteractiveSession | None = None
    try:
        submitted = submit_interactive(command, kind_of(job), job, terminal.signals)
        if isinstance(submitted, int):
            return submitted
        job_id, name = submitted
        session = InteractiveSession(job_id, terminal, verbose, stdin=not job.settings.get("nostdin"))
        terminal.signals.deliver()
        if verbose:
            report_submission(job_id, name)
        return session.run() if wait_for_start(command, job_id, verbose) else _FAILED
    except SignalledError as interruption:
        if session is not None:
            return session.end_after_signal(interruption.number)
        if interruption.text:
            program.print_error(interruption.text)
        return 128 + interruption.number


def report_submission(job_id: int, name: str) -> None:
    print(f'Your job {job_id} ("{name}") has been submitted', flush=True)
    program.print_error("waiting for interactive job to be scheduled ...")


def wait_for_start(command: str, job_id: int, verbose: bool) -> bool:
    """Wait until the job is dispatched; whether it was, before it was deleted (IA-4)."""
    started = next((not record.get("deleted") for record in records_of(job_id)), False)
    if not started:
        program.print_error(f'Your "{command}" request could not be scheduled, try again later.')
    elif verbose:
        program.print_error(f"Your interactive job {job_id} has been successfully scheduled.")
    return started


def _attach(target: str) -> int:
    """qrsh -attach: continue a session that another client has left, or take it over."""
    from clients.ending_signals import SignalledError
    from clients.terminal import Terminal

    if not target.isdigit():
        raise OptionError(f'-attach: "{target}" is no job id')
    terminal = Terminal()
    terminal.watch_signals()
    session = InteractiveSession(int(target), terminal, verbose=False, stdin=True)
    try:
        return session.run(attached=True)
    except SignalledError as interruption:
        return session.end_after_signal(interruption.number)
