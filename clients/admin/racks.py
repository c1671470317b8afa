"""The file `common/racks`: the racks of the cell and their hosts, which share a Ray node (adr/0270).

Owns its changes, and its check by `gridengine doctor`; the qmaster reads it again when it has changed. Called by `host`, `token`,
`admission` and `doctor`. Source: docs/formats/racks.md.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from clients.admin.authority import owner_for
from clients.admin.cell import InstalledCell, optional_text
from clients.admin.errors import AdminError
from clients.admin.finding import Finding
from gridengine.cell_files import parse_racks
from gridengine.errors import InvalidValueError
from gridengine.files.durable import durable_write

NO_RACK = "NONE"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def checked_rack(name: str) -> str:
    """The name of a rack, NO_RACK, or "". AdminError: a wrong name."""
    if name and name != NO_RACK and not _NAME.fullmatch(name):
        raise AdminError(f'--rack {name}: a name has letters, digits, ".", "_" and "-", 64 at most; {NO_RACK}: no rack')
    return name


def read_racks(cell: InstalledCell) -> dict[str, list[str]]:
    """The hosts of each rack. AdminError: the file cannot be used."""
    path = cell.files.common / "racks"
    try:
        return parse_racks(optional_text(path), path)
    except InvalidValueError as fault:
        raise AdminError(str(fault)) from None


def rack_of(racks: Mapping[str, Collection[str]], host: str) -> str:
    """The rack of a host, "" for none."""
    return next((rack for rack, hosts in racks.items() if host in hosts), "")


def place_in_rack(cell: InstalledCell, hosts: Collection[str], rack: str) -> list[str]:
    """Move hosts to a rack, NO_RACK: out of theirs. Returns the hosts that have moved. AdminError."""
    racks = read_racks(cell)
    target = "" if rack == NO_RACK else rack
    moved = [host for host in hosts if rack_of(racks, host) != target]
    if not moved:
        return []
    after = {name: [host for host in members if host not in moved] for name, members in racks.items()}
    if target:
        after.setdefault(target, []).extend(moved)
    lines = (f"{name} {' '.join(members)}\n" for name, members in after.items() if members)
    path = cell.files.common / "racks"
    try:
        durable_write(path, "".join(lines).encode(), 0o644, owner=owner_for(cell.settings["admin_user"]))
    except OSError as error:
        raise AdminError(f"cannot write {path}: {error.strerror}") from error
    return moved


def check_racks(cell: InstalledCell) -> Iterator[Finding]:
    """The file `racks` can be used, and a rack has several hosts. No finding in a cell without racks."""
    racks = read_racks(cell)
    for rack, hosts in racks.items():
        if len(hosts) == 1:
            add = f"gridengine host add NAME --rack {rack}; or a node of its own: gridengine host add {hosts[0]} --rack {NO_RACK}"
            yield Finding(f"rack {rack} has one host, {hosts[0]}: it saves no Ray node", add, note=True)
    if racks:
        count = sum(map(len, racks.values()))
        yield Finding(f"{count} hosts in {len(racks)} rack{'' if len(racks) == 1 else 's'} share a Ray node a rack")
