"""The systemd units of a cell's daemons on this host: written when a host joins a cell, and removed with the cell.

Owns their files in /etc/systemd/system, made from the templates of the installation. Must not enable, start or stop units: the
administrator does. Called by `program` and `uninstall`.
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
#: exists if systemd is the init of this host
RUNTIME_DIRECTORY = Path("/run/systemd/system")
PROGRAMS = (QMASTER, SHADOWD, EXECD, DBWRITER, WEB)


def write_units(files: CellFiles, programs: Iterable[str], installation: Installation, directory: Path = UNITS) -> list[str]:
    """Write the units of these programs for a cell; return their names. Writes no units without systemd, without root's
    permissions, and from a checkout, which may move. A unit of another cell is not changed. Raises OSError.
    """
    if os.geteuid() != 0 or not RUNTIME_DIRECTORY.is_dir() or installation.prefix is None:
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
    """The text of a unit: the template with the cell and the directory of the programs."""
    unit = template[template.index("[Unit]") :]  # a comment on the template precedes
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
