"""The files that an executor and its tasks exchange."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gridengine.api.call_files import PrivateDirectory


def test_a_directory_is_removed_although_a_task_still_makes_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory, remove, late = PrivateDirectory(tmp_path), shutil.rmtree, ["2.log", "1.log"]

    def meets_a_task(path: Path, ignore_errors: bool) -> None:
        for each in path.iterdir():
            each.unlink()
        if late:
            (path / late.pop()).touch()
        else:
            remove(path, ignore_errors)

    monkeypatch.setattr(shutil, "rmtree", meets_a_task)
    directory.remove()
    assert list(tmp_path.iterdir()) == []
