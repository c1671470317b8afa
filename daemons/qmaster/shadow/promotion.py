"""What a host needs on its disk to be the master: the latest spool, keys, and its name where everybody looks.

Owns the exchange of `spool.db` for the shadow's copy, by renames: what it replaces is kept in `superseded/`. Called by the seat
when it has got the lease, and by nobody before. Source: docs/adr/0146.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
from pathlib import Path

import msgspec

from daemons.qmaster.backup import swap
from daemons.qmaster.spooling import spool_file
from daemons.qmaster.spooling.cell_identity import settle
from daemons.runtime.cell import Cell
from daemons.runtime.keys import exec_host_keys, master_keys
from daemons.runtime.lease_voter import LeaseVoter

_log = logging.getLogger(__name__)

_SHADOW, _SUPERSEDED = "shadow", "superseded"


def shadow_directory(cell: Cell) -> Path:
    """Where a shadow keeps its copy of the spool, and a voter its promise."""
    return cell.qmaster_spool_dir / _SHADOW


def own_voter(cell: Cell, host: str) -> LeaseVoter:
    """The voter of a host that may be the master, with what it promised as a witness before. Raises CellFault."""
    return LeaseVoter(shadow_directory(cell) / "promise", other=cell.execd_spool(host) / "promise")


def latest_spool(cell: Cell) -> Path:
    """The spool of this host that knows most: its own from when it was the master, or the copy. Raises SpoolError."""
    copy = shadow_directory(cell) / cell.spool.name
    return max((cell.spool, copy), key=lambda path: (spool_file.position(path), path == cell.spool))


def position(cell: Cell) -> tuple[int, int]:
    """How far this host's latest spool is: (incarnation, commit); (0, 0) without one. Raises SpoolError."""
    return spool_file.position(latest_spool(cell))


def voters(cell: Cell) -> tuple[frozenset[str], ...]:
    """Who grants the lease, as this host's latest spool says; () if it says nothing. Raises SpoolError."""
    text = spool_file.fact(latest_spool(cell), spool_file.VOTERS)
    return tuple(frozenset(names) for names in msgspec.json.decode(text, type=list[list[str]])) if text else ()


def become_leader(cell: Cell, host: str) -> None:
    """Make this host's latest spool the cell's, and this host the one that everybody asks. Raises SpoolError, CellFault, OSError,
    BackupFault."""
    swap.complete(cell.common)
    if latest_spool(cell) != cell.spool:
        _supersede(cell)
    settle(cell, False, time.time())
    _provide_keys(cell, host)
    if not cell.act_qmaster.exists() or cell.master_host() != host:
        draft = cell.act_qmaster.with_name(f".act_qmaster.{host}")
        draft.write_text(f"{host}\n")
        draft.chmod(0o644)
        draft.rename(cell.act_qmaster)
        _log.warning("%s names host %s from now on", cell.act_qmaster, host)


def _supersede(cell: Cell) -> None:
    """Put the copy in the place of the spool. Killed in between, it is done the next time: the copy is the latest until it has
    moved, and a side file never stays beside a spool that is not its own."""
    copy, kept = shadow_directory(cell) / cell.spool.name, cell.qmaster_spool_dir / _SUPERSEDED
    spool_file.make_whole(copy)
    if cell.spool.exists():
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(mode=0o700)
        for path in (*swap.sides(cell.spool), cell.spool):
            path.rename(kept / path.name)
        _log.warning("the spool of this host is older than its copy of the master's: kept in %s", kept)
    copy.rename(cell.spool)
    _sync(cell.qmaster_spool_dir)


def _provide_keys(cell: Cell, host: str) -> None:
    """The keys of a master are its own as an exec host where it has no others."""
    keys, own = master_keys(cell).directory, exec_host_keys(cell, host).directory
    if keys.exists() or not own.exists():
        return
    draft = keys.with_name("keys.new")
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(own, draft)
    draft.chmod(0o700)
    draft.rename(keys)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
