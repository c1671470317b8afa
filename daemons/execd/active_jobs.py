"""The directories of tasks on this host: making, finding and removing them.

Owns `active_jobs/JOB.TASK/` up to the moment when the shepherd takes it, and again after its end.
Blocking file work, all of it short. Called by `tasks`. Source: docs/architecture.md 5 and 5.2.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path

import msgspec

from daemons.execd import recycled_directories
from daemons.execd.environment import Account
from daemons.execd.resource_assignment import AssignedResources, confinement
from daemons.execd.site import HostSite
from daemons.execd.task_config import pe_hostfile, task_config
from daemons.execd.task_record import TaskRecord, read_record, read_record_at_end, write_record
from gridengine.errors import GridEngineError, plain_fault
from gridengine.files.durable import write_new
from gridengine.files.incarnation import is_of_earlier_boot
from gridengine.protocols import task_file
from gridengine.protocols.delivery import Ended, Start
from gridengine.state.configured.configuration import HostConfiguration
from gridengine.state.jobs import Usage
from gridengine.usage.failed import BEFORE_CONFIG, EARLY, HOST_CRASHED, HOST_REBOOTED, with_reason
from gridengine.usage.reserved_usage import Allocation, reserved
from gridengine.values.task_key import TaskKey

_log = logging.getLogger(__name__)

_NAME = re.compile(r"([0-9]+)\.([0-9]+)(\.[0-9]+)?")
#: execd_params KEEP_ACTIVE: the task has ended and is acknowledged, its directory is left for administrators (EX-13)
_KEPT = "kept"


class TaskStartError(GridEngineError):
    """The task cannot be started here. `failed` as in sge_status(5); the text is the reason."""

    def __init__(self, failed: int, reason: str) -> None:
        super().__init__(reason)
        self.failed = failed




_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_decode_ended = msgspec.json.Decoder(dict[str, object]).decode


def create(
    start: Start, site: HostSite, configuration: HostConfiguration, assigned: AssignedResources, account: Account
) -> Path:
    """Make the task's directory, complete, under its final name. TaskStartError.

    The remains of an earlier attempt are replaced; the caller has ensured that none of its processes runs.
    """
    directory = site.task_directory(start.key)
    draft = directory.with_name(f".{directory.name}")
    try:
        config = task_config(start, site, configuration, account, assigned)
        if not recycled_directories.take(site.recycled_jobs, draft):
            _make_empty(draft)
        # the file contains the environment: no other user may read it
        recycled_directories.overwrite(draft / task_file.CONFIG, task_file.encode(config))
        write_record(draft, start, assigned, confinement(assigned, config.limits))
        if start.pe_name:
            write_new(draft / "pe_hostfile", pe_hostfile(start, assigned).encode(), 0o644)
        if directory.exists():
            shutil.rmtree(directory)
        draft.rename(directory)
    except (OSError, ValueError, KeyError) as error:
        shutil.rmtree(draft, ignore_errors=True)
        failed = BEFORE_CONFIG if isinstance(error, OSError) else EARLY
        raise TaskStartError(failed, f"cannot prepare {directory}: {plain_fault(error)}") from error
    return directory


def read_tasks(site: HostSite) -> dict[TaskKey, TaskRecord]:
    """Return every task that has a complete directory here, except kept directories; remnants of broken starts are removed."""
    found: dict[TaskKey, TaskRecord] = {}
    for directory in sorted(site.active_jobs.iterdir()):
        if not _NAME.fullmatch(directory.name):
            if directory.name.startswith("."):
                shutil.rmtree(directory, ignore_errors=True)
            continue
        if (directory / _KEPT).exists():
            continue
        known = _read_known(site, directory)
        if known is not None:
            found[known.key] = known
    return found


def _read_known(site: HostSite, directory: Path) -> TaskRecord | None:
    """The record of the task there, None if it cannot be read. If the host lost its power before the task's own file was on
    disk, that file is empty or belongs to an earlier task; the record of the end of the job, if there is one, was on disk
    before."""
    for read in (read_record_at_end, read_record):
        try:
            known = read(directory)
        except (OSError, msgspec.DecodeError, KeyError):
            continue
        if site.task_directory(known.key) == directory:
            return known
    return None


def read_end(key: TaskKey, directory: Path) -> Ended | None:
    """The shepherd's record of the task's end; None when there is none (yet). An unreadable file is an end, too."""
    try:
        data = (directory / "exit").read_bytes()
    except FileNotFoundError:
        return None
    try:
        record = _decode_ended(data)
        ended = msgspec.convert({**record, "type": "ended", "key": key}, Ended, strict=False)
    except msgspec.MsgspecError as error:
        return Ended(key, failed=EARLY, reason=f"cannot read {directory / 'exit'}: {error}")
    if ended.failed == HOST_CRASHED and _is_of_earlier_boot(record):
        # while a host goes down systemd may answer its shepherds too late, which then know of the signal alone
        ended = msgspec.structs.replace(ended, reason=with_reason(ended.reason, HOST_REBOOTED))
    return ended


def _is_of_earlier_boot(record: dict[str, object]) -> bool:
    """Whether the host was booted after the start of the task that has this record of its end."""
    known = record.get(task_file.EXECD)
    return isinstance(known, dict) and is_of_earlier_boot(str(known.get("incarnation", "")))


def read_allocation(directory: Path) -> Allocation:
    """The slots and limits allocated to the task. Raises OSError, TaskFileError."""
    config = task_file.decode(task_file.read_stored_config(lambda name: (directory / name).read_bytes()))
    return Allocation.of(config.slots, config.limits, config.per_job_limits)


def reserved_usage(directory: Path, seconds: float) -> dict[str, float]:
    """The usage that the task had reserved on the host in that time; {} where a crash of the host made its file unreadable."""
    try:
        return reserved(read_allocation(directory), seconds)
    except (OSError, task_file.TaskFileError) as error:
        _log.warning("%s: the usage that was measured counts: %s", directory.name, plain_fault(error))
        return {}


def read_holder(directory: Path) -> tuple[str, float]:
    """Owner and time of submission (epoch s) of the task's job. Raises OSError, msgspec.DecodeError."""
    known = read_record(directory)
    return known.origin.owner, known.submitted


