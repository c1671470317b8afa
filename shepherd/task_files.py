"""The files of a task in `active_jobs/JOB.TASK/` (docs/architecture.md section 5.2): writing and reading them.

Owns names and formats. Readers never see a half-written file: files that others wait for appear by rename or link.
Called by the shepherd, and by the launcher for the tasks whose shepherd it did not fork or that died.
"""

from __future__ import annotations

import errno
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from gridengine.files.durable import sync_directory
from gridengine.protocols.task_file import CONFIG as CONFIG
from gridengine.protocols.task_file import DRAFT, EXECD
from gridengine.usage import failed
from shepherd.process_tree import start_ticks

PID = "pid"
JOB_PID = "job_pid"
TRACE = "trace"
EXIT = "exit"
JOB_END = "job_end"
_FINAL, _TASK = "final", "task"  # of the record in it
USAGE = "usage"
COMMANDS = "commands"
CHECKPOINT = "checkpoint"
_RETRY_S = 1.0
_PROCESS_BYTES = 24
_READ_BYTES = 65536
ADDGRPID = "addgrpid"
CGROUP = "cgroup"
SESSION = "session"
SCRATCH = "scratch"
SHEPHERDS = "shepherds"
FAULTS = "faults"


def claim(directory: Path) -> bool:
    """Write `pid` for this process; False when another shepherd was first: a task has one shepherd ever. Raises OSError."""
    temporary = f"{directory}/{PID}.{os.getpid()}"
    os.close(_write(temporary, f"{os.getpid()} {start_ticks(os.getpid())}\n".encode()))
    try:
        return claim_again(directory, temporary)
    finally:
        # the claim is valid, also where the disk takes no more changes
        with suppress(OSError):
            os.unlink(temporary)


def claim_again(directory: Path, own: str) -> bool:
    """The same with a file `own` that identifies this process (`keep_claim`). Raises OSError."""
    try:
        os.link(own, f"{directory}/{PID}")
    except FileExistsError:
        return False
    return True


def keep_claim(directory: Path, spool: Path) -> str:
    """Keep the `pid` of this process after the task in `directory`, for later tasks. Returns its path. Raises OSError."""
    own = f"{spool}/{SHEPHERDS}/{os.getpid()}"
    os.makedirs(f"{spool}/{SHEPHERDS}", 0o700, exist_ok=True)
    with suppress(FileNotFoundError):
        os.unlink(own)
    os.link(f"{directory}/{PID}", own)
    return own


def drop_claim(spool: Path, pid: int) -> None:
    """A shepherd is dead: remove its kept `pid`."""
    with suppress(OSError):
        os.unlink(f"{spool}/{SHEPHERDS}/{pid}")


def drop_claims(spool: Path) -> None:
    """Remove all kept `pid` files: a new launcher assigns no task to a shepherd of an earlier launcher."""
    with suppress(OSError):
        for name in os.listdir(f"{spool}/{SHEPHERDS}"):
            os.unlink(f"{spool}/{SHEPHERDS}/{name}")


def job_begins(directory: Path) -> None:
    """Write `job_pid` without a process yet: from now on the job may have run."""
    with suppress(OSError):
        replace(directory / JOB_PID, _process_line("-", 0))


def write_process(path: Path, pid: int) -> None:
    """Write `job_pid`: process id and its start time in clock ticks. A job whose file cannot be written goes on: a launcher that
    has to finalise it finds its processes by their marks.
    """
    with suppress(OSError):
        line = _process_line(str(pid), start_ticks(pid) or 0)
        if path.exists():  # as `job_begins` made it
            os.close(_write(str(path), line))
        else:
            replace(path, line)


def _process_line(pid: str, ticks: int) -> bytes:
    """The line, of fixed length, so that a new one overwrites it."""
    return f"{pid} {ticks}".ljust(_PROCESS_BYTES).encode() + b"\n"


def read_process(path: Path) -> tuple[int, int] | None:
    """Process id and start time in ticks from `pid` or `job_pid`; None when the file is not there."""
    try:
        pid, ticks = path.read_text().split()
        return int(pid), int(ticks)
    except (OSError, ValueError):
        return None


