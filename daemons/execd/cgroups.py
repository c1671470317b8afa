"""The cgroups of this host that the cell may use for its jobs, and what they can limit (execd_params ENABLE_CGROUPS).

Owns the examination of the kernel's hierarchies (v2, else v1) and the directories in which shepherds make a cgroup for each
task; with systemd those of a scope (`systemd_scope`), else below the launcher's own cgroup. Gives the reason when there is
none: jobs are then limited by other means. Called by `resource_assignment`. Source: sge_conf(5) USE_CGROUPS, sge_shepherd(8)
SGE_CGROUP_DIR (the name `sge.CELL`, with a checksum of SGE_ROOT); EX-6; adr/0210.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from daemons.execd.site import HostSite
from daemons.execd.systemd_scope import LEAF, distinct_name, enter_scope, is_running
from gridengine.files import device_filter
from gridengine.files.durable import atomic_write
from gridengine.protocols.protocol import CGROUPS_FILE
from gridengine.protocols.task_file import DEVICE_GUARD

_log = logging.getLogger(__name__)

MOUNT = Path("/sys/fs/cgroup")
_BY_NAME = {
    "processor time": ("cpu",), "processors": ("cpuset",), "memory": ("memory",), "processes": ("pids",), "devices": ("devices",),
}
#: what each task uses; v1 has a hierarchy for each, and a cgroup in one costs a task 0.5 ms
_ALWAYS = ("freezer", "cpuacct", "memory", "pids")
_V2_CONTROLLERS, _V1_CONTROLLERS = ("cpu", "memory", "pids", "cpuset", "io"), (*_ALWAYS, "cpu", "cpuset", "blkio", "devices")
#: the kernel's weight of a process with nice value 0, and the most, of v2 and v1
_WEIGHTS = {"cpu.weight": (100, 10_000), "cpu.shares": (1024, 262_144)}
_ROUNDS = 20  # for a launcher that forks while its processes are moved


@dataclass(frozen=True, slots=True)
class HostCgroups:
    """`parents`: by the name of a controller the directory in which a task gets a cgroup of its own: in v2 it is always the same,
    and the name of one that only kills and measures is `cgroup`. `version`: 1 or 2, 0 without cgroups. `obstacle`: why memory
    is not limited by them, "" when it is; `device_obstacle`: the reason for which cgroups close no devices.
    """

    version: int = 0
    parents: dict[str, str] = field(default_factory=dict)
    obstacle: str = ""
    device_obstacle: str = ""

    @property
    def device_parent(self) -> str:
        """The directory in which a task gets a cgroup that closes devices, "" for none."""
        return self.parents.get("devices", "")

    @property
    def limit_memory(self) -> bool:
        return "memory" in self.parents

    @property
    def limit_processes(self) -> bool:
        return "pids" in self.parents

    def directories(self, further: Collection[str] = ()) -> list[str]:
        """The directories for a task that uses these controllers besides those that every task uses."""
        names = ("cgroup", *_ALWAYS, *further)
        return list(dict.fromkeys(self.parents[name] for name in names if name in self.parents))

    def text(self) -> str:
        """`v2 (memory, processes)`: for people; "none" without cgroups."""
        known = [what for what, names in _BY_NAME.items() if any(name in self.parents for name in names)]
        return f"v{self.version} ({', '.join(known)})" if self.version else "none"


def find_cgroups(
    cell: str, root: str, host: str, launcher: int, mount: Path = MOUNT, own: Path | None = None,
    enter: Callable[[str, str, str, int], str] | None = None,
) -> HostCgroups:
    """Make the cell's directories. `launcher`: the process that forks the shepherds. `own`: the file that lists its cgroups;
    `enter`: puts it into a scope of systemd (`enter_scope`)."""
    own = own or Path(f"/proc/{launcher}/cgroup")
    enter = enter or (enter_scope if is_running() else None)
    if enter is not None and (obstacle := enter(cell, root, host, launcher)):
        return HostCgroups(obstacle=obstacle)
    name = directory_of(cell, root, host)
    unified = mount / "unified" if (mount / "unified" / "cgroup.procs").exists() else mount
    v2 = HostCgroups()
    if (unified / "cgroup.procs").exists():
        path = _own_cgroup(own, "").removesuffix(f"/{LEAF}")
        v2 = _delegated(unified / path.strip("/")) if enter is not None else _unified(unified, path, name)
        if v2.limit_memory:
            return v2
    v1 = _hierarchies(mount, own, name)
    return next((found for found in (v1, v2) if found.parents), HostCgroups(obstacle=_reason_for_none(mount)))


def directory_of(cell: str, root: str, host: str) -> str:
    """The directory of a cell's tasks in a hierarchy."""
    return f"sge.{distinct_name(cell, root)}/{host}"


