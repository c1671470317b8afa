"""Contents of a backup: unpacked, checked against its seal, with its spool read as a qmaster would read it.

Owns the definition of a whole backup. Needs no cell, so a backup can be verified on any machine. The spool itself is not changed;
an upgrade of its version, if necessary, changes a copy. Called by `saving`, `restoring` and the program.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from daemons.qmaster.backup import archive
from daemons.qmaster.backup.archive import BackupError, Manifest
from daemons.qmaster.spooling import spool_file, spool_versions
from daemons.qmaster.spooling.spool import Spool
from daemons.qmaster.spooling.spool_file import SpoolError
from gridengine.state.invariants import invariants
from gridengine.state.state import State
from gridengine.values.units import counted

_MOST_FAULTS = 3


@dataclass(frozen=True, slots=True)
class Contents:
    """An unpacked backup: its `manifest`, and the `state` in its spool. `directory`: of its files; `faults`: sentences about
    invariants that its state breaks."""

    manifest: Manifest
    directory: Path
    state: State
    faults: list[str]

    def __str__(self) -> str:
        state = self.state
        return (
            f"{counted(len(state.jobs), 'job')}, {counted(len(state.kind('cluster_queue')), 'queue')}, "
            f"{counted(len(state.reservations), 'advance reservation')}, revision {state.revision}"
        )

    def require_invariants(self, path: Path) -> None:
        """Check the invariants that hold between any two transactions. Raises BackupError."""
        if self.faults:
            more = f" (and {len(self.faults) - 1} more)" if len(self.faults) > 1 else ""
            raise BackupError(f"{path} is whole, but its spool is inconsistent: {self.faults[0]}{more}")


@contextmanager
def open_backup(path: Path, beside: Path | None = None) -> Iterator[Contents]:
    """Unpack a backup for the duration of the context, in the directory `beside`, else in the directory of temporary files.

    Raises BackupError, with the damaged member.
    """
    try:
        work = tempfile.TemporaryDirectory(prefix="ge-backup-", dir=beside, ignore_cleanup_errors=True)
    except OSError as error:
        raise BackupError(f"cannot unpack {path}: {error.filename}: {error.strerror}") from error
    with work as name:
        directory = Path(name) / "unpacked"
        directory.mkdir(mode=0o700)
        manifest = archive.unpack(path, directory)
        state = _load_state(path, manifest, directory / archive.SPOOL, Path(name) / "trial.db")
        yield Contents(manifest, directory, state, invariants(state))


def _load_state(path: Path, manifest: Manifest, spool: Path, trial: Path) -> State:
    """The state with which a qmaster would start. Raises BackupError."""
    if not spool.exists():
        raise BackupError(f'{path}: the member "{archive.SPOOL}" is missing')
    if manifest.spool_version > spool_versions.VERSION:
        raise BackupError(
            f"{path}: its spool has version {manifest.spool_version}, this program reads versions up to "
            f"{spool_versions.VERSION}: use the newer program that made it"
        )
    if fault := spool_file.find_damage(spool):
        raise BackupError(f'{path}: the member "{archive.SPOOL}" was damaged when it was saved: {fault}')
    try:
        shutil.copyfile(spool, trial)
        opened_trial = Spool(trial, manifest.cell_id)
        try:
            return opened_trial.load()
        finally:
            opened_trial.close()
    except SpoolError as error:
        raise BackupError(f'{path}: the member "{archive.SPOOL}" cannot be read: {error}') from error
    except OSError as error:
        raise BackupError(f"cannot unpack {path}: {error.filename}: {error.strerror}") from error
