"""The next task of a shepherd whose task has ended: the shepherd reports the end to the launcher, and waits for a directory.

Owns which tasks allow a shepherd to be reused, and the connection to the launcher. A waiting shepherd holds no resources of
a task; the shepherd ends when the launcher ends, when no task arrives for a while, or by a signal. Called by
`shepherd_process`; the other side is `waiting_shepherds`. Source: adr/0155.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
import struct
from pathlib import Path
from typing import NamedTuple

from gridengine.protocols.task_file import TaskConfig, TaskFileError
from shepherd import task_files
from shepherd.config import read_config
from shepherd.process_baseline import ProcessBaseline

#: of the launcher, below its spool directory: messages of shepherds
SOCKET = "shepherd.sock"
OVER = b"over"
MESSAGE_BYTES = 4096
#: time that a shepherd waits, and the maximum number of its tasks, so that leaks are limited
WAIT_TIMEVAL = struct.pack("@2l", 20, 0)
MAX_TASKS = 1000
#: tasks between two garbage collections, which the launcher has switched off
_TASKS_A_COLLECTION = 50
_ENDING = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT}
_NOT_PLAIN = (
    "prolog", "epilog", "pe_start", "pe_stop", "session", "remote_daemon", "ckpt_interface", "processors", "closed_devices",
)
_SOFT = ("s_rt", "s_cpu", "s_vmem", "h_rt", "h_cpu", "h_vmem")


def is_plain(config: TaskConfig) -> bool:
    """Whether a task is only a job: no method, session or checkpoint, no processors of its own, no closed devices, no limit that
    its shepherd would have to enforce."""
    return not any(getattr(config, name) for name in _NOT_PLAIN) and all(config.limits.get(name) is None for name in _SOFT)


def ended_plainly(directory: Path, config: TaskConfig, record: dict[str, object]) -> bool:
    """Whether a plain task just ran and ended: no failure, and no command."""
    return not record["failed"] and is_plain(config) and not (directory / task_files.COMMANDS).exists()


class NextTask(NamedTuple):
    """A task that this process is to claim. `own`: the file with this process's `pid` (`task_files.claim_again`); `config` and
    `own` are None for the first task."""

    directory: Path
    config: TaskConfig | None = None
    own: str | None = None


class LauncherConnection:
    """The connection to the launcher, after the first task. `process_baseline`: the state of this process before that task."""

    def __init__(self, spool: Path, process_baseline: ProcessBaseline) -> None:
        self._spool, self._baseline = spool, process_baseline
        self._socket: socket.socket | None = None
        self._own: str | None = None
        self._tasks = 0

    def next(self, directory: Path, config: TaskConfig) -> NextTask | None:
        """Wait for the task after this task, and return it unclaimed; None: this shepherd is to end."""
        self._tasks += 1
        if self._tasks == MAX_TASKS or not self.connect():
            return None
        assert self._socket is not None
        if not self._baseline.restore({self._socket.fileno()}) or not self._baseline.can_run(config):
            return None
        if self._tasks % _TASKS_A_COLLECTION == 0:
            gc.collect()
        try:
            self._own = self._own or task_files.keep_claim(directory, self._spool)
            following = self._wait()
        except OSError:  # the launcher is gone, or no task has come
            return None
        return None if following is None else self._accept(following, config)

    def connect(self) -> bool:
        """Connect to the launcher, unless there is a connection. False: there is no launcher at the moment."""
        if self._socket is not None:
            return True
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.connect(str(self._spool / SOCKET))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, WAIT_TIMEVAL)
        except OSError:
            connection.close()
            return False
        self._socket = connection
        return True

    def _wait(self) -> Path | None:
        """Report that the task has ended, and wait for the directory of another task. Raises OSError."""
        assert self._socket is not None
        self._socket.send(OVER)
        blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
        directory = self._socket.recv(MESSAGE_BYTES)
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        return Path(os.fsdecode(directory)) if directory else None

    def _accept(self, directory: Path, last: TaskConfig) -> NextTask | None:
        """The task, if this shepherd can run it; else the launcher assigns it to a new shepherd."""
        try:
            config = read_config(directory)
        except TaskFileError:
            return None
        same = (config.owner, config.uid) == (last.owner, last.uid)
        can_run = same and is_plain(config) and self._baseline.can_run(config)
        return NextTask(directory, config, self._own) if can_run else None
