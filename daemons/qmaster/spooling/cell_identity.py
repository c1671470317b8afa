"""Identity of the cell, and the check that its spool is its own, once before any part of the master is started.

Owns `common/cell_id` (`gridengine init` makes it; a cell of an earlier version gets it here) and the decision which spool a
master may start with. A cell that has run before never starts with an empty or a foreign spool, unless the caller requests it.
Called by the program `sge_qmaster`, and by the actor, which only reads. Source: docs/architecture.md section 3; docs/adr/0092.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from daemons.qmaster.spooling import spool_file, spool_versions
from daemons.runtime.cell import Cell, CellError, parse_settings
from gridengine.errors import plain_fault
from gridengine.files.durable import durable_write


@dataclass(frozen=True, slots=True)
class CellIdentity:
    """`id`: 32 hexadecimal digits, "" in a cell of an earlier version. `first_start`: time of the first start of its master, ISO
    8601 in UTC, "" before the first start."""

    id: str = ""
    first_start: str = ""


def read_identity(cell: Cell) -> CellIdentity:
    """The content of `common/cell_id`. Raises CellError."""
    path = cell.cell_id_file
    try:
        settings = parse_settings(path.read_text(), path)
    except FileNotFoundError:
        return CellIdentity()
    except (OSError, UnicodeDecodeError) as error:
        raise CellError(f"cannot read {path}: {plain_fault(error)}") from error
    if not settings.get("cell_id", "").isalnum():
        raise CellError(f"{path} lacks cell_id")
    return CellIdentity(settings["cell_id"], settings.get("first_start", ""))


def claim_spool(cell: Cell, fresh: bool, now: float) -> None:
    """Ensure that the spool exists and belongs to this cell. `fresh`: start with an empty spool, regardless of earlier starts.

    Raises CellError, with the remedy, for an empty or a foreign spool, and with `fresh` for a spool that has data.
    Raises SpoolError, also for a spool of a later version. A spool with data is never emptied, moved or given away.
    """
    known = read_identity(cell)
    spool = cell.spool
    spool_versions.check(spool)
    holds, owner = spool_file.inspect_spool(spool)
    if known.id and owner and owner != known.id:
        raise CellError(
            f"{spool} is the spool of another cell ({owner}, this one is {known.id}): move it away, put back this cell's "
            "own and start again; if that is lost, start with --fresh"
        )
    if holds and fresh:
        raise CellError(f"{spool} holds the jobs and the configuration of this cell: move it away before you start with --fresh")
    if not holds and not owner:
        if not fresh and (since := _ran_since(cell, known)):
            raise CellError(
                f"{spool} is {'empty' if spool.exists() else 'missing'}, but this cell has run before ({since}): put back a copy "
                "of it and start again; if all copies are lost, start with --fresh, with no jobs and the initial configuration"
            )
        if left := spool_file.leftover_side_file(spool):
            raise CellError(f"{left} is left of a spool that is gone: move it away, too")
    cell_id = known.id or owner or secrets.token_hex(16)
    if owner != cell_id:
        spool_file.mark(spool, cell_id)
    if not known.first_start or not known.id:
        began = known.first_start or datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
        _write(cell.cell_id_file, CellIdentity(cell_id, began))


def _ran_since(cell: Cell, known: CellIdentity) -> str:
    """Evidence that the cell has run before, as text; "" for a new cell. Cells of earlier versions have accounting records."""
    if known.first_start:
        return f"since {known.first_start}"
    return "it has accounting records" if not known.id and (cell.common / "accounting").exists() else ""


def _write(path: Path, identity: CellIdentity) -> None:
    """Write the file, readable for all users, whole or not at all. Raises CellError."""
    text = "".join(f"{key:<20} {value}\n" for key, value in (("cell_id", identity.id), ("first_start", identity.first_start)))
    try:
        durable_write(path, text.encode(), 0o644)
    except OSError as error:
        raise CellError(f"cannot write {path}: {error.strerror}") from error
