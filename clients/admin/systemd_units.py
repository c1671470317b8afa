"""The systemd units of a cell's daemons on this host: written when a host becomes one of a cell, removed with it.

Owns their files in /etc/systemd/system, made of the templates that the installation has. Must not enable, start or stop anything:
that is the administrator's word. Called by `program` and `uninstall`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from clients.admin.cell import CellFiles
from clients.admin.installation import Installation
from clients.admin.local_daemons import DBWRITER, EXECD, QMASTER, SHADOWD, WEB

UNITS = Path("/etc/systemd/system")
#: is there while systemd is the init of this host
_RUNS = Path("/run/systemd/system")
PROGRAMS = (QMASTER, SHADOWD, EXECD, DBWRITER, WEB)


def write_units(files: CellFiles, programs: Iterable[str], installation: Installation, directory: Path = UNITS) -> list[str]:
    """Write the units of these programs for a cell; their names. None where they would not be of use: without systemd or root's
    rights, and from a checkout, which may move. One that serves another cell is left as it is. Raises OSError.
    """
    if os.geteuid() != 0 or not _RUNS.is_dir() or installation.prefix is None:
        return []
    written = []
    for program in programs:
        path = directory / f"{program}.service"
        if path.exists() and not _is_of(files, path):
            continue
        template = (installation.cluster_config / "systemd" / path.name).read_text()
        path.write_text(unit_text(template, files, installation))
        written.append(program)
    return written


def unit_text(template: str, files: CellFiles, installation: Installation) -> str:
    """The text of a unit: the template with the cell and the place of the programs."""
    unit = template[template.index("[Unit]") :]  # what stands before says what is to be filled in
    text = re.sub(r"^Environment=.*$", _environment(files), unit, flags=re.MULTILINE)
    return re.sub(r"^ExecStart=\S*/", f"ExecStart={installation.bin}/", text, flags=re.MULTILINE)


def units_of(files: CellFiles, directory: Path = UNITS) -> list[Path]:
    """The units on this host that serve a cell."""
    paths = (directory / f"{program}.service" for program in PROGRAMS)
    return [path for path in paths if path.exists() and _is_of(files, path)]


def _environment(files: CellFiles) -> str:
    return f"Environment=SGE_ROOT={files.root} SGE_CELL={files.name}"


def _is_of(files: CellFiles, path: Path) -> bool:
    return _environment(files) in path.read_text(errors="replace").splitlines()
