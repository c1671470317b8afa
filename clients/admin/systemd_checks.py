"""Checks of `gridengine doctor` on a host with systemd: daemons run in their units, and no copy hides a unit of the package.

Called by `doctor`. Source: docs/guide/administrators.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from clients.admin.cell import InstalledCell
from clients.admin.finding import Finding
from clients.admin.local_daemons import daemons_of_this_machine, process_of
from clients.admin.systemd_units import PACKAGED, UNITS, is_enabled, unit_of_process, units_of


def check_units(cell: InstalledCell, directory: Path = UNITS, packaged: Path = PACKAGED) -> Iterator[Finding]:
    """A daemon whose unit is enabled runs in it: outside it has no restart, watchdog and limits until the next boot."""
    for daemon in daemons_of_this_machine(cell):
        process = process_of(daemon)
        if process is None or not is_enabled(daemon.program):
            continue
        if unit_of_process(process.pid):
            yield Finding(f"{daemon} runs in its systemd unit")
        else:
            what = f"{daemon} runs outside of its systemd unit, which is enabled: systemd does not restart it"
            yield Finding(what, f"gridengine stop, and systemctl start {daemon.program}")
    for path in units_of(cell.files, directory):
        if path.parent == directory and (packaged / path.name).exists():
            what = f"{path} hides the unit of the package, which an upgrade of the package brings up to date"
            yield Finding(what, f"rm {path}, and systemctl daemon-reload")
