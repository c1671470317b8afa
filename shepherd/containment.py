"""What holds a job's processes together besides their descent: a cgroup, or an additional group id (EX-6).

Both are extras: the shepherd finds all processes by descent. A cgroup adds killing at one stroke and exact CPU time,
and both tell the launcher what is left of a job whose shepherd was killed. The group id is claimed from gid_range by a
link in the spool directory. Unlike in 8.1.9 no process is ever killed for its group alone: another execd may use the
same range (`adoption` says what else must hold).
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from shepherd import task_files
from shepherd.process_tree import stat_fields

MOUNT = Path("/sys/fs/cgroup")
_V1_CONTROLLERS = ("freezer", "cpuacct", "memory")
CLAIMS = "addgrpids"


class NoGroupLeft(Exception):
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
        """Kill all processes in the cgroup; with v1 they are frozen meanwhile, since killing is one by one there."""
        for cgroup in self.cgroups:
            if (cgroup / "cgroup.kill").exists():
                _put(cgroup / "cgroup.kill", "1")
            elif (cgroup / "freezer.state").exists():
                _put(cgroup / "freezer.state", "FROZEN")
                for pid in (cgroup / "cgroup.procs").read_text().split():
                    _kill(int(pid))
                _put(cgroup / "freezer.state", "THAWED")

    def cpu_seconds(self) -> float | None:
        """CPU time of all processes that ever were in the cgroup; None without one."""
        for cgroup in self.cgroups:
            try:
                if (cgroup / "cpuacct.usage").exists():
                    return int((cgroup / "cpuacct.usage").read_text()) / 1e9
                if (cgroup / "cpu.stat").exists():
                    return int((cgroup / "cpu.stat").read_text().split()[1]) / 1e6
            except OSError:
                continue
        return None

    def release(self, directory: Path) -> bool:
        """Give cgroup and group id back; False when a cgroup stays, because processes linger in it."""
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


def establish(directory: Path, use_cgroups: bool, gid_range: str | None, cell: str) -> Containment:
    """Take a cgroup if wanted and possible, else an additional group id if root, and write which. Raises NoGroupLeft.

    Source: sge_conf(5) USE_CGROUPS, gid_range; sge_shepherd(8) SGE_CGROUP_DIR for the name `sge.CELL`.
    """
    cgroups = _make_cgroups(f"sge.{cell}", directory.name) if use_cgroups else []
    if cgroups:
        (directory / task_files.CGROUP).write_text("".join(f"{cgroup}\n" for cgroup in cgroups))
        return Containment(cgroups, None)
    ranges = parse_gid_range(gid_range)
    if os.geteuid() != 0 or not ranges:
        return Containment([], None)
    gid = _claim(directory, ranges)
    (directory / task_files.ADDGRPID).write_text(f"{gid}\n")
    return Containment([], gid)


def recorded(directory: Path) -> Containment:
    """The containment that the files of a task name."""
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
    """Give back the group ids of shepherds that do not run any more, as after a reboot."""
    claims = spool / CLAIMS
    for claim in claims.iterdir() if claims.is_dir() else ():
        if task_files.running(claim) is None:
            claim.unlink(missing_ok=True)


def _claim(directory: Path, ranges: list[range]) -> int:
    """Claim a free id: the claim is a link to the shepherd's `pid` file, which says whose it is without a file more.

    Where the search starts follows from the task, so that few of many tasks meet.
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
    raise NoGroupLeft(f"all {total} group ids of gid_range are in use")


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


def _make_cgroups(cell: str, task: str) -> list[Path]:
    """Directories for the task: in the unified hierarchy, else in each v1 controller; [] if impossible."""
    unified = MOUNT / "unified" if (MOUNT / "unified" / "cgroup.procs").exists() else MOUNT
    if (unified / "cgroup.procs").exists():
        made = _make_cgroup(unified, _own_cgroup(""), cell, task)
        if made is not None and (made / "cgroup.kill").exists():
            return [made]
    made_v1 = [_make_cgroup(MOUNT / name, _own_cgroup(name), cell, task) for name in _V1_CONTROLLERS]
    return [cgroup for cgroup in made_v1 if cgroup is not None] if made_v1[0] is not None else []


def _make_cgroup(mount: Path, own: str, cell: str, task: str) -> Path | None:
    if not (mount / "cgroup.procs").exists():
        return None
    cgroup = mount / own.strip("/") / cell / task
    try:
        cgroup.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return cgroup if os.access(cgroup / "cgroup.procs", os.W_OK) else None


def _own_cgroup(controller: str) -> str:
    """Path of this process in a hierarchy: below it is where the service manager lets us make cgroups."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path
    return "/"


def _put(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _kill(pid: int) -> None:
    if stat_fields(pid) is not None:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return