def with_devices(found: HostCgroups, filter_obstacle: Callable[[], str] = device_filter.obstacle) -> HostCgroups:
    """The same with devices as far as its cgroups can close them: by a filter of the kernel in v2, by the controller in v1."""
    if found.version == 2:
        obstacle, parents = filter_obstacle(), found.parents | {"devices": found.parents["cgroup"]}
    else:
        parents = found.parents
        obstacle = _controller_obstacle(found.device_parent) if found.version else found.obstacle
    if obstacle:
        parents = {name: parent for name, parent in found.parents.items() if name != "devices"}
    return replace(found, parents=parents, device_obstacle=obstacle)


def _controller_obstacle(parent: str) -> str:
    """The reason for which the devices controller of v1 closes nothing, "" for none. Closes a device that does not exist."""
    if not parent:
        return "no devices controller that can be written to"
    try:
        Path(parent, "devices.deny").write_text("b 0:0 rwm")
    except OSError as error:
        return f"{parent}/devices.deny: {error.strerror}"
    return ""


def prepare_cgroups(site: HostSite, launcher: int) -> HostCgroups:
    """Find the cgroups for a launcher, remove what earlier tasks have left in them, and note them."""
    found = with_devices(find_cgroups(site.cell, site.root, site.host, launcher))
    remove_leftovers(found, {directory.name for directory in site.active_jobs.iterdir()})
    note_cgroups(site.spool, found)
    return found


def remove_leftovers(cgroups: HostCgroups, tasks: Collection[str]) -> None:
    """Remove the empty cgroups of tasks that are not here. `tasks`: the names of the directories of those that are."""
    for parent in cgroups.directories(_V1_CONTROLLERS):
        for cgroup in _children(Path(parent)):
            if cgroup.name != LEAF and cgroup.name.removesuffix(DEVICE_GUARD) not in tasks:
                for inner in (*_children(cgroup), cgroup):
                    with suppress(OSError):  # a process is in it: of a task that is just ending
                        inner.rmdir()


def note_cgroups(spool: Path, cgroups: HostCgroups | None) -> None:
    """Write for `gridengine doctor` what was found; None: cgroups are switched off, or nothing is known yet."""
    path = spool / CGROUPS_FILE
    try:
        if cgroups is None:
            path.unlink(missing_ok=True)
        else:
            lines = cgroups.text(), cgroups.obstacle, cgroups.device_obstacle
            atomic_write(path, "".join(f"{line}\n" for line in lines).encode(), 0o644)
    except OSError as error:
        _log.warning("cannot write %s: %s", path, error.strerror)


def _children(cgroup: Path) -> list[Path]:
    try:
        return [each for each in cgroup.iterdir() if each.is_dir()]
    except OSError:
        return []


def _delegated(base: Path) -> HostCgroups:
    """In a cgroup that is the cell's alone: its processes are moved into a leaf, tasks get cgroups beside it."""
    reason = _move_processes(base, base / LEAF)
    return _with_controllers(base, [name for name in _V2_CONTROLLERS if _enable(base, name)], reason)


