"""Device files of other jobs are closed to a job in a cell: from the properties of units to the kernel's refusal (adr/0350)."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cells import DemoCell, eventually
from tests.needs import root

PLACE = Path(f"/dev/gridengine-test-{os.getpid()}")
"""Directory of the device files: one that root alone may change."""
DEVICES = {"0": os.makedev(1, 7), "1": os.makedev(1, 9)}
"""Unit -> number of its device: /dev/full and /dev/urandom, which nothing else in these jobs opens at these paths."""


@pytest.fixture
def cell(demo_cell: DemoCell) -> Iterator[DemoCell]:
    """A cell whose host has two units with a device file each."""
    must, host, work = demo_cell.must, demo_cell.host, demo_cell.work
    PLACE.mkdir()
    for unit, number in DEVICES.items():
        os.mknod(PLACE / unit, 0o666 | stat.S_IFCHR, number)
        (PLACE / unit).chmod(0o666)
    before = must("qconf", "-sc")
    (work / "complexes").write_text(f"{before}seat seat RSMAP <= YES YES 0 0\n")
    (work / "complexes.before").write_text(before)
    must("qconf", "-Mc", "complexes")
    must("qconf", "-mattr", "exechost", "complex_values", "seat=2(0 1)", host)
    units = " ".join(f"seat/{unit}(device_files={PLACE / unit})" for unit in DEVICES)
    (work / "units").write_text(f"hostname {host}\nunits {units}\n")
    must("qconf", "-Aunit", "units")
    (work / host).write_text("execd_params ENABLE_CGROUPS=true,REQUIRE_CLOSED_DEVICES=true\n")
    must("qconf", "-Aconf", str(work / host))
    cgroups = work.parent / "spool" / "execd" / host / "cgroups"
    eventually("the host has examined its cgroups", cgroups.exists)
    yield demo_cell
    shutil.rmtree(PLACE)
    must("qconf", "-dconf", host)
    must("qconf", "-dunit", host)
    must("qconf", "-dattr", "exechost", "complex_values", "seat", host)
    must("qconf", "-Mc", "complexes.before")


def opened(cell: DemoCell, *options: str) -> tuple[str, str]:
    """The unit of a job that tries to open each device file, and the units whose file it opened."""
    script = cell.work / "opens.sh"
    script.write_text(
        'echo "${SGE_HGR_seat-}"\n' + "".join(f"(: < {PLACE}/{unit}) && echo {unit}\n" for unit in DEVICES)
    )
    must, out = cell.must, cell.work / "opened"
    out.unlink(missing_ok=True)
    job = must("qsub", "-terse", "-o", str(out), "-e", str(cell.work / "refused"), *options, str(script)).strip()
    eventually("the job has ended", lambda: job not in must("qstat", "-u", "*").split() and out.exists())
    given, *units = out.read_text().splitlines()
    return given, " ".join(units)


@root
def test_a_job_opens_the_devices_of_its_own_units_alone(cell: DemoCell) -> None:
    assert opened(cell, "-l", "seat=1") == ("0", "0")
    assert opened(cell, "-l", "seat=2") == ("0 1", "0 1")
    assert opened(cell) == ("", "")
    assert "Operation not permitted" in (cell.work / "refused").read_text()
