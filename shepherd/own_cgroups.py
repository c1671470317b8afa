"""Where this process is in the kernel's cgroup hierarchies of both versions.

Called by `containment`. Source: cgroups(7) /proc/PID/cgroup, proc(5) /proc/PID/mountinfo.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from shepherd.task_files import content


class _Mount(NamedTuple):
    """A mounted hierarchy. `root`: which part of it is mounted; `options`: its controllers among others, none for v2."""

    point: Path
    root: str
    options: frozenset[str]


def own_cgroups(beside: Iterable[Path]) -> list[Path]:
    """The cgroups of this process in the hierarchies of these cgroups. Raises OSError where it is not in what is mounted."""
    lines = [line.split(":", 2) for line in content(Path("/proc/self/cgroup")).decode().splitlines()]
    return [_own(cgroup, [(names, path) for _, names, path in lines]) for cgroup in beside]


def _own(beside: Path, lines: Iterable[tuple[str, str]]) -> Path:
    if mounts := [each for each in _mounts() if beside.is_relative_to(each.point)]:
        mount = max(mounts, key=lambda each: len(each.point.parts))
        for names, path in lines:
            controllers = frozenset(filter(None, names.split(",")))
            is_this = controllers <= mount.options and bool(controllers) == bool(mount.options)
            if is_this and Path(path).is_relative_to(mount.root):
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
