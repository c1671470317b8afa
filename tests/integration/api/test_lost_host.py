"""A host is lost under a map: its calls are named, and the rest goes on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.integration.cells import TEST_PREFIX, TestbedCell, eventually
from tests.integration.test_network import python_of_programs

PROGRAM = """
import os, sys, time
from gridengine.api import GridExecutor, LostHost

work = sys.argv[1]

def where(number):
    open(f"{work}/began-{number}", "w").close()
    # the hosts of the test bed share a disk: what comes of a call there would be found
    while not os.path.exists(f"{work}/go") or os.uname().nodename == "t3":
        time.sleep(0.1)
    return os.uname().nodename

# more calls than one host has slots
with GridExecutor(directory=work + "/calls", host_patience=1, queue=["all.q@t2", "all.q@t3"]) as ex:
    results = list(ex.map(where, range(60), return_exceptions=True))
lost = [result for result in results if isinstance(result, LostHost)]
print(sorted({str(result) if result in ("t2", "t3") else type(result).__name__ for result in results}))
print({fault.host for fault in lost}, len(lost) > 0, "the host is lost" in str(lost[0]))
"""


@pytest.fixture
def work(testbed_cell: TestbedCell) -> Iterator[Path]:
    """A directory that all hosts see and all users may write to."""
    with TemporaryDirectory(dir="/var/tmp", prefix="ge-lost-") as name:
        directory = Path(name)
        directory.chmod(0o1777)
        yield directory


@pytest.mark.apart
@pytest.mark.statement("DM-5", "QI-3")
def test_calls_on_a_lost_host_are_named(testbed_cell: TestbedCell, work: Path) -> None:
    program = work / "program.py"
    program.write_text(PROGRAM)
    library = f"PYTHONPATH={TEST_PREFIX}/current/lib"
    running = testbed_cell.start_as("alice", "t1", "env", library, python_of_programs(), str(program), str(work))
    eventually("all calls run", lambda: len(list(work.glob("began-*"))) == 60)
    testbed_cell.power("cut", "t3")
    try:
        eventually("the host is lost", lambda: "u" in testbed_cell.on("tm", "qstat", "-f", "-q", "all.q@t3").stdout.split())
        (work / "go").touch()
        output, errors = running.communicate(timeout=120)
    finally:
        testbed_cell.power("mend", "t3")
    assert (output.decode().splitlines(), errors) == (["['LostHost', 't2']", "{'t3'} True True"], b"")
    testbed_cell.until_empty()
