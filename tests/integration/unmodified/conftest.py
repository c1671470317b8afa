"""A cell for unchanged programs of other projects, and their environments, which `make unmodified` makes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gridengine.files.architecture import architecture
from tests.integration.cells import BIN, ROOT, DemoCell, Done, eventually, run

ENVIRONMENTS = BIN.parent / "clients"
LIBRARY = ROOT / "build" / "drmaa" / architecture(os.uname().machine) / "libdrmaa.so.1.0"
PAGE = (ROOT / "docs/workflow_systems.md").read_text()
BLOCKS = dict(re.findall(r"^```\w+ (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
"""The examples of the page, by the title behind the language."""

#: a program that has not ended after this time, in seconds, hangs: it loads large libraries on a machine that others load, too
PLAY_S = 400.0


class User:
    """A user with one of these programs in a separate environment, and with a separate working directory."""

    def __init__(self, cell: DemoCell, name: str, work: Path) -> None:
        self.cell, self.work = cell, work
        self.bin = ENVIRONMENTS / name / "bin"
        self.write(".sge_request", "-cwd\n")  # else jobs write into the home of whoever tests
        assert (self.bin.parent / "complete").exists(), "run these tests by make unmodified, which installs the programs"
        self.environment = {
            **cell.environment,
            "PATH": f"{self.bin}:{cell.environment['PATH']}",
            "DRMAA_LIBRARY_PATH": str(LIBRARY),
            "USER": run(["id", "-un"]).stdout.strip(),
        }

    def write(self, name: str, text: str) -> Path:
        path = self.work / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
        return path

    def run(self, *command: str) -> Done:
        return run(list(command), env=self.environment, cwd=self.work, timeout=PLAY_S)

    def play(self, text: str) -> list[str]:
        """Run a Python program that must succeed; the lines that it prints."""
        done = self.run("python", str(self.write("program.py", text)))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()

    def jobs(self) -> list[list[str]]:
        """The words of each line of qstat."""
        return [line.split() for line in self.cell.must("qstat", "-u", "*").splitlines()[2:]]


@pytest.fixture(scope="session")
def quiet_cell(demo_cell: DemoCell) -> DemoCell:
    """The demo cell, whose jobs do not run the profile of the user of the tests: it may take long, or leave something when
    killed."""
    changed = re.sub(r"(?m)^login_shells .*$", "login_shells NONE", demo_cell.must("qconf", "-sconf"))
    file = demo_cell.work / "global"
    file.write_text(changed)
    demo_cell.must("qconf", "-Mconf", str(file))
    return demo_cell


@pytest.fixture
def user(quiet_cell: DemoCell, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[User]:
    """The user of the program that the module is named after; when he goes, no job may be left."""
    made = User(quiet_cell, request.path.stem.removeprefix("test_"), tmp_path)
    try:
        yield made
        eventually("no job is left", lambda: made.jobs() == [])
    finally:
        quiet_cell.command("qdel", "-f", "-u", "*")  # what a failed test has left is nothing to the next one
