"""Durable writes: the order of their steps, permissions, and the file after a failed step."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from gridengine.files.durable import atomic_write, durable_write, sync_directory, write_new


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The syncs and renames of a test, in order."""
    found: list[str] = []
    fsync, rename = os.fsync, Path.rename

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        found.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else f"{os.fstat(descriptor).st_size} bytes")

    def renamed(draft: Path, target: Path) -> Path:
        found.append(f"{draft.name} to {target.name}")
        return rename(draft, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "rename", renamed)
    return found


def test_data_is_on_disk_before_the_name_and_the_name_at_the_end(tmp_path: Path, steps: list[str]) -> None:
    durable_write(tmp_path / "file", b"four")
    durable_write(tmp_path / "file", b"other", writer="host")
    assert steps == ["4 bytes", ".file to file", "directory", "5 bytes", ".file.host to file", "directory"]
    assert (tmp_path / "file").read_bytes() == b"other" and os.listdir(tmp_path) == ["file"]


def test_an_atomic_write_waits_for_no_disk(tmp_path: Path, steps: list[str]) -> None:
    atomic_write(tmp_path / "file", b"data", 0o644)
    assert steps == [".file to file"] and (tmp_path / "file").read_bytes() == b"data"


def test_a_new_file_of_a_tree_is_synced_without_its_directory(tmp_path: Path, steps: list[str]) -> None:
    write_new(tmp_path / "file", b"data", 0o600, durable=True)
    assert steps == ["4 bytes"]
    sync_directory(tmp_path)
    assert steps == ["4 bytes", "directory"]


@pytest.mark.parametrize("write", [durable_write, atomic_write, write_new])
def test_the_mode_is_exact_and_a_link_or_draft_is_replaced(write: Callable[..., None], tmp_path: Path) -> None:
    (tmp_path / "other").write_text("stays")
    for name in ("file", ".file"):
        (tmp_path / name).symlink_to(tmp_path / "other")
    before = os.umask(0o077)
    try:
        write(tmp_path / "file", b"data", 0o644)
    finally:
        os.umask(before)
    status = (tmp_path / "file").lstat()
    assert stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o644
    assert (tmp_path / "other").read_text() == "stays"
    write(tmp_path / "file", b"", 0o600)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_the_owner_is_set_before_others_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(os, "fchown", lambda descriptor, uid, gid: calls.append(f"{uid} {gid}"))
    monkeypatch.setattr(os, "fchmod", lambda descriptor, mode: calls.append(oct(mode)))
    durable_write(tmp_path / "file", b"data", 0o644, owner=(7, 8))
    durable_write(tmp_path / "file", b"data")
    assert calls == ["7 8", "0o644", "0o600"]


def test_the_old_content_stays_when_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    durable_write(tmp_path / "file", b"old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space left"):
            durable_write(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"old"
    durable_write(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new" and os.listdir(tmp_path) == ["file"]
