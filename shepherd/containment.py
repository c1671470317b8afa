"""Containment of a job's processes besides their descent: a cgroup, or an additional group id (EX-6).

Cgroup and group id are extras: the shepherd finds all processes by descent. A cgroup adds killing in one operation, exact
CPU time, the memory in use and limits (`cgroup_limits`); by cgroup and group id (`group_ids`) the launcher finds the processes
of a job whose shepherd was killed. Tasks of a parallel job on one host have cgroups in one cgroup of the job, which has the
limits: together they get no more than the job's slots there (adr/0210).
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from shepherd import cgroup_limits, group_ids, task_files
from shepherd.cgroup_files import enter, has, put, read
from shepherd.cgroup_limits import MEMORY, CgroupSetting
from shepherd.own_cgroups import own_cgroups
from shepherd.process_tree import end_on_failure, read_pids, stat_fields

_KILL_ROUNDS = 20  # where nothing keeps processes from forking while they are killed one after the other
_MAKE_ROUNDS = 5  # where another task of the job removes the cgroup of the job at the same time


class Containment:
    """One task's cgroup directories (none, one of v2, or several of v1) and its additional group id, if any.

    `outer`: the directories of its job, which has the limits, where they are not the task's own.
    """

    def __init__(self, cgroups: list[Path], gid: int | None, outer: Sequence[Path] = ()) -> None:
        self.cgroups = cgroups
        self.gid = gid
        self.outer = outer
        self.limits_memory = False

    @property
    def _limited(self) -> Sequence[Path]:
        return self.outer or self.cgroups

    def enter(self) -> None:
        """Put this process, which has one thread, and all that it will fork into the cgroup."""
        enter(self.cgroups)

    @contextmanager
    def visited(self) -> Iterator[None]:
        """Be in the cgroup for the block: what is spawned begins there. A process that cannot leave it ends. Raises OSError."""
        homes = own_cgroups(map(os.path.dirname, self.cgroups)) if self.cgroups else []
        if not all(os.access(f"{home}/cgroup.procs", os.W_OK, effective_ids=True) for home in homes):
            raise PermissionError(errno.EPERM, "this process could not go back to its own cgroup")
        processors = os.sched_getaffinity(0)
        try:
            self.enter()
            yield
        finally:
            with end_on_failure():
                enter(homes)
                if self.cgroups and os.sched_getaffinity(0) != processors:  # a cpuset gives its own
                    os.sched_setaffinity(0, processors)

    def kill(self) -> None:
        """Kill all processes in the cgroup. Where the kernel does not do that itself they are frozen meanwhile; without a
        freezer they are killed until there is none."""
        atomic = next((each for each in self.cgroups if has(each, "cgroup.kill")), None)
        if atomic is not None:
            put(atomic, "cgroup.kill", "1")
            return
        if not any(map(_pids, self.cgroups[:1])):
            return
        for name, freeze, thaw in (("freezer.state", "FROZEN", "THAWED"), ("cgroup.freeze", "1", "0")):
            for cgroup in self.cgroups:
                if has(cgroup, name):
                    put(cgroup, name, freeze)
                    _kill_each(cgroup)
                    put(cgroup, name, thaw)
                    return
        for cgroup in self.cgroups[:1]:
            for _ in range(_KILL_ROUNDS):
                if not _kill_each(cgroup):
                    return

    def limit(self, setting: CgroupSetting) -> None:
        """Raises OSError."""
        self.limits_memory |= setting.what == MEMORY
        cgroup_limits.apply(self._limited, setting)

    def cpu_seconds(self) -> float | None:
        """CPU time of all processes that have ever been in the cgroup; None without a cgroup."""
        for cgroup in self.cgroups:
            try:
                if has(cgroup, "cpuacct.usage"):
                    return int(read(cgroup, "cpuacct.usage")) / 1e9
                if has(cgroup, "cpu.stat"):
                    return int(read(cgroup, "cpu.stat").split()[1]) / 1e6
            except OSError:
                continue
        return None

    def memory_bytes(self, limited: bool = False) -> int | None:
        """Memory that the processes use together now, without file cache; None without a memory controller. `limited`: of
        all tasks to which the limit applies."""
        return _memory(self._limited if limited else self.cgroups, ("memory.current", "memory.usage_in_bytes"))

    def peak_memory_bytes(self, limited: bool = False) -> int | None:
        """The most memory that was in use, without the file cache of now; None where the kernel does not say it (v2 before
        5.19). `limited`: as of `memory_bytes`."""
        return _memory(self._limited if limited else self.cgroups, ("memory.peak", "memory.max_usage_in_bytes"))

    def oom_kills(self) -> int:
        """Return the number of processes that the kernel has killed because of the memory limit."""
        for cgroup in self.cgroups:
            for name in ("memory.events", "memory.oom_control"):
                try:
                    tokens = read(cgroup, name).split()
                    return int(tokens[tokens.index("oom_kill") + 1])
                except (OSError, ValueError, IndexError):  # a kernel that does not count them
                    continue
        return 0

    def release(self, directory: Path) -> bool:
        """Release cgroup and group id; False when a cgroup stays, because there are still processes in it."""
        released = True
        for cgroup in self.cgroups:
            try:
                os.rmdir(cgroup)
            except FileNotFoundError:
                continue
            except OSError:
                released = False
        for cgroup in self.outer:
            with suppress(OSError):  # other tasks of the job are in it
                os.rmdir(cgroup)
        if self.gid is not None:
            group_ids.release(directory, self.gid)
        return released


def establish(directory: Path, parents: Collection[str], gid_range: str | None, shared: bool = False) -> Containment:
    """Make a cgroup in each of `parents` if possible, else claim an additional group id if root, and record it.

    `shared`: in the cgroup of its job, beside other tasks of the job. Raises NoGroupLeftError. Source: sge_conf(5) USE_CGROUPS,
    gid_range.
    """
    path = f"{_job_name(directory)}/{directory.name}" if shared else directory.name
    planned = [Path(parent, path) for parent in parents]
    if planned:
        _record(directory, planned)  # before they are made: whatever ends this process, the launcher removes them
    cgroups = [cgroup for cgroup in planned if _make(cgroup, shared)]
    if cgroups != planned:
        _record(directory, cgroups)
    if cgroups:
        return Containment(cgroups, None, [cgroup.parent for cgroup in cgroups] if shared else [])
    gid = group_ids.claim(directory, gid_range)
    if gid is not None:
        task_files.replace(directory / task_files.ADDGRPID, f"{gid}\n".encode())
    return Containment([], gid)


def read_recorded(directory: Path) -> Containment:
    """Read the containment that is recorded in the files of a task."""
    try:
        cgroups = [Path(line) for line in (directory / task_files.CGROUP).read_text().splitlines()]
    except OSError:
        cgroups = []
    outer = [cgroup.parent for cgroup in cgroups if cgroup.parent.name == _job_name(directory)]
    try:
        gid = int((directory / task_files.ADDGRPID).read_text())
    except (OSError, ValueError):
        return Containment(cgroups, None, outer)
    return Containment(cgroups, gid, outer)


def _job_name(directory: Path) -> str:
    """`JOB.TASK`, which a task and its slave tasks have in common."""
    return ".".join(directory.name.split(".")[:2])


def _record(directory: Path, cgroups: list[Path]) -> None:
    task_files.replace(directory / task_files.CGROUP, "".join(f"{cgroup}\n" for cgroup in cgroups).encode())


def _make(cgroup: Path, shared: bool) -> bool:
    """Make a cgroup. Never its parent: where systemd has removed that, it is systemd's to make."""
    for _ in range(_MAKE_ROUNDS if shared else 1):
        try:
            if shared:
                cgroup.parent.mkdir(exist_ok=True)
                _pass_controllers_on(cgroup.parent)
            _make_new(cgroup)
            return os.access(f"{cgroup}/cgroup.procs", os.W_OK)
        except OSError:
            continue
    return False


