"""A restore replaces the cell as a whole or not at all, only with a backup of the same cell; replaced files are kept."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daemons.qmaster.backup import contents, restoring, swap
from daemons.qmaster.backup.archive import BackupError
from daemons.qmaster.backup.restoring import Restored, restore
from daemons.qmaster.spooling.cell_identity import claim_spool
from daemons.qmaster.spooling.spool import Spool
from daemons.runtime.daemon import PidFile
from tests.unit.backup.conftest import ID, NOW, CellOfFiles
from tests.unit.backup.conftest import contents as files_of
from tests.unit.backup.test_saving import full_disk

STAMP = "before-restore-20270115T080000Z"


def back(cell: CellOfFiles, path: Path, **options: bool) -> Restored:
    return restore(cell.root, "one", path, NOW, **options)


def change_everything(cell: CellOfFiles) -> None:
    """Change all files of the cell that a backup contains."""
    (cell.files.common / "settings.sh").write_text("other\n")
    (cell.files.common / "act_qmaster").write_text("other\n")
    (cell.files.common / "initial-config" / "more.q").write_text("other\n")
    (cell.files.qmaster_spool_dir / "authority" / "tls.key").write_text("other")
    (cell.files.qmaster_spool_dir / "keys" / "gdi_key").unlink()


@pytest.mark.statement("BU-1")
def test_configuration_jobs_and_ids_come_back_and_replaced_files_are_kept(cell: CellOfFiles, backup: Path) -> None:
    cell.stop()
    (cell.files.common / "settings.sh").write_text("other\n")
    (cell.files.common / "accounting").write_text("a record\nanother\n")
    done = back(cell, backup)
    assert [change.name for change in done.changes] == ["common/settings.sh", "spool.db"]
    assert done.summary.startswith("1 job, 1 queue")
    claim_spool(cell.files, False, NOW)
    assert cell.jobs() == {1}
    assert (cell.files.common / "settings.sh").read_text() == "SGE_ROOT=/x\n"
    assert (cell.files.common / f"settings.sh.{STAMP}").read_text() == "other\n"
    assert (cell.files.common / "accounting").read_text() == "a record\nanother\n", "no backup takes records away"
    assert set(Spool(cell.files.spool.with_name(f"spool.db.{STAMP}"), ID).load().jobs) == {1, 2}
    assert back(cell, backup).changes == [] or cell.files.spool.with_name("spool.db-wal").exists()


def test_a_dry_run_lists_the_changes_and_changes_nothing(cell: CellOfFiles, backup: Path) -> None:
    cell.stop()
    change_everything(cell)
    (cell.files.common / "act_qmaster").write_text("master\n")
    before = files_of(cell.root)
    done = back(cell, backup, dry_run=True)
    changed = ["common/initial-config", "common/settings.sh", "spool.db", "authority", "keys"]
    assert [change.name for change in done.changes] == changed
    assert files_of(cell.root) == before


def test_a_lost_cell_is_restored_with_all_permissions(cell: CellOfFiles, backup: Path) -> None:
    cell.stop()
    before = files_of(cell.root)
    shutil.rmtree(cell.root)
    changes = [change.name for change in back(cell, backup).changes]
    assert changes[:2] == ["common/act_qmaster", "common/bootstrap"], "a start that completes it finds a cell early"
    after = files_of(cell.root)
    lost = {path for path in before if path.endswith("/accounting")}
    spool = str(cell.files.spool)
    assert {**before, spool: (before[spool][0], b"")} == {**after, spool: (after[spool][0], b"")} | {p: before[p] for p in lost}
    assert cell.jobs() == {1}


def test_the_side_file_of_the_old_spool_is_not_used_with_the_new_spool(cell: CellOfFiles, backup: Path) -> None:
    """A killed master leaves a side file; the restore renames it together with its spool."""
    killed = {path.name: path.read_bytes() for path in cell.files.spool.parent.glob("spool.db*")}
    assert killed["spool.db-wal"]
    cell.stop()
    for name, content in killed.items():
        (cell.files.spool.parent / name).write_bytes(content)
    back(cell, backup)
    assert cell.jobs() == {1}
    assert set(Spool(cell.files.spool.with_name(f"spool.db.{STAMP}"), ID).load().jobs) == {1, 2}


# --- refusals -----------------------------------------------------------------------------------------


def refused(cell: CellOfFiles, backup: Path, reason: str) -> None:
    before = files_of(cell.root)
    with pytest.raises(BackupError, match=reason):
        back(cell, backup)
    assert files_of(cell.root) == before


def test_a_running_master_is_left_alone(cell: CellOfFiles, backup: Path) -> None:
    lock = PidFile(cell.files.qmaster_spool_dir / "qmaster.pid", "sge_qmaster")
    refused(cell, backup, rf"sge_qmaster runs already, as process {os.getpid()} .*: gridengine stop ends it")
    lock.release()
    assert back(cell, backup).changes


def test_no_master_starts_during_a_restore(cell: CellOfFiles, backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell.stop()
    tried = []
    original = swap.complete

    def complete(common: Path) -> bool:
        with pytest.raises(Exception, match="sge_qmaster runs already"):
            PidFile(cell.files.qmaster_spool_dir / "qmaster.pid", "sge_qmaster")
        tried.append(common)
        return original(common)

    monkeypatch.setattr(swap, "complete", complete)
    back(cell, backup)
    assert tried


def _another_cell(cell: CellOfFiles, patch: pytest.MonkeyPatch) -> None:
    (cell.files.common / "cell_id").write_text(f"cell_id {'07' * 16}\n")


def _another_host(cell: CellOfFiles, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(socket, "gethostname", lambda: "elsewhere")


def _another_directory(cell: CellOfFiles, patch: pytest.MonkeyPatch) -> None:
    cell.root = cell.root.rename(cell.root.with_name("moved"))


def _a_broken_law(cell: CellOfFiles, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(contents, "invariants", lambda state: ["a law is broken"])


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        (_another_cell, rf"is a backup of another cell \({ID}, this one is 0707.*\): --force takes it even so"),
        (_another_host, "this host is elsewhere, the backup is of the master host master: --force takes it even so"),
        (_another_directory, "is a backup of the cell one below .*cells, not of one below .*moved: --force takes it even so"),
        (_a_broken_law, "its spool is inconsistent: a law is broken"),
    ],
)
def test_a_backup_of_another_cell_needs_force(
    cell: CellOfFiles,
    backup: Path,
    monkeypatch: pytest.MonkeyPatch,
    happens: Callable[[CellOfFiles, pytest.MonkeyPatch], None],
    reason: str,
) -> None:
    cell.stop()
    happens(cell, monkeypatch)
    refused(cell, backup, reason)
    assert back(cell, backup, force=True).changes


def test_another_user_may_not_restore(cell: CellOfFiles, backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restoring.os, "geteuid", lambda: 65534)
    refused(cell, backup, "only root and the admin user, .*, may restore this cell")


def test_a_damaged_backup_changes_nothing(cell: CellOfFiles, backup: Path) -> None:
    cell.stop()
    backup.write_bytes(backup.read_bytes()[:-20])
    refused(cell, backup, "is damaged or no backup")


# --- failures in the middle ------------------------------------------------------------------------------------


class Killed(BaseException):
    """The process dies at this step."""


def dying(monkeypatch: pytest.MonkeyPatch, step: int) -> list[str]:
    """Let the process die at rename number `step`; returns the renames before it."""
    done: list[str] = []

    def counted(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def call(*arguments: Any, **options: Any) -> Any:
            if len(done) == step:
                raise Killed
            done.append(f"{name} {arguments[0]}")
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, call)

    counted(Path, "rename")
    counted(Path, "unlink")
    counted(os, "link")
    return done


@pytest.mark.parametrize("step", range(16))
def test_a_kill_between_any_two_renames_leaves_the_old_cell_or_completes_the_new_cell(
    cell: CellOfFiles, backup: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    cell.stop()
    change_everything(cell)
    before = files_of(cell.root)
    with monkeypatch.context() as patch:
        done = dying(patch, step)
        try:
            back(cell, backup, force=True)
        except Killed:
            pass
        else:
            assert len(done) == step == 15, "all steps were tried"
    left = {path: content for path, content in files_of(cell.root).items() if "restore-" not in path}
    if not any(each.startswith("rename") and each.endswith("-plan") for each in done):
        assert left == before, "not decided: untouched"
        return
    assert cell.read() is not None, "there is a cell at any moment"
    swap.complete(cell.files.common)
    whole = files_of(cell.root)
    assert not [path for path in whole if "/.restore-" in path or path.endswith("restore-plan")]
    assert whole[str(cell.files.common / "settings.sh")][1] == b"SGE_ROOT=/x\n"
    assert whole[str(cell.files.common / f"settings.sh.{STAMP}")][1] == b"other\n"
    assert str(cell.files.common / "initial-config" / "more.q") not in whole
    assert str(cell.files.common / f"initial-config.{STAMP}" / "more.q") in whole
    assert whole[str(cell.files.qmaster_spool_dir / "authority/tls.key")][1] == b"secret"
    assert whole[str(cell.files.qmaster_spool_dir / "keys/gdi_key")] == ("-rw-------", b"secret")
    assert cell.jobs() == {1}


@pytest.mark.parametrize("step", [1, 2, 3, 6, 10])
def test_a_killed_restore_of_a_lost_cell_is_completed_by_the_next_restore(
    cell: CellOfFiles, backup: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    cell.stop()
    shutil.rmtree(cell.root)
    with monkeypatch.context() as patch, pytest.raises(Killed):
        dying(patch, step)
        back(cell, backup)
    again = back(cell, backup)
    assert again.completed or step == 1, "killed before it was decided: done anew"
    assert cell.jobs() == {1}
    assert not [path for path in files_of(cell.root) if "restore-" in path]


def test_a_full_disk_leaves_the_old_cell(cell: CellOfFiles, backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell.stop()
    change_everything(cell)
    original = restoring._prepare

    def prepare(*arguments: Any) -> None:
        with full_disk(50_000):
            original(*arguments)

    before = files_of(cell.root)
    with monkeypatch.context() as patch:
        patch.setattr(restoring, "_prepare", prepare)
        with pytest.raises(BackupError, match="nothing was changed: cannot write .*: File too large"):
            back(cell, backup, force=True)
    assert files_of(cell.root) == before
    assert back(cell, backup, force=True).changes


def test_a_full_disk_for_temporary_files_leaves_the_old_cell(cell: CellOfFiles, backup: Path) -> None:
    cell.stop()
    before = files_of(cell.root)
    with full_disk(50_000), pytest.raises(BackupError, match="cannot read .*: File too large"):
        back(cell, backup)
    assert files_of(cell.root) == before


def test_a_failed_rename_is_repeated_by_the_next_call(cell: CellOfFiles, backup: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell.stop()
    change_everything(cell)
    with monkeypatch.context() as patch:

        def link(*arguments: Any, **options: Any) -> None:
            raise OSError(28, "No space left on device", str(arguments[0]))

        patch.setattr(os, "link", link)
        with pytest.raises(BackupError, match="the restore is not complete: .*: No space left on device; fix that"):
            back(cell, backup, force=True)
    again = back(cell, backup, force=True)
    assert again.completed and again.changes == []
    assert cell.jobs() == {1}
