"""The processes of a demo cell that tests kill with -9, by role."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.integration.cells import DemoCell, kill_daemon

VICTIMS = {
    "qmaster actor": "ray::QmasterActor",
    "schedd actor": "ray::ScheddActor",
    "execd actor": "ray::ExecdActor",
    "raylet of the master": "raylet",
    "raylet of the exec host": "raylet",
    "launcher": "sge_launcher",
    "sge_execd": "execd/node1/execd.pid",
    "sge_qmaster": "qmaster/qmaster.pid",
    "control store": "/gcs_server ",
}


def command_line(pid: int) -> str:
    """Name and arguments of a process, "" when it is gone."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text()
        return name + Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def victims(cell: DemoCell, role: str) -> list[int]:
    """Processes of the cell that are of this kind, none while it is down."""
    file_name = VICTIMS[role]
    found = [pid for pid in cell.processes() if file_name in command_line(pid)]
    if file_name == "raylet":
        node = f"h-{cell.host}" if "exec" in role else "qmaster"
        found = [pid for pid in found if "/raylet " in command_line(pid) and f"/{node}/" in command_line(pid)]
    return sorted(found)


def kill(cell: DemoCell, role: str) -> None:
    """kill -9; AssertionError when there is no such process."""
    if is_daemon(role):
        kill_daemon(cell.place / "spool" / VICTIMS[role])
        return
    found = victims(cell, role)
    assert found, f"no process of the {role}"
    os.kill(found[0], signal.SIGKILL)


def is_daemon(role: str) -> bool:
    """Whether no other process starts it again."""
    return VICTIMS[role].endswith(".pid")
