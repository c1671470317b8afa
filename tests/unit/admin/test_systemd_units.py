"""Units of systemd, made from the templates for one cell, never for another cell."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from clients.admin import systemd_units
from clients.admin.cell import CellFiles
from clients.admin.installation import Installation
from clients.admin.systemd_units import PROGRAMS, unit_text, units_of, write_units
from tests.tidy.sources import ROOT

CELL = CellFiles(Path("/srv/cells"), "c1")
INSTALLED = Installation(Path("/srv/ge/bin"), ROOT / "cluster-config", Path("/srv/ge"))
NONE = Path("/nonexistent")


@pytest.fixture
def systemd(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory for units, on a host where root asks and systemd runs."""
    monkeypatch.setattr(systemd_units, "RUNTIME_DIRECTORY", tmp_path)
    monkeypatch.setattr(systemd_units.os, "geteuid", lambda: 0)
    return tmp_path


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_unit_has_the_cell_and_the_place_of_the_programs(program: str) -> None:
    text = unit_text((ROOT / f"cluster-config/systemd/{program}.service").read_text(), CELL, INSTALLED)
    assert text.startswith("[Unit]\n") and f"\nDocumentation=man:{program}(8)\n" in text
    assert "\nEnvironment=SGE_ROOT=/srv/cells SGE_CELL=c1\n" in text
    assert "\nConditionPathExists=/srv/cells/c1/common/bootstrap\n" in text
    assert f"\nExecStart=/srv/ge/bin/{program} --foreground\n" in text and "/opt/" not in text


PACKAGE = Installation(Path("/opt/gridengine/bin"), ROOT / "cluster-config", Path("/opt/gridengine"))
DEFAULT = CellFiles(Path("/opt/gridengine/cells"), "default")


@pytest.fixture
def packaged(tmp_path: Path) -> Path:
    """A directory with the units of the package."""
    directory = tmp_path / "lib"
    shutil.copytree(ROOT / "cluster-config" / "systemd", directory)
    return directory


def test_the_packages_unit_is_used_as_it_is_where_it_fits(systemd: Path, packaged: Path) -> None:
    hiding = systemd / "sge_execd.service"
    hiding.write_text(unit_text((packaged / hiding.name).read_text(), DEFAULT, PACKAGE) + "# of an earlier release\n")
    assert write_units(DEFAULT, ["sge_execd"], PACKAGE, systemd, packaged) == ["sge_execd"]
    assert units_of(DEFAULT, systemd) == [] and not hiding.exists()


def test_another_cell_has_a_drop_in_for_the_packages_unit(systemd: Path, packaged: Path) -> None:
    assert write_units(CELL, ["sge_execd"], PACKAGE, systemd, packaged) == ["sge_execd"]
    [drop_in] = units_of(CELL, systemd)
    assert drop_in == systemd / "sge_execd.service.d/cell.conf"
    lines = drop_in.read_text().splitlines()
    assert lines[1:3] == ["ConditionPathExists=", "ConditionPathExists=/srv/cells/c1/common/bootstrap"]
    assert lines[-2:] == ["ExecStart=", "ExecStart=/opt/gridengine/bin/sge_execd --foreground"]
    other = CellFiles(Path("/srv/cells"), "c11")
    assert write_units(other, ["sge_execd"], PACKAGE, systemd, packaged) == []
    assert write_units(DEFAULT, ["sge_execd"], PACKAGE, systemd, packaged) == []


def test_the_unit_of_a_process_is_found_also_in_a_group_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    unit = "0::/system.slice/sge_execd.service"
    groups = {1: f"{unit}\n", 2: f"{unit}/daemon\n", 3: "0::/user.slice/a.scope\n"}
    monkeypatch.setattr(systemd_units.Path, "read_text", lambda path: groups[int(path.parts[2])])
    assert [systemd_units.unit_of_process(pid) for pid in groups] == ["sge_execd.service", "sge_execd.service", ""]


def test_units_are_written_again_but_not_over_those_of_another_cell(systemd: Path) -> None:
    assert write_units(CELL, ["sge_qmaster", "sge_web"], INSTALLED, systemd, NONE) == ["sge_qmaster", "sge_web"]
    assert write_units(CELL, ["sge_qmaster"], INSTALLED, systemd, NONE) == ["sge_qmaster"]
    other = CellFiles(Path("/srv/cells"), "c11")
    assert write_units(other, ["sge_qmaster", "sge_execd"], INSTALLED, systemd, NONE) == ["sge_execd"]
    assert [path.name for path in units_of(CELL, systemd)] == ["sge_qmaster.service", "sge_web.service"]
    assert [path.name for path in units_of(other, systemd)] == ["sge_execd.service"]


def test_nothing_is_written_where_it_would_be_of_no_use(systemd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = Installation(INSTALLED.bin, INSTALLED.cluster_config)
    assert write_units(CELL, PROGRAMS, checkout, systemd, NONE) == []
    monkeypatch.setattr(systemd_units, "RUNTIME_DIRECTORY", systemd / "none")
    assert write_units(CELL, PROGRAMS, INSTALLED, systemd, NONE) == []
    monkeypatch.setattr(systemd_units, "RUNTIME_DIRECTORY", systemd)
    monkeypatch.setattr(systemd_units.os, "geteuid", lambda: 1000)
    assert write_units(CELL, PROGRAMS, INSTALLED, systemd, NONE) == [] and list(systemd.iterdir()) == []
