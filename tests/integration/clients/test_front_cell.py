"""The native front in a running cell: the qmaster knows a repeated request by its key; each call is one job (adr/0261)."""

from __future__ import annotations

import pytest

from tests.integration.cells import DemoCell, Done, eventually
from tests.integration.clients.front_commands import FrontCommands


class Fronted:
    """Commands with the front in the demo cell."""

    def __init__(self, cell: DemoCell, both: FrontCommands) -> None:
        self._options = {"env": {**cell.environment, "HOME": str(cell.work)}, "cwd": cell.work}
        self._both = both

    def __call__(self, *command: str) -> Done:
        return self._both.front(*command, **self._options)

    def python(self, *command: str) -> Done:
        return self._both.python(*command, **self._options)

    def number(self, *options: str) -> int:
        """The number of a new job."""
        done = self("qsub", "-terse", *options)
        assert (done.returncode, done.stderr) == (0, "")
        return int(done.stdout)


@pytest.fixture
def fronted(demo_cell: DemoCell, both: FrontCommands) -> Fronted:
    (demo_cell.work / "exits.sh").write_text("#!/bin/sh\n#$ -N exits -l h_rt=60 -j y -o /dev/null -S /bin/sh\nexit $1\n")
    return Fronted(demo_cell, both)


def test_a_call_that_waits_submits_one_job_and_has_its_status(fronted: Fronted) -> None:
    first = fronted.number("-h", "-b", "y", "/bin/true")
    done = fronted("qsub", "-sync", "y", "-V", "-v", "A=1,B=2", "-cwd", "-p", "-5", "-m", "n", "exits.sh", "3")
    assert done.returncode == 3 and done.stdout == f'Your job {first + 1} ("exits") has been submitted\n', done.stderr
    assert done.stderr == f"Job {first + 1} exited with exit code 3.\n"
    warned = fronted("qsub", "-w", "w", "-l", "arch=none", "-h", "exits.sh", "0")
    assert warned.returncode == 0 and f"Your job {first + 2} " in warned.stdout, "it has a warning, and is repeated under its key"
    refused = fronted("qsub", "-P", "nowhere", "exits.sh", "0")
    alone = fronted.python("qsub", "-P", "nowhere", "exits.sh", "0")
    assert (refused.stdout, refused.stderr, refused.returncode) == (alone.stdout, alone.stderr, alone.returncode)
    last = fronted.number("-h", "-b", "y", "/bin/true")
    assert last == first + 3
    for command in (["qstat"], ["qstat", "-u", "*"]):
        assert fronted(*command).stdout == fronted.python(*command).stdout != ""
    deleted = fronted("qdel", f"{first},{first + 2}", str(last))
    assert (deleted.returncode, deleted.stderr, deleted.stdout.count("\n")) == (0, "", 3)
    eventually("the jobs are gone", lambda: fronted("qstat").stdout == "")
    again = fronted("qdel", str(first))
    alone = fronted.python("qdel", str(first))
    assert (again.stdout, again.stderr, again.returncode) == (alone.stdout, alone.stderr, alone.returncode)
