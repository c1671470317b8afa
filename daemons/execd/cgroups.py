"""Where this host lets the daemon make cgroups, and whether they limit memory and processes (execd_params USE_CGROUPS).

Owns the examination of the kernel's hierarchies (v2, else v1) and the cell's own directory in each hierarchy, in which
shepherds make a cgroup for each task. Gives the reason when there is none: jobs are then limited by other means. Called by
the execd actor. Source: sge_conf(5) USE_CGROUPS, sge_shepherd(8) SGE_CGROUP_DIR (the name `sge.CELL`); EX-6.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
_OWN = Path("/proc/self/cgroup")
_V1_CONTROLLERS = ("freezer", "cpuacct", "memory", "pids")


@dataclass(frozen=True, slots=True)
class HostCgroups:
    """`parents`: directories in which a task gets one of its own, of one hierarchy or several; () without cgroups.

    `obstacle`: why memory is not limited by them, "" when it is. `limit_processes`: the number of processes is.
    """

    parents: tuple[str, ...] = ()
    obstacle: str = ""
    limit_processes: bool = False

    @property
    def limit_memory(self) -> bool:
        return bool(self.parents) and not self.obstacle


def find_cgroups(cell: str, mount: Path = MOUNT, own: Path = _OWN) -> HostCgroups:
    """Make the cell's directories. `own`: the file that lists the cgroups of this process."""
    name = f"sge.{cell}"
    unified = mount / "unified" if (mount / "unified" / "cgroup.procs").exists() else mount
    v2 = HostCgroups()
    if (unified / "cgroup.procs").exists():
        v2 = _unified(unified, _own_cgroup(own, ""), name)
        if v2.limit_memory:
            return v2
    v1 = _controllers(mount, own, name)
    return next((found for found in (v1, v2) if found.parents), HostCgroups(obstacle=_reason_for_none(mount)))


def _unified(mount: Path, own: str, name: str) -> HostCgroups:
    """Below the own cgroup, which a service manager may have delegated; else, for memory, at the top as 8.1.9 does."""
    usable: list[HostCgroups] = []
    for base in dict.fromkeys((mount / own.strip("/"), mount)):
        parent = _make(base, name)
        if parent is None or not (parent / "cgroup.kill").exists():
            continue
        memory, pids = (_enable(base, name) and _enable(parent, name) for name in ("memory", "pids"))
        found = HostCgroups((str(parent),), "" if memory else f"no memory controller for {parent}", pids)
        if found.limit_memory:
            return found
        usable.append(found)
    return usable[0] if usable else HostCgroups()


def _enable(cgroup: Path, controller: str) -> bool:
    """Let the children of a v2 cgroup have the controller. Refused where processes live in the cgroup itself."""
    control = cgroup / "cgroup.subtree_control"
    try:
        if controller not in control.read_text().split():
            control.write_text(f"+{controller}")
        return controller in control.read_text().split()
    except OSError:
        return False


def _controllers(mount: Path, own: Path, name: str) -> HostCgroups:
    """One directory in each v1 hierarchy; without the freezer, by which processes are killed, in none."""
    made = {}
    for controller in _V1_CONTROLLERS:
        base = mount / controller
        parent = _make(base / _own_cgroup(own, controller).strip("/"), name) if (base / "cgroup.procs").exists() else None
        if parent is not None:
            made[controller] = str(parent)
    if "freezer" not in made:
        return HostCgroups()
    obstacle = "" if "memory" in made else f"{mount / 'memory'} cannot be written to"
    return HostCgroups(tuple(made.values()), obstacle, "pids" in made)


def _make(base: Path, name: str) -> Path | None:
    try:
        (base / name).mkdir(exist_ok=True)
    except OSError:
        return None
    return base / name if os.access(base / name / "cgroup.procs", os.W_OK) else None


def _reason_for_none(mount: Path) -> str:
    return f"{mount} cannot be written to" if mount.is_dir() and any(mount.iterdir()) else f"there are none at {mount}"


def _own_cgroup(own: Path, controller: str) -> str:
    """Return the path of this process in a hierarchy, "" for the v2 hierarchy."""
    for line in own.read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path
    return "/"
