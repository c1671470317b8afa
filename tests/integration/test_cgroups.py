"""Jobs of a new cell have cgroups: their memory is limited, reported and kept apart (EX-6, RL-5)."""

from __future__ import annotations

import pytest

from tests import needs
from tests.integration.cells import TestbedCell, eventually

TAKE = "x = b'1' * {size} * 2**20; print('grown', flush=True); import time; time.sleep({seconds})"
PYTHON = ("-b", "y", "-shell", "n", "-cwd", "-j", "y", "-o", "/dev/null", "/usr/bin/python3", "-S", "-c")


def submit(cell: TestbedCell, *options: str, size: int, seconds: int) -> str:
    done = cell.as_user("alice", "tm", "qsub", "-terse", *options, *PYTHON, TAKE.format(size=size, seconds=seconds))
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def record(cell: TestbedCell, job: str) -> dict[str, str]:
    lines = [line.split(None, 1) for line in cell.on("tm", "qacct", "-j", job).stdout.splitlines()]
    return {fields[0]: fields[1].strip() for fields in lines if len(fields) == 2}


@pytest.mark.statement("EX-6", "RL-5", "AC-2", "QH-3")
def test_a_job_beyond_its_memory_is_killed_with_the_figures_and_its_neighbour_is_not(testbed_cell: TestbedCell) -> None:
    shown = testbed_cell.on("tm", "qhost", "-F", "cgroups", "-h", "t1").stdout
    if "cgroups=v" not in shown:
        needs.skip("cgroups whose memory controller can be used", "run the tests as root where /sys/fs/cgroup is writable")
    place = ("-q", "all.q@t1", "-l", "h_vmem=64M")
    neighbour = submit(testbed_cell, *place, size=16, seconds=1000)
    eventually("it runs", lambda: " r " in testbed_cell.on("tm", "qstat", "-u", "alice").stdout)
    hungry = submit(testbed_cell, *place, size=256, seconds=1000)
    eventually("it has ended", lambda: record(testbed_cell, hungry))
    found = record(testbed_cell, hungry)
    assert found["failed"].split()[0] == "37" and found["exit_status"].split()[0] == "137"
    reason = "limit h_vmem of 64M exceeded, killed at 64.0M of 64M"
    assert reason in found["reason"]
    assert reason in testbed_cell.as_user("alice", "tm", "qexplain", "-story", hungry).stdout
    assert f" {neighbour} " in f" {testbed_cell.on('tm', 'qstat', '-u', 'alice').stdout} "
    testbed_cell.on("tm", "qdel", neighbour)
    testbed_cell.until_empty()
    short = submit(testbed_cell, *place, size=32, seconds=0)
    eventually("it has ended", lambda: record(testbed_cell, short))
    assert 32 < float(record(testbed_cell, short)["maxvmem"].removesuffix("MB")) < 64
