"""A job that runs across midnight has a record for each day in the reporting file, and one whole record in the accounting
file."""

from __future__ import annotations

from typing import Any

import pytest

from gridengine.protocols.delivery import Ended, UsageReport
from gridengine.state.jobs import Usage
from gridengine.usage.accounting import AccountingRecord
from gridengine.values.task_key import SlaveKey, TaskKey
from tests.harness import Cell

DAY_S = 86_400
MIDNIGHT = 1_800_057_600.0
"""The first one of the cell's time."""
BEGIN = MIDNIGHT - 600


@pytest.fixture
def reporting(cell: Cell) -> Cell:
    """A cell shortly before midnight that reports, with a parallel environment whose slave tasks have records of their own."""
    cell.configure("configuration", "global", reporting_params="reporting=true")
    cell.add("parallel_environment", "wide", allocation_rule="2", slots="99", control_slaves="TRUE", accounting_summary="FALSE")
    cell.configure("cluster_queue", "all.q", pe_list="wide")
    cell.now = BEGIN
    for host in cell.names:
        cell.inventory(host)
    return cell


def records(cell: Cell, name: str = "reporting") -> list[AccountingRecord]:
    """The accounting records of a file."""
    lines = (cell.directory / name).read_text().splitlines()
    fields = [line.split(":")[2:] for line in lines if line.split(":")[1:2] == ["acct"]]
    return [AccountingRecord(each) for each in fields]


def run(cell: Cell, **fields: Any) -> TaskKey:
    """The key of a job that runs."""
    job = cell.submit(**fields)
    cell.cycle()
    return next(key for key in cell.running if key.job == job)


def use(cell: Cell, key: TaskKey, cpu: float, **more: float) -> None:
    cell.report(cell.running[key], UsageReport(key, Usage(cpu=cpu, **more)))


def end(cell: Cell, key: TaskKey, cpu: float, exit_status: int = 0, failed: int = 0, **more: float) -> None:
    begin = cell.state.task(*key.master).start_time
    used = {"cpu": cpu, "ru_wallclock": cell.now - begin, **more}
    cell.report(cell.running.pop(key), Ended(key, failed, exit_status, 0, "", begin, cell.now, used))


def parts(cell: Cell) -> list[tuple[int, int, str, str]]:
    """(start and end in seconds after midnight, exit status, cpu) of each record in the reporting file."""
    return [
        (int(each.start_time) - int(MIDNIGHT), int(each.end_time) - int(MIDNIGHT), each.exit_status, each.cpu)
        for each in records(cell)
    ]


@pytest.mark.statement("RP-3")
def test_a_day_has_its_part_and_the_end_the_rest(reporting: Cell) -> None:
    key = run(reporting)
    for after, cpu in [(-60, 500.0), (5, 570.0), (300, 800.0), (DAY_S + 5, 1000.0)]:
        reporting.now = MIDNIGHT + after
        use(reporting, key, cpu)
    reporting.now = MIDNIGHT + DAY_S + 100
    end(reporting, key, 1100.0, exit_status=3)
    assert parts(reporting) == [
        (-600, 5, "-1", "570.000000"),
        (5, DAY_S + 5, "-1", "430.000000"),
        (DAY_S + 5, DAY_S + 100, "3", "100.000000"),
    ]
    (whole,) = reporting.records(key.job)
    assert (int(whole.start_time), whole.cpu, whole.exit_status) == (int(BEGIN), "1100.000000", "3")
    assert len((reporting.directory / "accounting").read_text().splitlines()) == 4 + 1


@pytest.mark.statement("RP-3")
def test_all_that_is_used_is_divided_and_nothing_else_is_known_before_the_end(reporting: Cell) -> None:
    key = run(reporting)
    reporting.now = MIDNIGHT + 1
    use(reporting, key, 1.0, mem=2.0, io=3.0, iow=4.0, maxvmem=5.0)
    reporting.now = MIDNIGHT + 10
    end(reporting, key, 10.0, mem=20.0, io=30.0, iow=40.0, maxvmem=50.0, ru_utime=9.0)
    first, last = records(reporting)
    assert [first.cpu, first.mem, first.io, first.iow, first.maxvmem] == [f"{value:f}" for value in (1, 2, 3, 4, 5)]
    assert [last.cpu, last.mem, last.io, last.iow, last.maxvmem] == [f"{value:f}" for value in (9, 18, 27, 36, 50)]
    assert (first.failed, first.ru_wallclock, first.ru_utime) == ("0", "0", "0.000000")
    assert (last.ru_wallclock, last.ru_utime) == ("610", "9.000000")


@pytest.mark.statement("RP-3")
@pytest.mark.parametrize(("begin", "count"), [(-61, 1), (-60, 1), (-59, 0), (1, 0)])
def test_a_job_started_just_before_midnight_has_no_intermediate_record(reporting: Cell, begin: int, count: int) -> None:
    reporting.now = MIDNIGHT + begin
    key = run(reporting)
    reporting.now = MIDNIGHT + 30
    use(reporting, key, 1.0)
    assert len(records(reporting)) == count


