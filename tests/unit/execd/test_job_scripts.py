"""Scripts of jobs on a host: their owners, and that no file made by a job is read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from daemons.execd.job_scripts import JobScripts, Reader

ALICE = Reader(1001, 100)


@pytest.mark.statement("QC-21")
def test_a_script_is_the_daemons_and_closed_to_its_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "chown", lambda path, uid, gid: given.append((uid, gid)))
    scripts = JobScripts(tmp_path)
    scripts.write(12, b"true\n", ALICE)
    assert stat.S_IMODE((tmp_path / "12").stat().st_mode) == 0o550
    assert given == [(0, ALICE.gid)]
    assert scripts.has(12, ALICE)
    assert not scripts.has(12, ALICE._replace(gid=101)), "the cell has changed its mind about the group of jobs (USE_QSUB_GID)"


@pytest.mark.parametrize("how", ["grown", "replaced", "opened", "gone"])
def test_changed_files_are_not_trusted_and_never_read(tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scripts = JobScripts(tmp_path)
    scripts.write(12, b"true\n", ALICE)
    path = tmp_path / "12"
    if how == "grown":
        path.chmod(0o750)
        os.truncate(path, 3 * 2**30)
    elif how == "replaced":
        path.unlink()
        path.write_bytes(b"evil\n")
    elif how == "opened":
        path.chmod(0o777)
    else:
        path.unlink()
    monkeypatch.setattr(Path, "read_bytes", lambda path: pytest.fail("a script was read"))
    assert not scripts.has(12, ALICE)
    scripts.write(12, b"true\n", ALICE)
    assert scripts.has(12, ALICE)
    monkeypatch.undo()
    assert path.read_bytes() == b"true\n"


def test_scripts_without_tasks_go_at_the_start(tmp_path: Path) -> None:
    for name in ("12", "13", ".14"):
        (tmp_path / name).write_bytes(b"")
    scripts = JobScripts(tmp_path)
    scripts.keep_only({13})
    assert [path.name for path in tmp_path.iterdir()] == ["13"]
    assert not scripts.has(13, ALICE), "nobody knows who has written it"
