"""Interactive jobs on the client side: submit, wait for the start, connect, and exit with the status of the job.

Owns the steps of qrsh, qlogin and qsh, and their messages. Source: sge_submit(1) qrsh, qlogin; IA, SO-22, SO-24, SO-29;
texts and exit codes as other programs parse them (O).
"""

import os
import time

from clients import gdi, program
from clients.progress import PATIENCE_S, records_of
from clients.submission import ReadSubmission, read_submission, submit_request
from gridengine.errors import plain_fault
from gridengine.options.option import OptionError

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

    from clients.remote_command import RemoteCommand
    from clients.terminal import Terminal

_PAUSE_S = 0.1
_FAILED = 1


def submit_interactive(command: str, kind: str, job: ReadSubmission) -> "tuple[int, str] | int":
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
    answer = gdi.change("submit", request)
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
    from clients.terminal import SignalledError, Terminal

    terminal = Terminal()
    terminal.watch_signals(deferred=True)  # until the number is known, without which the job cannot be deleted
    session: InteractiveSession | None = None
    try:
        submitted = submit_interactive(command, kind_of(job), job)
        if isinstance(submitted, int):
            return submitted
        job_id, name = submitted
        session = InteractiveSession(job_id, terminal, verbose, stdin=not job.settings.get("nostdin"))
        terminal.deliver_signals()
        if verbose:
            report_submission(job_id, name)
        return session.run() if wait_for_start(command, job_id, verbose) else _FAILED
    except SignalledError as interruption:
        if session is not None:
            return session.end_after_signal(interruption.number)
        program.print_error("it is not known whether the job was submitted")
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
    from clients.terminal import SignalledError, Terminal

    if not target.isdigit():
        raise OptionError(f'-attach: "{target}" is no job id')
    terminal = Terminal()
    terminal.watch_signals()
    session = InteractiveSession(int(target), terminal, verbose=False, stdin=True)
    try:
        return session.run(attached=True)
    except SignalledError as interruption:
        return session.end_after_signal(interruption.number)


class InteractiveSession:
    """The session of a dispatched job; `_request` identifies it to the qmaster."""

    def __init__(self, job_id: int, terminal: "Terminal", verbose: bool, stdin: bool) -> None:
        from clients.session_pump import SessionPump

        self._job_id, self._terminal, self._verbose = job_id, terminal, verbose
        self._request = {"job_id": job_id}
        self._pump = SessionPump(terminal, stdin)
        self._stdin = stdin
        self._remote: RemoteCommand | None = None
        self._is_terminal = False
        self._last_location: dict[str, Any] | None = None

    def run(self, attached: bool = False) -> int:
        """Connect, pump, and reconnect when the connection breaks; the exit status of the job."""
        from clients.session_connection import SessionRefusedError, connect
        from clients.session_pump import SessionTakenOverError

        lost = 0.0
        while True:
            location = self._locate(attached)
            if location is None:
                return self._outcome_from_qmaster()
            try:
                connection, answer = connect(location, self._pump.greeting())
            except (OSError, SessionRefusedError) as error:
                if isinstance(error, SessionRefusedError) and not error.again:
                    raise program.CommandError(f"job {self._job_id}: {plain_fault(error)}", _FAILED) from None
                lost = lost or time.monotonic()
                if time.monotonic() - lost > PATIENCE_S:
                    raise program.CommandError(
                        f"cannot connect to job {self._job_id} on host {location['host']}: {plain_fault(error)}", _FAILED
                    ) from None
                time.sleep(_PAUSE_S)
                continue
            lost, attached = 0.0, False
            self._is_terminal = bool(answer.get("terminal"))
            self._use_method(location, answer["daemon"])
            try:
                if self._is_terminal:
                    self._terminal.raw()
                outcome = self._pump.run(connection, answer)
            except program.CommandError:
                self._end_job()
                raise
            except SessionTakenOverError:
                raise program.CommandError(f"job {self._job_id}: another client has taken the session over", _FAILED) from None
            finally:
                self._terminal.restore()
            if outcome is not None:
                return self._exit_status(outcome) if self._remote is None else self._remote.exit_status()

    def _use_method(self, location: "dict[str, Any]", daemon: str) -> None:
        """Hand the session over to the configured command, where the configuration has one. Both ends must agree (IA-5)."""
        command, method = location["command"], location["method"]
        if (command.lower() == "builtin") != (daemon == "builtin"):
            text = f"{method}_command of this host is {command}, but {method}_daemon of host {location['host']} is {daemon}"
            self._end_job()
            raise program.CommandError(f"job {self._job_id}: {text}", _FAILED)
        if daemon != "builtin" and self._remote is None:
            from clients.remote_command import RemoteCommand

            self._remote = RemoteCommand(location, nostdin=not self._stdin)
            self._pump.output = self._remote.take_output
            self._pump.stop_reading_stdin()

    def _locate(self, attached: bool) -> "dict[str, Any] | None":
        """The location of the session; None when the job has ended. Without a qmaster: the last known location."""
        begin = time.monotonic()
        while True:
            try:
                answer = gdi.call("session", self._request)
            except gdi.Unreachable:
                if self._last_location is None:
                    raise
                return self._last_location
            if answer.status:
                if attached:
                    program.show_answers(answer)
                    raise program.CommandEndedError(answer.status)
                return None
            location: dict[str, Any] = answer.data
            if location["host"] and location["port"]:
                if self._verbose:
                    program.print_error(f"Establishing {location['command']} session to host {location['host']} ...")
                    self._verbose = False
                self._last_location = location
                return location
            if time.monotonic() - begin > PATIENCE_S:
                raise program.CommandError(f"job {self._job_id} has no session to connect to", _FAILED)
            time.sleep(_PAUSE_S)

    def _outcome_from_qmaster(self) -> int:
        """The exit status of a job to which no connection can be made, or no longer."""
        if self._pump.has_been_connected:
            program.print_error(f"job {self._job_id} ended while there was no connection to it: some of its output may be lost")
        for record in records_of(self._job_id):
            if "exit_status" in record:
                return self._exit_status({"reason": "", **record})
        program.print_error(f"job {self._job_id} was ended before it could run")
        return _FAILED

    def _exit_status(self, outcome: "dict[str, Any]") -> int:
        if outcome["exit_status"] or not outcome["failed"]:
            return int(outcome["exit_status"])
        program.print_error(f"job {self._job_id} failed: {outcome['reason'] or 'failed ' + str(outcome['failed'])}")
        return _FAILED

    def end_after_signal(self, number: int) -> int:
        """End the job, since a signal ends this command. A session whose terminal was hung up stays: the user may reattach."""
        from clients.terminal import HUNG_UP

        self._terminal.restore()
        if not (self._is_terminal and number == HUNG_UP):
            self._end_job()
        return 128 + number

    def _end_job(self) -> None:
        """End the job, by its session if there is a connection, and by a deletion as of qdel."""
        is_sent = self._pump.send_end()
        try:
            gdi.call("delete_jobs", {"targets": [str(self._job_id)]})
        except gdi.Unreachable:
            if not is_sent:
                raise
