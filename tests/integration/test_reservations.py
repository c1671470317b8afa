"""Advance reservations on real hosts: a host that loses its power puts them into W and E, and its return heals them."""

from __future__ import annotations

import re
import time

import pytest

from tests.integration.cells import TestbedCell, eventually


def qrsub(cell: TestbedCell, *arguments: str) -> str:
    """A granted reservation of alice's; its number."""
    done = cell.as_user("alice", "t1", "qrsub", *arguments)
    found = re.search(r"advance reservation (\d+) has been granted", done.stdout)
    assert done.returncode == 0 and found, done
    return found.group(1)


def states(cell: TestbedCell) -> dict[str, str]:
    rows = [line.split() for line in cell.on("tm", "qrstat", "-u", "*").stdout.splitlines()[2:]]
    return {row[0]: next(word for word in row[2:] if len(word) == 1) for row in rows}


def running(cell: TestbedCell) -> set[str]:
    rows = [line.split() for line in cell.on("tm", "qstat", "-u", "*").stdout.splitlines()[2:]]
    return {row[0] for row in rows if row[4] in ("r", "Rr")}


def submit(cell: TestbedCell, *arguments: str) -> str:
    done = cell.as_user("alice", "t1", "qsub", "-terse", "-b", "y", "-o", "/dev/null", "-e", "/dev/null", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.statement("AR-53", "AR-54", "AR-57", "AR-58", "AR-59", "AR-60", "AR-61", "AR-104")
def test_a_host_without_power_disturbs_its_reservations_until_it_returns(testbed_cell: TestbedCell) -> None:
    testbed_cell.on("tm", "qconf", "-au", "alice", "arusers")
    later = time.strftime("%Y%m%d%H%M.%S", time.localtime(time.time() + 600))
    hard = qrsub(testbed_cell, "-q", "all.q@t3", "-pe", "mpi", "4", "-d", "900", "-he", "y")
    soft = qrsub(testbed_cell, "-q", "all.q@t3,all.q@t2", "-pe", "make", "4", "-d", "900")
    waiting = qrsub(testbed_cell, "-q", "all.q@t3", "-pe", "mpi", "4", "-a", later, "-d", "60")
    eventually("they have begun", lambda: states(testbed_cell) == {hard: "r", soft: "r", waiting: "w"})
    before = submit(testbed_cell, "-ar", soft, "-l", "h=t2", "sleep", "600")
    eventually("the job in it runs", lambda: before in running(testbed_cell))

    testbed_cell.power("kill", "t3")
    eventually("they are in error and warning", lambda: states(testbed_cell) == {hard: "E", soft: "E", waiting: "W"})
    shown = testbed_cell.as_user("alice", "t1", "qrstat", "-ar", hard).stdout
    assert re.search(r"^message .*all\.q@t3.*unknown", shown, re.M), shown
    on_healthy = submit(testbed_cell, "-ar", soft, "-l", "h=t2", "sleep", "600")
    held_back = submit(testbed_cell, "-ar", hard, "-w", "n", "sleep", "600")
    eventually("soft: the healthy part goes on", lambda: on_healthy in running(testbed_cell))
    assert held_back not in running(testbed_cell)

    testbed_cell.power("boot", "t3")
    testbed_cell.start("t3")
    eventually("they are healed", lambda: states(testbed_cell) == {hard: "r", soft: "r", waiting: "w"})
    eventually("hard: the job starts now", lambda: held_back in running(testbed_cell))

    assert testbed_cell.as_user("alice", "t1", "qrdel", hard, soft, waiting).returncode == 0
    eventually("reservations and their jobs are gone", lambda: not states(testbed_cell) and not running(testbed_cell))
