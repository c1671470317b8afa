"""Where this process is in the kernel's cgroup hierarchies of both versions.

Called by `containment` and `device_guard`. Source: cgroups(7) /proc/PID/cgroup, proc(5) /proc/PID/mountinfo.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

from shepherd.task_files import content

_MAX_KNOWN = 64
"""Directories whose mount is cached. All tasks of a host share one, and the tasks of a parallel job a further one."""


class _Mount(NamedTuple):
    """A mounted hierarchy. `point`: a directory; `root`: which part of it is mounted; `options`: its controllers among others,
    none for v2."""

    point: str
    root: str
    options: frozenset[str]


def own_cgroups(beside: Iterable[str | Path]) -> list[str]:
    """The cgroups of this process in the hierarchies of these cgroups. Raises OSError where it is not in what is mounted."""
    own = {}
    for line in os.fsdecode(content(Path("/proc/self/cgroup"))).splitlines():
        _, names, path = line.split(":", 2)
        own[frozenset(filter(None, names.split(",")))] = path
    return [_own(str(cgroup), own) for cgroup in beside]


def _own(beside: str, own: dict[frozenset[str], str]) -> str:
    if mount := mount_of(beside):
        for controllers, path in own.items():
            is_this = controllers <= mount.options and bool(controllers) == bool(mount.options)
            if is_this and _is_below(path, mount.root):
                below = path if mount.root == "/" else path[len(mount.root) :]
                return mount.point + below.rstrip("/")
    raise FileNotFoundError(errno.ENOENT, f"this process has no cgroup beside {beside}")


@lru_cache(_MAX_KNOWN)
def mount_of(directory: str) -> _Mount | None:
    """The mounted hierarchy in which a directory is."""
    return max((each for each in mounts() if _is_below(directory, each.point)), key=lambda each: len(each.point), default=None)


def _is_below(path: str, directory: str) -> bool:
    return directory == "/" or path == directory or path.startswith(f"{directory}/")


@cache
def mounts() -> list[_Mount]:
    """All mounted hierarchies of cgroups, as at the first call of this process."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place, _, system = line.partition(" - ")
        kind, _, options = system.split(" ")[:3]
        if kind in ("cgroup", "cgroup2"):
            root, point = place.split(" ")[3:5]
            found.append(_Mount(point, root, frozenset(options.split(",") if kind == "cgroup" else ())))
    return found
