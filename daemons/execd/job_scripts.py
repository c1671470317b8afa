"""The scripts of jobs on this host: `job_scripts/JOB`, one file for all tasks of a job.

Owns these files. Under root they belong to root, readable for the job's owner alone by an access list (acl(5)), so that a job
cannot change the script of its later tasks, nor have the daemon read a script that it has changed; where the file system has no
such lists, for the group that the job runs with. A file that the daemon has written itself and that has an unchanged status
is trusted without reading it. Blocking file work, all of it short. Called by `tasks`. Source: statements QC-21 to QC-23;
docs/architecture.md 5.2.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from gridengine.files.durable import write_new

_MODE = 0o550
Fingerprint = tuple[int, ...]


class Reader(NamedTuple):
    """The user that runs a job's script, and the group."""

    uid: int
    gid: int


class JobScripts:
    """`directory`: of the scripts."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._written: dict[int, tuple[Reader, Fingerprint]] = {}  # its reader, and its status when it was written

    def has(self, job_id: int, reader: Reader) -> bool:
        """Whether the job's script is here for this user and group, unchanged since this process has written it."""
        written = self._written.get(job_id)
        return written is not None and written == (reader, _fingerprint(self._path(job_id)))

    def write(self, job_id: int, script: bytes, reader: Reader) -> None:
        """Write a script, by rename: a running shell continues to read the old file. Raises OSError."""
        path = self._path(job_id)
        temporary = path.with_name(f".{path.name}")
        write_new(temporary, script, _MODE)
        if os.geteuid() == 0:
            os.chown(temporary, 0, reader.gid)
            with suppress(OSError):  # a file system without access lists
                _grant_access(temporary, reader.uid)
        temporary.rename(path)
        self._written[job_id] = reader, _fingerprint(path)

    def remove(self, job_id: int) -> None:
        """The job has no more tasks here."""
        self._written.pop(job_id, None)
        self._path(job_id).unlink(missing_ok=True)

    def keep_only(self, jobs: set[int]) -> None:
        """Remove the scripts of all other jobs, and incomplete files."""
        for path in self._directory.iterdir():
            if not path.name.isdecimal() or int(path.name) not in jobs:
                path.unlink(missing_ok=True)

    def _path(self, job_id: int) -> Path:
        return self._directory / str(job_id)


def _grant_access(path: Path, uid: int) -> None:
    """Let this user, beside the file's own user, read and execute the file, but neither its group nor others. Raises OSError.

    Source: acl(5), linux/posix_acl_xattr.h: version 2, then tag, permissions and id of each entry.
    """
    undefined_id, read_execute = 0xFFFFFFFF, 5
    owner, user, group, mask, others = 0x01, 0x02, 0x04, 0x10, 0x20
    entries = (
        (owner, read_execute, undefined_id), (user, read_execute, uid), (group, 0, undefined_id),
        (mask, read_execute, undefined_id), (others, 0, undefined_id),
    )
    listed = b"".join(struct.pack("<HHI", *entry) for entry in entries)
    os.setxattr(path, "system.posix_acl_access", struct.pack("<I", 2) + listed)


def _fingerprint(path: Path) -> Fingerprint:
    """The status of the file, which differs after any change; () when there is no file."""
    try:
        status = path.lstat()
    except OSError:
        return ()
    return status.st_dev, status.st_ino, status.st_size, status.st_mode, status.st_uid, status.st_ctime_ns
