"""Life of a daemon: a single instance, detached or under systemd, stopped by SIGTERM.

Owns pid files, detaching, readiness and the end by signal. Knows nothing of the daemon's work. Called by the programs
`sge_qmaster` and `sge_execd` before anything else, while there is a single thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import pwd
import select
import signal
import socket
import sys
import sysconfig
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TypeVar

from daemons.runtime.locks import try_lock
from daemons.runtime.reexec import Renewal
from daemons.runtime.release import hold_release, own_release
from gridengine.errors import GridEngineError

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
_OK = b"ok"
_Result = TypeVar("_Result")

#: users reach a daemon's sockets and accounting, independent of its inherited umask; secret files have modes of their own
UMASK = 0o022

_ENDING = "ending"
#: longest time, in seconds, that a daemon waits for its predecessor to end; a Ray node may take 10 s
ENDING_S = 60.0
_POLL_S = 0.05
#: longest time, in seconds, that systemd may take to read a notification
_NOTIFY_S = 10.0
#: the time that a starting daemon asks for at a time, and the longest start, in seconds
_EXTENSION_S, _LONGEST_START_S = 60.0, 3600.0
#: seconds that a daemon whose start failed may take to end
_FAILED_START_S = 20.0


class DaemonError(GridEngineError):
    """The daemon cannot start; the text is one line for the user who started it."""


class PidFile:
    """The file that names the running daemon: `PID START_TICKS RELEASE`, with a lock file that is locked while the daemon lives.

    All users may read it; the lock is on a separate file that others cannot open, and therefore cannot lock.

    The start time in clock ticks distinguishes the daemon from a later process with the same number. `ending` in place of
    the release means that the daemon was asked to end: a new daemon may be started, and waits for its end.
    """

    def __init__(self, path: Path, program: str, patience_s: float = ENDING_S) -> None:
        """Take the lock; if the daemon that has the lock is ending, or was killed a moment ago, wait for its end.

        DaemonError: another process keeps it, or has it for longer than `patience_s`, or the file cannot be written.
        """
        self.path, self.files = path, (path, path.with_suffix(".lock"))
        self._descriptor = _open_file(path, 0o644)
        self._lock = _open_file(self.files[1], 0o600)
        until = time.monotonic() + patience_s
        while not try_lock(self._lock) or _names_other_process(path):
            pid, is_leaving = _read_pid_file(path)
            if not is_leaving or time.monotonic() > until:
                os.close(self._descriptor)
                os.close(self._lock)
                state = "has not ended yet" if is_leaving else "runs already"
                raise DaemonError(f"{program} {state}, as process {pid or '?'} ({path})")
            time.sleep(_POLL_S)
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()} {start_ticks(os.getpid())} {own_release()}\n".encode(), 0)

    def release(self) -> None:
        """Empty the file and release the lock. The file stays: removing it could remove a successor's."""
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)
        os.close(self._lock)


def _open_file(path: Path, mode: int) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, mode)
    except OSError as error:
        raise DaemonError(f"cannot write {path}: {error.strerror}") from error


def _names_other_process(path: Path) -> bool:
    """Whether a pid file names another live process: a daemon of a release without lock files."""
    fields = path.read_text(errors="replace").split()[:2]
    if len(fields) < 2 or not all(field.isdecimal() for field in fields):
        return False
    pid, ticks = map(int, fields)
    return pid != os.getpid() and start_ticks(pid) == ticks > 0


def announce_end(path: Path) -> int:
    """Note in the pid file that its daemon is about to end, and return the daemon's process number.

    Raises OSError, ValueError: no daemon. A full disk does not prevent the end.
    """
    pid, ticks = path.read_text().split()[:2]
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.ftruncate(descriptor, os.pwrite(descriptor, f"{pid} {ticks} {_ENDING}\n".encode(), 0))
        finally:
            os.close(descriptor)
    return int(pid)


def is_ending(path: Path) -> bool:
    """Whether the pid file notes that its daemon is about to end."""
    try:
        return _ENDING in path.read_text(errors="replace").split()[2:]
    except OSError:
        return False


def _read_pid_file(path: Path) -> tuple[int, bool]:
    """Process number, 0 for none, and whether to wait for the release of the lock: the daemon is ending, or was killed and the
    kernel still ends its threads. A starting daemon has no number for a moment."""
    fields = path.read_text(errors="replace").split()
    pid, ticks = map(int, fields[:2]) if len(fields) > 1 and all(map(str.isdecimal, fields[:2])) else (0, 0)
    return pid, _ENDING in fields[2:] or not fields or (pid > 0 and start_ticks(pid) != ticks)


