"""The disk of the qmaster's spool is full: nothing is acknowledged that is not on it, and room is all that it takes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.cells import TestbedCell, eventually
from tests.integration.test_hosts import record, state_codes

SPOOL = "/var/spool/gridengine/test"


@pytest.fixture
def small_spool(testbed_cell: TestbedCell) -> Iterator[None]:
    """The qmaster's spool is on a disk of 6 MiB."""
    cell = testbed_cell

    def around(script: str) -> None:
        assert cell.on("tm", "gridengine", "stop").returncode == 0
        done = cell.on("tm", "sh", "-ec", f"cd {SPOOL}; {script}")
        assert done.returncode == 0, done.stderr
        cell.start("tm")
        eventually("all hosts are there", lambda: set(state_codes(cell).values()) == {""})

    around("mv qmaster real; mkdir qmaster; mount -t tmpfs -o size=6m,mode=755 tmpfs qmaster; cp -a real/. qmaster/")
    yield
    around("rm -r real/*; cp -a qmaster/. real/; umount qmaster; rmdir qmaster; mv real qmaster")


@pytest.mark.statement("SP-3", "SP-4")
def test_a_full_spool_refuses_and_recovers_by_itself(testbed_cell: TestbedCell, small_spool: None) -> None:
    cell = testbed_cell
    acknowledged, errors = [], []

    def submit() -> bool:
        done = cell.as_user("alice", "t1", *"qsub -terse -h -b y -o /dev/null -j y true".split())
        assert done.returncode == 0 or (done.returncode == 1 and done.stderr and "Traceback" not in done.stderr)
        acknowledged.extend(done.stdout.split())
        errors.append(done.stderr)
        return done.returncode == 0

    assert submit()
    cell.on("tm", "dd", "if=/dev/zero", f"of={SPOOL}/qmaster/fill", "bs=4k")
    where, full = f"on host tm, file system {SPOOL}/qmaster: ", "nothing is changed until there is space, running jobs go on"
    eventually("the disk is full for the qmaster, too", lambda: not submit() and full in errors[-1])
    assert where in errors[-1]
    assert not submit()
    rows = cell.on("tm", "qstat", "-u", "*")
    assert [row.split()[0] for row in rows.stdout.splitlines()[2:]] == acknowledged, "what it has it tells"
    cell.on("tm", "rm", f"{SPOOL}/qmaster/fill")
    eventually("it takes jobs again", submit)
    rows = cell.on("tm", "qstat", "-u", "*").stdout.splitlines()[2:]
    assert [row.split()[0] for row in rows] == acknowledged, "those that were acknowledged, and no other"
    cell.on("tm", "qrls", *acknowledged)
    eventually("and runs them", lambda: all(record(cell, job).get("failed") == "0" for job in acknowledged))
