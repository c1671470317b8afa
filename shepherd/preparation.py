"""The preparation of a task before its first process, undone after the last: its cgroup or group id, its processors, its
scratch directory.

Owns these steps of the plan. Called by `run`. Raises `PreparationError` when the task cannot run.
"""

from __future__ import annotations

import os
from pathlib import Path

from gridengine.errors import GridEngineError
from gridengine.files.device_files import devices_at
from gridengine.usage.failed import ADDING_GROUP, BEFORE_JOB
from shepherd import cgroup_limits, containment, device_guard, directories, group_ids, plan
from shepherd.faults import BY_CODE, fault_of
from shepherd.identity import Identity, as_user
from shepherd.task_files import ScratchNote, Trace


class PreparationError(GridEngineError):
    """The task cannot be run: failed code of sge_status(5), reason, and cause (`faults`)."""

    def __init__(self, failed: int, reason: str, fault: str = BY_CODE) -> None:
        super().__init__(reason)
        self.failed, self.fault = failed, fault


def contain(directory: Path, step: plan.Contain, trace: Trace) -> containment.Containment:
    """Establish the containment of the job's processes. Without the limits that it was promised a job does not run. Raises
    PreparationError."""
    try:
        held = containment.establish(directory, step.cgroups, step.gid_range, step.shared)
    except (group_ids.NoGroupLeftError, ValueError) as error:
        raise PreparationError(ADDING_GROUP, f"can't add a supplementary group: {error}") from error
    except OSError as error:
        reason = f"can't hold the job's processes together: {error.strerror}"
        raise PreparationError(BEFORE_JOB, reason, fault_of(error)) from error
    for setting in cgroup_limits.settings(step.limits) if step.cgroups else ():
        try:
            held.limit(setting)
        except OSError as error:
            reason = f"can't limit the {setting.what} of the job by a cgroup: {error.strerror}"
            if setting.promised:
                held.release(directory)
                raise PreparationError(BEFORE_JOB, reason) from error
            trace(reason)
    return held


def close_devices(
    directory: Path, step: plan.CloseDevices, held: containment.Containment, trace: Trace
) -> device_guard.DeviceGuard:
    """Close device files of other jobs to this process, and so to all processes of the task. A file without a device cannot be
    closed: the task runs all the same, unless all files are required. Raises PreparationError."""
    others, faults = devices_at(step.others)
    own, own_faults = devices_at(step.own)
    for fault in (*faults, *own_faults):
        trace(f"device file {fault}")
    try:
        if faults and step.required:
            raise OSError(0, faults[0])
        return device_guard.close(directory, Path(step.parent), others - own, held.cgroups)
    except OSError as error:
        raise PreparationError(BEFORE_JOB, f"can't close the device files of other jobs: {error.strerror}") from error


def bind(processors: list[int], trace: Trace) -> None:
    """Bind this process, and all that it starts, to processors. If that fails the job runs unbound (SO-6)."""
    try:
        os.sched_setaffinity(0, processors)
    except OSError as error:
        trace(f"can't bind to the processors {processors}: {error.strerror}")


def make_directory(directory: Path, owner: Identity, path: str) -> str:
    """Make the scratch directory: as its owner, for root may have no rights on a file server, else as root. Returns its path,
    which differs if `path` belongs to another user. The path is recorded in the task's `directory`. Raises PreparationError."""
    try:
        note = ScratchNote(directory)
        try:
            return _make_as_owner_or_root(owner, path, note)
        finally:
            note.close()
    except OSError as error:
        raise PreparationError(BEFORE_JOB, f"can't make directory {path}: {error.strerror}", fault_of(error)) from error


def _make_as_owner_or_root(owner: Identity, path: str, note: ScratchNote) -> str:
    try:
        with as_user(owner):
            return directories.make(path, note)
    except (FileNotFoundError, PermissionError):
        return directories.make_for(path, owner.uid, owner.gid, note)


def remove_directory(owner: Identity, path: str, trace: Trace, inode: int | None = None) -> None:
    """Remove the scratch directory: first as the owner, because a file server may give the owner rights that root lacks,
    then as root. `inode`: as of `directories.remove`."""
    try:
        with as_user(owner):
            directories.remove(path, owner.uid, inode)
    except OSError:
        try:
            directories.remove(path, owner.uid, inode)
        except OSError as error:
            trace(f"can't remove directory {path}: {error.strerror}")
