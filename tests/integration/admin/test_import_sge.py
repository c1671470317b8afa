"""`gridengine import-sge` as an administrator calls it: into a cell that runs, out of the files of the real 8.1.9, and live."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cells import BIN, ROOT, DemoCell

DATA = ROOT / "tests" / "data" / "sge-8.1.9"
#: what shows an object, by the directory of its saved file; queues of one host each are merged, hosts say what they measure
SHOWN = {
    "calendars": "-scal",
    "ckpt": "-sckpt",
    "hostgroups": "-shgrp",
    "pe": "-sp",
    "projects": "-sprj",
    "users": "-suser",
    "usersets": "-su",
}


@pytest.fixture
def cell(launchers: Path) -> Iterator[DemoCell]:
    """A new cell that knows the hosts of the old cell."""
    found = DemoCell()
    try:
        with (found.common / "host_aliases").open("a") as file:
            file.write("node2 127.0.0.22\nnode3 127.0.0.23\noldmaster 127.0.0.24\n")
        found.start()
        yield found
    finally:
        found.remove()


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip() and not line.startswith("#")]


@pytest.mark.statement("IN-3", "IN-4")
def test_an_old_cell_goes_on_here(cell: DemoCell) -> None:
    assert {"arusers", "deadlineusers", "defaultdepartment"} <= set(cell.must("qconf", "-sul").split())
    cell.environment["SGE_SINGLE_LINE"] = "1"
    accounting = DATA / "cell" / "accounting"
    output = cell.must("gridengine", "import-sge", str(DATA), "--accounting", str(accounting))
    assert f"{accounting}: 6 records imported" in output and "jsv_url" in output
    for directory, option in SHOWN.items():
        for path in (DATA / directory).iterdir():
            assert lines(cell.must("qconf", option, path.name)) == lines(path.read_text()), path
    for queue in ("low.q", "short.q", "gpu.q", "weekend.q", "all.q"):
        assert lines(cell.must("qconf", "-sq", queue)) == lines((DATA / "cqueues" / queue).read_text())
    assert lines(cell.must("qconf", "-ssconf")) == lines((DATA / "schedconf").read_text())
    assert lines(cell.must("qconf", "-sstree")) == lines((DATA / "sharetree").read_text())
    instance = dict(line.split(None, 1) for line in lines(cell.must("qconf", "-sq", "bulk@node3")))
    assert (instance["hostname"], instance["slots"]) == ("node3", "4")
    assert "owner        bob" in cell.must("qacct", "-j", "12")
    assert cell.must("qsub", "-terse", "-b", "y", "/bin/true").strip() == "13"


def test_a_cell_that_is_asked_by_its_qconf(demo_cell: DemoCell) -> None:
    """The qconf here prints the same as qconf of 8.1.9, so a cell can import its own configuration."""
    live = ("gridengine", "import-sge", "live", "--sge-root", str(demo_cell.place), "--sge-cell", "test", "--dry-run")
    for program in ((), ("--qconf", str(BIN / "qconf"))):
        output = demo_cell.must(*live, *program)
        assert output.startswith("the cell has all of it, nothing would change\n")
    gone = demo_cell.command(*live, "--qconf", "/bin/false")
    assert (gone.returncode, gone.stderr) == (1, "gridengine: /bin/false -sc: exit code 1\n")
