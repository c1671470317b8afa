"""The configured command (`ssh` …) that replaces the builtin connection to a job: its arguments, and running it.

Called by `interactive` when the configuration says so. Source: remote_startup(5), sge_conf(5) rsh_command …; IA-5.
"""

import subprocess
import sys

from clients.program import CommandError
from gridengine.files.executables import start

TYPE_CHECKING = False  # as typing has it: clients pay for every import
if TYPE_CHECKING:
    from typing import Any


class RemoteCommand:
    """The client of the daemon that the job has become; started when the session has sent port and script."""

    def __init__(self, location: "dict[str, Any]", nostdin: bool) -> None:
        self._location, self._nostdin = location, nostdin
        self._output = b""
        self._process: subprocess.Popen[bytes] | None = None

    def take_output(self, descriptor: int, data: bytes) -> None:
        """Take output of the session: `PORT SCRIPT` first; error messages of the daemon are passed on."""
        if descriptor == 2 or self._process is not None:
            sys.stderr.buffer.write(data)
            sys.stderr.flush()
            return
        self._output += data
        if b"\n" in self._output:
            port, _, script = self._output.decode().strip().partition(" ")
            self._start(port, script)

    def _start(self, port: str, script: str) -> None:
        command = self._location["command"].split()
        method_arguments = arguments(self._location["method"], self._location["host"], port, script, self._nostdin)
        try:
            self._process = start(subprocess.Popen, [*command, *method_arguments])
        except OSError as error:
            text = f"cannot run {command[0]} ({self._location['method']}_command of this host): {error.strerror}"
            raise CommandError(text, 1) from None

    def exit_status(self) -> int:
        """The exit status of the command, which ends with the job."""
        if self._process is None:
            return 1
        status = self._process.wait()
        return 128 - status if status < 0 else status


def arguments(method: str, host: str, port: str, script: str, nostdin: bool) -> list[str]:
    """`HOST PORT` for qlogin, `-p PORT HOST` for rlogin, `[-n] -p PORT HOST COMMAND` for rsh."""
    if method == "qlogin":
        return [host, port]
    if method == "rlogin":
        return ["-p", port, host]
    return [*(["-n"] if nostdin else []), "-p", port, host, "exec", script]
