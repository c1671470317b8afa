"""Prepares the disk of a host that becomes the master: the latest spool, keys, and its name in `act_qmaster`.

Owns the exchange of `spool.db` for the replica of the shadow, by renames: a replaced spool is kept in `superseded/`. Called only
by the participant, once it holds the lease. Source: docs/adr/0146.
"""

from __future__ import annotations

import logging
import shutil
import time
from pathlib import Path

import msgspec

from daemons.qmaster.backup import swap
from daemons.qmaster.spooling import spool_file
from daemons.qmaster.spooling.cell_identity import claim_spool
from daemons.runtime.cell import Cell
from daemons.runtime.keys import exec_host_keys, master_keys
from daemons.runtime.lease_voter import LeaseVoter
from gridengine.files.durable import durable_write, sync_directory
from gridengine.files.file_tree import read_tree, replace_tree

_log = logging.getLogger(__name__)

_SHADOW, _SUPERSEDED = "shadow", "superseded"


def shadow_directory(cell: Cell) -> Path:
    """The directory for the replica of a shadow and the record of a voter."""
    return cell.qmaster_spool_dir / _SHADOW


def own_voter(cell: Cell, host: str) -> LeaseVoter:
    """The voter of a candidate host, with its record from before as a witness. Raises CellError."""
    return LeaseVoter(shadow_directory(cell) / "promise", other=cell.execd_spool(host) / "promise")


def latest_spool(cell: Cell) -> Path:
    """The latest spool of this host: its own from a time as the master, or the replica. Raises SpoolError."""
    copy = shadow_directory(cell) / cell.spool.name
    return max((cell.spool, copy), key=lambda path: (spool_file.position(path), path == cell.spool))


def position(cell: Cell) -> tuple[int, int]:
    """Return the position of this host's latest spool: (incarnation, commit); (0, 0) without a spool. Raises SpoolError."""
    return spool_file.position(latest_spool(cell))


def voters(cell: Cell) -> tuple[frozenset[str], ...]:
    """The voter sets in this host's latest spool, () if it has none. Raises SpoolError."""
    text = spool_file.read_fact(latest_spool(cell), spool_file.VOTERS)
    return tuple(frozenset(names) for names in msgspec.json.decode(text, type=list[list[str]])) if text else ()


def become_leader(cell: Cell, host: str) -> None:
    """Make this host's latest spool the spool of the cell, and name this host in `act_qmaster`. Raises SpoolError,
    CellError, OSError, BackupError."""
    swap.complete(cell.common)
    if latest_spool(cell) != cell.spool:
        _supersede(cell)
    claim_spool(cell, False, time.time())
    _provide_keys(cell, host)
    if not cell.act_qmaster.exists() or cell.master_host() != host:
        durable_write(cell.act_qmaster, f"{host}\n".encode(), 0o644, writer=host)
        _log.warning("%s names host %s from now on", cell.act_qmaster, host)


def _supersede(cell: Cell) -> None:
    """Replace the spool with the replica. If the process is killed meanwhile, the next start completes the move: the
    replica is the latest spool until it has moved, and a side file never stays beside the spool of another host."""
    copy, kept = shadow_directory(cell) / cell.spool.name, cell.qmaster_spool_dir / _SUPERSEDED
    spool_file.merge_log(copy)
    if cell.spool.exists():
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(mode=0o700)
        for path in (*swap.side_files(cell.spool), cell.spool):
            path.rename(kept / path.name)
        _log.warning("the spool of this host is older than its replica: kept in %s", kept)
    copy.rename(cell.spool)
    sync_directory(cell.qmaster_spool_dir)


def _provide_keys(cell: Cell, host: str) -> None:
    """Copy the keys of the execution host for the master, if it has none."""
    keys, own = master_keys(cell).directory, exec_host_keys(cell, host).directory
    if own.exists() and not keys.exists():
        replace_tree(keys, read_tree(own))
