"""The file `common/racks`: the racks of the cell and their hosts, which share a Ray node (adr/0270).

Owns its changes, and its check by `gridengine doctor`; the qmaster reads it again when it has changed. Called by `host`, `token`,
`admission` and `doctor`. Source: docs/formats/racks.md.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

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
    path = cell.files.common / "racks"
    target = "" if rack == NO_RACK else rack
    with _alone(path.parent):
        racks = read_racks(cell)
        moved = [host for host in hosts if rack_of(racks, host) != target]
        if moved:
            text = _without(optional_text(path), set(moved)) + (f"{target} {' '.join(moved)}\n" if target else "")
            try:
                durable_write(path, text.encode(), 0o644, owner=owner_for(cell.settings["admin_user"]))
            except OSError as error:
                raise AdminError(f"cannot write {path}: {error.strerror}") from error
    return moved


@contextmanager
def _alone(directory: Path) -> Iterator[None]:
    """Keep other changes out: hosts that join and the administrator change the file at the same time."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _without(text: str, hosts: set[str]) -> str:
    """The file without these hosts. The other lines and all comments stay as they are."""
    kept: list[str] = []
    for line in text.splitlines():
        names, sign, comment = line.partition("#")
        rack, *members = names.split() or [""]
        if hosts.isdisjoint(members):
            kept.append(line)
        elif rest := [host for host in members if host not in hosts]:
            kept.append(" ".join((rack, *rest)) + (f"  #{comment}" if sign else ""))
        elif sign:
            kept.append(f"#{comment}")
    return "".join(f"{line}\n" for line in kept)


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
