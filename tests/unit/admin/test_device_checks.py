"""`gridengine doctor` says whether the kernel closes the device files of a host, and which of them is none (adr/0350)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clients.admin import device_checks
from clients.admin.cell import CellFiles, InstalledCell
from clients.gdi import Answer, Unreachable
from gridengine.protocols.protocol import CGROUPS_FILE


@pytest.fixture
def cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> InstalledCell:
    """A cell whose host h1 is here, and runs."""
    (tmp_path / "h1").mkdir()
    (tmp_path / "h1/execd.pid").write_text("")
    monkeypatch.setattr(device_checks, "process_of", lambda daemon: object())
    settings = {"execd_spool_dir": str(tmp_path), "qmaster_spool_dir": str(tmp_path / "qmaster"), "run_dir": str(tmp_path)}
    return InstalledCell(CellFiles(tmp_path, "c"), settings | {"qmaster_port": "6444"}, "elsewhere")


def findings(cell: InstalledCell, monkeypatch: pytest.MonkeyPatch, units: str | None) -> list[str]:
    """`units`: of the host, None if the qmaster does not answer."""

    def answer(*_: Any) -> Answer:
        if units is None:
            raise Unreachable("away")
        return Answer(0, [], [{"name": "h1", "attributes": {"hostname": "h1", "units": units}}])

    monkeypatch.setattr(device_checks, "ask_now", answer)
    return [str(each) for each in device_checks.check_device_files(cell)]


def test_a_host_without_device_files_has_no_finding(cell: InstalledCell, monkeypatch: pytest.MonkeyPatch) -> None:
    for units in (None, "NONE", "gpu/0(numa_node=0)"):
        assert findings(cell, monkeypatch, units) == []


def test_the_isolation_of_devices_is_shown_with_its_obstacle(cell: InstalledCell, monkeypatch: pytest.MonkeyPatch) -> None:
    noted, units = cell.execd_spool_dir / "h1" / CGROUPS_FILE, "gpu/0(device_files=/dev/null)"
    assert "the kernel does not close the others: ENABLE_CGROUPS is off" in findings(cell, monkeypatch, units)[0]
    noted.write_text("v2 ()\n\nno bpf\n")
    assert "the others: no bpf" in findings(cell, monkeypatch, units)[0]
    noted.write_text("v2 ()\n\n\n")
    assert findings(cell, monkeypatch, units) == ["ok     h1: jobs can open the device files of their own units alone"]


def test_a_file_that_is_no_device_file_is_named(cell: InstalledCell, monkeypatch: pytest.MonkeyPatch) -> None:
    (cell.execd_spool_dir / "h1" / CGROUPS_FILE).write_text("v2 ()\n\n\n")
    (found,) = findings(cell, monkeypatch, "gpu/0(device_files=/dev/null,/etc/passwd)")
    assert found.startswith("WRONG  h1: device file /etc/passwd is no device file") and "qconf -munit h1" in found
