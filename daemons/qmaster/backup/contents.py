"""What a backup holds: unpacked, held to its seal, and the spool in it read as a qmaster would read it.

Owns what counts as a whole backup. Needs no cell: whoever keeps backups may look on any machine. The spool itself is left as it
is; an upgrade, should its version want one, happens to a copy. Called by `saving`, `restoring` and the program.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from daemons.qmaster.backup import archive
from daemons.qmaster.backup.archive import BackupFault, Manifest
from daemons.qmaster.spooling import spool_file, spool_versions
from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.spooling.spool_file import SpoolError
from gridengine.state.invariants import invariants
from gridengine.state.state import State
from gridengine.units import counted

_MOST_FAULTS = 3


@dataclass(frozen=True, slots=True)
class Contents:
    """An unpacked backup. `place`: where its files lie; `faults`: sentences of laws that its state breaks."""

    manifest: Manifest
    place: Path
    state: State
    faults: list[str]

    def __str__(self) -> str:
        state = self.state
        return (
            f"{counted(len(state.jobs), 'job')}, {counted(len(state.kind('cluster_queue')), 'queue')}, "
            f"{counted(len(state.reservations), 'advance reservation')}, revision {state.revision}"
        )

    def require_laws(self, path: Path) -> None:
        """Raises BackupFault when the state breaks a law that holds between any two transactions."""
        if self.faults:
            more = f" (and {len(self.faults) - 1} more)" if len(self.faults) > 1 else ""
            raise BackupFault(f"{path} is whole, but what its spool says does not fit together: {self.faults[0]}{more}")


@contextmanager
def opened(path: Path, beside: Path | None = None) -> Iterator[Contents]:
    """A backup, unpacked for as long as it is looked at: in a directory `beside` something, else where temporary files go.

    Raises BackupFault, with the member that is damaged.
    """
    try:
        work = tempfile.TemporaryDirectory(prefix="ge-backup-", dir=beside, ignore_cleanup_errors=True)
    except OSError as error:
        raise BackupFault(f"cannot unpack {path}: {error.filename}: {error.strerror}") from error
    with work as name:
        place = Path(name) / "unpacked"
        place.mkdir(mode=0o700)
        manifest = archive.unpack(path, place)
        state = _state(path, manifest, place / archive.SPOOL, Path(name) / "trial.db")
        yield Contents(manifest, place, state, invariants(state))


def _state(path: Path, manifest: Manifest, spool: Path, trial: Path) -> State:
    """The state that a qmaster would begin with. Raises BackupFault."""
    if not spool.exists():
        raise BackupFault(f'{path}: the member "{archive.SPOOL}" is missing')
    if manifest.spool_version > spool_versions.VERSION:
        raise BackupFault(
            f"{path}: its spool has version {manifest.spool_version}, this program reads versions up to "
            f"{spool_versions.VERSION}: use the newer program that made it"
        )
    if what := spool_file.damage(spool):
        raise BackupFault(f'{path}: the member "{archive.SPOOL}" was damaged when it was saved: {what}')
    try:
        shutil.copyfile(spool, trial)
        opened_trial = Spool(trial, manifest.cell_id)
        try:
            return opened_trial.load()
        finally:
            opened_trial.close()
    except SpoolError as error:
        raise BackupFault(f'{path}: the member "{archive.SPOOL}" cannot be read: {error}') from error
    except OSError as error:
        raise BackupFault(f"cannot unpack {path}: {error.filename}: {error.strerror}") from error
