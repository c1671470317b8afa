"""The systemd units of a cell's daemons on this host: written when a host joins a cell, and removed with the cell.

Owns their files in /etc/systemd/system, made from the templates of the installation; the units of a Debian package are in
/lib/systemd/system. Must not enable, start or stop units: the administrator does. Called by `program`, `doctor`, `upgrade` and
`uninstall`.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from clients.admin.cell import CellFiles
from clients.admin.installation import Installation
from clients.admin.local_daemons import DBWRITER, EXECD, QMASTER, SHADOWD, WEB
from clients.admin.umask import readable_by_all

UNITS, PACKAGED = Path("/etc/systemd/system"), Path("/lib/systemd/system")
#: of this cell, for a unit of the package
DROP_IN = "cell.conf"
#: exists if systemd is the init of this host
RUNTIME_DIRECTORY = Path("/run/systemd/system")
_UNIT = re.compile(r"/(sge_[\w@.\\-]+\.service)(?:/|$)", re.MULTILINE)
_ANSWER_S = 10.0
PROGRAMS = (QMASTER, SHADOWD, EXECD, DBWRITER, WEB)


def write_units(
    files: CellFiles, programs: Iterable[str], installation: Installation, directory: Path = UNITS, packaged: Path = PACKAGED
) -> list[str]:
    """Write the units of these programs for a cell, and return the programs whose units serve it. A unit of the package is used
    as it is, or changed by a drop-in, so that the next release of the package counts. Writes no units without systemd, without
    root's permissions, and from a checkout, which may move. A unit of another cell is not changed. Raises OSError.
    """
    if os.geteuid() != 0 or not RUNTIME_DIRECTORY.is_dir() or installation.prefix is None:
        return []
    write = partial(_write_unit, files, installation=installation, directory=directory)
    with readable_by_all():
        return [program for program in programs if write(program, package_unit=packaged / f"{program}.service")]


def _write_unit(files: CellFiles, program: str, installation: Installation, directory: Path, package_unit: Path) -> bool:
    """Whether the unit serves the cell. Raises OSError."""
    unit = directory / package_unit.name
    drop_in = directory / f"{unit.name}.d" / DROP_IN
    if any(path.exists() and not _is_of(files, path) for path in (unit, drop_in)):
        return False
    if not package_unit.exists():
        unit.write_text(unit_text((installation.cluster_config / "systemd" / unit.name).read_text(), files, installation))
        return True
    text = package_unit.read_text()
    if not drop_in.exists() and not _is_of(files, package_unit) and _serves_cell(text):
        return False
    unit.unlink(missing_ok=True)  # of an earlier release, it would hide the package's
    if unit_text(text, files, installation) == unit_text(text):
        drop_in.unlink(missing_ok=True)
    else:
        drop_in.parent.mkdir(exist_ok=True)
        drop_in.write_text(_drop_in_text(program, files, installation))
    return True


def unit_text(template: str, files: CellFiles | None = None, installation: Installation | None = None) -> str:
    """The text of a unit: the template with the cell and the directory of the programs."""
    text = template[template.index("[Unit]") :]  # a comment on the template precedes
    if files is not None:
        text = re.sub(r"^ConditionPathExists=.*$", _condition(files), text, flags=re.MULTILINE)
        text = re.sub(r"^Environment=.*$", _environment(files), text, flags=re.MULTILINE)
    if installation is not None:
        text = re.sub(r"^ExecStart=\S*/", f"ExecStart={installation.bin}/", text, flags=re.MULTILINE)
    return text


def _drop_in_text(program: str, files: CellFiles, installation: Installation) -> str:
    """An empty value removes those of the package's unit. Source: systemd.unit(5)."""
    start = f"ExecStart={installation.bin}/{program} --foreground"
    return f"[Unit]\nConditionPathExists=\n{_condition(files)}\n\n[Service]\n{_environment(files)}\nExecStart=\n{start}\n"


def units_of(files: CellFiles, directory: Path = UNITS) -> list[Path]:
    """The files of units on this host that were written for a cell."""
    names = [f"{program}.service" for program in PROGRAMS]
    paths = [directory / path for name in names for path in (name, f"{name}.d/{DROP_IN}")]
    return [path for path in paths if path.exists() and _is_of(files, path)]


def renew_units(files: CellFiles, installation: Installation) -> None:
    """Write the units of a cell again, as the installed release has them. Raises OSError."""
    programs = [program for program in PROGRAMS if any(path.name == f"{program}.service" for path in units_of(files))]
    write_units(files, programs, installation)


def unit_of_process(pid: int) -> str:
    """The systemd unit of a daemon's process, "" for none: jobs and shells are in units of other kinds."""
    try:
        found = _UNIT.search(Path(f"/proc/{pid}/cgroup").read_text())
    except OSError:
        return ""
    return found[1] if found else ""


def is_enabled(unit: str) -> bool:
    """Whether systemd starts a unit at boot."""
    if not RUNTIME_DIRECTORY.is_dir():
        return False
    try:
        done = subprocess.run(["systemctl", "is-enabled", "--quiet", unit], stdin=subprocess.DEVNULL, timeout=_ANSWER_S)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def enabling_command(programs: Iterable[str]) -> str:
    """The command that starts these programs now and at each boot."""
    return f"systemctl enable --now {' '.join(programs)}"


def _condition(files: CellFiles) -> str:
    return f"ConditionPathExists={files.bootstrap}"


def _serves_cell(text: str) -> bool:
    """Whether the cell of a unit is on this host."""
    found = re.search(r"^ConditionPathExists=(.+)$", text, re.MULTILINE)
    return found is None or Path(found[1]).exists()


def _environment(files: CellFiles) -> str:
    return f"Environment=SGE_ROOT={files.root} SGE_CELL={files.name}"


def _is_of(files: CellFiles, path: Path) -> bool:
    return _environment(files) in path.read_text(errors="replace").splitlines()
