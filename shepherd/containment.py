"""Containment of a job's processes besides their descent: a cgroup, or an additional group id (EX-6).

Cgroup and group id are extras: the shepherd finds all processes by descent. A cgroup adds killing in one operation, exact
CPU time and a limit on memory; by cgroup and group id the launcher finds the processes of a job whose shepherd was killed.
The group id is claimed from gid_range by a link in the spool directory. Unlike in 8.1.9 no process is ever killed for its
group alone: another execd may use the same range (`adoption` has the further conditions).
"""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

from gridengine.errors import GridEngineError
from shepherd import task_files
from shepherd.process_tree import stat_fields

CLAIMS = "addgrpids"


class NoGroupLeftError(GridEngineError):
    """All ids of gid_range are in use on this host (failed code 38)."""


class Containment:
    """One task's cgroup directories (none, one of v2, or several of v1) and its additional group id, if any."""

    def __init__(self, cgroups: list[Path], gid: int | None) -> None:
        self.cgroups = cgroups
        self.gid = gid

    def enter(self) -> None:
        """Put this process, and all that it will fork, into the cgroup."""
        for cgroup in self.cgroups:
            _put(cgroup / "cgroup.procs", "0")

    def kill(self) -> None:
        """Kill all processes in the cgroup; with v1 they are frozen meanwhile, since v1 can only kill them one after the
        other."""
        for cgroup in self.cgroups:
            if (cgroup / "cgroup.kill").exists():
                _put(cgroup / "cgroup.kill", "1")
            elif (cgroup / "freezer.state").exists():
                _put(cgroup / "freezer.state", "FROZEN")
                for pid in (cgroup / "cgroup.procs").read_text().split():
                    _kill(int(pid))
                _put(cgroup / "freezer.state", "THAWED")

    def cpu_seconds(self) -> float | None:
        """CPU time of all processes that have ever been in the cgroup; None without a cgroup."""
        for cgroup in self.cgroups:
            try:
                if (cgroup / "cpuacct.usage").exists():
                    return int((cgroup / "cpuacct.usage").read_text()) / 1e9
                if (cgroup / "cpu.stat").exists():
                    return int((cgroup / "cpu.stat").read_text().split()[1]) / 1e6
            except OSError:
                continue
        return None

    def limit_memory(self, limit: int) -> None:
        """Let the kernel limit all processes together to `limit` bytes, swap included. Raises OSError.

        When it has to kill one of them, v2 kills them all; with v1 the shepherd does so when `oom_kills` is not 0.
        """
        for cgroup in self.cgroups:
            if (cgroup / "memory.max").exists():
                _put(cgroup / "memory.max", str(limit))
                _put_if_there(cgroup / "memory.swap.max", "0")
                _put_if_there(cgroup / "memory.oom.group", "1")
                return
            if (cgroup / "memory.limit_in_bytes").exists():
                _put(cgroup / "memory.limit_in_bytes", str(limit))
                _put_if_there(cgroup / "memory.memsw.limit_in_bytes", str(limit))
                return
        raise FileNotFoundError(errno.ENOENT, "no cgroup has the memory controller")

    def limit_processes(self, most: int) -> None:
        """Let the kernel limit the number of processes and threads, in all, to `most`. Raises OSError."""
        for cgroup in self.cgroups:
            if (cgroup / "pids.max").exists():
                _put(cgroup / "pids.max", str(most))
                return
        raise FileNotFoundError(errno.ENOENT, "no cgroup has the pids controller")

    def memory_bytes(self) -> int | None:
        """Memory that the processes use together now, file cache included; None without a memory controller."""
        for cgroup in self.cgroups:
            for name in ("memory.current", "memory.usage_in_bytes"):
                if (cgroup / name).exists():
                    return int((cgroup / name).read_text())
        return None

    def oom_kills(self) -> int:
        """Return the number of processes that the kernel has killed because of the memory limit."""
        for cgroup in self.cgroups:
            for name in ("memory.events", "memory.oom_control"):
                try:
                    tokens = (cgroup / name).read_text().split()
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
        if self.gid is not None:
            claim = _claims(directory) / str(self.gid)
            if _is_claimed_by(claim, directory):
                claim.unlink()
        return released


