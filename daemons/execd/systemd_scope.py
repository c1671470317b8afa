"""The scope of systemd that holds a cell's jobs on this host: a part of the tree of cgroups that systemd leaves to the cell.

The launcher is put into it, so all shepherds and jobs are. It is apart from the unit of the daemon: it goes on when that is
stopped or upgraded, and ends with its last process. It is in the slice `sge_jobs.slice`, whose properties limit all jobs
together. Asks systemd through busctl(1), which comes with it. Called by `cgroups`. Source: systemd's "Control Group APIs and
Delegation"; adr/0210.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from zlib import crc32

#: exists if systemd is the init of this host
_SYSTEMD = Path("/run/systemd/system")
SLICE = "sge_jobs.slice"
#: The leaf for processes that are no job's: in v2 a cgroup whose children have controllers has no processes.
LEAF = "daemons"
_MANAGER = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")
_CALL_S, _MOVED_S, _POLL_S = 10.0, 10.0, 0.02
#: A scope that just ends can neither be entered nor made again.
_TRIES, _PAUSE_S = 5, 0.3


def is_running() -> bool:
    """Whether systemd manages the cgroups of this host."""
    return _SYSTEMD.is_dir()


def distinct_name(cell: str, root: str) -> str:
    """`default-1a2b3c4d`: cells of one name on a host differ in SGE_ROOT (`root`)."""
    return f"{cell}-{crc32(os.fsencode(root)):08x}"


def scope_name(cell: str, root: str, host: str) -> str:
    return f"sge_jobs-{distinct_name(cell, root)}-{host}.scope"


def enter_scope(cell: str, root: str, host: str, pid: int) -> str:
    """Put a process into the scope of the cell's jobs, which is made if there is none. Returns why
    that cannot be done, "" when it is done."""
    name = scope_name(cell, root, host)
    if _is_in(name, pid):
        return ""
    obstacle = ""
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE_S)
        obstacle = _start(name, cell, pid)
        if obstacle and _is_active(name):
            obstacle = _attach(name, pid)
        if not obstacle and _wait_until_in(name, pid):
            return ""
    return f"systemd does not make {name}: {obstacle or 'the launcher was not moved into it'}"


def _start(name: str, cell: str, pid: int) -> str:
    properties = {
        "Description": ("s", f"Jobs of the Grid Engine cell {cell}"),
        "Slice": ("s", SLICE),
        "Delegate": ("b", "true"),
        "CollectMode": ("s", "inactive-or-failed"),
        # stopped before these at a shutdown
        "After": ("as", "3", "network.target", "remote-fs.target", "nss-lookup.target"),
        "PIDs": ("au", "1", str(pid)),
    }
    arguments = [argument for key, value in properties.items() for argument in (key, *value)]
    return _call("StartTransientUnit", "ssa(sv)a(sa(sv))", name, "fail", str(len(properties)), *arguments, "0")


def _attach(name: str, pid: int) -> str:
    """Beside the daemons that are in the scope already; in its top, where only v2 has none."""
    return _call("AttachProcessesToUnit", "ssau", name, f"/{LEAF}", "1", str(pid)) and _call(
        "AttachProcessesToUnit", "ssau", name, "/", "1", str(pid)
    )


def _is_active(name: str) -> bool:
    return not _call("GetUnit", "s", name)


def _call(method: str, *arguments: str) -> str:
    """Call a method of the manager: the system's for root, else the user's. Returns its error, "" for none."""
    bus = "--system" if os.geteuid() == 0 else "--user"
    environment = {"XDG_RUNTIME_DIR": f"/run/user/{os.geteuid()}", "PATH": "/usr/bin:/bin", "LC_ALL": "C"}
    command = ["busctl", bus, "--quiet", "call", *_MANAGER, method, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_CALL_S, env=environment)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"busctl: {getattr(error, 'strerror', None) or 'no answer in time'}"
    return " ".join(done.stderr.split()) if done.returncode else ""


def _wait_until_in(name: str, pid: int) -> bool:
    until = time.monotonic() + _MOVED_S
    while not _is_in(name, pid):
        if time.monotonic() > until or not Path(f"/proc/{pid}").exists():
            return False
        time.sleep(_POLL_S)
    return True


def _is_in(name: str, pid: int) -> bool:
    try:
        return f"/{name}" in Path(f"/proc/{pid}/cgroup").read_text()
    except OSError:
        return False
