"""Tasks whose shepherd this launcher did not fork, and tasks whose shepherd died prematurely.

Owns finding them in the spool directory, and finalising tasks without a shepherd: remaining processes of the job are killed, its
scratch directory is removed, and the `exit` file that the shepherd could not write is written. Called by `launcher`, never by a
shepherd.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from gridengine.files.incarnation import incarnation
from gridengine.protocols.task_file import CONFIG, PRIVATE_CONFIG, TaskFileError
from gridengine.usage.failed import AFTER_JOB, BEFORE_PID, HOST_CRASHED, HOST_REBOOTED, SHEPHERD_ERROR
from shepherd import containment, preparation, process_tree, task_files
from shepherd.config import read_config
from shepherd.identity import IdentityError, owner
from shepherd.usage import JobUsage

#: the time of the first existing file is the best estimate of the start of the job
_RUNTIME_FILES = (task_files.JOB_PID, task_files.SCRATCH, task_files.PID, task_files.USAGE, task_files.TRACE)
_SHEPHERD_DIED = "the shepherd died before it could report the end of the job"
_ROUNDS, _ROUND_S = 50, 0.01  # time that killed processes may keep their cgroup busy


def task_directories(spool: Path) -> list[Path]:
    """Directories of tasks whose shepherd was started, or may have been before the host crashed, and has not written `exit`."""
    active = spool / "active_jobs"
    if not active.is_dir():
        return []
    return sorted(each for each in active.iterdir() if (is_started(each) or _is_of_earlier_boot(each)) and not is_finished(each))


def _is_of_earlier_boot(directory: Path) -> bool:
    """Whether the task was to start before the host was booted: its files, even `pid`, may not have reached the disk."""
    if directory.name.startswith("."):
        return False  # an incomplete task, which the execd removes
    return _was_booted_since(directory, _configured_at(directory))


def _was_booted_since(directory: Path, at: float) -> bool:
    """Whether the host was booted after the start of a task. `at`: that start, epoch s, 0 for none: for a task of an earlier
    release, and not reliable where the clock was set."""
    known = task_files.read_incarnation(directory)
    return known != incarnation() if known else 0 < at < process_tree.boot_time()


def _configured_at(directory: Path) -> float:
    """Return the time at which the task's configuration was written, epoch seconds; 0 without a configuration."""
    return max(_modified_at(directory / CONFIG), _modified_at(directory / PRIVATE_CONFIG))


def is_started(directory: Path) -> bool:
    return (directory / task_files.PID).exists()


def is_finished(directory: Path) -> bool:
    return (directory / task_files.EXIT).exists()


def kill_job(directory: Path, children: set[int]) -> None:
    """Kill the remaining processes of a job whose shepherd is dead. `children`: of this process; any other child is an orphan of
    a dead shepherd."""
    process_tree.kill_tree(os.getpid(), children)
    _kill_recorded(directory)


def has_scratch(directory: Path) -> bool:
    """Whether there may be a scratch directory, which `clear` has to remove before `finalise`."""
    return (directory / task_files.SCRATCH).exists()


def clear(directory: Path) -> None:
    """Remove the scratch directory that a dead shepherd has left, and its record. May take long: in a process of its own."""
    noted = task_files.read_scratch(directory)
    try:
        config = read_config(directory)
        if noted is not None:
            inode, path = noted
            preparation.remove_directory(owner(config), path, task_files.Trace(directory), inode)
    except (TaskFileError, IdentityError):
        pass  # no shepherd has made a scratch directory
    (directory / task_files.SCRATCH).unlink(missing_ok=True)


def finalise(directory: Path) -> None:
    """Write `exit` for a job whose shepherd is dead, after `kill_job` and `clear`.

    If the job had ended, `exit` is the record of that end; where a method was to follow, an epilog for instance, with `failed`
    100: the method does not run. Else `failed` is 19 when the host was booted meanwhile, else 100 when the job had started (its
    shepherd died), else 18 (sge_status(5)). The qmaster decides whether the job is rerun.
    """
    ended = task_files.read_job_end(directory)
    if task_files.is_final(ended):
        record = ended
    elif ended:
        failed, reason = ended["failed"] or AFTER_JOB, ended["reason"] or task_files.stamped("the shepherd died after the job")
        record = ended | {"failed": failed, "reason": reason}
    else:
        record = _last_known_record(directory)
    task_files.write_exit(directory, record)


