"""docs/accounting.md leads from an empty cell to the first plot in five commands. DB-22."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cells import ROOT, DemoCell, Done, cell_ports, eventually, run

_BLOCK = re.compile(r"## From an empty cell to the first plot\n\n((?: {4}.+\n)+)")


class FirstCell(DemoCell):
    """A cell that the commands of the page make; options fix the values that other cells on the machine would influence."""

    def __init__(self, launchers: Path) -> None:
        self.place = Path(tempfile.mkdtemp(prefix="ge-test-", dir="/tmp"))
        self.work = self.place
        self.environment = {**os.environ, "PATH": f"{launchers}:{os.environ['PATH']}", "SGE_ROOT": str(self.place)}
        qmaster_port, ray_port, ray_ports = cell_ports(32)
        self._options = (
            f" --qmaster-port {qmaster_port} --ray-port {ray_port} --ray-ports {ray_ports} --run-dir {self.place}/run"
            f" --spool-dir {self.place}/spool --load-thresholds NONE"
        )

    def shell(self, command: str) -> Done:
        """Run a command of the page after the earlier commands, in a shell that knows the cell."""
        settings = self.place / "default" / "common" / "settings.sh"
        command = command.replace("~/ge", str(self.place))
        if settings.exists():
            command = f". {settings} && {command}"
        else:
            command += self._options
        return run(["bash", "-c", command], env=self.environment, cwd=self.place)


@pytest.fixture
def cell(launchers: Path) -> Iterator[FirstCell]:
    cell = FirstCell(launchers)
    try:
        yield cell
    finally:
        cell.remove()


@pytest.mark.statement("DB-22", "DB-12")
def test_five_commands_lead_to_the_first_plot(cell: FirstCell) -> None:
    found = _BLOCK.search((ROOT / "docs" / "accounting.md").read_text())
    assert found is not None
    commands = [line.strip() for line in found[1].splitlines()]
    assert len(commands) == 5
    *making, asking, drawing = commands
    for command in making:
        done = cell.shell(command)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    eventually("the job is in the database", lambda: " cpu " in cell.shell(asking).stdout)
    drawn = cell.shell(drawing)
    assert (drawn.stdout, drawn.stderr) == ("usage.png\n", "")
    assert (cell.place / "usage.png").read_bytes().startswith(b"\x89PNG")


#: the command up to its first question, where matplotlib reports at once that it builds its cache of fonts, not after 5 s
_FIRST_IMPORT = """
import threading
class Timer(threading.Timer):
    def __init__(self, interval, function):
        super().__init__(0, function)
threading.Timer = Timer
from clients.admin.arco import commands
try:
    commands.plot(None, "usage")
except AttributeError:
    print("asked")
"""


@pytest.mark.statement("DB-22")
def test_the_first_plot_on_a_host_prints_nothing_about_fonts(tmp_path: Path) -> None:
    environment = {**os.environ, "MPLCONFIGDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = run([sys.executable, "-c", _FIRST_IMPORT], env=environment)
    assert (done.stdout, done.stderr) == ("asked\n", "") and list(tmp_path.glob("fontlist*")), "the cache was built here"
