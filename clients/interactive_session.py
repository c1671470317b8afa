"""The session of an interactive job on the client side: connect, reconnect, and learn how the job ended.

Called by `interactive` and `inherit`. Source: IA, SO-29; texts and exit codes as other programs parse them (O).
"""

import time

from clients import gdi, program
from clients.progress import PATIENCE_S, records_of
from gridengine.errors import plain_fault

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any

    from clients.remote_command import RemoteCommand
    from clients.terminal import Terminal

_PAUSE_S = 0.1
_FAILED = 1


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
            self._terminal.signals.delete(self._job_id)
        except gdi.Unreachable:
            if not is_sent:
                raise
