"""The life of a reservation against real daemons, as any user: granted, used, disturbed by a lost host, healed, deleted."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.integration.cells import DemoCell, eventually, hosts_ready
from tests.integration.test_jobs import record
from tests.integration.victims import victims


@pytest.fixture
def cell(demo_cell: DemoCell) -> Iterator[DemoCell]:
    """The demo cell, which afterwards has its host back, and no jobs and reservations."""
    yield demo_cell
    demo_cell.command("qdel", "-u", "*")
    demo_cell.command("qrdel", "-u", "*")
    demo_cell.must("gridengine", "start", "--host-name", demo_cell.host)
    eventually("nothing is left", lambda: not demo_cell.must("qstat", "-u", "*") + demo_cell.must("qrstat", "-u", "*"))
    eventually("the host is there", lambda: hosts_ready(demo_cell.must("qstat", "-f")) == {demo_cell.host})


def qrsub(cell: DemoCell, *arguments: str) -> str:
    """A granted reservation; its number."""
    output = cell.must("qrsub", *arguments)
    found = re.search(r"advance reservation (\d+) has been granted", output)
    assert found, output
    return found.group(1)


def states(cell: DemoCell) -> dict[str, str]:
    rows = [line.split() for line in cell.must("qrstat", "-u", "*").splitlines()[2:]]
    return {row[0]: next(field for field in row[2:] if len(field) == 1) for row in rows}


def submit(cell: DemoCell, *arguments: str) -> str:
    return cell.must("qsub", "-terse", "-b", "y", "-o", "/dev/null", "-e", "/dev/null", *arguments).strip()


def state_codes_of(cell: DemoCell, job: str) -> str:
    rows = [line.split() for line in cell.must("qstat", "-u", "*").splitlines()[2:]]
    return next((row[4] for row in rows if row[0] == job), "")


def lose_host(cell: DemoCell) -> None:
    """Kill -9 the supervisor and the Ray node of the exec host; shepherds and jobs live on."""
    supervisor = int((cell.place / "spool" / "execd" / cell.host / "execd.pid").read_text().split()[0])
    raylets = victims(cell, "raylet of the exec host")
    assert raylets, "no raylet of the host"
    for pid in (supervisor, *raylets):
        with suppress(ProcessLookupError):  # a node ends with its supervisor
            os.kill(pid, signal.SIGKILL)


@pytest.mark.statement("AR-1", "AR-53", "AR-54", "AR-55", "AR-57", "AR-58", "AR-59", "AR-83", "AR-96", "AR-104")
def test_granted_used_disturbed_healed_and_deleted(cell: DemoCell) -> None:
    later = time.strftime("%Y%m%d%H%M.%S", time.localtime(time.time() + 600))
    now, waiting = qrsub(cell, "-d", "900", "-pe", "make", "2", "-he", "y"), qrsub(cell, "-a", later, "-d", "60")
    eventually("the first has begun", lambda: states(cell) == {now: "r", waiting: "w"})
    inside, early = submit(cell, "-ar", now, "sleep", "600"), submit(cell, "-ar", waiting, "sleep", "1")
    eventually("the job in it runs", lambda: state_codes_of(cell, inside) == "r")
    assert state_codes_of(cell, early) == "qw", "the window of the other has not begun"

    lose_host(cell)
    eventually("the host is unknown to both", lambda: states(cell) == {now: "E", waiting: "W"})
    assert f"all.q@{cell.host} is unknown" in cell.must("qrstat", "-explain", "-u", "*")
    held_back = submit(cell, "-ar", now, "-w", "n", "sleep", "600")
    cell.must("gridengine", "start", "--host-name", cell.host)
    eventually("both are healed", lambda: states(cell) == {now: "r", waiting: "w"})
    eventually("the job that waited for it runs", lambda: state_codes_of(cell, held_back) == "r")
    assert state_codes_of(cell, inside) == "r", "its shepherd has kept it"

    assert f"has deleted advance_reservation {waiting}" in cell.must("qrdel", waiting)
    assert states(cell) == {now: "r"}
    assert state_codes_of(cell, early) == "", "a job goes with its reservation"
    cell.must("qrdel", now)
    eventually("it is gone with its jobs", lambda: not cell.must("qrstat", "-u", "*") + cell.must("qstat", "-u", "*"))
    assert cell.command("qsub", "-ar", now, "-b", "y", "true").returncode == 1
    records = cell.must("qacct", "-j", inside)
    assert re.search(rf"^arid +{now}\b", records, re.M)


@pytest.mark.statement("AR-54", "AR-55")
def test_a_short_one_begins_and_ends_by_itself(cell: DemoCell) -> None:
    soon = int(time.time()) + 6
    number = qrsub(cell, "-a", time.strftime("%Y%m%d%H%M.%S", time.localtime(soon)), "-d", "10")
    job = submit(cell, "-ar", number, "sleep", "600")
    eventually("both are over", lambda: not cell.must("qrstat", "-u", "*") + cell.must("qstat", "-u", "*"))
    found = record(cell, job)
    assert found["exit_status"].split()[0] == "137"
    assert time.mktime(time.strptime(found["start_time"])) >= soon, "it ran, and not before the window"
