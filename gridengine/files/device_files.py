"""Device files: the device of a path, by the kernel's numbers, resolved so that no user can exchange it.

Called by the shepherd, which closes device files to jobs, and by `gridengine doctor`. Source: adr/0350; stat(2).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from typing import NamedTuple

from gridengine.errors import GridEngineError

_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOR_OTHERS = stat.S_IWGRP | stat.S_IWOTH


class DeviceFileError(GridEngineError):
    """The path leads to no device file that only root could have put there; the text names the path and the reason."""


class DeviceNumber(NamedTuple):
    """A device of the kernel. `kind`: `c` (characters) or `b` (blocks). `major`, `minor`: its numbers."""

    kind: str
    major: int
    minor: int


def device_at(path: str) -> DeviceNumber:
    """The device of an absolute path. No component is a symbolic link, and root alone may change the directories. Raises
    DeviceFileError."""
    *directories, name = path.strip("/").split("/")
    descriptor = os.open("/", _DIRECTORY)
    try:
        for directory in directories:
            inner = os.open(directory, _DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
            status = os.fstat(descriptor)
            if status.st_uid != 0 or status.st_mode & _FOR_OTHERS:
                raise DeviceFileError(f"{path}: others than root may change the directory {directory}")
        status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
    except OSError as error:
        raise DeviceFileError(f"{path}: {error.strerror}") from error
    finally:
        os.close(descriptor)
    if not (stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)):
        raise DeviceFileError(f"{path} is {'a symbolic link' if stat.S_ISLNK(status.st_mode) else 'no device file'}")
    kind = "c" if stat.S_ISCHR(status.st_mode) else "b"
    return DeviceNumber(kind, os.major(status.st_rdev), os.minor(status.st_rdev))


def devices_at(paths: Iterable[str]) -> tuple[set[DeviceNumber], list[str]]:
    """The devices of these paths, and a sentence for each path that leads to no device."""
    found: set[DeviceNumber] = set()
    faults: list[str] = []
    for path in paths:
        try:
            found.add(device_at(path))
        except DeviceFileError as fault:
            faults.append(str(fault))
    return found, faults
