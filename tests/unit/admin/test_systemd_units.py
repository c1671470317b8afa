"""Units of systemd, made from the templates for one cell, never for another cell."""

from __future__ import annotations

from pathlib import Path

import pytest

from clients.admin import systemd_units
from clients.admin.cell import CellFiles
from clients.admin.installation import Installation
from clients.admin.systemd_units import PROGRAMS, unit_text, units_of, write_units
from tests.tidy.sources import ROOT

CELL = CellFiles(Path("/srv/cells"), "c1")
INSTALLED = Installation(Path("/srv/ge/bin"), ROOT / "cluster-config", Path("/srv/ge"))


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
    assert f"\nExecStart=/srv/ge/bin/{program} --foreground\n" in text and "/opt/" not in text


def test_units_are_written_again_but_not_over_those_of_another_cell(systemd: Path) -> None:
    assert write_units(CELL, ["sge_qmaster", "sge_web"], INSTALLED, systemd) == ["sge_qmaster", "sge_web"]
    assert write_units(CELL, ["sge_qmaster"], INSTALLED, systemd) == ["sge_qmaster"]
    other = CellFiles(Path("/srv/cells"), "c11")
    assert write_units(other, ["sge_qmaster", "sge_execd"], INSTALLED, systemd) == ["sge_execd"]
    assert [path.name for path in units_of(CELL, systemd)] == ["sge_qmaster.service", "sge_web.service"]
    assert [path.name for path in units_of(other, systemd)] == ["sge_execd.service"]


def test_nothing_is_written_where_it_would_be_of_no_use(systemd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = Installation(INSTALLED.bin, INSTALLED.cluster_config)
    assert write_units(CELL, PROGRAMS, checkout, systemd) == []
    monkeypatch.setattr(systemd_units, "RUNTIME_DIRECTORY", systemd / "none")
    assert write_units(CELL, PROGRAMS, INSTALLED, systemd) == []
    monkeypatch.setattr(systemd_units, "RUNTIME_DIRECTORY", systemd)
    monkeypatch.setattr(systemd_units.os, "geteuid", lambda: 1000)
    assert write_units(CELL, PROGRAMS, INSTALLED, systemd) == [] and list(systemd.iterdir()) == []
