"""Reading and writing the kernel's files of a cgroup, and entering cgroups by them.

Each task in a cgroup of v1 needs some thirty of these files. A path is a text here: to make a `Path` takes longer than the
kernel takes for the file. Called by `containment`, `cgroup_limits` and `device_guard`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from shepherd.task_files import content


def has(cgroup: str | Path, name: str) -> bool:
    """Whether a cgroup has a file."""
    return os.access(f"{cgroup}/{name}", os.F_OK)  # of a missing file `stat` makes an exception, which takes longer


def read(cgroup: str | Path, name: str) -> str:
    """The text of a file of a cgroup. Raises OSError."""
    return content(f"{cgroup}/{name}").decode()


def put(cgroup: str | Path, name: str, text: str) -> None:
    """Write a text into a file of a cgroup, in one piece. Raises OSError."""
    descriptor = os.open(f"{cgroup}/{name}", os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def enter(cgroups: Sequence[str | Path]) -> None:
    """Put this process, which has one thread, and all that it will fork into cgroups of one version. Raises OSError."""
    # v1 moves a thread that asks for itself without the lock for which all forks and exits of the host wait
    file = "tasks" if cgroups and has(cgroups[0], "tasks") else "cgroup.procs"
    for cgroup in cgroups:
        put(cgroup, file, "0")
