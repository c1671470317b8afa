"""Which cell this is, and whether its spool is its own: settled once, before anything of the master is started.

Owns `common/cell_id` (`gridengine init` makes it; a cell of an earlier version gets it here) and the decision with which spool a
master may begin: never with an empty or a foreign one where the cell has run before, unless that is asked for. Called by
the program `sge_qmaster`, and by the actor, which only reads. Source: docs/architecture.md section 3; docs/adr/0092.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from daemons.qmaster.spooling import spool_file, spool_versions
from daemons.runtime.cell import Cell, CellFault, parse_settings
from gridengine.errors import plain_fault


@dataclass(frozen=True, slots=True)
class CellIdentity:
    """`id`: 32 hexadecimal digits, "" in a cell of an earlier version. `first_start`: when its master first began, ISO 8601 in
    UTC, "" before that."""

    id: str = ""
    first_start: str = ""


def read_identity(cell: Cell) -> CellIdentity:
    """What `common/cell_id` says. Raises CellFault."""
    path = cell.cell_id_file
    try:
        settings = parse_settings(path.read_text(), path)
    except FileNotFoundError:
        return CellIdentity()
    except (OSError, UnicodeDecodeError) as error:
        raise CellFault(f"cannot read {path}: {plain_fault(error)}") from error
    if not settings.get("cell_id", "").isalnum():
        raise CellFault(f"{path} does not say cell_id")
    return CellIdentity(settings["cell_id"], settings.get("first_start", ""))


def settle(cell: Cell, fresh: bool, now: float) -> None:
    """See to it that the spool is there and is this cell's. `fresh`: begin with an empty one, whatever has been before.

    Raises CellFault: the spool is empty or foreign, with what is to be done; or (`fresh`) there is one that holds something.
    Raises SpoolError, also for a spool of a later version. A spool that holds something is never emptied, moved or given away.
    """
    known = read_identity(cell)
    spool = cell.spool
    spool_versions.check(spool)
    holds, owner = spool_file.look(spool)
    if known.id and owner and owner != known.id:
        raise CellFault(
            f"{spool} is the spool of another cell ({owner}, this one is {known.id}): move it away, put back this cell's "
            "own and start again; where that is lost, start with --fresh"
        )
    if holds and fresh:
        raise CellFault(f"{spool} holds the jobs and the configuration of this cell: move it away before you start with --fresh")
    if not holds and not owner:
        if not fresh and (since := _ran_since(cell, known)):
            raise CellFault(
                f"{spool} is {'empty' if spool.exists() else 'missing'}, but this cell has run before ({since}): put back a copy "
                "of it and start again; where all is lost, start with --fresh, with no jobs and the first configuration"
            )
        if left := spool_file.left_over(spool):
            raise CellFault(f"{left} is left of a spool that is gone: move it away, too")
    cell_id = known.id or owner or secrets.token_hex(16)
    if owner != cell_id:
        spool_file.mark(spool, cell_id)
    if not known.first_start or not known.id:
        began = known.first_start or datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
        _write(cell.cell_id_file, CellIdentity(cell_id, began))


def _ran_since(cell: Cell, known: CellIdentity) -> str:
    """Since when the cell has run, in words; "" if it never did. Cells of earlier versions show it by their accounting."""
    if known.first_start:
        return f"since {known.first_start}"
    return "it has accounting records" if not known.id and (cell.common / "accounting").exists() else ""


def _write(path: Path, identity: CellIdentity) -> None:
    """Write the file for all to read, whole or not at all. Raises CellFault."""
    text = "".join(f"{key:<20} {value}\n" for key, value in (("cell_id", identity.id), ("first_start", identity.first_start)))
    draft = path.with_name(f".{path.name}")
    try:
        with draft.open("w") as file:
            file.write(text)
            os.fchmod(file.fileno(), 0o644)
            os.fsync(file.fileno())
        draft.rename(path)
    except OSError as error:
        raise CellFault(f"cannot write {path}: {error.strerror}") from error
