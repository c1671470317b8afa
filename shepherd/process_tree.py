"""Processes as /proc shows them: identity, descent, signalling without hitting an unrelated process.

The shepherd is a child subreaper, so all processes of a job, daemonised or not, descend from it. No process is signalled
before a check, with the process held by a pidfd, that it still has the position in the tree for which it was chosen: process
ids are reused.
"""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

_PROC_BYTES = 4096
_PR_SET_NAME = 15
_PR_SET_CHILD_SUBREAPER = 36
_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
_libc = ctypes.CDLL(None, use_errno=True)
_prctl = _libc.prctl
_timers = _libc if hasattr(_libc, "timer_create") else ctypes.CDLL("librt.so.1")  # the library of glibc before 2.34
_timer_create, _timer_settime, _timer_delete = _timers.timer_create, _timers.timer_settime, _timers.timer_delete
_CLOCK_MONOTONIC, _SIGEV_SIGNAL = 1, 0


def become_subreaper() -> None:
    """Orphaned descendants become children of this process instead of init's. Source: prctl(2)."""
    if _prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def drop_ambient_capabilities() -> None:
    """Drop ambient capabilities of the daemon: a process that is spawned without ever dropping root would keep them."""
    _prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)


def set_name(name: str) -> None:
    """Set the name of this process in ps and pgrep; the kernel cuts it to 15 characters."""
    _prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)


@contextmanager
def end_on_failure() -> Iterator[None]:
    """End this shepherd at once if the block fails; its launcher then ends the rest of the task."""
    try:
        yield
    except BaseException:  # a second shepherd must never run on
        os._exit(1)


@contextmanager
def kill_after(seconds: float) -> Iterator[None]:
    """The kernel kills this process when the block takes longer, also while it waits for another process or is stopped.

    Raises OSError. Source: timer_create(2), with SIGKILL, which posix_spawn(3) does not block.
    """
    timer = ctypes.c_void_p()
    event = struct.pack("@Pii48x", 0, signal.SIGKILL, _SIGEV_SIGNAL)
    if _timer_create(_CLOCK_MONOTONIC, event, ctypes.byref(timer)) != 0:
        raise OSError(ctypes.get_errno(), "timer_create")
    try:
        _timer_settime(timer, 0, struct.pack("@4l", 0, 0, *divmod(int(seconds * 1e9), 10**9)), None)
        yield
    finally:
        _timer_delete(timer)


def detach() -> None:
    """Detach from the parent process: close its descriptors and wake-up pipe, leave its directory."""
    signal.set_wakeup_fd(-1)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir("/")


def fork_child(do: Callable[[], None]) -> int:
    """Fork a process that detaches from the launcher, calls `do` and ends. Returns its process id. Raises OSError."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            detach()
            do()
            status = 0
        finally:
            os._exit(status)
    return pid


def read_proc(path: str) -> bytes:
    """Content of a file of /proc. Raises OSError when its process is gone."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = os.read(descriptor, _PROC_BYTES)
        while len(data) % _PROC_BYTES == 0 and (more := os.read(descriptor, _PROC_BYTES)):
            data += more
        return data
    finally:
        os.close(descriptor)


def read_pids(path: str | Path) -> list[int]:
    """The process ids in a file of the kernel, which gives no more than a page at a time. Raises OSError."""
    descriptor, data = os.open(path, os.O_RDONLY | os.O_CLOEXEC), b""
    try:
        while part := os.read(descriptor, _PROC_BYTES):
            data += part
    finally:
        os.close(descriptor)
    return [int(pid) for pid in data.split()]


def stat_fields(pid: int) -> list[bytes] | None:
    """Fields of /proc/PID/stat from the state on (state is [0], parent [1]); None when there is no such process."""
    try:
        data = read_proc(f"/proc/{pid}/stat")
    except OSError:
        return None
    return data[data.rfind(b")") + 2 :].split()  # the name before may contain anything


def start_ticks(pid: int) -> int | None:
    """Start time in clock ticks since boot, which makes a process id unique; None when it does not run."""
    fields = stat_fields(pid)
    return None if fields is None or fields[0] in (b"Z", b"X") else int(fields[19])


def parent(pid: int) -> int | None:
    fields = stat_fields(pid)
    return None if fields is None else int(fields[1])


def children(pid: int) -> list[int]:
    """Children of all threads of a process, zombies included."""
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += read_pids(f"/proc/{pid}/task/{thread}/children")
    except OSError:
        pass  # the process has ended: its children have a new parent
    return found


def descendants(root: int, without: Collection[int] = ()) -> dict[int, int]:
    """All processes below `root` with their parents, leaving out the trees of `without`."""
    found: dict[int, int] = {}
    waiting = [root]
    while waiting:
        above = waiting.pop()
        for pid in children(above):
            if pid not in without and pid not in found:
                found[pid] = above
                waiting.append(pid)
    return found


def send(pid: int, above: Collection[int], number: int) -> bool:
    """Signal `pid` if its parent is one of `above`; False when it is gone or has another parent now."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return False
    try:
        if parent(pid) not in above:
            return False
        signal.pidfd_send_signal(descriptor, number)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def signal_tree(root: int, number: int, without: Collection[int] = ()) -> int:
    """Signal all descendants of `root`, also processes that are forked meanwhile; return the number of processes that got
    the signal.

    A stop is repeated until no new process appears; other signals are sent once to each process.
    """
    reached: set[int] = set()
    while True:
        tree = descendants(root, without)
        new = tree.keys() - reached
        if not new:
            return len(reached)
        above = tree.keys() | {root}
        for pid in new:
            send(pid, above, number)
        reached |= new


def kill_tree(root: int, without: Collection[int] = ()) -> int:
    """Kill all descendants of `root`: first stop all, so that none forks faster than it is killed."""
    count = signal_tree(root, signal.SIGSTOP, without)
    if count:
        signal_tree(root, signal.SIGKILL, without)
    return count


def renice(pids: Iterable[int], nice: int) -> int:
    """Set the nice value of processes. Returns the number of changed processes; a process that is gone, or refused, is
    skipped."""
    count = 0
    for pid in pids:
        try:
            os.setpriority(os.PRIO_PROCESS, pid, nice)
        except OSError:
            continue
        count += 1
    return count


def reapers() -> set[int]:
    """Return the processes that may have inherited orphans of jobs: this process, all processes above it, and init."""
    found = {1}
    pid = os.getpid()
    while pid > 1 and pid not in found:
        found.add(pid)
        pid = parent(pid) or 1
    return found


def boot_time() -> float:
    """When this host, or the container in which this process runs, was started: the start of process 1 in epoch seconds."""
    since_boot = int(Path("/proc/1/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    lines = Path("/proc/stat").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("btime ")) + since_boot
