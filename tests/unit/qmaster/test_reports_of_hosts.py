"""Reports of hosts at their edges: boots, lost tasks, full reports, reports that come twice or too late."""

from __future__ import annotations

import pytest

from gridengine.protocols.delivery import Checkpointed, Ended, HostFaults, Inventory, Load, Started, UsageReport
from gridengine.state.jobs import Usage
from tests.harness import Cell


@pytest.mark.statement("EX-10")
def test_a_task_that_its_host_never_got_is_dispatched_again_after_a_boot(cell: Cell) -> None:
    job = cell.submit()
    cell.place()
    host = cell.placed(job)[0][0].partition("@")[2]
    cell.report(host, Inventory([], "boot1"))
    assert cell.state.task(job, 1).attempt == 1, "the same boot may yet be told"
    cell.report(host, Inventory([], "boot2"))
    assert cell.state.hosts[host].incarnation == "boot2"
    assert cell.state.task(job, 1).status == "pending"
    assert cell.records(job) == []
    cell.cycle()
    assert (job, 1, 2) in cell.running


@pytest.mark.statement("EX-10", "AC-1")
def test_a_task_that_was_lost_is_recorded_as_killed(cell: Cell) -> None:
    lost, again, deleted = cell.submit(rerun=False), cell.submit(rerun=True), cell.submit(rerun=True)
    cell.cycle()
    cell.ask("delete_jobs", targets=[str(deleted)])
    for job in (lost, again, deleted):
        cell.report(cell.running.pop((job, 1, 1)), Inventory([], "boot1"))
    records = [cell.records(job)[0] for job in (lost, again, deleted)]
    assert [(record.failed, record.exit_status) for record in records] == [("21", "137")] * 3
    assert list(cell.state.jobs) == [again], "what was to be deleted does not run again"


@pytest.mark.statement("EX-9", "EX-10")
def test_after_a_boot_each_task_is_judged_for_itself(cell: Cell) -> None:
    cell.configure("host_group", "@allhosts", hostlist="h1")
    jobs = [cell.submit(rerun=False) for _ in range(4)]
    cell.cycle()
    first, second, third, fourth = ((job, 1, 1) for job in jobs)
    cell.report("h1", Ended(second, exit_status=3, end_time=cell.now), Inventory([third], "boot1"))
    assert [cell.records(job)[0].exit_status if cell.records(job) else "" for job in jobs] == ["137", "3", "", "137"]
    assert list(cell.state.jobs) == [third[0]], (first, fourth)


@pytest.mark.statement("LS-8", "EX-12")
def test_a_full_report_is_all_that_there_is(cell: Cell) -> None:
    cell.report("h1", Load(cell.now, {"a": "1", "b": "2"}, full=True, incarnation="boot1"))
    assert cell.state.hosts["h1"].load == {"a": "1", "b": "2"}
    cell.report("h1", Load(cell.now, {"c": "3", "b": "4"}))
    assert cell.state.hosts["h1"].load == {"a": "1", "b": "4", "c": "3"}
    cell.report("h1", Load(cell.now, {"c": "5"}, removed=["a"]))
    assert cell.state.hosts["h1"].load == {"b": "4", "c": "5"}
    cell.report("h1", Load(cell.now, {"b": "6"}, full=True, incarnation="boot1"))
    assert cell.state.hosts["h1"].load == {"b": "6"}


