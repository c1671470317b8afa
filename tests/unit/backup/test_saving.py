"""A backup is made while the master writes, is whole or not there, and nobody else can read it."""

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
from daemons.qmaster.backup.archive import BackupFault
from daemons.qmaster.backup.contents import opened
from daemons.qmaster.spooling import spool_file
from daemons.qmaster.spooling.spool_file import SpoolError
from tests.unit.backup.conftest import CellOfFiles


@contextmanager
def full_disk(most: int) -> Iterator[None]:
    """No file may grow beyond so many bytes, which is as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.statement("BU-1")
def test_it_holds_what_the_cell_was_when_it_was_made(cell: CellOfFiles, backup: Path) -> None:
    with opened(backup) as contents:
        assert (set(contents.state.jobs), contents.faults) == ({1}, [])
        assert str(contents).startswith("1 job, 1 queue, 0 advance reservations")
        names = set(contents.manifest.members)
        assert (contents.place / "common/bootstrap").read_text() == (cell.files.common / "bootstrap").read_text()
    common = ("arco", "bootstrap", "act_qmaster", "cell_id", "settings.sh", "initial-config/all.q", "secrets/h1/gdi_key")
    assert names == {"spool.db", "authority/tls.key", "keys/gdi_key", *(f"common/{name}" for name in common)}


def test_the_files_that_grow_are_taken_along_where_that_is_said(cell: CellOfFiles, tmp_path: Path) -> None:
    cell.save(tmp_path / "b", accounting=True)
    with opened(tmp_path / "b") as contents:
        assert (contents.place / "common/accounting").read_text() == "a record\n"


def test_what_is_written_meanwhile_is_not_in_it_and_does_not_begin_it_anew(
    cell: CellOfFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []

    class Steps:
        """A copy between whose steps the master writes."""

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
    monkeypatch.setattr(spool_file, "_PAGES", 2)
    monkeypatch.setattr(spool_file.apsw, "Connection", Copy)
    spool_file.copy(cell.files.spool, tmp_path / "copy.db")
    monkeypatch.undo()
    assert len(steps) > 5
    with apsw.Connection(str(tmp_path / "copy.db")) as db:
        assert [row[0] for row in db.execute("select job_id from payload")] == [first]


@pytest.mark.parametrize("most", [0, 5000, 40_000, 90_000])
@pytest.mark.parametrize("there", [False, True])
def test_a_full_disk_leaves_nothing(cell: CellOfFiles, tmp_path: Path, most: int, there: bool) -> None:
    place = tmp_path / "backups"
    place.mkdir()
    if there:
        (place / "b").write_text("an earlier one")
    with full_disk(most), pytest.raises((BackupFault, SpoolError), match=r"File too large|full|disk I/O|cannot copy"):
        cell.save(place / "b", force=there)
    assert {path.name: path.read_text() for path in place.iterdir()} == ({"b": "an earlier one"} if there else {})
    cell.save(place / "b", force=there)


def test_a_disk_that_it_would_fill_is_refused(cell: CellOfFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = type("Usage", (), {"free": 2**20})
    monkeypatch.setattr(saving.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(BackupFault, match=r"has 1 MB left, a backup may take \d+ MB"):
        cell.save(tmp_path / "b")
    assert not list(tmp_path.glob("b*"))


def test_nobody_else_reads_it_at_any_moment(cell: CellOfFiles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, str] = {}
    original = saving.opened

    def looked(path: Path, beside: Path) -> Any:
        seen.update((each.name, stat.filemode(each.stat().st_mode)[4:]) for each in (beside, path))
        return original(path, beside)

    monkeypatch.setattr(saving, "opened", looked)
    before = os.umask(0)
    try:
        path = cell.save(tmp_path / "b").path
    finally:
        os.umask(before)
    assert seen == {"b.part": "------", "archive": "------"}
    assert stat.filemode(path.stat().st_mode) == "-rw-------"


def test_what_a_killed_one_left_is_in_nobodys_way(cell: CellOfFiles, tmp_path: Path) -> None:
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
    patch.setattr(saving, "_may_save", lambda cell: None)
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
        (_there, "b is there already: name another file, or say --force"),
        (_no_spool, "spool.db is not there"),
        (_amid_a_restore, "a restore of this cell was interrupted: gridengine start completes it"),
        (_a_trap, "b.part is somebody else's: name a file in a directory where nobody else writes"),
        (_a_qmaster_of_root, "spool.db is not yours to read: let the user make the backup as whom the qmaster runs"),
        (_a_link, "cannot write .*b.part: Not a directory"),
        (_no_directory, "No such file or directory"),
    ],
)
def test_what_is_refused(
    cell: CellOfFiles,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    happens: Callable[[CellOfFiles, Path, pytest.MonkeyPatch], None],
    reason: str,
) -> None:
    path = tmp_path / "place" / "b"
    path.parent.mkdir()
    happens(cell, path, monkeypatch)
    with pytest.raises(BackupFault, match=reason):
        cell.save(path)
    assert not path.exists() or path.read_text() == "an earlier one"
