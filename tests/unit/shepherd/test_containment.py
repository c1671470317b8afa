"""Cgroups as files, where the kernel of the machine that tests has none of their version."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shepherd import containment


def test_processes_of_a_cgroup_of_v1_are_killed_one_by_one_while_they_are_frozen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "freezer.state").write_text("THAWED")
    (tmp_path / "cgroup.procs").write_text(f"{os.getpid()}\n{os.getppid()}\n")
    killed = []
    monkeypatch.setattr(containment, "_kill", lambda pid: killed.append((pid, (tmp_path / "freezer.state").read_text())))
    containment.Containment([tmp_path], None).kill()
    assert killed == [(os.getpid(), "FROZEN"), (os.getppid(), "FROZEN")]
    assert (tmp_path / "freezer.state").read_text() == "THAWED"
