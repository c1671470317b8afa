"""`common/arco`: the address of the cell's database, and its retention.

Owns the names of the settings and their defaults. Called at the start. Source: adr/0130.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from daemons.runtime.cell import Cell, CellError, read_settings_file
from gridengine.protocols.arco import SETTINGS_FILE


@dataclass(frozen=True, slots=True)
class Settings:
    """`database` and `reader`: addresses for `database.open_database`; `reporting_file`: the input.

    `keep_days`: for jobs, reservations and the share log, 0 for no limit.
    """

    database: str
    reader: str
    reporting_file: Path
    keep_days: int


def read_settings(cell: Cell) -> Settings:
    """The settings of a cell. Raises CellError: no settings, or an invalid setting."""
    path = cell.common / SETTINGS_FILE
    try:
        texts = read_settings_file(path, ("database", "reader", "reporting_file", "keep_days"), ("database",))
    except OSError as error:
        raise CellError(f"cannot read {path}: {error.strerror}: this cell has no database (see docs/accounting.md)") from None
    keep_days = texts.get("keep_days", "0")
    if not (keep_days.isascii() and keep_days.isdigit() and len(keep_days) < 6):
        raise CellError(f'{path}: keep_days "{keep_days}" is no number of days')
    reporting_file = Path(texts.get("reporting_file", str(cell.common / "reporting")))
    return Settings(texts["database"], texts.get("reader", ""), reporting_file, int(keep_days))