def _make_new(cgroup: Path) -> None:
    """What an earlier attempt has left would count for this one: its limits, its peak of memory."""
    try:
        cgroup.mkdir()
    except FileExistsError:
        with suppress(OSError):
            cgroup.rmdir()
        cgroup.mkdir(exist_ok=True)


def _pass_controllers_on(cgroup: Path) -> None:
    """Let the children of a v2 cgroup have the controllers that it has."""
    if has(cgroup, "cgroup.subtree_control"):
        controllers = read(cgroup, "cgroup.controllers").split()
        put(cgroup, "cgroup.subtree_control", " ".join(f"+{name}" for name in controllers))


def _memory(cgroups: Sequence[Path], names: tuple[str, str]) -> int | None:
    """A figure of the memory controller less the file cache, which the kernel drops before it refuses memory."""
    for cgroup in cgroups:
        for name in names:
            if has(cgroup, name):
                return max(0, int(read(cgroup, name)) - _file_cache(cgroup))
    return None


def _file_cache(cgroup: Path) -> int:
    """Bytes of files in memory, but for those that exist only there (tmpfs)."""
    try:
        fields = read(cgroup, "memory.stat").split()
    except OSError:
        return 0
    figures = dict(zip(fields[::2], fields[1::2], strict=False))
    v2, v1 = ("file", "shmem"), ("total_cache", "total_shmem")
    cache, shared = (int(figures.get(second, figures.get(first, 0))) for first, second in zip(v2, v1, strict=True))
    return max(0, cache - shared)


def _kill_each(cgroup: Path) -> int:
    """Kill the processes in a cgroup one after the other; returns how many there were."""
    pids = _pids(cgroup)
    for pid in pids:
        if stat_fields(pid) is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    return len(pids)


def _pids(cgroup: Path) -> list[int]:
    """The processes in a cgroup. After a reboot the cgroup is gone."""
    try:
        return read_pids(f"{cgroup}/cgroup.procs")
    except FileNotFoundError:
        return []
