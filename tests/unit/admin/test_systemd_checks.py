"""What doctor says about daemons and systemd."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clients.admin import systemd_checks
from clients.admin.cell import CellFiles
from clients.admin.systemd_checks import check_units

CELL: Any = SimpleNamespace(files=CellFiles(Path("/srv/cells"), "c1"))
EXECD = SimpleNamespace(program="sge_execd")


@pytest.fixture(autouse=True)
def running(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd_checks, "daemons_of_this_machine", lambda cell: [EXECD])
    monkeypatch.setattr(systemd_checks, "process_of", lambda daemon: SimpleNamespace(pid=7))


@pytest.mark.parametrize(
    ("enabled", "unit", "wrong"), [(True, "", [True]), (True, "sge_execd.service", [False]), (False, "", [])]
)
def test_a_daemon_outside_of_its_enabled_unit_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enabled: bool, unit: str, wrong: list[bool]
) -> None:
    monkeypatch.setattr(systemd_checks, "is_enabled", lambda program: enabled)
    monkeypatch.setattr(systemd_checks, "unit_of_process", lambda pid: unit)
    findings = list(check_units(CELL, tmp_path, tmp_path))
    assert [finding.wrong for finding in findings] == wrong
    assert all("systemctl start sge_execd" in finding.fix for finding in findings if finding.wrong)


def test_a_copy_that_hides_the_packages_unit_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(systemd_checks, "is_enabled", lambda program: False)
    copy, packaged = tmp_path / "sge_execd.service", tmp_path / "lib"
    copy.write_text("Environment=SGE_ROOT=/srv/cells SGE_CELL=c1\n")
    packaged.mkdir()
    assert list(check_units(CELL, tmp_path, packaged)) == []
    (packaged / copy.name).touch()
    [finding] = check_units(CELL, tmp_path, packaged)
    assert finding.wrong and finding.fix.startswith(f"rm {copy}")
