"""Three hosts behind one Ray node: jobs run as on other hosts, a dead host is seen, and another host becomes the node."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.cells import eventually
from tests.integration.rack_cell import RACK, RackCell

pytestmark = pytest.mark.apart


@pytest.fixture(scope="module")
def cell(launchers: Path) -> Iterator[RackCell]:
    rack = RackCell()
    try:
        rack.start()
        yield rack
    finally:
        rack.remove()


@pytest.fixture(autouse=True)
def all_hosts_ready(cell: RackCell) -> None:
    for host in cell.hosts:
        if not cell.is_running(host):
            cell.start_host(host)
    eventually("all hosts report", lambda: cell.ready() == set(cell.hosts))


def submit(cell: RackCell, *arguments: str) -> str:
    return cell.must("qsub", "-terse", "-b", "y", "-o", "/dev/null", "-j", "y", *arguments).split(".")[0].strip()


def records(cell: RackCell, job: str) -> list[tuple[str, str, str]]:
    """Task, host and exit status of each accounting record of a job."""
    found: list[tuple[str, str, str]] = []
    for part in cell.command("qacct", "-j", job).stdout.split("====")[1:]:
        fields = {row[0]: row[1].strip() for line in part.splitlines() if len(row := line.split(None, 1)) == 2}
        if "jobnumber" in fields:
            found.append((fields["taskid"], fields["hostname"], fields["exit_status"].split()[0]))
    return found


def state_of(cell: RackCell, job: str) -> str:
    rows = [line.split() for line in cell.must("qstat", "-u", "*").splitlines()[2:]]
    return next((row[4] for row in rows if row[0] == job), "")


def test_hosts_of_a_rack_have_one_ray_node(cell: RackCell) -> None:
    assert cell.node() in cell.hosts
    assert len(cell.find("rack_member")) == 3 and not cell.find("ray::ExecdActor")


def test_jobs_run_on_every_host_of_a_rack(cell: RackCell) -> None:
    jobs = {host: submit(cell, "-l", f"h={host}", "sh", "-c", "exit 3") for host in cell.hosts}
    for host, job in jobs.items():
        eventually("it is over", lambda job=job: records(cell, job))
        assert records(cell, job) == [("undefined", host, "3")]


def test_each_task_of_an_array_runs_once(cell: RackCell) -> None:
    written = cell.work / "tasks"
    job = submit(cell, "-t", "1-30", "sh", "-c", f"echo $SGE_TASK_ID >> {written}")
    eventually("all are over", lambda: len(records(cell, job)) == 30)
    assert sorted(written.read_text().split(), key=int) == [str(number) for number in range(1, 31)]


def test_a_job_in_a_rack_is_suspended_resumed_and_deleted(cell: RackCell) -> None:
    job = submit(cell, "-l", "h=node2", "sleep", "600")
    eventually("it runs", lambda: state_of(cell, job) == "r")
    cell.must("qmod", "-sj", job)
    eventually("it is suspended", lambda: state_of(cell, job) == "s")
    cell.must("qmod", "-usj", job)
    eventually("it runs again", lambda: state_of(cell, job) == "r")
    cell.must("qdel", job)
    eventually("its end is known", lambda: records(cell, job) == [("undefined", "node2", "137")])


def test_an_execd_that_is_killed_is_back_and_its_host_is_not_lost(cell: RackCell) -> None:
    job = submit(cell, "-l", "h=node3", "sh", "-c", f"until [ -e {cell.work}/go ]; do sleep 0.2; done; exit 4")
    eventually("it runs", lambda: state_of(cell, job) == "r")
    (pid,) = cell.find("rack_member node3")
    cell.kill(pid)
    (cell.work / "go").touch()
    eventually("another one is there", lambda: cell.find("rack_member node3") not in ([], [pid]))
    eventually("its end is known", lambda: records(cell, job) == [("undefined", "node3", "4")])


def test_a_host_that_dies_is_unknown_and_back_when_its_daemon_is(cell: RackCell) -> None:
    host = next(host for host in cell.hosts if host != cell.node())
    cell.kill(cell.pid(host))
    eventually("it is unknown", lambda: cell.ready() == set(cell.hosts) - {host})
    cell.start_host(host)
    eventually("it is back", lambda: cell.ready() == set(cell.hosts))


def test_a_host_leaves_its_rack_and_comes_back_and_its_job_goes_on(cell: RackCell) -> None:
    host = next(host for host in cell.hosts if host != cell.node())
    job = submit(cell, "-l", f"h={host}", "sh", "-c", f"until [ -e {cell.work}/back ]; do sleep 0.2; done; exit 6")
    eventually("it runs", lambda: state_of(cell, job) == "r")
    cell.must("gridengine", "host", "add", host, "--rack", "NONE")
    eventually("it has a node of its own", lambda: cell.find("ray::ExecdActor") and not cell.find(f"rack_member {host}"))
    eventually("all hosts report", lambda: cell.ready() == set(cell.hosts))
    cell.must("gridengine", "host", "add", host, "--rack", RACK)
    eventually("it is back", lambda: cell.find(f"rack_member {host}") and not cell.find("ray::ExecdActor"))
    (cell.work / "back").touch()
    eventually("its end is known", lambda: records(cell, job) == [("undefined", host, "6")])


def test_another_host_takes_over_and_no_task_is_lost_or_doubled(cell: RackCell) -> None:
    first, written = cell.node(), cell.work / "over"
    others = [host for host in cell.hosts if host != first]
    queues = ",".join(f"all.q@{host}" for host in others)
    job = submit(cell, "-q", queues, "-t", "1-60", "sh", "-c", f"echo $SGE_TASK_ID >> {written}; sleep 1")
    eventually("some run", lambda: written.exists())
    began = time.monotonic()
    cell.kill(cell.pid(first))
    eventually("another host is the node", lambda: cell.node() in others)
    eventually("all are over", lambda: len(records(cell, job)) == 60)
    print(f"all tasks were over {time.monotonic() - began:.1f} s after the node had died")
    assert sorted(written.read_text().split(), key=int) == [str(number) for number in range(1, 61)]
    assert {status for _, _, status in records(cell, job)} == {"0"}
    assert cell.ready() == set(others)


def test_a_node_whose_process_hangs_is_replaced_and_its_hosts_go_on(cell: RackCell) -> None:
    first = cell.node()
    job = submit(cell, "-l", f"h={first}", "sh", "-c", f"until [ -e {cell.work}/moved ]; do sleep 0.2; done; exit 5")
    eventually("it runs", lambda: state_of(cell, job) == "r")
    (hung,) = cell.find("ray::RackActor")
    os.kill(hung, signal.SIGSTOP)
    eventually("another host is the node", lambda: cell.find("ray::RackActor") not in ([], [hung]) and cell.node())
    eventually("all hosts report", lambda: cell.ready() == set(cell.hosts))
    assert "its process does not answer" in cell.qmaster_log()
    (cell.work / "moved").touch()
    eventually("its end is known", lambda: records(cell, job) == [("undefined", first, "5")])


def test_hosts_stay_connected_when_the_qmaster_restarts(cell: RackCell) -> None:
    node, job = cell.node(), submit(cell, "-l", "h=node2", "sleep", "600")
    eventually("it runs", lambda: state_of(cell, job) == "r")
    (pid,) = cell.find("ray::QmasterActor")
    cell.kill(pid)
    eventually("it is back", lambda: cell.find("ray::QmasterActor") not in ([], [pid]))
    eventually("all hosts report", lambda: cell.ready() == set(cell.hosts))
    assert state_of(cell, job) == "r" and cell.node() == node
    cell.must("qdel", job)
    eventually("its end is known", lambda: records(cell, job))
