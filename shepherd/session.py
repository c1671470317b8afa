"""The session of an interactive task as its shepherd sees it: starting its process, handing the streams to the job, ending it.

The session is a process of its own beside the job (`session_process`), so that the shepherd can go on waiting for
signals and deadlines. The session has the ids of the job's owner, and handles only the owner's bytes; only its socket was
made as root, so that only the host's daemon can connect. Called by `run`. Source: docs/interactive.md.
"""

from __future__ import annotations

import json
import os
import signal
import socket
from pathlib import Path

from gridengine.files.unix_sockets import unix_listener
from gridengine.protocols.task_file import TaskConfig
from shepherd import process_tree, task_files
from shepherd.identity import Identity, become
from shepherd.remote_daemon import write_script
from shepherd.session_process import SessionProcess
from shepherd.streams import Streams, open_pipes, open_terminal, take_terminal

#: exit status of a job whose session cannot start, as its shepherd is dead or has given up: as after a hangup
_HUNG_UP = 128 + signal.SIGHUP
#: longer than any address
_ORIGIN_BYTES = 256

#: reasons for the end of a session process while the job runs, by its exit status
END_REASONS = {
    1: "no client was connected to the interactive session any longer",
    2: "the client ended the interactive session",
}


class Session:
    """A session process, and its descriptors that are shared with the job and the shepherd. `has_ended`: of the process.
    `client`: origin of the first client, known in the process of the job after `enter`.

    The shepherd holds `opener`, too: a job whose session ends before a client has connected is ended by the shepherd, which
    knows the reason, and does not end by itself before the shepherd has seen the session's end.
    """

    def __init__(self, pid: int, streams: Streams, gate: int, opener: int, control: int) -> None:
        self.pid = pid
        self.has_ended = False
        self.client = ""
        self._streams, self._gate, self._opener, self._control = streams, gate, opener, control

    def enter(self) -> tuple[int, int, int]:
        """Called in the process of the job: wait until a client is connected, and return the three descriptors of the job."""
        os.close(self._opener)
        self.client = os.read(self._gate, _ORIGIN_BYTES).decode()
        if not self.client:
            os._exit(_HUNG_UP)
        if self._streams.terminal:
            take_terminal(self._streams.job[0])
        return self._streams.job

    def job_started(self) -> None:
        """The job has its descriptors: close the shepherd's copies, so that the end of the streams is seen."""
        self._streams.close_job_ends()
        os.close(self._gate)

    def ended(self) -> None:
        """The process has ended, and the job was ended or is over."""
        self.has_ended = True
        os.close(self._opener)

    def finish(self, exit_status: int, failed: int, reason: str, linger: bool) -> None:
        """Send the client the outcome of the job, after all of its output; the process ends when the client has it.

        `linger`: wait for a client that is not connected now; not for a job that was deleted.
        """
        outcome = {"exit_status": exit_status, "failed": failed, "reason": reason}
        try:
            os.write(self._control, json.dumps({"outcome": outcome, "linger": linger}).encode() + b"\n")
        except OSError:
            pass  # has ended already
        os.close(self._control)

    def kill(self) -> None:
        """End the process, even if the client has not got everything."""
        if not self.has_ended:
            os.kill(self.pid, signal.SIGKILL)


def closing_deadline(config: TaskConfig, began: float, now: float) -> float | None:
    """Deadline for a client to take the outcome of its job, None for no limit: the owner can stop the client's process. `began`:
    start of the job; all by the monotonic clock, s."""
    ends = [] if config.method_timeout_s is None else [now + config.method_timeout_s]
    h_rt = config.limits.get("h_rt")
    if h_rt is not None:
        ends.append(max(now, began + h_rt) + config.session_grace_s)
    return min(ends, default=None)


def start(directory: Path, config: TaskConfig, owner: Identity) -> Session:
    """Make the streams and the socket, and fork the session process. Raises OSError."""
    if config.remote_daemon is not None:
        write_script(directory, config, owner)
    streams = open_terminal(owner.uid, owner.gid) if config.session == "pty" else open_pipes()
    listener = _listen(directory)
    (gate, opener), (listening, control) = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 3
        try:
            for descriptor in (gate, control):
                os.close(descriptor)
            streams.close_job_ends()
            os.setsid()
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            process_tree.set_name("sge_session")
            become(owner)
            status = SessionProcess(listener, streams, opener, listening, config).run()
        finally:
            os._exit(status)
    os.close(listening)
    listener.close()
    streams.close_session_ends()
    return Session(pid, streams, gate, opener, control)


def _listen(directory: Path) -> socket.socket:
    """Listen on the socket `session` in the task's directory, through the directory's descriptor: paths of sockets are short."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        listener = unix_listener(Path(f"/proc/self/fd/{descriptor}/{task_files.SESSION}"), 0o600)
    finally:
        os.close(descriptor)
    listener.setblocking(True)
    return listener
