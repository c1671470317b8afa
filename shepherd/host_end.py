"""Whether the host, or all that is around a shepherd, is being ended: a shutdown, the stop of a container, the end of a session.

A job that dies with its host was lost with it: nobody deleted it. Commands of the execd come by another way (`run`), so a SIGTERM
to the shepherd is of the system. Owns this distinction, and the question to systemd. Called by `run`. Source: EX-10; adr/0200.
"""

from __future__ import annotations

import math
import os
import signal
import time
from pathlib import Path

from gridengine.usage.failed import HOST_REBOOTED
from shepherd.control import Control
from shepherd.outcome import Ended
from shepherd.task_files import stamped

#: a shutdown ends processes by SIGTERM, and by SIGKILL after 90 s by default. Source: systemd-system.conf(5)
#: DefaultTimeoutStopSec.
_GRACE_S = 120.0
#: of the signals that end processes of a host that goes down, as a job dies of them and as a shell reports them
_SIGNALS = (signal.SIGTERM, signal.SIGKILL, signal.SIGHUP)
_STATUSES = frozenset(128 + number for number in _SIGNALS)
#: systemd stops units meanwhile, on a host that may be slow; it kills what remains after 90 s
_ANSWER_S = 20.0
_SHUTDOWN = "systemd-shutdown"
_NAME_CHARACTERS = 15
"""Of a process's name that the kernel keeps."""


class HostEnd:
    """The requests to end that reached one shepherd. `control`: knows what was ended for the execd or a limit."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._asked_at, self._sender = -math.inf, 0

    def note(self, received: signal.struct_siginfo) -> str:
        """A SIGTERM came. Returns the line for the trace."""
        self._asked_at, self._sender = time.monotonic(), received.si_pid
        return f"SIGTERM of process {self._sender} left alone: commands come from the execd alone"

    def reason(self, ended: Ended) -> str:
        """The reason why a process of the task was lost with its surroundings, stamped; "" if its end is its own: by itself, by
        another signal, by this shepherd, or while nothing else ends. May ask systemd, for up to 20 s."""
        if self._control.end_reason or ended.reason or ended.exit_status not in _STATUSES:
            return ""
        if is_shutting_down():
            return stamped(HOST_REBOOTED)
        if signal.SIGTERM in signal.sigpending():  # the job got it first
            self.note(signal.sigwaitinfo({signal.SIGTERM}))
        if time.monotonic() - self._asked_at < _GRACE_S:
            return stamped(f"its shepherd got SIGTERM, too, of process {self._sender}: a container or session ended")
        return ""


def is_shutting_down(process_1: Path = Path("/proc/1"), manager: Path = Path("/run/systemd/system")) -> bool:
    """Whether systemd is taking this host down: in its last phase process 1 is another program."""
    try:
        if (process_1 / "comm").read_text().strip() == _SHUTDOWN[:_NAME_CHARACTERS]:
            return True
    except OSError:
        return False
    return manager.is_dir() and _manager_state() == "stopping"


def _manager_state() -> str:
    """What systemd says about itself, "" if it does not answer. Source: systemctl(1) is-system-running."""
    import subprocess  # each shepherd is a copy of the launcher, and few ask

    command, environment = ["systemctl", "is-system-running"], {"PATH": os.defpath}
    try:
        asked = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_ANSWER_S, cwd="/"
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return asked.stdout.strip()
