"""The launcher: `python -m shepherd.launcher SPOOL_DIR` finds a shepherd for each task (docs/architecture.md section 5.1).

One thread, one epoll: requests on a Unix socket, ends of shepherds by SIGCHLD (own shepherds) or pidfd (adopted shepherds).
All of its state is in the tasks' directories, so that it may die at any moment: shepherds go on, and the next launcher
adopts them. A client that connects checks first which tasks have an `exit` file: the launcher reports only later ends to
it. Called by sge_execd's supervisor; the launcher must stay small, for every shepherd is a copy of it.
"""

from __future__ import annotations

import errno
import fcntl
import gc
import json
import os
import pwd
import re
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic

from gridengine.errors import plain_fault
from gridengine.files.executables import execute
from shepherd import adoption, group_ids, process_tree, task_files
from shepherd.launcher_clients import LauncherClients, Message
from shepherd.run import COMMAND_SIGNAL
from shepherd.shepherd_process import shepherd
from shepherd.waiting_shepherds import WaitingShepherds

SOCKET = "launcher.sock"
LOCK = "launcher.lock"
_WAKEUP_BYTES = 65536
_RETRY_S = 1.0  # between two attempts to write an `exit` file to a full disk
_COMMAND = re.compile(r"[A-Za-z0-9_]{1,32}(?:=-?[0-9]{1,3})?")