def start_ticks(pid: int) -> int:
    """Return when a process was started, in clock ticks since boot; 0 when there is no such process, or it is dead (a zombie)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    # the second field, the command in parentheses, may itself hold blanks and parentheses
    fields = stat.rpartition(")")[2].split()
    return 0 if fields[0] in ("Z", "X") else int(fields[19])


class Startup:
    """Reports the outcome of a start, ready or failed, to the waiting parent or to systemd."""

    def __init__(self, pipe: int = -1) -> None:
        self._pipe = pipe
        self.is_ready = self.has_failed = False
        """Whether the daemon has reported that it serves, or that its start failed."""

    async def extend(self) -> None:
        """Ask systemd for more time while the daemon starts: its own limits decide whether a slow start has failed. Returns when
        the start has ended, or has taken too long for any host. Source: sd_notify(3) EXTEND_TIMEOUT_USEC."""
        until = time.monotonic() + _LONGEST_START_S
        while not (self.is_ready or self.has_failed) and time.monotonic() < until:
            notify(f"EXTEND_TIMEOUT_USEC={round(_EXTENSION_S * 1e6)}")
            await asyncio.sleep(_EXTENSION_S / 4)

    def ready(self) -> None:
        """Report that the daemon serves."""
        self.is_ready = True
        if self._pipe >= 0 and not self.has_failed:
            os.write(self._pipe, _OK)
            os.close(self._pipe)
            self._pipe = -1
        notify("READY=1")

    def failed(self, reason: str) -> None:
        """Report that the start failed; the caller exits with 1."""
        if self._pipe < 0:
            print(reason, file=sys.stderr)
        elif not self.has_failed:  # the pipe is open until this process has ended
            os.write(self._pipe, reason.encode())
        self.has_failed = True


def become_daemon(foreground: bool, program: str) -> Startup:
    """Leave the caller's session unless `foreground`; the caller waits until the daemon serves and exits 0 or 1.

    To be called with one thread only. Afterwards standard input and output are /dev/null.
    """
    if foreground:
        return Startup()
    read_end, write_end = os.pipe()
    child = os.fork()
    if child:
        os.close(write_end)
        os.waitpid(child, 0)
        sys.exit(_await_start(read_end, program))
    os.close(read_end)
    os.setsid()
    if os.fork():
        os._exit(0)
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    return Startup(write_end)


def _await_start(read_end: int, program: str) -> int:
    message = b""
    # wait for the end of a failed start: another start right after it would find this one running
    while (not message or select.select([read_end], [], [], _FAILED_START_S)[0]) and (data := os.read(read_end, 4096)):
        message += data
        if message == _OK:
            return 0
    text = message.decode(errors="replace") or f"{program} ended while it started: see its messages file"
    print(text, file=sys.stderr)
    return 1


def notify(state: str) -> None:
    """Notify systemd, if it started this process: `READY=1`, `STOPPING=1` or `WATCHDOG=1`. Source: sd_notify(3).

    While systemd has not read the earlier messages, a watchdog message is dropped at once, any other after _NOTIFY_S.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        if address.startswith("@"):
            address = "\0" + address[1:]
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as connection:
            connection.settimeout(0 if state == "WATCHDOG=1" else _NOTIFY_S)
            try:
                connection.sendto(state.encode(), address)
            except OSError:
                pass  # a manager that does not listen is no reason to end


def run_until_stopped(
    main: Callable[[asyncio.Event], Awaitable[_Result]], pid_file: PidFile, startup: Startup, renewal: Renewal | None = None
) -> _Result:
    """Run `main(stop)` on a new event loop and return its result; systemd waits while it starts.

    SIGTERM and SIGINT set `stop`, upon which `main` cleans up and returns; the pid file notes it at once. With a `renewal`,
    SIGHUP replaces the program by the program of the installed release; then this function does not return. Raises OSError.
    """
    stop_requested = False

    async def run() -> _Result:
        stop = asyncio.Event()

        def request_stop() -> None:
            nonlocal stop_requested
            stop_requested = True
            stop.set()
            with contextlib.suppress(OSError, ValueError):  # a removed spool must not keep it alive
                announce_end(pid_file.path)
            notify("STOPPING=1")

        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, request_stop)
        if renewal is not None:
            renewal.watch(stop)
            loop.add_signal_handler(signal.SIGHUP, renewal.begin)
        extension = asyncio.create_task(startup.extend())
        try:
            return await main(stop)
        finally:
            extension.cancel()

    hold_release()
    result = asyncio.run(run())
    if renewal is not None and renewal.is_due and not stop_requested:
        pid_file.release()
        renewal.become()
    return result


async def pause(stop: asyncio.Event, seconds: float) -> None:
    """Wait for `stop`, or for so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await stop.wait()
    except TimeoutError:
        pass


def become_user(name: str, *paths: Path) -> None:
    """Change from root to a user, and make the user the owner of these files. Raises DaemonError, OSError."""
    if os.geteuid() != 0:
        return
    try:
        user = pwd.getpwnam(name)
    except KeyError:
        raise DaemonError(f"the admin user {name} of the cell is not known on this host") from None
    if user.pw_uid == 0:
        return
    for path in paths:
        os.chown(path, user.pw_uid, user.pw_gid)
    os.initgroups(user.pw_name, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)


def module_command(module: str) -> list[str]:
    """Return the start of a command line that runs one of our modules with this very Python.

    The working directory must not decide which modules are loaded (-P); the environment is `module_environment`.
    """
    return [sys.executable, "-P", "-m", module]


def module_environment(base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return `base` with the path to our modules for a child, whether they are installed or in a checkout.

    No inherited variable decides which modules Python loads, as for our programs (-I): `su -m` and `sudo -E` keep another
    user's variables.
    """
    kept = {name: value for name, value in base.items() if not name.startswith("PYTHON")}
    top = Path(__file__).resolve().parents[2]
    if str(top) == sysconfig.get_path("purelib"):
        return kept  # found without it; site-packages must not come before the standard library
    return {**kept, "PYTHONPATH": str(top)}


def die_with_parent(parent: int = 0, number: int = signal.SIGKILL) -> None:
    """Have the kernel end this process when its parent dies. `parent`: the expected parent's number; 0 for any."""
    _libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if parent and os.getppid() != parent:
        os._exit(1)
