"""The site of an execution host, known before any job arrives: names, directories, the daemon's own environment.

Owns the spool directory's layout. Reads files, decides nothing.
Called by the supervisor (writes `site.json`) and by the execd actor. Source: docs/architecture.md 3, sge_conf(5).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gridengine.files.architecture import architecture
from gridengine.files.durable import atomic_write, durable_write
from gridengine.values.task_key import SlaveKey, TaskKey

#: The architecture string of this platform. Source: load_parameters(5) arch (LS-1).
ARCHITECTURE = architecture(os.uname().machine)
#: Variables of systemd, Ray and Python that belong to the daemon and never to a job.
_DAEMON_VARIABLES = ("RAY_", "PYTHONPATH", "NOTIFY_SOCKET", "INVOCATION_ID", "JOURNAL_STREAM", "LISTEN_", "WATCHDOG_")
_STATE = "site.json"
PID_FILE, CELL_ID_FILE = "execd.pid", "cell_id"


@dataclass(frozen=True, slots=True)
class HostSite:
    """One exec host. `root`, `cell`: SGE_ROOT and SGE_CELL; `spool`: the host's spool directory; `architecture`: of its programs.
    `inherited`: the environment in which the daemon was started; `binary_path`: its programs.

    `process_share`: the number of processes that one job, or one user, may have unless H_MAXPROC is set.
    """

    host: str
    root: str
    cell: str
    spool: Path
    inherited: Mapping[str, str] = field(default_factory=dict)
    binary_path: str = ""
    architecture: str = ARCHITECTURE
    process_share: int | None = None

    @property
    def active_jobs(self) -> Path:
        return self.spool / "active_jobs"

    def task_directory(self, key: TaskKey) -> Path:
        return task_directory(self.active_jobs, key)

    @property
    def job_scripts(self) -> Path:
        return self.spool / "job_scripts"

    @property
    def recycled_jobs(self) -> Path:
        return self.spool / "spare_jobs"

    @property
    def messages(self) -> Path:
        return self.spool / "messages"


def process_share(kernel: Path = Path("/proc/sys/kernel")) -> int | None:
    """A quarter of the processes and threads that this host can have at a time; None where the kernel does not show them.

    Deviation: 8.1.9 leaves processes unlimited; a single job can then take all of them, and no daemon starts another process.
    """
    try:
        return min(int((kernel / name).read_text()) for name in ("pid_max", "threads-max")) // 4
    except (OSError, ValueError):
        return None


def task_directory(active_jobs: Path, key: TaskKey) -> Path:
    """`active_jobs/JOB.TASK`, of a slave task `active_jobs/JOB.TASK.NUMBER`."""
    of_slave = f".{key.number}" if isinstance(key, SlaveKey) else ""
    return active_jobs / f"{key.job}.{key.task}{of_slave}"


def prepare_spool(spool: Path) -> None:
    """Make the spool directory of a host. Jobs run their scripts by path, so all users may traverse it."""
    for directory in (spool, spool / "active_jobs", spool / "job_scripts"):
        directory.mkdir(mode=0o755, parents=True, exist_ok=True)
        directory.chmod(0o755)
    (spool / "spare_jobs").mkdir(mode=0o700, exist_ok=True)


def link_programs(root: Path, binary_path: str) -> None:
    """Link the programs at `$SGE_ROOT/bin/$ARC`, where other software, as OpenMPI for qrsh, looks for them.

    An existing file stays, unless it is a dangling link; a read-only root directory is left alone.
    """
    link = root / "bin" / ARCHITECTURE
    if not binary_path or link.exists():
        return
    with suppress(OSError):
        link.parent.mkdir(exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(binary_path)


def save_inherited(spool: Path, environment: Mapping[str, str], binary_path: str) -> None:
    """Keep the daemon's start environment for the actor, since Ray starts the actor in another environment. Source: EN-5
    INHERIT_ENV."""
    kept = {name: value for name, value in environment.items() if not name.startswith(_DAEMON_VARIABLES)}
    atomic_write(spool / _STATE, json.dumps({"environment": kept, "binary_path": binary_path}).encode())


def read_site(host: str, root: str, cell: str, spool: Path) -> HostSite:
    """Return the site with the environment that the supervisor saved; an empty environment if there is none."""
    try:
        saved = json.loads((spool / _STATE).read_text(encoding="utf-8", errors="surrogateescape"))
        environment, binary_path = dict(saved["environment"]), str(saved["binary_path"])
    except (OSError, ValueError, KeyError, TypeError):
        environment, binary_path = {}, ""
    return HostSite(host, root, cell, spool, environment, binary_path, process_share=process_share())


def read_cell_id(spool: Path) -> str:
    """Return the cell that the host joined first, "" if the host never joined a cell. Raises OSError."""
    try:
        return (spool / CELL_ID_FILE).read_text().strip()
    except FileNotFoundError:
        return ""


def join_cell(spool: Path, cell_id: str) -> str:
    """Return the reason why a host may not join a master of this cell, "" if it may; a host belongs to the cell of the
    first master that it joins.

    Tasks on this host are of the cell that it belongs to: the master of another cell must not decide about them. Raises OSError.
    """
    own, path = read_cell_id(spool), spool / CELL_ID_FILE
    if own and cell_id != own:
        return (
            f"the qmaster is of the cell {cell_id or 'without an id'}, this host belongs to {own}: it does not join, and its "
            f"tasks go on (to move the host to another cell, end them and remove {path})"
        )
    if cell_id != own:
        durable_write(path, f"{cell_id}\n".encode(), 0o644)
    return ""
