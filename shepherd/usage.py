"""The usage of a job: from the kernel when processes end, from /proc while they run (EX-8).

Owns the sums. cpu in seconds, mem in GB s (integral of virtual memory over time), io in GB, sizes in bytes; ru_* as in
getrusage(2). Source: sge_accounting(5). The shepherd feeds it; nothing here waits or signals.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from resource import RUSAGE_SELF, getrusage, struct_rusage

from shepherd.process_tree import read_proc, stat_fields

GIGABYTE = 2**30
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
# Times at which every job is measured, in seconds since its start, so that records of short jobs contain their memory;
# later measurements are required by limits or requested by the execd (EX-8).
EARLY_S = (1, 3, 7, 15, 31)
_SUMMED = (
    "ru_utime ru_stime ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock ru_msgsnd ru_msgrcv ru_nsignals "
    "ru_nvcsw ru_nivcsw ru_ixrss ru_idrss ru_isrss"
).split()


class JobUsage:
    """Usage of one job between `began` and `ended`. `add_reaped` for each process that ended, `sample` for the running
    processes."""

    def __init__(self) -> None:
        self._rusage: dict[str, float] = dict.fromkeys(_SUMMED, 0.0) | {"ru_maxrss": 0.0}
        # a program inherits the peak of the process that executes it, and that process is a copy of this process
        self._shepherds_maxrss = getrusage(RUSAGE_SELF).ru_maxrss
        self._ended_io = 0
        self._io = 0
        self._sampled_at: float | None = None
        self._early: list[float] = []
        self.cpu_s = 0.0
        self.vmem = 0
        self.rss = 0
        self.maxvmem = 0
        self.mem_gb_s = 0.0

    def began(self, now: float) -> None:
        """The job's process exists since monotonic time `now`."""
        self._sampled_at = now
        self._early = [now + seconds for seconds in EARLY_S]

    def deadline(self) -> float | None:
        """Monotonic time of the next early measurement; None: there is no further early measurement."""
        return self._early[0] if self._early else None

    def due(self, now: float) -> bool:
        """Whether that time has come. Several that have passed count once."""
        later = [at for at in self._early if at > now]
        come, self._early = len(later) < len(self._early), later
        return come

    def ended(self, now: float) -> None:
        """The job has ended: the memory of the last measurement counts to the end."""
        if self._sampled_at is not None:
            self.mem_gb_s += self.vmem / GIGABYTE * (now - self._sampled_at)
            self._sampled_at = None
        self._early = []

    def add_reaped(self, rusage: struct_rusage, io_bytes: int) -> None:
        """A process of the job has ended; both counts include the children that it had waited for."""
        for name in _SUMMED:
            self._rusage[name] += getattr(rusage, name)
        self._rusage["ru_maxrss"] = max(self._rusage["ru_maxrss"], rusage.ru_maxrss)
        if rusage.ru_maxrss > self._shepherds_maxrss:
            self.note_memory(rusage.ru_maxrss * 1024)
        self._ended_io += io_bytes
        self._io = max(self._io, self._ended_io)
        self.cpu_s = max(self.cpu_s, self._rusage["ru_utime"] + self._rusage["ru_stime"])

    def sample(
        self, pids: Iterable[int], now: float, cgroup_cpu_s: float | None = None, cgroup_memory: int | None = None
    ) -> None:
        """Measure the running processes at monotonic time `now`. A cgroup's CPU time is exact if there is a cgroup, and its
        memory is what the processes use together: it replaces the sum of their address spaces."""
        cpu_s, vmem, rss, io = self._rusage["ru_utime"] + self._rusage["ru_stime"], 0, 0, 0
        for pid in pids:
            fields = stat_fields(pid)
            if fields is None:
                continue
            cpu_s += sum(int(ticks) for ticks in fields[11:15]) * _TICK_S  # own time and the time of waited-for children
            vmem += int(fields[20])
            rss += int(fields[21]) * _PAGE
            io += io_bytes(pid)
        vmem = vmem if cgroup_memory is None else cgroup_memory
        if self._sampled_at is not None:
            before = self.vmem if self.maxvmem else vmem  # nothing is known of the time before the first measurement
            self.mem_gb_s += (before + vmem) / 2 / GIGABYTE * (now - self._sampled_at)
        self._sampled_at, self.vmem, self.rss = now, vmem, rss
        self._io = max(self._io, self._ended_io + io)
        self.maxvmem = max(self.maxvmem, vmem)
        self.cpu_s = max(self.cpu_s, cpu_s if cgroup_cpu_s is None else cgroup_cpu_s)

    def note_memory(self, size: int) -> None:
        """The job used at least `size` bytes at a time, though perhaps no sample contains that size."""
        self.maxvmem = max(self.maxvmem, size)

    def current_values(self) -> dict[str, float]:
        """Values for qstat -j while the job runs."""
        return self._sums() | {"vmem": self.vmem, "maxvmem": self.maxvmem, "rss": self.rss}

    def final(self, wallclock_s: float) -> dict[str, float]:
        """Values for the accounting record."""
        return {"ru_wallclock": wallclock_s} | self._rusage | self._sums() | {"maxvmem": self.maxvmem}

    def _sums(self) -> dict[str, float]:
        return {"cpu": self.cpu_s, "mem": self.mem_gb_s, "io": self._io / GIGABYTE, "iow": 0.0}


def io_bytes(pid: int) -> int:
    """Characters read and written by a process and its waited-for children; 0 where denied (zombies: root only)."""
    try:
        fields = read_proc(f"/proc/{pid}/io").split()
    except OSError:
        return 0
    return int(fields[1]) + int(fields[3]) if len(fields) > 3 else 0
