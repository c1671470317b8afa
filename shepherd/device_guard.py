"""The device guard of a task: a cgroup in which the devices of other jobs cannot be opened.

The shepherd itself enters the cgroup, so that all processes of the task begin there: the job, its methods, the process of its
session. Another process of the owner may trace a method that has the ids of the owner. With v1 the cgroup is in the hierarchy of
the devices controller. With v2 the job moves to a cgroup of its own (`containment`), which gets the same filter. Called by
`preparation`, released by `processes`. Source: adr/0350; the kernel's documentation of the device controller.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from gridengine.files import device_filter
from gridengine.files.device_files import DeviceNumber
from gridengine.protocols.task_file import DEVICE_GUARD
from shepherd import task_files
from shepherd.cgroup_files import enter, has, put, read
from shepherd.own_cgroups import own_cgroups

_ALL = "a *:* rwm"


class DeviceGuard:
    """This process is in `cgroup`, and was in `home`."""

    def __init__(self, cgroup: Path, home: str) -> None:
        self._cgroup, self._home = cgroup, home

    def release(self) -> None:
        """Go back, and remove the cgroup, in which no other process is left. Raises OSError."""
        enter([self._home])
        os.rmdir(self._cgroup)


def close(directory: Path, parent: Path, closed: Collection[DeviceNumber], job: Iterable[Path]) -> DeviceGuard:
    """Make a cgroup in `parent`, close the devices in it, and enter it. `job`: the cgroups that the job enters.

    The cgroup is recorded first, so that the launcher removes it if this process dies. Raises OSError.
    """
    cgroup = parent / f"{directory.name}{DEVICE_GUARD}"
    [home] = own_cgroups([parent])
    recorded = directory / task_files.CGROUP
    before = recorded.read_bytes() if recorded.exists() else b""
    task_files.replace(recorded, before + os.fsencode(f"{cgroup}\n"))
    with suppress(OSError):
        cgroup.rmdir()  # of an earlier attempt
    cgroup.mkdir(exist_ok=True)
    try:
        if has(cgroup, "devices.deny"):
            _deny(cgroup, closed)
        else:
            device_filter.attach((cgroup, *job), closed)
        enter([cgroup])
    except OSError:
        with suppress(OSError):
            cgroup.rmdir()
        raise
    return DeviceGuard(cgroup, home)


def _deny(cgroup: Path, closed: Iterable[DeviceNumber]) -> None:
    """By the controller of v1. In a container the cgroups above may permit listed devices only. An entry for a whole class there
    (`c 195:* rwm`) outlives the denial of a device of the class: an error."""
    for kind, major, minor in closed:
        put(cgroup, "devices.deny", f"{kind} {major}:{minor} rwm")
    permitted = read(cgroup, "devices.list").splitlines()
    if permitted == [_ALL]:
        return
    for device in closed:
        for entry in permitted:
            if _permits(entry, device):
                raise OSError(errno.EPERM, f'"{entry}" of the cgroups above covers {device.kind} {device.major}:{device.minor}')


def _permits(entry: str, device: DeviceNumber) -> bool:
    """Whether an entry of devices.list lets the device be opened."""
    kind, number, access = entry.split()
    major, minor = number.split(":")
    same = kind in ("a", device.kind) and major in ("*", str(device.major)) and minor in ("*", str(device.minor))
    return same and bool({"r", "w"}.intersection(access))
