"""A fault that a host reports of itself puts its instances into error, for as long as it reports the fault."""

from __future__ import annotations

import pytest

from daemons.qmaster.effects import acknowledgement_events
from gridengine.protocols.delivery import Acknowledgement, Ended, HostFaults, Start
from gridengine.state.state_codes import instance_state_codes
from gridengine.values.task_key import TaskKey
from tests.harness import Cell

FULL = "/spool takes no files: No space left on device"


def codes(cell: Cell, host: str) -> str:
    return instance_state_codes(cell.state, cell.state.instances[f"all.q@{host}"])


@pytest.mark.statement("QI-10", "EX-4")
def test_error_comes_and_goes_with_the_fault(cell: Cell) -> None:
    for _ in range(2):
        cell.report("h1", HostFaults([FULL]))
    assert (codes(cell, "h1"), codes(cell, "h2")) == ("E", "")
    assert cell.state.instances["all.q@h1"].errors == [f"host h1: {FULL}"]
    cell.restart()
    assert "E" in codes(cell, "h1")
    cell.report("h1", HostFaults())
    assert cell.state.instances["all.q@h1"].errors == []


@pytest.mark.statement("QI-10")
def test_errors_of_other_kinds_stay(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    host = cell.running[job, 1, 1]
    cell.end(job, failed=8, reason="prolog")
    cell.report(host, HostFaults([FULL]))
    cell.report(host, HostFaults())
    assert codes(cell, host) == "E" and "QERROR" in cell.state.instances[f"all.q@{host}"].errors[0]


@pytest.mark.statement("EX-4", "QI-10")
@pytest.mark.parametrize(("faults", "reason"), [([FULL], f"host h1: {FULL}"), ([], "marked QERROR")])
def test_a_task_that_could_not_be_spooled_runs_elsewhere(cell: Cell, faults: list[str], reason: str) -> None:
    job = cell.submit(hard_queues=["all.q@h1"])
    cell.place()
    key = TaskKey(job, 1, 1)
    start = Start(key, cell.state.jobs[job], [], {}, {})
    answer = Acknowledgement(False, 3, "cannot prepare", host_faults=faults)
    _, failures = acknowledgement_events(cell.state, "h1", [start], [answer], cell.now)
    assert isinstance(failures[0], Ended)
    cell.report("h1", *failures)
    assert codes(cell, "h1") == "E" and reason in cell.state.instances["all.q@h1"].errors[0]
    task = cell.state.task(job, 1)
    assert (task.status, task.error) == ("pending", "")
    assert [fields.failed for fields in cell.records(job)] == ["3"]