def test_without_reporting_there_is_none(reporting: Cell) -> None:
    reporting.configure("configuration", "global", reporting_params="reporting=false")
    key = run(reporting)
    reporting.now = MIDNIGHT + 30
    use(reporting, key, 1.0)
    assert reporting.state.task(*key.master).reported is None


@pytest.mark.statement("RP-3")
@pytest.mark.parametrize("snapshot", [False, True])
def test_there_is_one_a_day_though_the_qmaster_dies(reporting: Cell, snapshot: bool) -> None:
    key = run(reporting)
    reporting.now = MIDNIGHT + 5
    reporting.master.publish = lambda transactions: None  # type: ignore[method-assign]
    use(reporting, key, 100.0)
    assert records(reporting) == []
    if snapshot:
        reporting.master.spool.snapshot(reporting.state)
    for cpu in (110.0, 120.0):
        reporting.restart()
        reporting.inventory("h1")
        reporting.now += 10
        use(reporting, key, cpu)
    end(reporting, key, 150.0)
    assert [cpu for *_, cpu in parts(reporting)] == ["100.000000", "50.000000"]


def test_usage_and_end_in_one_batch_count_once(reporting: Cell) -> None:
    key = run(reporting)
    reporting.now = MIDNIGHT + 5
    host, used = reporting.running.pop(key), UsageReport(key, Usage(cpu=100.0))
    ended = Ended(key, 0, 0, 0, "", BEGIN, reporting.now, {"cpu": 130.0})
    reporting.report(host, used, used, ended, used)
    assert [cpu for *_, cpu in parts(reporting)] == ["100.000000", "30.000000"]


def test_usage_that_is_reported_after_the_end_is_not_recorded(reporting: Cell) -> None:
    key = run(reporting)
    reporting.now = MIDNIGHT + 5
    ended = Ended(key, 0, 0, 0, "", BEGIN, reporting.now, {"cpu": 130.0})
    reporting.report(reporting.running.pop(key), ended, UsageReport(key, Usage(cpu=100.0)))
    assert [cpu for *_, cpu in parts(reporting)] == ["130.000000"]


def test_a_task_that_begins_again_begins_with_nothing(reporting: Cell) -> None:
    key = run(reporting)
    reporting.now = MIDNIGHT + 5
    use(reporting, key, 100.0)
    end(reporting, key, 110.0, exit_status=99, failed=25)
    reporting.now = MIDNIGHT + 2000
    reporting.cycle()
    again = next(iter(reporting.running))
    assert (again.job, reporting.state.task(*again.master).reported) == (key.job, None)
    end(reporting, again, 7.0)
    assert [cpu for *_, cpu in parts(reporting)][-2:] == ["10.000000", "7.000000"]


def parallel(cell: Cell) -> tuple[TaskKey, SlaveKey]:
    """A parallel job with a slave task."""
    master = run(cell, pe="wide", pe_range="4")
    other = cell.placed(master.job)[1][0].partition("@")[2]
    answer = cell.ask("start_slave", "alice", "h1", job_id=master.job, host=other, command="hostname")
    cell.deliver()
    return master, SlaveKey(*answer.data["task"])  # type: ignore[index]


@pytest.mark.statement("RP-3", "PE-13")
def test_slave_tasks_have_theirs(reporting: Cell) -> None:
    master, slave = parallel(reporting)
    reporting.now = MIDNIGHT + 5
    use(reporting, master, 1.0)
    use(reporting, slave, 100.0)
    use(reporting, slave, 101.0)
    end(reporting, slave, 130.0)
    end(reporting, master, 2.0)
    name = records(reporting)[1].pe_taskid
    assert [(each.pe_taskid, each.cpu) for each in records(reporting)] == [
        ("NONE", "1.000000"),
        (name, "100.000000"),
        (name, "30.000000"),
        ("NONE", "1.000000"),
    ]
    assert name.startswith("1.h")


@pytest.mark.statement("RP-3", "PE-13")
def test_a_jobs_record_holds_those_of_its_slave_tasks_where_they_are_summed_up(reporting: Cell) -> None:
    reporting.configure("parallel_environment", "wide", accounting_summary="TRUE")
    master, first = parallel(reporting)
    end(reporting, first, 40.0)
    other = reporting.state.task(*master.master).granted[1].host
    answer = reporting.ask("start_slave", "alice", "h1", job_id=master.job, host=other, command="hostname")
    reporting.deliver()
    second = SlaveKey(*answer.data["task"])  # type: ignore[index]
    reporting.now = MIDNIGHT + 5
    use(reporting, second, 100.0)
    use(reporting, master, 1.0)
    end(reporting, second, 130.0)
    end(reporting, master, 2.0)
    assert [(each.pe_taskid, each.cpu) for each in records(reporting)] == [("NONE", "141.000000"), ("NONE", "31.000000")]