def establish(directory: Path, parents: list[str], gid_range: str | None) -> Containment:
    """Make a cgroup in each of `parents` if possible, else claim an additional group id if root, and record it.

    Raises NoGroupLeftError. Source: sge_conf(5) USE_CGROUPS, gid_range.
    """
    made = [_make_cgroup(Path(parent) / directory.name) for parent in parents]
    cgroups = [cgroup for cgroup in made if cgroup is not None]
    if cgroups:
        task_files.replace(directory / task_files.CGROUP, "".join(f"{cgroup}\n" for cgroup in cgroups).encode())
        return Containment(cgroups, None)
    ranges = parse_gid_range(gid_range)
    if os.geteuid() != 0 or not ranges:
        return Containment([], None)
    gid = _claim(directory, ranges)
    task_files.replace(directory / task_files.ADDGRPID, f"{gid}\n".encode())
    return Containment([], gid)


def read_recorded(directory: Path) -> Containment:
    """Read the containment that is recorded in the files of a task."""
    try:
        cgroups = [Path(line) for line in (directory / task_files.CGROUP).read_text().splitlines()]
    except OSError:
        cgroups = []
    try:
        gid = int((directory / task_files.ADDGRPID).read_text())
    except (OSError, ValueError):
        return Containment(cgroups, None)
    return Containment(cgroups, gid)


def parse_gid_range(text: str | None) -> list[range]:
    """`100-200,300` as ranges; NONE or None is none. Raises ValueError. Source: sge_conf(5) gid_range."""
    if text is None or text.upper() == "NONE":
        return []
    ranges = []
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        ranges.append(range(int(first), int(last or first) + 1))
    return ranges


def drop_claims(spool: Path) -> None:
    """Release the group ids of shepherds that no longer run, as after a reboot."""
    claims = spool / CLAIMS
    for claim in claims.iterdir() if claims.is_dir() else ():
        if task_files.running(claim) is None:
            claim.unlink(missing_ok=True)


def _claim(directory: Path, ranges: list[range]) -> int:
    """Claim a free id: the claim is a link to the shepherd's `pid` file, which identifies the shepherd without another file.

    The start of the search depends on the task, so that few of many tasks collide.
    """
    claims = _claims(directory)
    claims.mkdir(mode=0o700, exist_ok=True)
    total = sum(len(each) for each in ranges)
    start = sum(directory.name.encode()) * 37 % total
    for index in range(total):
        gid = _pick(ranges, (start + index) % total)
        try:
            os.link(directory / task_files.PID, claims / str(gid))
            return gid
        except FileExistsError:
            if _is_claimed_by(claims / str(gid), directory):
                return gid
    raise NoGroupLeftError(f"all {total} group ids of gid_range are in use")


def _is_claimed_by(claim: Path, directory: Path) -> bool:
    try:
        return os.path.samefile(claim, directory / task_files.PID)
    except OSError:
        return False


def _pick(ranges: list[range], index: int) -> int:
    for each in ranges:
        if index < len(each):
            return each[index]
        index -= len(each)
    raise IndexError(index)


def _claims(directory: Path) -> Path:
    return directory.parent.parent / CLAIMS


def _make_cgroup(cgroup: Path) -> Path | None:
    try:
        cgroup.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return cgroup if os.access(cgroup / "cgroup.procs", os.W_OK) else None


def _put(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _put_if_there(path: Path, text: str) -> None:
    """For files that only some kernels have."""
    try:
        _put(path, text)
    except FileNotFoundError:
        return


def _kill(pid: int) -> None:
    if stat_fields(pid) is not None:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