def _last_known_record(directory: Path) -> dict[str, object]:
    """Return the record of a job whose end is not known: the job ran until now; on a host that was booted, until the last
    write to its files."""
    sample = task_files.read_usage(directory)
    had_started = bool(sample) or (directory / task_files.JOB_PID).exists()
    failed = _failed_code(directory, had_started)
    start = end = 0.0
    if had_started:
        times = [at for at in map(_modified_at, (directory / name for name in _RUNTIME_FILES)) if at]
        start, end = times[0], time.time() if failed != HOST_CRASHED else max(times)
    usage = JobUsage().final(max(0.0, end - start))
    return {
        "failed": failed,
        "exit_status": 128 + signal.SIGKILL if had_started else 0,
        "signal": int(signal.SIGKILL) if had_started else 0,
        "reason": task_files.stamped(HOST_REBOOTED if failed == HOST_CRASHED else _SHEPHERD_DIED),
        "start_time": start,
        "end_time": end or time.time(),
        "usage": usage | {name: value for name, value in sample.items() if name in usage},
        "checkpoint": task_files.read_checkpoint(directory),
    }


def _modified_at(path: Path) -> float:
    """When a file was written, epoch seconds; 0 without it."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _failed_code(directory: Path, had_started: bool) -> int:
    claimed = _modified_at(directory / task_files.PID)
    if _was_booted_since(directory, claimed or _configured_at(directory)):
        return HOST_CRASHED
    if not claimed:
        return BEFORE_PID
    return AFTER_JOB if had_started else SHEPHERD_ERROR


def _kill_recorded(directory: Path) -> None:
    """Kill the processes that the task's files identify, for shepherds that were forked by an earlier launcher.

    The job's own process, all of its descendants, its cgroup, and orphans that bear one of its marks.
    """
    held = containment.read_recorded(directory)
    held.kill()
    pid = task_files.running(directory / task_files.JOB_PID)
    if pid is not None:
        process_tree.signal_tree(pid, signal.SIGSTOP)
        process_tree.signal_tree(pid, signal.SIGKILL)
        process_tree.send(pid, {process_tree.parent(pid) or 0}, signal.SIGKILL)
    uid = _owner_of(directory)
    if uid is not None:
        _kill_marked(directory, held.gid, uid)
    for _ in range(_ROUNDS):
        if held.release(directory):
            return
        time.sleep(_ROUND_S)


def _owner_of(directory: Path) -> int | None:
    try:
        return read_config(directory).uid
    except TaskFileError:
        return None


def _kill_marked(directory: Path, gid: int | None, uid: int) -> None:
    """Kill the marked processes of user `uid` that have lost their shepherd.

    Lost means: climbing through marked parents ends at init or at a subreaper above this launcher. A job of another
    cell with the same group id ends at its own, living shepherd and is left alone.
    """
    reapers = process_tree.reapers()
    while True:
        marked = {pid: process_tree.parent(pid) or 0 for pid in _marked_processes(directory, gid, uid)}
        killed = 0
        for pid, above in marked.items():
            top = pid
            while marked[top] in marked:
                top = marked[top]
            if marked[top] in reapers and process_tree.send(pid, {above}, signal.SIGKILL):
                killed += 1
        if not killed:
            return


def _marked_processes(directory: Path, gid: int | None, uid: int) -> list[int]:
    """Live processes of real user `uid` that have the job's additional group, or its SGE_JOB_SPOOL_DIR."""
    found = []
    variable = f"SGE_JOB_SPOOL_DIR={directory}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines() if ":" in line)
            if status["Uid"].split()[0] != str(uid) or "Z" in status["State"]:
                continue
            if str(gid) in status["Groups"].split() or variable in (process / "environ").read_bytes().split(b"\0"):
                found.append(int(process.name))
        except OSError:
            continue  # ended meanwhile, or not readable
    return found
