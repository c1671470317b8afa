"""A backup is made while the master writes, exists whole or not at all, and no other user can read it."""

from __future__ import annotations

import os
import resource
import socket
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from daemons.qmaster.backup import saving
from daemons.qmaster.backup.archive import BackupError
from daemons.qmaster.backup.contents import open_backup
from daemons.qmaster.spooling import spool_file
from daemons.qmaster.spooling.spool_file import SpoolError
from tests.unit.backup.conftest import CellOfFiles


@contextmanager
def full_disk(most: int) -> Iterator[None]:
    """Limit the size of files to `most` bytes, which has the effect of a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.statement("BU-1")
def test_a_backup_has_the_cell_at_the_time_of_the_backup(cell: CellOfFiles, backup: Path) -> None:
    with open_backup(backup) as contents:
        assert (set(contents.state.jobs), contents.faults) == ({1}, [])
        assert str(contents).startswith("1 job, 1 queue, 0 advance reservations")
        names = set(contents.manifest.members)
        assert (contents.directory / "common/bootstrap").read_text() == (cell.files.common / "bootstrap").read_text()
    common = ("arco", "bootstrap", "act_qmaster", "cell_id", "settings.sh", "initial-config/all.q", "secrets/h1/gdi_key")
    assert names == {"spool.db", "authority/tls.key", "keys/gdi_key", *(f"common/{name}" for name in common)}


def test_growing_files_are_included_on_request(cell: CellOfFiles, tmp_path: Path) -> None:
    cell.save(tmp_path / "b", accounting=True)
    with open_backup(tmp_path / "b") as contents:
        assert (contents.directory / "common/accounting").read_text() == "a record\n"


def test_later_writes_are_not_in_the_backup_and_do_not_restart_it(
    cell: CellOfFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []

    class Steps:
        """A copy with writes of the master between its steps."""

        def __init__(self, backup: Any) -> None:
            self._backup = backup

        def __enter__(self) -> Steps:
            return self

        def __exit__(self, *reason: Any) -> None:
            self._backup.finish()

        @property
        def done(self) -> bool:
            return bool(self._backup.done)

        def step(self, pages: int) -> None:
            steps.append(cell.running.submit())
            assert len(steps) < 100, "it begins again and again"
            self._backup.step(pages)

    class Copy(apsw.Connection):
        def backup(self, *arguments: Any) -> Any:
            return Steps(super().backup(*arguments))

    first = cell.running.submit()
    monkeypatch.setattr(spool_file, "BACKUP_PAGES", 2)
    monkeypatch.setattr(spool_file.apsw, "Connection", Copy)
    spool_file.copy(cell.files.spool, tmp_path / "copy.db")
    monkeypatch.undo()
    assert len(steps) > 5
    with apsw.Connection(str(tmp_path / "copy.db")) as db:
        assert [row[0] for row in db.execute("select job_id from payload")] == [first]


@pytest.mark.parametrize("most", [0, 5000, 40_000, 90_000])
@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk_leaves_nothing(cell: CellOfFiles, tmp_path: Path, most: int, there: bool) -> None:
    directory = tmp_path / "backups"
    directory.mkdir()
    if there:
        (directory / "b").write_text("an earlier one")
    with full_disk(most), pytest.raises((BackupError, SpoolError), match=r"File too large|full|disk I/O|cannot copy"):
        cell.save(directory / "b", force=there)
    assert {path.name: path.read_text() for path in directory.iterdir()} == ({"b": "an earlier one"} if there else {})
    cell.save(directory / "b", force=there)


def test_a_backup_that_would_fill_the_disk_is_refused(cell: CellOfFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 2**20})
    monkeypatch.setattr(saving.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(BackupError, match=r"has 1 MB left, a backup may take \d+ MB"):
        cell.save(tmp_path / "b")
    assert not list(tmp_path.glob("b*"))


def test_no_other_user_can_ever_read_a_backup(cell: CellOfFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, str] = {}
    original = saving.open_backup

    def looked(path: Path, beside: Path) -> Any:
        seen.update((each.name, stat.filemode(each.stat().st_mode)[4:]) for each in (beside, path))
        return original(path, beside)

    monkeypatch.setattr(saving, "open_backup", looked)
    before = os.umask(0)
    try:
        path = cell.save(tmp_path / "b").path
    finally:
        os.umask(before)
    assert seen == {"b.part": "------", "archive": "------"}
    assert stat.filemode(path.stat().st_mode) == "-rw-------"


def test_leftovers_of_a_killed_backup_are_removed(cell: CellOfFiles, tmp_path: Path) -> None:
    part = tmp_path / "b.part"
    (part / "ge-backup-x").mkdir(parents=True)
    (part / "archive").write_text("torn")
    cell.save(tmp_path / "b")
    assert not part.exists()


def _another_host(cell: CellOfFiles, path: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(socket, "gethostname", lambda: "elsewhere")


def _another_user(cell: CellOfFiles, path: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(saving.os, "geteuid", lambda: 65534)


def _there(cell: CellOfFiles, path: Path, patch: pytest.MonkeyPatch) -> None:
    path.write_text("an earlier one")


def _no_spool(cell: CellOfFiles, path: Path, patch: pytest.MonkeyPatch) -> None:
    cell.files.spool.unlink()


def _amid_a_restore(cell: CellOfFiles, path: Path, patch: pytest.MonkeyPatch) -> None:
    (cell.files.common / "restore-plan").write_text("{}")


def _a_trap(cell: CellOfFiles, path: Path, patch: pytest.MonkeyPatch) -> None:
    path.with_name("b.part").mkdir(mode=0o777)
    patch.setattr(saving, "_require_may_save", lambda cell: None)
    patch.setattr(saving.os, "geteuid", lambda: 65534)


def _a_qmaster_of_root(cell: CellOfFiles, path: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(saving.os, "access", lambda path, mode: path != cell.files.spool)


def _a_link(cell: CellOfFiles, path: Path, patch: pytest.MonkeyPatch) -> None:
    path.with_name("b.part").symlink_to(cell.files.common)


def _no_directory(cell: CellOfFiles, path: Path, patch: pytest.MonkeyPatch) -> None:
    path.parent.rmdir()


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        (_another_host, "this host is elsewhere: a backup is made on the master host, master"),
        (_another_user, "only root and the admin user, "),
        (_there, "b exists already: name another file, or use --force"),
        (_no_spool, "spool.db is missing"),
        (_amid_a_restore, "a restore of this cell was interrupted: gridengine start completes it"),
        (_a_trap, "b.part belongs to another user: name a file in a directory that only you can write to"),
        (_a_qmaster_of_root, "you may not read .*spool.db: make the backup as the user that the qmaster runs as"),
        (_a_link, "cannot write .*b.part: Not a directory"),
        (_no_directory, "No such file or directory"),
    ],
)
def test_refusals(
    cell: CellOfFiles,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    happens: Callable[[CellOfFiles, Path, pytest.MonkeyPatch], None],
    reason: str,
) -> None:
    path = tmp_path / "place" / "b"
    path.parent.mkdir()
    happens(cell, path, monkeypatch)
    with pytest.raises(BackupError, match=reason):
        cell.save(path)
    assert not path.exists() or path.read_text() == "an earlier one"
