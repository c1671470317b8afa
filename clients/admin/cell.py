"""A cell on disk as its hosts see it: the names of its files, and the settings of its bootstrap file.

Owns the reading of `common/` for the admin program. Must not write (that is `creation`). Source: sge_bootstrap(5),
docs/architecture.md section 3.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from clients.admin.errors import AdminError
from gridengine.cell_files import parse_master_name, parse_settings
from gridengine.errors import InvalidValueError
from gridengine.files.bootstrap import REQUIRED, invalid_values

#: What `bootstrap` must hold; the values are described in docs/architecture.md section 3.
BOOTSTRAP_KEYS = REQUIRED


@dataclass(frozen=True, slots=True)
class CellFiles:
    """The paths below `$SGE_ROOT/$SGE_CELL`."""

    root: Path
    name: str

    @property
    def directory(self) -> Path:
        return self.root / self.name

    @property
    def common(self) -> Path:
        return self.directory / "common"

    @property
    def bootstrap(self) -> Path:
        return self.common / "bootstrap"

    @property
    def act_qmaster(self) -> Path:
        return self.common / "act_qmaster"

    @property
    def cell_id(self) -> Path:
        return self.common / "cell_id"

    @property
    def host_aliases(self) -> Path:
        return self.common / "host_aliases"

    @property
    def secrets(self) -> Path:
        return self.common / "secrets"

    @property
    def certificate(self) -> Path:
        return self.common / "tls.crt"

    @property
    def initial_config(self) -> Path:
        return self.common / "initial-config"


@dataclass(frozen=True, slots=True)
class InstalledCell:
    """An existing cell: its files and the settings of its bootstrap file."""

    files: CellFiles
    settings: dict[str, str]
    master_host: str

    @property
    def qmaster_spool_dir(self) -> Path:
        return Path(self.settings["qmaster_spool_dir"])

    @property
    def execd_spool_dir(self) -> Path:
        return Path(self.settings["execd_spool_dir"])

    @property
    def run_dir(self) -> Path:
        return Path(self.settings["run_dir"])

    def environment(self) -> dict[str, str]:
        """Return the variables that direct commands and daemons to this cell."""
        return {"SGE_ROOT": str(self.files.root), "SGE_CELL": self.files.name}


def cell_of_environment(root: Path | None, name: str) -> CellFiles:
    """Return the files of the cell that the caller named. AdminError: the caller named no root."""
    if root is None:
        raise AdminError("SGE_ROOT is not set: source the settings.sh of a cell, or give --root DIRECTORY")
    return CellFiles(Path(os.path.abspath(root)), name)


def select_cell(files: CellFiles) -> None:
    """Select the cell for all requests of this process."""
    os.environ["SGE_ROOT"], os.environ["SGE_CELL"] = str(files.root), files.name


def read_cell(files: CellFiles) -> InstalledCell:
    """Read `bootstrap` and `act_qmaster`. AdminError: one of them is missing, not readable or not complete."""
    settings = parse_bootstrap(_required_text(files.bootstrap), files.bootstrap)
    if wrong := next(invalid_values(settings), ""):
        raise AdminError(f"{files.bootstrap}: {wrong}")
    try:
        return InstalledCell(files, settings, parse_master_name(_required_text(files.act_qmaster), files.act_qmaster))
    except InvalidValueError as fault:
        raise AdminError(str(fault)) from None


def parse_bootstrap(text: str, path: Path) -> dict[str, str]:
    """Return the `key value` lines of a bootstrap file. AdminError: a line without a value, or a missing key.

    Source: sge_bootstrap(5).
    """
    try:
        return parse_settings(text, path, BOOTSTRAP_KEYS)
    except InvalidValueError as fault:
        raise AdminError(str(fault)) from None


def optional_text(path: Path) -> str:
    """The text of an optional file of a cell, "" if there is none. AdminError: the file cannot be read, or is no text."""
    try:
        return path.read_text()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise AdminError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise AdminError(f"{path} is not a text file") from error


def _required_text(path: Path) -> str:
    try:
        path.stat()
    except OSError as error:
        raise AdminError(f"no cell here: cannot read {path}: {error.strerror} (gridengine init makes a cell)") from error
    return optional_text(path)