def write_checkpoint(directory: Path, pid: int) -> None:
    """Note that a checkpoint of the job's process `pid` exists (CK-7)."""
    with suppress(OSError):
        replace(directory / CHECKPOINT, f"{pid}\n".encode())


def read_checkpoint(directory: Path) -> int:
    """Return the process id in the job's checkpoint, 0 without a checkpoint."""
    try:
        return int((directory / CHECKPOINT).read_text())
    except (OSError, ValueError):
        return 0


class ScratchNote:
    """The file `scratch`, a line `INODE PATH` for each path at which the scratch directory was to be made; the last line is
    the directory's own. The inode is 0 until the directory is made, so that no crash leaves a directory without a record.
    """

    def __init__(self, directory: Path) -> None:
        self._descriptor = _open_new(directory, SCRATCH)

    def __call__(self, path: str, inode: int = 0) -> None:
        """Note the path of a directory that is about to be made, or the path of a made directory with its inode. Raises
        OSError."""
        line = f"{inode} {path}\n".encode()
        if os.write(self._descriptor, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        os.close(self._descriptor)


def read_scratch(directory: Path) -> tuple[int, str] | None:
    """Return inode and path of the scratch directory that a shepherd has made or was making; None without a directory."""
    try:
        lines = (directory / SCRATCH).read_text(errors="surrogateescape").split("\n")[:-1]
        inode, path = lines[-1].split(" ", 1)
        return int(inode), path
    except (OSError, ValueError, IndexError):
        return None


def running(path: Path) -> int | None:
    """The process id in the file if that very process still runs (not as a zombie), else None."""
    process = read_process(path)
    if process is None or process[1] == 0 or start_ticks(process[0]) != process[1]:
        return None
    return process[0]


def replace(path: Path, data: bytes, durable: bool = False, mode: int = 0o644) -> None:
    """Write a file by rename. `durable`: the data is on disk before the name appears, and the name when this function
    returns. `mode`: of a new file."""
    temporary = f"{path}{DRAFT}"
    os.close(_write(temporary, data, durable, mode))
    os.rename(temporary, path)
    if durable:
        sync_directory(path.parent)


def add_fault(directory: Path, text: str) -> None:
    """Append a line to `faults`, which the execd logs in its messages: a fault that does not end the task."""
    line = " ".join(text.split())
    with suppress(OSError), open(directory / FAULTS, "a", encoding="utf-8", errors="backslashreplace") as file:
        file.write(f"{line}\n")


def write_usage(directory: Path, usage: dict[str, float]) -> None:
    """Write `usage`, if the disk has space: the next measurement may find some."""
    with suppress(OSError):
        replace(directory / USAGE, json.dumps(usage).encode() + b"\n")


def read_usage(directory: Path) -> dict[str, float]:
    """Return the last measurement; empty without a measurement."""
    return {name: float(value) for name, value in _read_json(directory / USAGE).items()}


def write_job_end(directory: Path, record: dict[str, object], final: bool = False) -> None:
    """Write the record of the job's end, as `exit` would be now, in case the shepherd or the host dies before `exit` is written;
    on disk when this returns, unless the disk is full. `final`: no method follows that could change it.

    One sync is enough for content and name, since the file has its name by then. So a host that loses its power before may have
    that name with the content of an earlier task: the record names its task.
    """
    known = record | {_FINAL: final, _TASK: directory.name} | _execds_own(directory)
    with suppress(OSError):
        draft = f"{directory}/{EXIT}{DRAFT}"
        descriptor = _write(draft, _encoded(known), mode=0o600)
        try:
            os.rename(draft, directory / JOB_END)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        sync_directory(directory)


def read_job_end(directory: Path) -> dict[str, Any]:
    """The record of the job's end; empty where there is none."""
    found = _read_json(directory / JOB_END)
    return found if found.get(_TASK, directory.name) == directory.name else {}


def is_final(job_end: dict[str, Any]) -> bool:
    """Whether nothing followed the end of the job that could have changed it."""
    return bool(job_end.get(_FINAL))


def _execds_own(directory: Path) -> dict[str, object]:
    """The execd's own record of the task, for after a crash (`gridengine.protocols.task_file.EXECD`)."""
    known = _read_json(directory / EXECD)
    return {EXECD: known} if known else {}


def read_incarnation(directory: Path) -> str:
    """The incarnation of the host when the task was to start, "" if its record has none."""
    return str(_read_json(directory / EXECD).get("incarnation", ""))


def _encoded(record: dict[str, object]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(content(path))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def content(path: str | Path) -> bytes:
    """Content of a small file, with the fewest system calls: each task pays for them. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        data = part = os.read(descriptor, _READ_BYTES)
        while len(part) == _READ_BYTES:
            part = os.read(descriptor, _READ_BYTES)
            data += part
        return data
    finally:
        os.close(descriptor)


def write_exit(directory: Path, record: dict[str, object]) -> None:
    """Write `exit`, the last write to a task's directory; readable for this user alone. A record that is on disk already, as of
    most jobs, is only renamed."""
    known = read_job_end(directory)
    if is_final(known) and known.items() >= record.items():
        os.rename(directory / JOB_END, directory / EXIT)
    else:
        replace(directory / EXIT, _encoded(record | _execds_own(directory)), durable=True, mode=0o600)


def leave_exit(directory: Path, record: dict[str, object]) -> None:
    """Write `exit`; while the disk is full, wait and retry: only this process knows the job's end. Returns also when the
    directory was removed.
    """
    while True:
        try:
            write_exit(directory, record)
            return
        except OSError:
            if not directory.is_dir():
                return
            time.sleep(_RETRY_S)


def add_command(directory: Path, command: str) -> None:
    """Append a command for the shepherd, which reads them in order when it gets COMMAND_SIGNAL. Raises OSError; a line is never
    written in part."""
    descriptor = os.open(directory / COMMANDS, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        line = f"{command}\n".encode()
        written = os.write(descriptor, line)
        if written < len(line):
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - written)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    finally:
        os.close(descriptor)


def commands_after(directory: Path, offset: int) -> tuple[list[str], int]:
    """Complete commands behind `offset`, and the offset for the next time."""
    try:
        descriptor = os.open(f"{directory}/{COMMANDS}", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return [], offset
    try:
        data = os.pread(descriptor, os.fstat(descriptor).st_size, offset)
    finally:
        os.close(descriptor)
    complete = data[: data.rfind(b"\n") + 1]
    return complete.decode(errors="replace").split(), offset + len(complete)


def stamped(text: str, pid: int | None = None, uid: int | None = None) -> str:
    """A text stamped with the present time, user and process (`gridengine.usage.failed`); "" for no text."""
    if not text:
        return ""
    uid = os.geteuid() if uid is None else uid
    pid = os.getpid() if pid is None else pid
    return failed.stamped(text, time.time(), uid, pid)


class Trace:
    """The `trace` file: one line for each action of the shepherd. Losing lines never stops a job.

    The file contains the arguments of the job and its methods, which no other user may read.
    """

    def __init__(self, directory: Path) -> None:
        self._descriptor = _open_new(directory, TRACE)

    def __call__(self, text: str) -> None:
        try:
            os.write(self._descriptor, f"{stamped(text)}\n".encode(errors="backslashreplace"))
        except OSError:
            pass  # a full disk

    def close(self) -> None:
        os.close(self._descriptor)


def _open_new(directory: Path, name: str) -> int:
    """Open a file to append lines to: the existing file, else the recycled file of an earlier task, emptied, else a new file."""
    path, flags = f"{directory}/{name}", os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
    try:
        os.rename(f"{path}{DRAFT}", path)
        return os.open(path, flags | os.O_TRUNC)
    except FileNotFoundError:
        return os.open(path, flags | os.O_CREAT, 0o600)


def _write(path: str, data: bytes, durable: bool = False, mode: int = 0o644) -> int:
    """Overwrite an existing file rather than make a new file: see `daemons.execd.recycled_directories`. Returns its
    descriptor."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, mode)
    try:
        if os.write(descriptor, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.ftruncate(descriptor, len(data))
        if durable:
            os.fsync(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
