"""Where this process is in the kernel's cgroup hierarchies of both versions.

Called by `containment`. Source: cgroups(7) /proc/PID/cgroup, proc(5) /proc/PID/mountinfo.
"""

from __future__ import annotations

import errno
from functools import cache
from pathlib import Path
from typing import NamedTuple


class _Mount(NamedTuple):
    """A mounted hierarchy. `root`: which part of it is mounted; `options`: its controllers among others, none for v2."""

    point: Path
    root: str
    options: frozenset[str]


def own_cgroup(beside: Path) -> Path:
    """The cgroup of this process in the hierarchy of another cgroup. Raises OSError where it is not in what is mounted."""
    mounts = [each for each in _mounts() if beside.is_relative_to(each.point)]
    mount = max(mounts, key=lambda each: len(each.point.parts), default=_Mount(Path("/"), "/", frozenset()))
    for line in Path("/proc/self/cgroup").read_text().splitlines() if mounts else ():
        _, names, path = line.split(":", 2)
        controllers = frozenset(filter(None, names.split(",")))
        if controllers <= mount.options and bool(controllers) == bool(mount.options) and Path(path).is_relative_to(mount.root):
            return mount.point / Path(path).relative_to(mount.root)
    raise FileNotFoundError(errno.ENOENT, f"this process has no cgroup beside {beside}")


@cache
def _mounts() -> list[_Mount]:
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place, _, system = line.partition(" - ")
        kind, _, options = system.split(" ")[:3]
        if kind in ("cgroup", "cgroup2"):
            root, point = place.split(" ")[3:5]
            found.append(_Mount(Path(point), root, frozenset(options.split(",") if kind == "cgroup" else ())))
    return found
