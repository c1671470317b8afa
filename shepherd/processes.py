"""The processes below a shepherd: which of them belong to the job; reaping, signalling, measuring and killing them.

Owns the system calls for these actions; `run` decides about their times. The shepherd is their subreaper: orphans of its
children become its children.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from pathlib import Path

from gridengine.errors import plain_fault
from shepherd import process_tree
from shepherd.cgroup_limits import share
from shepherd.containment import Containment
from shepherd.device_guard import DeviceGuard
from shepherd.task_files import Trace
from shepherd.usage import JobUsage, io_bytes

_PATIENCE_S, _ROUND_S = 10.0, 1.0  # time that killed processes may take to disappear; time until they are killed again


class Processes:
    """`usage`: of the job. `containment`: of its processes; `guard`: of all processes of the task. `ended`: called with process
    id and status of each child that is reaped.

    `job_pid`: process of the job, 0 before it was started. `awaited`: the process whose end is waited for, of the job or
    of a method, else 0. `not_job`: processes of methods and of the session; their trees are not the job's.
    """

    def __init__(self, trace: Trace, ended: Callable[[int, int], None]) -> None:
        self.usage = JobUsage()
        self.containment = Containment([], None)
        self.guard: DeviceGuard | None = None
        self.job_pid = self.awaited = 0
        self.not_job: set[int] = set()
        self._trace, self._ended = trace, ended

    @property
    def is_job_running(self) -> bool:
        """Return whether the awaited process is the job itself."""
        return self.awaited != 0 and self.awaited == self.job_pid

    def reap(self) -> bool:
        """Reap all ended children; the usage of processes of the job is added up. False: no child is left, ended or not."""
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return False
            if ended is None:
                return True
            io = 0 if ended.si_pid in self.not_job else io_bytes(ended.si_pid)
            pid, status, rusage = os.wait4(ended.si_pid, 0)
            self._ended(pid, status)
            if self.job_pid and pid not in self.not_job:
                self.usage.add_reaped(rusage, io)
            self.not_job.discard(pid)

    def exclude_children(self) -> None:
        """Exclude the present children from the job: daemons of pe_start outlive it."""
        self.not_job.update(process_tree.children(os.getpid()))

    def signal(self, number: int) -> None:
        count = process_tree.signal_tree(os.getpid(), number, self._excluded_roots())
        self._trace(f"signal {number} to {count} processes")

    def kill(self) -> None:
        if self.is_job_running:
            self.containment.kill()
        process_tree.kill_tree(os.getpid(), self._excluded_roots())

    def renice(self, nice: int, slots: int = 1) -> None:
        """Give the job's processes a nice value; processes that they start later inherit it. `slots`: of the job here."""
        if self.is_job_running:
            count = process_tree.renice(process_tree.descendants(os.getpid(), self.not_job), nice)
            with suppress(OSError):  # without the controller the nice values alone count
                self.containment.limit(share(slots, nice))
            self._trace(f"nice value {nice} for {count} processes")

    def measure(self) -> None:
        """Take a sample of the job's usage."""
        if self.is_job_running:
            pids = process_tree.descendants(os.getpid(), self.not_job)
            held = self.containment
            self.usage.sample(pids, time.monotonic(), held.cpu_seconds(), held.memory_bytes())

    def note_cgroup(self) -> None:
        """Add what the cgroup has counted to the usage: processor time, and the most memory in use, which samples miss."""
        self.usage.note_memory(self.containment.peak_memory_bytes() or 0)
        self._note_cpu()

    def _note_cpu(self) -> None:
        self.usage.cpu_s = max(self.usage.cpu_s, self.containment.cpu_seconds() or 0.0)

    def limited_memory(self, by_cgroup: bool) -> tuple[int, int | None]:
        """Return the bytes to compare with the limits on memory, and `out_of_memory_at`. `by_cgroup`: a cgroup limits them."""
        in_use = self.containment.memory_bytes(limited=True) if by_cgroup else None
        return self.usage.vmem if in_use is None else in_use, self.out_of_memory_at()

    def out_of_memory_at(self) -> int | None:
        """Return the bytes that were in use when the kernel killed a process for the limit of the cgroup, 0 where it does not say
        that; None if it has killed none."""
        if not self.containment.oom_kills():
            return None
        return self.containment.peak_memory_bytes(limited=True) or 0

    def sweep(self, excluded: Collection[int]) -> None:
        """Kill and reap the processes that the job has left behind (EX-7), except the methods in `excluded`."""
        self.containment.kill()
        self._end_all(self.not_job.difference(excluded))
        self._note_cpu()

    def release(self, directory: Path) -> None:
        """Release the containment and the guard."""
        for release in (partial(self.containment.release, directory), self.guard.release if self.guard else None):
            try:
                if release is not None:
                    release()
            except OSError as error:
                self._trace(f"can't release the cgroup or group id of the job's processes: {plain_fault(error)}")

    def end_all(self) -> None:
        """End every process below the shepherd."""
        self.not_job.clear()
        self._end_all(self.not_job)

    def _end_all(self, excluded: Collection[int]) -> None:
        """Kill all processes but the trees of `excluded`, and wait until they are gone, for a limited time."""
        until = time.monotonic() + _PATIENCE_S
        while self.reap() and not all(pid in excluded for pid in process_tree.children(os.getpid())):
            left_s = until - time.monotonic()
            if left_s <= 0:
                return
            process_tree.kill_tree(os.getpid(), excluded)
            signal.sigtimedwait({signal.SIGCHLD}, min(left_s, _ROUND_S))

    def _excluded_roots(self) -> set[int]:
        """Roots of the trees that do not belong to the job; a method that is waited for counts as the job."""
        return self.not_job - {self.awaited}
