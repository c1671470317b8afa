"""The check of `gridengine doctor` on device files: whether jobs on this machine can open those of their own units alone.

Called by `doctor`. Source: adr/0350.
"""

from __future__ import annotations

from collections.abc import Iterator

from clients import gdi
from clients.admin.cell import InstalledCell
from clients.admin.finding import Finding
from clients.admin.live_checks import ask_now
from clients.admin.local_daemons import EXECD, daemons_of_this_machine, process_of
from gridengine.files.device_files import devices_at
from gridengine.protocols.protocol import CGROUPS_FILE
from gridengine.syntax.unit_list import parse_unit_list

_OFF = "ENABLE_CGROUPS is off"


def check_device_files(cell: InstalledCell) -> Iterator[Finding]:
    """The device files of the units of this machine's exec hosts exist, and the kernel closes them to other jobs. No finding for
    a host without device files."""
    for daemon in daemons_of_this_machine(cell):
        if daemon.program != EXECD or process_of(daemon) is None:
            continue
        paths = _device_files(cell, daemon.host)
        if not paths:
            continue
        faults = devices_at(paths)[1]
        for fault in faults:
            yield Finding(f"{daemon.host}: device file {fault}", f"load the driver, or correct it: qconf -munit {daemon.host}")
        try:
            _, _, obstacle = (daemon.pid_file.parent / CGROUPS_FILE).read_text().split("\n")[:3]
        except (OSError, ValueError):
            obstacle = _OFF
        if obstacle:
            what = "jobs use their own devices by agreement, since the kernel does not close the others"
            advice = "man sge_execd, DEVICE FILES; execd_params REQUIRE_CLOSED_DEVICES=true keeps jobs away"
            yield Finding(f"{daemon.host}: {what}: {obstacle}", advice, note=True)
        elif not faults:
            yield Finding(f"{daemon.host}: jobs can open the device files of their own units alone")


def _device_files(cell: InstalledCell, host: str) -> list[str]:
    """The device files of all units of a host, without repetition; [] if the qmaster does not answer."""
    try:
        answer = ask_now(cell, "config_show", {"kind": "host_units", "names": [host]})
        units = parse_unit_list(answer.data[0]["attributes"]["units"])
    except (gdi.Unreachable, LookupError, TypeError, ValueError):
        return []
    properties = [each for of_resource in units.values() for each in of_resource.values()]
    return list(dict.fromkeys(file for each in properties for file in each.device_files))
