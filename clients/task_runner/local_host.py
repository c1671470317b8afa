"""The commands that run on this host: a command a slot, started by posix_spawn(3), each in a process group of its own.

Owns the start and the end of these processes. A command without characters of a shell is executed directly, any other by `/bin/sh
-c`, as the user would type it. Called by the runner, and by the worker on a further host.
"""

import errno
import os
import re
import signal
import time
from collections.abc import Mapping

from clients.task_runner.capture import ERR, Capture, NoCapture, is_one_file, write_all
from gridengine.files.executables import start

SHELL = "/bin/sh"
NOT_FOUND, NOT_EXECUTABLE = 127, 126
_PLAIN = re.compile(r"[A-Za-z0-9_@%+:,./-][A-Za-z0-9_@%+:,./= \t-]*")
#: names that mean something else to a shell than the program of the name, if there is one
_OF_THE_SHELL = frozenset(
    ". : alias bg break case cd command continue do done echo elif else esac eval exec exit export false fc fg fi for "
    "getopts hash if in jobs kill local newgrp printf pwd read readonly return set shift test then times trap "
    "true type ulimit umask unalias unset until wait while".split()
)
#: what Python ignores, commands do not inherit
_DEFAULT_SIGNALS = tuple(getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ"))


class AttemptEnd:
    """The end of an attempt: the number of the command, its times in epoch s, and its output until that is taken.

    `group`: process group of the command, 0 if none was started on this host.
    """

    __slots__ = ("attempt", "capture", "end", "exit_status", "group", "number", "signal", "start")

    def __init__(
        self,
        number: int,
        attempt: int,
        times: tuple[float, float],
        exit_status: int,
        signal: int,
        capture: Capture,
        group: int = 0,
    ) -> None:
        self.number, self.attempt = number, attempt
        self.start, self.end = times
        self.exit_status, self.signal = exit_status, signal
        self.capture, self.group = capture, group


class _Slot:
    """A slot: the files for outputs, and the command that it serves."""

    __slots__ = ("actions", "attempt", "capture", "number", "start")

    def __init__(self, capture: Capture, null: int) -> None:
        self.capture = capture
        self.number = self.attempt = 0
        self.start = 0.0
        pairs = zip((null, *capture.descriptors), (0, 1, 2), strict=True)
        self.actions = [(os.POSIX_SPAWN_DUP2, descriptor, target) for descriptor, target in pairs]


def arguments_of(command: str) -> list[str]:
    """The arguments by which a command is executed."""
    if _PLAIN.fullmatch(command):
        tokens = command.split()
        if tokens[0] not in _OF_THE_SHELL and "=" not in tokens[0]:
            return tokens
    return [SHELL, "-c", command]


class LocalHost:
    """The slots of this host. `environment`: of the commands, which also get SGE_TASKS_NUMBER and SGE_TASKS_ATTEMPT.
    `keeps_output`: else the output of commands is dropped."""

    def __init__(self, name: str, slots: int, environment: Mapping[str, str], keeps_output: bool = True) -> None:
        self.name = name
        self._null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        self._environment = {os.fsencode(key): os.fsencode(value) for key, value in environment.items()}
        self._is_one, self._keeps_output = is_one_file(), keeps_output
        self._free = [_Slot(self._new_capture(), self._null) for _ in range(slots)]
        self._busy: dict[int, _Slot] = {}
        self._unstarted: list[AttemptEnd] = []

    @property
    def has_free(self) -> bool:
        return bool(self._free)

    @property
    def has_unstarted(self) -> bool:
        """Whether attempts have ended without a process; no signal wakes the caller for them."""
        return bool(self._unstarted)

    @property
    def is_busy(self) -> bool:
        return bool(self._busy or self._unstarted)

    def running(self) -> list[tuple[int, int, float]]:
        """The commands that run: (number, attempt, start)."""
        return [(slot.number, slot.attempt, slot.start) for slot in self._busy.values()]

    def begin(self, number: int, attempt: int, command: str) -> None:
        """Start a command in a free slot. Raises BlockingIOError if the host can start no process now."""
        slot = self._free[-1]
        slot.number, slot.attempt, slot.start = number, attempt, time.time()
        self._environment[b"SGE_TASKS_NUMBER"] = b"%d" % number
        self._environment[b"SGE_TASKS_ATTEMPT"] = b"%d" % attempt
        actions, environment = slot.actions, self._environment

        def begin(argv: list[str]) -> int:
            return os.posix_spawnp(
                argv[0], argv, environment, file_actions=actions, setpgroup=0, setsigdef=_DEFAULT_SIGNALS
            )

        argv = arguments_of(command)
        try:
            pid = start(begin, argv)
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.ENOMEM):
                raise BlockingIOError(error.errno, error.strerror) from None
            self._fail(slot, argv[0], error)
        else:
            self._busy[pid] = self._free.pop()

    def _fail(self, slot: _Slot, program: str, error: OSError) -> None:
        """Let an attempt end whose program cannot be executed, with the exit status of a shell."""
        write_all(slot.capture.descriptors[ERR - 1], os.fsencode(f"qtasks: cannot run {program}: {error.strerror}\n"))
        status = NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
        times = slot.start, time.time()
        self._unstarted.append(AttemptEnd(slot.number, slot.attempt, times, status, 0, slot.capture))
        self._free.pop()

    def ends(self) -> list[AttemptEnd]:
        """The attempts that have ended. Their slots stay in use until the output is taken (`free`)."""
        found, self._unstarted = self._unstarted, []
        while self._busy:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                break
            slot = self._busy.pop(pid, None)
            if slot is not None:  # else it is a process of the runner itself
                code, times = os.waitstatus_to_exitcode(status), (slot.start, time.time())
                found.append(AttemptEnd(slot.number, slot.attempt, times, max(code, 0), max(-code, 0), slot.capture, pid))
        return found

    def free(self, end: AttemptEnd) -> None:
        """Use the slot of an ended attempt again, with new files if a process that it left behind may still write."""
        capture = end.capture
        if end.group and _is_alive(end.group):
            capture.close()
            capture = self._new_capture()
        self._free.append(_Slot(capture, self._null))

    def _new_capture(self) -> Capture:
        return Capture(self._is_one) if self._keeps_output else NoCapture(self._null)

    def signal(self, number: int) -> None:
        """Send a signal to the process groups of all commands."""
        for pid in self._busy:
            try:
                os.killpg(pid, number)
            except ProcessLookupError:
                continue


def _is_alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except OSError as error:
        return error.errno == errno.EPERM
    return True
