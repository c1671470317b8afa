"""Leftovers on the hosts of a cell in which nothing runs any more: there should be none.

Defines the places to search. Called by `play` when all is quiet.
"""

from __future__ import annotations

import os
import pwd
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.integration.cells import TestbedCell
from tests.integration.victims import command_line
from tests.torture.faults import DISKS, processes, victims
from tests.torture.load import LICENCES
from tests.torture.plan import CELL, EXEC_HOSTS, MASTER

_CGROUPS = Path("/sys/fs/cgroup")
_SPOOL = f"/var/spool/gridengine/{CELL}"
_USERS = ("alice", "bob")
#: after which a shepherd that waits for another task has ended (adr/0155), and some more
_IDLE_S = 60.0


def left_over(cell: TestbedCell) -> Iterator[str]:
    """Processes, directories, cgroups and bookings without a task, and tracebacks in logs; one line each."""
    for host in EXEC_HOSTS:
        yield from _processes(host)
        for pattern in (f"{_SPOOL}/*/active_jobs/*", "/tmp/*.*.*", f"{_SPOOL}/*/job_scripts/*"):
            done = cell.on(host, "sh", "-c", f"ls -d {pattern} 2>/dev/null")
            yield from (f"{host}: {path}" for path in done.stdout.split() if not path.endswith(".lock"))
    for host in (MASTER, *EXEC_HOSTS):
        yield from _tracebacks(DISKS / host)
    for path in _CGROUPS.glob(f"**/sge.{CELL}-*/*/*"):
        if path.is_dir() and re.fullmatch(r"\d+\.\d+.*", path.name):
            yield f"cgroup {path}"
    yield from _bookings(cell)


def _processes(host: str) -> Iterator[str]:
    uids = {pwd.getpwnam(user).pw_uid for user in _USERS}
    for pid in processes(host):
        with suppress(OSError):
            if os.stat(f"/proc/{pid}").st_uid in uids:
                yield f"{host}: process {pid}: {command_line(pid)}"
    end = time.monotonic() + _IDLE_S
    while victims(host, "shepherd") and time.monotonic() < end:
        time.sleep(0.5)
    for pid in victims(host, "shepherd"):
        yield f"{host}: shepherd {pid}"


def _tracebacks(disk: Path) -> Iterator[str]:
    for path in disk.glob(f"spool/gridengine/{CELL}/**/messages*"):
        text = path.read_text(errors="replace")
        if "Traceback" in text:
            yield f"{path}: {text[text.index('Traceback') :][:600]}"


def _bookings(cell: TestbedCell) -> Iterator[str]:
    rows = [line.split() for line in cell.on(MASTER, "qstat", "-f").stdout.splitlines() if line.startswith("all.q@")]
    for row in rows:
        if not row[2].startswith("0/0/"):
            yield f"{row[0]} has {row[2]} slots reserved, used and in all"
    offered = re.findall(r"gc:lic=(\S+)", cell.on(MASTER, "qstat", "-F", "lic").stdout)
    if set(offered) != {str(LICENCES)}:
        yield f"of {LICENCES} licences there are {offered}"
