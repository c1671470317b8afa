"""The replica of the spool on a shadow host: received whole once, then updated by patches, and durable at each answer.

Owns the file `spool.db` in the directory of replicas, its position in the order of commits, and the removal of a damaged replica.
Every function may wait for the disk, and may be called in any thread, but not two functions at a time. The network side is
`replica_endpoint`. Called by `replica_endpoint`, and by the daemon that becomes the master with the replica. Source:
adr/0146.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import apsw

from daemons.qmaster.spooling import spool_file, spool_versions
from daemons.qmaster.spooling.patches import Patch
from daemons.qmaster.spooling.spool_file import SpoolError, SpoolPosition
from daemons.runtime.log_once import LogOnce
from gridengine.errors import CorruptDataError
from gridengine.files.durable import sync_directory

_log = logging.getLogger(__name__)
NAME = "spool.db"
_TRANSIENT = (apsw.FullError, apsw.IOError, apsw.BusyError, apsw.CantOpenError, apsw.NoMemError, apsw.InterruptError)
"""Errors that do not mean that the replica is damaged."""


class OutOfStepError(CorruptDataError):
    """Patches or a spool that do not fit the position of the replica; nothing was done."""


class Replica:
    """The replica in `directory`, of the cell with this id. After `close` it is an ordinary spool, and takes no more changes."""

    def __init__(self, directory: Path, cell_id: str) -> None:
        self.path = directory / NAME
        self._cell_id = cell_id
        self._db: apsw.Connection | None = None
        self._lock = threading.Lock()
        self._closed = False
        self._logged = LogOnce()

    def position(self) -> SpoolPosition:
        """Return the position of the replica, (0, 0) without a replica. Raises SpoolError."""
        with self._lock:
            return self._position()

    def apply(self, incarnation: int, patches: Sequence[Patch]) -> SpoolPosition:
        """Write patches to disk, all or none, and return the new position; patches that the replica has already are skipped.

        `incarnation`: of the position before the first patch. Raises OutOfStepError, also for a replica whose contents do not
        match its position, which is removed; SpoolError for an error of the disk.
        """
        with self._lock:
            known = self._position()
            if incarnation != known.incarnation or not known.commit:
                raise OutOfStepError(f"the replica is of incarnation {known.incarnation}, not {incarnation}")
            new = [patch for patch in patches if patch.number > known.commit]
            if [patch.number for patch in new] != list(range(known.commit + 1, known.commit + 1 + len(new))):
                raise OutOfStepError(f"the replica has commit {known.commit}, which commit {new[0].number} does not follow")
            try:
                return self._apply_all(new) if new else known
            except _TRANSIENT as error:
                raise spool_file.write_fault(self.path, error) from error
            except (apsw.Error, OutOfStepError) as error:
                _log.error("%s is no replica of the master's spool and is removed: %s", self.path, error)
                self._remove()
                raise OutOfStepError(str(error)) from error

    def _apply_all(self, patches: list[Patch]) -> SpoolPosition:
        """Raises apsw.Error; OutOfStepError if the patches lead to another position."""
        assert self._db is not None
        with spool_file.transaction(self._db):
            for patch in patches:
                apsw.Changeset.apply(patch.patchset, self._db)
            reached = spool_file.position_of(self._db)
            if reached.commit != patches[-1].number:
                raise OutOfStepError(f"commit {patches[-1].number} has led to {reached.commit}")
        return reached

    def draft(self) -> Path:
        """The path for a whole copy, for `install`; a draft left by an earlier transfer is removed. Raises SpoolError."""
        draft = self.path.with_name(f"{NAME}.part")
        try:
            spool_file.make_closed(self.path.parent)
            spool_file.remove(draft)
        except OSError as error:
            raise spool_file.write_fault(draft, error) from error
        return draft

    def install(self, draft: Path) -> SpoolPosition:
        """Replace the replica with a whole spool, which is on disk.

        Raises SpoolError for a spool of another cell, or of a version that this program cannot read; OutOfStepError if the
        replica is ahead.
        """
        with self._lock:
            self._check(draft)
            if (offered := spool_file.position(draft)) < self._position():
                raise OutOfStepError(f"the replica is ahead of {offered}")
            try:
                spool_file.remove_sides(draft)
                self._disconnect()
                # SQLite would read a side file of the old replica as part of the new replica
                spool_file.remove_sides(self.path)
                draft.rename(self.path)
                sync_directory(self.path.parent)
            except (OSError, apsw.Error) as error:
                raise spool_file.write_fault(self.path, error) from error
            return self._position()

    def close(self) -> None:
        """Make the replica a single file without side files, and accept no further change. Raises SpoolError."""
        with self._lock:
            self._closed = True
            try:
                self._disconnect()
            except apsw.Error as error:
                raise SpoolError(f"cannot make {self.path} whole: {error}") from error
            spool_file.merge_log(self.path)

    def _position(self) -> SpoolPosition:
        if self._closed:
            raise SpoolError(f"{self.path} is no longer a replica")
        try:
            if self._db is None and not self._open():
                return SpoolPosition()
            assert self._db is not None
            return spool_file.position_of(self._db)
        except apsw.Error as error:
            raise SpoolError(f"cannot read {self.path}: {error}") from error

    def _open(self) -> bool:
        """Open a valid replica; an invalid one stays until a whole copy arrives. Raises SpoolError, apsw.Error."""
        if not self.path.exists():
            return False
        try:
            self._check(self.path)
            self._db = spool_file.connect(self.path)
        except SpoolError as error:
            if self._logged.is_new(str(error)):
                _log.error("the replica of the spool is unusable: %s", error)
            return False
        return True

    def _check(self, path: Path) -> None:
        """Raises SpoolError unless the file is a spool of this cell that this program can read."""
        spool_versions.check(path)
        holds, cell_id = spool_file.inspect_spool(path)
        if not holds or cell_id != self._cell_id:
            raise SpoolError(f"{path} is no spool of this cell")

    def _disconnect(self) -> None:
        """Raises apsw.Error."""
        if self._db is not None:
            self._db.close()
            self._db = None

    def _remove(self) -> None:
        with suppress(apsw.Error):
            self._disconnect()
        self._db = None
        with suppress(OSError):
            spool_file.remove(self.path)
