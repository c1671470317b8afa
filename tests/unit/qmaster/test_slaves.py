"""Slave tasks of parallel jobs in the qmaster: their permitted users and hosts, the instructions to hosts, and their ends."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.qmaster.rules.lost_hosts import RETURN_S
from gridengine.protocols.delivery import Ended, Inventory, Started
from gridengine.protocols.gdi.requests import Answer
from tests.harness import Cell


@pytest.fixture
def wide(cell: Cell) -> Cell:
    """A cell with a PE of two slots a host."""
    cell.add("parallel_environment", "wide", allocation_rule="2", slots="99", control_slaves="TRUE", job_is_first_task="FALSE")
    cell.configure("cluster_queue", "all.q", pe_list="wide")
    return cell


@pytest.fixture
def job(wide: Cell) -> int:
    """A running job of two slots on each of two hosts."""
    number = wide.submit(pe="wide", pe_range="4")
    wide.cycle()
    return number


def hosts(cell: Cell, job: int) -> list[str]:
    return [instance.partition("@")[2] for instance, _ in cell.placed(job)]


def inherit(cell: Cell, job: int, host: str, user: str = "alice", **fields: Any) -> Answer:
    return cell.ask("start_slave", user, "h1", job_id=job, host=host, **{"command": "hostname", **fields})


def started(cell: Cell, job: int, host: str, **fields: Any) -> tuple[int, ...]:
    """The key of a slave task that runs."""
    answer = inherit(cell, job, host, **fields)
    assert answer.status == 0, answer.answers
    cell.deliver()
    key = tuple(answer.data["task"])  # type: ignore[index]
    assert cell.running[key] == host
    return key


def ended(cell: Cell, key: tuple[int, ...], exit_status: int = 0, failed: int = 0, cpu: float = 1.0, **more: float) -> None:
    host = cell.running.pop(key)
    usage = {"cpu": cpu, "ru_wallclock": 2.0, **more}
    cell.report(host, Ended(key, failed, exit_status, 0, "", cell.now, cell.now, usage))


def slaves(cell: Cell, job: int) -> list[bool]:
    return [slave.over for slave in cell.state.task(job, 1).slaves.values()]


@pytest.mark.statement("TI-1")
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"user": "bob"}, 'belongs to "alice"'),
        ({"host": "h9"}, "not one of its hosts"),
        ({"host": "nowhere"}, "not one of its hosts"),
        ({"job_id": 77}, "no such job"),
        ({"task_id": 5}, "no such job"),
    ],
)
def test_invalid_slave_tasks_are_refused(wide: Cell, job: int, changes: dict[str, Any], why: str) -> None:
    request = {"job_id": job, "host": hosts(wide, job)[1], "command": "hostname", **changes}
    answer = wide.ask("start_slave", request.pop("user", "alice"), "h1", **request)
    assert answer.status == 1 and why in answer.answers[0][1]
    assert not slaves(wide, job)


@pytest.mark.statement("TI-1")
def test_only_with_control_slaves_and_a_pe(wide: Cell) -> None:
    wide.configure("parallel_environment", "wide", control_slaves="FALSE")
    loose, serial = wide.submit(pe="wide", pe_range="4"), wide.submit()
    wide.cycle()
    assert "control_slaves" in inherit(wide, loose, hosts(wide, loose)[0]).answers[0][1]
    assert "no parallel job" in inherit(wide, serial, hosts(wide, serial)[0]).answers[0][1]


@pytest.mark.statement("TI-1")
@pytest.mark.parametrize(("first", "limit"), [("FALSE", 2), ("TRUE", 1)])
def test_no_more_than_the_slots_of_the_host(wide: Cell, first: str, limit: int) -> None:
    wide.configure("parallel_environment", "wide", job_is_first_task=first)
    job = wide.submit(pe="wide", pe_range="4")
    wide.cycle()
    master, other = hosts(wide, job)
    keys = [started(wide, job, master) for _ in range(limit)]
    assert "in use" in inherit(wide, job, master).answers[0][1]
    ended(wide, keys[0])
    started(wide, job, master)
    assert [inherit(wide, job, other).status for _ in range(3)] == [0, 0, 1]


@pytest.mark.statement("TI-2", "RL-8")
def test_the_host_gets_the_start_of_the_slave_task(wide: Cell, job: int) -> None:
    _, other = hosts(wide, job)
    key = started(wide, job, other, args=["-s"], environment={"A": "b"}, cwd="/work", no_shell=True)
    start = wide.starts[-1]
    assert (start.key, start.granted[0].instance, start.script) == (key, f"all.q@{other}", False)
    assert start.slave is not None
    assert (start.slave.command, start.slave.args, start.slave.environment) == ("hostname", ["-s"], {"A": "b"})
    before = len(wide.starts)
    wide.report(other, Started(key, wide.now))
    wide.restart()
    wide.deliver()
    assert len(wide.starts) == before, "once is enough"


@pytest.mark.statement("TI-2", "EX-6")
def test_slaves_do_as_their_master_does(wide: Cell, job: int) -> None:
    master, other = hosts(wide, job)
    key = started(wide, job, other)
    for action in ("suspend", "unsuspend"):
        wide.ask("change_states", targets=[str(job)], action=action, what="job")
        wide.deliver()
    wide.ask("delete_jobs", targets=[str(job)])
    wide.deliver()
    assert sorted(wide.signals, key=lambda instructions: instructions[1]) == [
        *((master, (job, 1, 1), command) for command in ("suspend", "run", "kill")),
        *((other, key, command) for command in ("suspend", "run", "kill")),
    ]


@pytest.mark.statement("TI-4", "PE-13", "AC-2")
@pytest.mark.parametrize(
    ("summary", "records"), [("FALSE", [("3", "1.h2", "1.0"), ("7", "NONE", "0.5")]), ("TRUE", [("7", "NONE", "1.5")])]
)
def test_records(wide: Cell, summary: str, records: list[tuple[str, str, str]]) -> None:
    wide.configure("parallel_environment", "wide", accounting_summary=summary)
    job = wide.submit(pe="wide", pe_range="4", hard_queues=["all.q@h1", "all.q@h2"], master_queues=["all.q@h1"])
    wide.cycle()
    ended(wide, started(wide, job, "h2"), exit_status=3)
    wide.end(job, exit_status=7)
    assert [(fields.exit_status, fields.pe_taskid, f"{float(fields.cpu):.1f}") for fields in wide.records(job)] == records


@pytest.mark.statement("TI-5")
def test_the_end_waits_for_the_slaves_and_ends_them(wide: Cell, job: int) -> None:
    master, other = hosts(wide, job)
    key = started(wide, job, other)
    wide.running.pop((job, 1, 1))
    wide.report(master, Ended((job, 1, 1), exit_status=7, end_time=wide.now))
    assert job in wide.state.jobs
    wide.restart()
    assert wide.report(master, Inventory([], "boot1"))[0].forget == []
    assert job in wide.state.jobs, "its master's host need not know it any more"
    wide.deliver()
    assert wide.signals == [(other, key, "kill")]
    assert "does not run" in inherit(wide, job, other).answers[0][1]
    wide.report(other, *_everything_up(wide))
    ended(wide, key, exit_status=137, failed=100)
    assert job not in wide.state.jobs
    assert [fields.exit_status for fields in wide.records(job)] == ["137", "7"]


def _everything_up(cell: Cell) -> list[Any]:
    from gridengine.protocols.delivery import Load
    from tests.harness import LOAD

    return [Load(cell.now, dict(LOAD), full=True, incarnation="boot1")]


@pytest.mark.statement("TI-5", "QI-3")
def test_a_dead_host_does_not_hold_the_job_and_has_nothing_left_when_it_returns(wide: Cell, job: int) -> None:
    master, other = hosts(wide, job)
    key = started(wide, job, other)
    wide.running.pop((job, 1, 1))
    wide.report(master, Ended((job, 1, 1), end_time=wide.now))
    assert job in wide.state.jobs
    wide.master.lose_host(other)
    wide.master.flush()
    assert job not in wide.state.jobs
    assert wide.state.hosts[other].abandoned == [key]
    wide.restart()
    wide.deliver()
    assert key not in wide.running and wide.state.hosts[other].abandoned == []


def master_ended_under_a_new_qmaster(cell: Cell, job: int) -> tuple[str, tuple[int, ...]]:
    """The host of a slave task, which has not reported to this qmaster yet, and the key of the slave task."""
    master, other = hosts(cell, job)
    key = started(cell, job, other)
    cell.restart()
    cell.running.pop((job, 1, 1))
    cell.report(master, Ended((job, 1, 1), exit_status=7, end_time=cell.now))
    cell.pass_time(RETURN_S - 1)
    return other, key


@pytest.mark.statement("TI-5", "AC-2")
def test_a_new_qmaster_waits_for_the_hosts_of_slaves_to_return(wide: Cell, job: int) -> None:
    """The host of the master task is often the first that reports again."""
    other, key = master_ended_under_a_new_qmaster(wide, job)
    wide.report(other, *_everything_up(wide))
    ended(wide, key, exit_status=3)
    assert [(fields.exit_status, fields.pe_taskid) for fields in wide.records(job)] == [("3", f"1.{other}"), ("7", "NONE")]


@pytest.mark.statement("TI-5", "QI-3")
def test_a_host_that_does_not_return_to_a_new_qmaster_does_not_hold_the_job(wide: Cell, job: int) -> None:
    other, key = master_ended_under_a_new_qmaster(wide, job)
    assert job in wide.state.jobs
    wide.pass_time(1)
    assert job not in wide.state.jobs
    assert wide.state.hosts[other].abandoned == [key]


@pytest.mark.statement("TI-5", "EX-10")
def test_a_slave_that_its_host_has_lost_is_over(wide: Cell, job: int) -> None:
    _, other = hosts(wide, job)
    key = started(wide, job, other)
    wide.report(other, Inventory([key], "boot1"))
    assert slaves(wide, job) == [False]
    wide.report(other, Inventory([], "boot1"))
    assert slaves(wide, job) == [True]
    assert [fields.failed for fields in wide.records(job)] == ["21"]


@pytest.mark.statement("TI-5", "EX-11")
def test_a_rescheduled_job_leaves_no_slaves_behind(wide: Cell) -> None:
    job = wide.submit(pe="wide", pe_range="4", rerun=True)
    wide.cycle()
    master, other = hosts(wide, job)
    key = started(wide, job, other)
    wide.configure("configuration", "global", reschedule_unknown="0:1:0")
    wide.master.lose_host(master)
    wide.pass_time(61)
    assert wide.state.task(job, 1).status == "pending"
    wide.deliver()
    assert key not in wide.running
    assert wide.report(other, Inventory([key], "boot1"))[0].forget == [key]


@pytest.mark.statement("QM-8", "QM-1")
def test_a_queue_instance_pushes_back_the_jobs_whose_master_it_has(wide: Cell) -> None:
    parallel = wide.submit(pe="wide", pe_range="4", rerun=True)
    wide.cycle()
    master, slave = hosts(wide, parallel)
    stays = wide.submit(hard=[f"h={slave}"], rerun=False)
    wide.cycle()
    push = {"action": "reschedule", "what": "queue"}
    answer = wide.admin("change_states", targets=[f"all.q@{slave}"], **push)
    assert (answer.status, [level for level, _ in answer.answers]) == (0, ["warning"]), "the others are none of its business"
    assert not wide.state.task(parallel, 1).conditions and not wide.state.task(stays, 1).conditions
    assert wide.admin("change_states", targets=[f"all.q@{master}"], **push).status == 0
    assert wide.state.task(parallel, 1).is_being_ended


@pytest.mark.statement("QM-10", "QM-11")
def test_a_task_that_there_is_not_is_named(cell: Cell) -> None:
    job = cell.submit(tasks="1-2", rerun=True)
    cell.cycle()
    answer = cell.admin("change_states", action="reschedule", what="job", targets=[f"{job}.9"])
    assert (answer.status, answer.answers) == (1, [("error", f'invalid queue or job "{job}.9"')])


@pytest.mark.statement("TI-1")
def test_a_slave_needs_a_job_that_runs(wide: Cell, job: int) -> None:
    where = f"executing task of job {job} failed: "
    host = hosts(wide, job)[0]
    waits = wide.submit(pe="wide", pe_range="99")
    assert inherit(wide, waits, host).answers == [("error", f"executing task of job {waits} failed: there is no such job")]
    wide.ask("delete_jobs", targets=[str(job)])
    assert inherit(wide, job, host).answers == [("error", f"{where}the job does not run")]


@pytest.mark.statement("TI-1", "PE-14")
def test_slaves_go_where_most_slots_are_left(wide: Cell) -> None:
    wide.add("cluster_queue", "more.q", hostlist="h1", slots="3", pe_list="wide", seq_no="5")
    wide.configure("parallel_environment", "wide", allocation_rule="$fill_up", job_is_first_task="FALSE")
    job = wide.submit(pe="wide", pe_range="7", hard=["hostname=h1"])
    wide.cycle()
    limit = dict(wide.placed(job))
    assert set(limit) == {"all.q@h1", "more.q@h1"}
    begun = [wide.state.task(job, 1).slaves[started(wide, job, "h1")[3]].instance for _ in range(sum(limit.values()))]
    left = dict(limit)
    for instance in begun:
        assert left[instance] == max(left.values())
        left[instance] -= 1
    used = sum(limit.values())
    text = f'executing task of job {job} failed: all slots that it was granted on host "h1" are in use ({used} of {used})'
    refused = inherit(wide, job, "h1")
    assert (refused.answers, refused.data) == ([("error", text)], {"in_use": used})


@pytest.mark.statement("TI-4")
def test_a_slave_without_a_time_of_its_end_ends_as_it_began(wide: Cell, job: int) -> None:
    key = started(wide, job, hosts(wide, job)[1])
    begun = wide.now
    wide.now += 50
    host = wide.running.pop(key)
    wide.report(host, Ended(key, 0, 0, 0, "", begun, 0.0, {"cpu": 1.0}))
    assert slaves(wide, job) == [True]
    assert inherit(wide, job, hosts(wide, job)[1]).data["task"][3] == 2  # type: ignore[index,call-overload]


@pytest.mark.statement("PE-13")
def test_usage_of_slaves_is_added_to_usage_of_the_master(wide: Cell) -> None:
    wide.configure("parallel_environment", "wide", accounting_summary="TRUE", job_is_first_task="FALSE")
    job = wide.submit(pe="wide", pe_range="4")
    wide.cycle()
    for _ in range(2):
        ended(wide, started(wide, job, hosts(wide, job)[1]), cpu=3.0, mem=4.0)
    wide.end(job)
    (record,) = wide.records(job)
    assert (float(record.cpu), float(record.mem)) == (0.5 + 2 * 3.0, 2 * 4.0), "also what the master has none of"
    assert float(record.ru_wallclock) == 1.0, "and what they do not count is the master's"


@pytest.mark.statement("TI-5")
def test_a_second_report_of_the_masters_end_changes_nothing(wide: Cell, job: int) -> None:
    master, other = hosts(wide, job)
    key = started(wide, job, other)
    wide.running.pop((job, 1, 1))
    for status in (7, 8):
        wide.report(master, Ended((job, 1, 1), exit_status=status, end_time=wide.now))
    ended(wide, key)
    assert wide.records(job)[-1][12] == "7"


@pytest.mark.statement("TI-1")
def test_a_slave_that_starts_does_not_start_its_master(wide: Cell) -> None:
    job = wide.submit(pe="wide", pe_range="4")
    wide.place()
    other = hosts(wide, job)[1]
    key = tuple(inherit(wide, job, other).data["task"])  # type: ignore[index,call-overload]
    wide.report(other, Started(key, wide.now))
    assert wide.state.task(job, 1).status == "transferring"


@pytest.mark.statement("TI-5", "EX-10")
def test_a_boot_loses_the_slaves_of_that_host_alone(wide: Cell, job: int) -> None:
    master, other = hosts(wide, job)
    started(wide, job, master)
    started(wide, job, other)
    wide.report(other, Inventory([], "boot2"))
    assert slaves(wide, job) == [False, True]
    assert job in wide.state.jobs


@pytest.mark.statement("TI-5", "EX-9")
def test_slaves_that_started_are_over_or_live_and_others_are_orphans(wide: Cell, job: int) -> None:
    wide.configure("parallel_environment", "wide", accounting_summary="TRUE")
    _, other = hosts(wide, job)
    over, live = started(wide, job, other), started(wide, job, other)
    ended(wide, over)
    strange = (job, 1, 1, 3)
    verdict = wide.report(other, Inventory([over, live, strange], "boot1"))[0]
    assert (verdict.forget, verdict.orphans) == ([over], [strange])
    assert slaves(wide, job) == [True, False]