def running_seconds(directory: Path, since_boot_s: float) -> float:
    """Return the time for which the job has been running, 0 before its start. By its start in ticks since boot: that clock
    is never set."""
    try:
        ticks = int((directory / "job_pid").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return max(0.0, since_boot_s - ticks / _TICKS_PER_S) if ticks else 0.0


def read_usage(directory: Path) -> Usage | None:
    """The last usage that the shepherd measured; None before the first measurement."""
    try:
        return msgspec.json.decode((directory / "usage").read_bytes(), type=Usage, strict=False)
    except (OSError, msgspec.MsgspecError):
        return None


def current_usage(directory: Path, *, with_reservation: bool) -> Usage | None:
    """As `read_usage`, on request with the amounts that the task has reserved on the host so far in place of the measured."""
    usage = read_usage(directory)
    if usage is None or not with_reservation:
        return usage
    running_s = running_seconds(directory, time.clock_gettime(time.CLOCK_BOOTTIME))
    return msgspec.structs.replace(usage, **reserved_usage(directory, running_s))


def read_checkpoint(directory: Path) -> int:
    """Process id of the job in its checkpoint, 0 while there is none."""
    try:
        return int((directory / "checkpoint").read_text())
    except (OSError, ValueError):
        return 0


def remove(site: HostSite, directory: Path, keep: bool) -> None:
    """Remove a task's directory, or recycle it for another task. `keep`: leave the directory (EX-13)."""
    if keep and directory.exists():
        (directory / _KEPT).touch()
    else:
        recycled_directories.recycle(site.recycled_jobs, directory)


def set_kept_aside(site: HostSite) -> list[Path]:
    """Rename the directories that KEEP_ACTIVE has left to names that no task gets; for `remove_all`, which may take long."""
    taken = []
    for kept in site.active_jobs.glob(f"[0-9]*/{_KEPT}"):
        directory = kept.parent
        aside = directory.with_name(f".{directory.name}.{_KEPT}")
        with suppress(OSError):
            directory.rename(aside)
            taken.append(aside)
    return taken


def remove_all(directories: list[Path]) -> None:
    """Remove the directories with all their contents, as far as that is possible."""
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)


def _make_empty(draft: Path) -> None:
    try:
        draft.mkdir()
    except FileExistsError:
        shutil.rmtree(draft)
        draft.mkdir()
    draft.chmod(0o755)

