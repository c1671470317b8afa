"""The checks of `gridengine doctor` on the files of a cell's `common` directory: readable, and with valid content.

Owns these checks, which change nothing. Called by `doctor`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from clients.admin.cell import CellFiles, InstalledCell, optional_text, parse_bootstrap
from clients.admin.errors import AdminError
from clients.admin.finding import Finding
from gridengine.cell_files import parse_settings
from gridengine.errors import InvalidValueError
from gridengine.files.bootstrap import invalid_values, unknown_settings

#: optional files of `common` -> the settings that each must have; None: lines of another form
_OPTIONAL_FILES: dict[str, tuple[str, ...] | None] = {
    "cell_id": ("cell_id",), "web": (), "arco": (), "shadow_masters": None, "host_aliases": None, "cluster_name": None,
}

_BOOTSTRAP = "correct that line; man sge_bootstrap lists the settings"


def check_bootstrap(files: CellFiles) -> Iterator[Finding]:
    """The settings of the cell: required settings exist, values are valid, and each setting is known."""
    if not files.bootstrap.exists():
        return  # read_cell reports it
    try:
        settings = parse_bootstrap(optional_text(files.bootstrap), files.bootstrap)
    except AdminError as refusal:
        yield Finding(str(refusal), _BOOTSTRAP)
        return
    faults = [*invalid_values(settings), *(f"{key} is no setting of it" for key in unknown_settings(settings))]
    for fault in faults:
        yield Finding(f"{files.bootstrap}: {fault}", _BOOTSTRAP)
    if not faults:
        yield Finding(f"{files.bootstrap} can be used")


def check_files(cell: InstalledCell) -> Iterator[Finding]:
    """Optional files of `common`: existing files are readable and valid. No finding for a valid file."""
    for name, required in _OPTIONAL_FILES.items():
        path = cell.files.common / name
        try:
            text = optional_text(path)
            if required is not None and os.path.lexists(path):
                parse_settings(text, path, required)
        except (AdminError, InvalidValueError) as fault:
            yield Finding(str(fault), f"correct {path}, or copy it from the master host or a backup")