@pytest.mark.statement("EX-9")
def test_reports_on_a_pending_task_change_nothing(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    host = cell.running[(job, 1, 1)]
    cell.end(job, exit_status=99, failed=25)
    before = cell.state.snapshot()
    for report in (Started((job, 1, 1), cell.now), Checkpointed((job, 1, 1), 5), UsageReport((job, 1, 1), Usage(cpu=5.0))):
        cell.report(host, report)
    cell.report(host, Ended((job, 1, 1), exit_status=1, end_time=cell.now))
    assert cell.state.snapshot() == before
    assert len(cell.records(job)) == 1


@pytest.mark.statement("EX-9")
def test_a_report_on_a_task_is_taken_once(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    host, begun = cell.running[(job, 1, 1)], cell.now
    cell.report(host, Started((job, 1, 1), begun))
    cell.now += 10
    before = cell.state.revision
    assert cell.report(host, Started((job, 1, 1), cell.now))[0].forget == []
    assert (cell.state.revision, cell.state.task(job, 1).start_time) == (before, begun)
    cell.report(host, Checkpointed((job, 1, 1), 5))
    known = cell.state.revision
    cell.report(host, Checkpointed((job, 1, 1), 5))
    assert (cell.state.revision, cell.state.task(job, 1).checkpoint) == (known, 5)


@pytest.mark.statement("AC-1")
def test_an_end_without_a_time_is_that_of_the_start(cell: Cell) -> None:
    cell.configure("configuration", "global", finished_jobs="5")
    job = cell.submit()
    cell.cycle()
    begun = cell.state.task(job, 1).start_time
    cell.now += 30
    key = (job, 1, 1)
    cell.report(cell.running.pop(key), Ended(key))
    (finished,) = cell.state.finished
    assert finished.end_time == begun


@pytest.mark.statement("QI-10")
def test_a_fault_of_a_host_is_noted_once_and_goes_with_it(cell: Cell) -> None:
    cell.add("cluster_queue", "more.q", hostlist="h1", slots="1")
    cell.report("h1", HostFaults(["no disk", "no launcher"]))
    both = ["host h1: no disk", "host h1: no launcher"]
    assert [sorted(cell.state.instances[name].errors) for name in ("all.q@h1", "more.q@h1")] == [both, both]
    before = cell.state.revision
    cell.report("h1", HostFaults(["no disk", "no launcher"]))
    assert cell.state.revision == before
    cell.report("h1", HostFaults(["no launcher"]))
    assert [list(cell.state.instances[name].errors) for name in ("all.q@h1", "more.q@h1", "all.q@h2")] == [both[1:], both[1:], []]


@pytest.mark.statement("CK-6", "EX-10")
@pytest.mark.parametrize(("pid", "again"), [(0, False), (5, True)])
def test_a_checkpoint_that_comes_with_the_end_lets_a_task_run_again(cell: Cell, pid: int, again: bool) -> None:
    job = cell.submit()
    cell.cycle()
    cell.end(job, failed=19, checkpoint=pid)
    assert (job in cell.state.jobs) == again


@pytest.mark.statement("EX-3", "EX-5")
@pytest.mark.parametrize("fault", ["job", "host"])
@pytest.mark.parametrize("failed", [0, 17, 37, 100])
def test_a_code_without_a_fault_stays_without_a_fault(cell: Cell, failed: int, fault: str) -> None:
    job = cell.submit()
    cell.cycle()
    cell.end(job, failed=failed, fault=fault)
    assert job not in cell.state.jobs
    assert not any(instance.errors for instance in cell.state.instances.values())


@pytest.mark.statement("EX-11")
def test_each_task_of_a_lost_host_is_given_up_for_itself(cell: Cell) -> None:
    cell.configure("configuration", "global", reschedule_unknown="0:1:0", qmaster_params="ENABLE_RESCHEDULE_KILL=1")
    cell.configure("host_group", "@allhosts", hostlist="h1")
    deleted, again, killed, more = (cell.submit(rerun=rerun) for rerun in (True, True, False, True))
    cell.cycle()
    cell.ask("delete_jobs", targets=[str(deleted)])
    cell.master.lose_host("h1")
    cell.pass_time(61)
    assert [cell.state.task(job, 1).status for job in (again, more)] == ["pending"] * 2
    assert (cell.state.task(deleted, 1).status != "pending", killed in cell.state.jobs) == (True, False)
    assert cell.records(killed)[0][11:13] == ("21", "137")