class Launcher:
    """The state of the running launcher: its clients and the shepherds that it watches."""

    def __init__(self, spool: Path) -> None:
        self._spool = spool
        self._active = spool / "active_jobs"
        self._poll = select.epoll()
        self._pids: dict[str, int] = {}  # directory -> shepherd, for all that run
        self._own: dict[int, str] = {}  # shepherds that are children of this process; "": waiting for a task
        self._clients = LauncherClients(spool / SOCKET, self._poll, self.answer)
        self._waiting = WaitingShepherds(spool, self._poll, self._on_task_end)
        self._clearing: dict[int, str] = {}  # children that remove scratch directories of dead shepherds
        self._unfinalised: set[str] = set()  # their shepherd is dead, and the disk is full
        self._retry_at = 0.0  # by the monotonic clock: the next attempt for these
        self._adopted: dict[int, str] = {}  # pidfds of shepherds that are not children
        self._wrapped: set[str] = set()  # children that are wrappers (shepherd_cmd)
        self._stopping = False
        self._wakeup, self._writing = os.pipe()
        os.set_blocking(self._wakeup, False)
        os.set_blocking(self._writing, False)
        self._poll.register(self._wakeup, select.EPOLLIN)
        self._adopt_all()
        self._clients.open()

    def _adopt_all(self) -> None:
        """Before the first connection, so that a client finds `exit` for every end that it is not notified of."""
        for directory in adoption.task_directories(self._spool):
            self._adopt_or_finalise(str(directory))
        group_ids.drop_claims(self._spool)
        task_files.drop_claims(self._spool)

    def run(self) -> None:
        """Serve until SIGTERM or SIGINT. Running shepherds are left alone."""
        self.open()
        while not self._stopping:
            self.turn(_RETRY_S if self._unfinalised else None)
        self.close()

    def open(self) -> None:
        """Install the signal handlers, and let shepherds wait for tasks. Raises OSError."""
        signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        self._reap()  # reap the shepherds that ended before the handler was installed
        self._waiting.open()

    def turn(self, timeout_s: float | None) -> None:
        """Handle the requests and ends that have come. `timeout_s`: time to wait for the first, None for no limit."""
        for descriptor, events in self._poll.poll(timeout_s):
            self._ready(descriptor, events)
        if self._unfinalised and (now := monotonic()) >= self._retry_at:
            self._retry_at = now + _RETRY_S  # not in each turn: the end of a failed process begins a turn
            for directory in list(self._unfinalised):
                self._ended(directory)

    def close(self) -> None:
        """Close all descriptors: clients reconnect to the next launcher, waiting shepherds end."""
        signal.set_wakeup_fd(-1)
        self._waiting.close()
        self._clients.close()
        for descriptor in (*self._adopted, self._wakeup, self._writing):
            os.close(descriptor)
        self._poll.close()

    def _stop(self, *_: object) -> None:
        self._stopping = True

    def _ready(self, descriptor: int, events: int) -> None:
        if descriptor == self._wakeup:
            os.read(self._wakeup, _WAKEUP_BYTES)
            self._reap()
        elif descriptor in self._waiting:
            self._waiting.ready(descriptor)
        elif descriptor in self._adopted:
            self._poll.unregister(descriptor)
            directory = self._adopted.pop(descriptor)
            os.close(descriptor)
            self._ended(directory)
        elif descriptor in self._clients:
            self._clients.ready(descriptor, events)

    # --- requests -------------------------------------------------------------------------------------------------

    def answer(self, line: bytes) -> Message:
        """Carry out a request, a line of JSON, and return the answer."""
        try:
            request = json.loads(line)
            op, directory = request["op"], str(request.get("directory", ""))
        except (ValueError, TypeError, KeyError, AttributeError):
            return {"op": "failed", "directory": "", "reason": 'the request is not a JSON object with "op"'}
        if op == "list":
            return {"op": "list", "running": sorted({*self._pids, *self._clearing.values()})}
        if Path(directory).parent != self._active or not os.path.isdir(directory):
            return _failed(directory, f"not a task's directory below {self._active}")
        if op == "start":
            return self._start(directory, str(request.get("shepherd_cmd") or ""), str(request.get("owner") or ""))
        if op == "signal":
            return self._signal(directory, str(request.get("command", "")))
        return _failed(directory, f'unknown request "{op}"')

    def _start(self, directory: str, wrapper: str, owner: str) -> Message:
        """Find a shepherd, unless the task has or had a shepherd: a task is started once, independent of the number of requests.

        `wrapper`: shepherd_cmd of the configuration, "" for none. `owner`: of the task, "" if it is to have a new shepherd.
        """
        path = Path(directory)
        known = directory in self._pids or directory in self._clearing.values()
        if not known and not adoption.is_finished(path):
            try:
                if adoption.is_started(path):
                    self._adopt_or_finalise(directory)
                else:
                    self._assign_shepherd(directory, wrapper, owner)
            except OSError as error:
                return _failed(directory, f"can't fork a shepherd: {error.strerror}")
        process = task_files.read_process(path / task_files.PID)
        pid = self._pids.get(directory) or (process[0] if process else 0)
        return {"op": "started", "directory": directory, "pid": pid}

    def _assign_shepherd(self, directory: str, wrapper: str, owner: str) -> None:
        """Assign a waiting shepherd of this owner, or a new shepherd. Raises OSError."""
        if wrapper or not owner:
            self._fork(directory, wrapper)
        elif pid := self._waiting.hand_over(directory, owner):
            self._own[pid], self._pids[directory] = directory, pid
        else:
            self._fork(directory, wrapper)
            self._waiting.expect(self._pids[directory], owner)

    def _fork(self, directory: str, wrapper: str) -> None:
        pid = process_tree.fork_child(lambda: _execute(wrapper, directory) if wrapper else shepherd(Path(directory)))
        self._own[pid] = directory
        if wrapper:
            self._wrapped.add(directory)
        self._pids[directory] = pid

    def _clear(self, directory: str) -> None:
        """Fork a process that removes a scratch directory, which may hold millions of files. Raises OSError."""
        self._clearing[process_tree.fork_child(lambda: adoption.clear(Path(directory)))] = directory

    def _signal(self, directory: str, command: str) -> Message:
        if not _COMMAND.fullmatch(command):
            return _failed(directory, f'"{command}" is no command')
        if directory not in self._pids:
            return _failed(directory, "its shepherd does not run")
        try:
            task_files.add_command(Path(directory), command)
            self._send_command_signal(directory)
        except ProcessLookupError:
            return _failed(directory, "its shepherd does not run")
        except OSError as error:
            return {**_failed(directory, f"can't pass the command on: {error.strerror}"), "again": True}
        return {"op": "signalled", "directory": directory, "command": command}

    def _send_command_signal(self, directory: str) -> None:
        """Tell the shepherd to read its commands. Neither an own child nor a pidfd can mean another process.

        Below a wrapper it is another process, which has not written `pid` or can be seen there. A shepherd that is not
        there yet reads its commands before it starts the job.
        """
        for descriptor, adopted in self._adopted.items():
            if adopted == directory:
                signal.pidfd_send_signal(descriptor, COMMAND_SIGNAL)
                return
        pid = task_files.running(Path(directory) / task_files.PID) if directory in self._wrapped else self._pids[directory]
        if pid is not None:
            os.kill(pid, COMMAND_SIGNAL)

    # --- shepherds ------------------------------------------------------------------------------------------------

    def _adopt_or_finalise(self, directory: str) -> None:
        """Adopt the shepherd of a task that was started by an earlier launcher, or finalise the task if it is dead."""
        pid = task_files.running(Path(directory) / task_files.PID)
        try:
            descriptor = os.pidfd_open(pid) if pid is not None else -1
        except OSError as error:
            if error.errno != errno.ESRCH:
                raise
            descriptor = -1
        if pid is None or descriptor < 0 or task_files.running(Path(directory) / task_files.PID) != pid:
            if descriptor >= 0:
                os.close(descriptor)
            self._ended(directory)
            return
        self._pids[directory] = pid
        self._adopted[descriptor] = directory
        self._poll.register(descriptor, select.EPOLLIN)

    def _reap(self) -> None:
        """Collect ended children: own shepherds, and processes of jobs whose shepherd had died."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._clearing:
                directory = self._clearing.pop(pid)
                if status:
                    self._unfinalised.add(directory)  # the shepherd was killed, or the disk is full
                else:
                    self._ended(directory)
            elif pid in self._own:
                self._child_ended(pid)

    def _child_ended(self, pid: int) -> None:
        """A shepherd has ended. A task that a waiting shepherd got and did not claim before its end gets a new shepherd."""
        directory, owner = self._own.pop(pid), self._waiting.ended(pid)
        task_files.drop_claim(self._spool, pid)
        if not directory:
            return
        if owner and os.path.isdir(directory) and not adoption.is_started(Path(directory)):
            with suppress(OSError):
                self._assign_shepherd(directory, "", owner)
                return
        self._ended(directory)

    def _on_task_end(self, pid: int) -> None:
        """A shepherd has written the `exit` of its task, and waits for another task."""
        directory, self._own[pid] = self._own[pid], ""
        if directory:
            self._ended(directory)

    def _ended(self, directory: str) -> None:
        """A shepherd has ended: notify all clients, after finalising the task if there is no `exit`.

        The scratch directory is removed before: the next attempt of the task may use the same path.
        """
        if directory in self._clearing.values():
            return
        self._pids.pop(directory, None)
        self._wrapped.discard(directory)
        path = Path(directory)
        if path.is_dir() and not adoption.is_finished(path):
            try:
                if task_files.running(path / task_files.PID) is not None:
                    self._adopt_or_finalise(directory)  # the task has a shepherd of an earlier launcher
                    return
                adoption.kill_job(path, {*self._own, *self._clearing})
                if adoption.has_scratch(path):
                    self._unfinalised.discard(directory)
                    self._clear(directory)
                    return
                adoption.finalise(path)
            except OSError as error:
                if directory not in self._unfinalised:
                    print(f"launcher: can't write the end of {directory}: {plain_fault(error)}", file=sys.stderr, flush=True)
                self._unfinalised.add(directory)
                return
        self._unfinalised.discard(directory)
        self._clients.notify({"op": "exited", "directory": directory})


def _failed(directory: str, reason: str) -> Message:
    return {"op": "failed", "directory": directory, "reason": reason}


def _execute(wrapper: str, directory: str) -> None:
    """Execute `shepherd_cmd` in the task's directory; the command is to start `sge_shepherd`, which it finds by its PATH.

    The launcher blocks a signal that is for shepherds: a wrapper that does not unblock it passes the mask on.
    """
    os.chdir(directory)
    path = os.pathsep.join(filter(None, (os.environ.get("SGE_BINARY_PATH"), os.environ.get("PATH", os.defpath))))
    job = os.path.basename(directory).partition(".")[0]
    execute(wrapper, [f"sge_shepherd-{job}", "-bg"], {**os.environ, "PATH": path})


def _lock(spool: Path) -> int:
    """Lock this spool directory for the one launcher while this process lives; -1 when there is a launcher already."""
    descriptor = os.open(spool / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


def main(arguments: list[str]) -> int:
    """Command line. Exit 0 after SIGTERM, 1 when the spool directory cannot be used, 2 for wrong usage."""
    if len(arguments) != 1:
        print("usage: python -m shepherd.launcher SPOOL_DIR", file=sys.stderr)
        return 2
    spool = Path(arguments[0]).absolute()
    try:
        if _lock(spool) < 0:
            print(f"launcher: another launcher serves {spool}", file=sys.stderr)
            return 1
        signal.pthread_sigmask(signal.SIG_BLOCK, {COMMAND_SIGNAL})  # a shepherd may get a command before it is ready
        process_tree.become_subreaper()
        process_tree.set_name("sge_launcher")
        launcher = Launcher(spool)
        with suppress(KeyError):  # the first lookup loads the NSS libraries, once for all shepherds
            os.getgrouplist(pwd.getpwuid(os.geteuid()).pw_name, os.getegid())
    except OSError as error:
        print(f"launcher: can't use {spool}: {plain_fault(error)}", file=sys.stderr)
        return 1
    gc.collect()
    gc.freeze()  # shared pages stay shared: no collection writes into them
    gc.disable()
    launcher.run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