def _unified(mount: Path, own: str, name: str) -> HostCgroups:
    """Below the launcher's own cgroup; at the top as 8.1.9 does, where no service manager has it."""
    usable: list[HostCgroups] = []
    for base in dict.fromkeys((mount / own.strip("/"), mount)):
        parent = _make(base, name)
        if parent is None:
            continue
        if base == mount and (mount / "cgroup.events").exists():  # a container's, of which it sees nothing above
            _move_processes(base, base / f"sge.{LEAF}")
        enabled = [each for each in _V2_CONTROLLERS if all(_enable(level, each) for level in (base, parent.parent, parent))]
        _weigh_as_processes(parent)
        found = _with_controllers(parent, enabled)
        if found.limit_memory:
            return found
        usable.append(found)
    return usable[0] if usable else HostCgroups()


def _with_controllers(parent: Path, enabled: Iterable[str], reason: str = "") -> HostCgroups:
    parents = dict.fromkeys(("cgroup", *enabled), str(parent))
    obstacle = "" if "memory" in parents else reason or f"no memory controller for {parent}"
    return HostCgroups(2, parents, obstacle)


def _move_processes(cgroup: Path, leaf: Path) -> str:
    """Move all processes of a v2 cgroup into a leaf of it. Returns why some have stayed, "" if none has."""
    try:
        leaf.mkdir(exist_ok=True)
        for _ in range(_ROUNDS):
            pids = (cgroup / "cgroup.procs").read_text().split()
            if not pids:
                return ""
            for pid in pids:
                with suppress(ProcessLookupError):
                    (leaf / "cgroup.procs").write_text(pid)
    except OSError as error:
        return f"cannot move processes into {leaf}: {error.strerror}"
    return f"processes stay in {cgroup}"


def _enable(cgroup: Path, controller: str) -> bool:
    """Let the children of a v2 cgroup have the controller. Refused where processes live in the cgroup itself."""
    control = cgroup / "cgroup.subtree_control"
    try:
        if controller not in control.read_text().split():
            control.write_text(f"+{controller}")
        return controller in control.read_text().split()
    except OSError:
        return False


def _hierarchies(mount: Path, own: Path, name: str) -> HostCgroups:
    """One directory in each v1 hierarchy."""
    parents: dict[str, str] = {}
    for controller in _V1_CONTROLLERS:
        base = mount / controller
        parent = _make(base / _own_cgroup(own, controller).strip("/"), name) if (base / "cgroup.procs").exists() else None
        if parent is not None and controller == "cpu":
            _weigh_as_processes(parent)
        if parent is not None and (controller != "cpuset" or _has_processors(parent)):
            parents[controller] = os.path.realpath(parent)  # several controllers may share a hierarchy
    if not parents:
        return HostCgroups()
    return HostCgroups(1, parents, "" if "memory" in parents else f"{mount / 'memory'} cannot be written to")


def _weigh_as_processes(parent: Path) -> None:
    """Give all jobs of the host as much processor time as a process on each processor has, beside what runs without a cgroup:
    a group has by default as much as one process, on all processors together."""
    for level in (parent.parent, parent):
        for name, (one, most) in _WEIGHTS.items():
            if (level / name).exists():
                with suppress(OSError):
                    (level / name).write_text(str(min(one * (os.cpu_count() or 1), most)))


def _has_processors(parent: Path) -> bool:
    """Let a v1 cpuset, and those that are made in it, have the processors and memory of the one above."""
    try:
        for level in (parent.parent, parent):
            (level / "cgroup.clone_children").write_text("1")
            for name in ("cpuset.mems", "cpuset.cpus"):
                if not (level / name).read_text().strip():
                    (level / name).write_text((level.parent / name).read_text())
    except OSError:
        return False
    return True


def _make(base: Path, name: str) -> Path | None:
    try:
        (base / name).mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return base / name if os.access(base / name / "cgroup.procs", os.W_OK) else None


def _reason_for_none(mount: Path) -> str:
    return f"{mount} cannot be written to" if mount.is_dir() and any(mount.iterdir()) else f"there are none at {mount}"


def _own_cgroup(own: Path, controller: str) -> str:
    """Return the path of the process in a hierarchy, "" for the v2 hierarchy."""
    for line in own.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path
    return "/"
