"""Hosts that fall silent, the fate of their tasks after reschedule_unknown, and clocks that are set meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from daemons.qmaster.rules.lost_hosts import RETURN_S
from gridengine.protocols.delivery import Inventory, Load
from tests.harness import LOAD, Cell


@pytest.fixture
def lossy(cell: Cell) -> Cell:
    """A cell that gives tasks up a minute after their host."""
    assert cell.configure("configuration", "global", reschedule_unknown="0:1:0").status == 0
    return cell


def lose(cell: Cell, host: str, seconds: float = 61) -> None:
    cell.master.lose_host(host)
    cell.pass_time(seconds)


def running(cell: Cell, **fields: object) -> tuple[int, str]:
    """A job that runs, and its host."""
    job = cell.submit(**fields)  # type: ignore[arg-type]
    cell.cycle()
    return job, cell.running[job, 1, 1]


@pytest.mark.statement("EX-11", "AC-5")
def test_a_rerunnable_task_of_a_lost_host_runs_elsewhere(lossy: Cell) -> None:
    job, host = running(lossy, rerun=True)
    lose(lossy, host, 59)
    assert lossy.state.task(job, 1).status == "running"
    lossy.pass_time(2)
    assert lossy.state.task(job, 1).status == "pending"
    assert [(fields.hostname, fields.failed) for fields in lossy.records(job)] == [(host, "25")]
    lossy.cycle()
    assert lossy.starts[-1].restarted == 1 and lossy.placed(job)[0][0] != f"all.q@{host}"
    back = lossy.report(host, Inventory([(job, 1, 1)], "boot1"))
    assert back[0].forget == [(job, 1, 1)], "what the host still runs of it is killed"
    assert lossy.state.task(job, 1).status == "running"


@pytest.mark.statement("SO-48", "QM-5", "RL-11", "EX-11")
@pytest.mark.parametrize("what", ["qdel -f", "qdel", "qmod -f -rj", "h_rt", "reschedule_unknown"])
def test_a_new_qmaster_gives_up_no_task_before_its_host_had_time_to_return(cell: Cell, what: str) -> None:
    parameters = {"qdel": "ENABLE_FORCED_QDEL_IF_UNKNOWN", "h_rt": "ENABLE_ENFORCE_MASTER_LIMIT=true"}
    cell.configure("configuration", "global", qmaster_params=parameters.get(what, "ENABLE_FORCED_QDEL"))
    if what == "reschedule_unknown":
        cell.configure("configuration", "global", reschedule_unknown="0:0:5")
    job, _ = running(cell, rerun=True, hard=["h_rt=600"])
    cell.now += 700 if what == "h_rt" else 1
    cell.restart()

    def given_up() -> bool:
        if what == "qmod -f -rj":
            cell.admin("change_states", action="reschedule", what="job", targets=[str(job)], force=True)
        elif what.startswith("qdel"):
            cell.ask("delete_jobs", targets=[str(job)], force=what == "qdel -f")
        task = cell.state.task(job, 1)
        return task is None or task.status == "pending"

    cell.pass_time(RETURN_S - 1)
    assert not given_up()
    cell.pass_time(1)
    assert given_up()


@pytest.mark.statement("EX-11", "QC-17", "CK-6")
@pytest.mark.parametrize(
    ("rerun", "of_queue", "checkpoint", "again"),
    [
        (True, "FALSE", 0, True), (False, "TRUE", 0, False),
        (None, "TRUE", 0, True), (None, "FALSE", 0, False), (None, "FALSE", 7, True),
    ],
)
def test_a_task_that_its_host_does_not_know_runs_again_if_it_may(
    lossy: Cell, rerun: bool | None, of_queue: str, checkpoint: int, again: bool
) -> None:
    lossy.configure("cluster_queue", "all.q", rerun=of_queue)
    job, host = running(lossy, rerun=rerun)
    lossy.state.task(job, 1).checkpoint = checkpoint
    lossy.report(host, Inventory([], "boot1"))
    assert (job in lossy.state.jobs) is again
    assert lossy.records(job)


@pytest.mark.statement("EX-11")
def test_a_task_that_was_ended_with_its_host_is_killed_when_the_host_returns(lossy: Cell) -> None:
    lossy.configure("configuration", "global", qmaster_params="ENABLE_RESCHEDULE_KILL=1")
    job, host = running(lossy, rerun=False)
    lose(lossy, host)
    assert job not in lossy.state.jobs
    assert lossy.state.hosts[host].abandoned == [(job, 1, 1)]


@pytest.mark.statement("EX-11", "SO-46")
def test_a_task_that_is_being_deleted_is_over_when_its_host_does_not_know_it(lossy: Cell) -> None:
    job, host = running(lossy, rerun=True)
    assert lossy.ask("delete_jobs", targets=[str(job)]).status == 0
    lossy.report(host, Inventory([], "boot1"))
    assert job not in lossy.state.jobs
    assert [fields.failed for fields in lossy.records(job)] == ["21"]


@pytest.mark.statement("EX-11", "QC-17")
@pytest.mark.parametrize(
    ("rerun", "of_queue", "again"),
    [(True, "FALSE", True), (False, "TRUE", False), (None, "TRUE", True), (None, "FALSE", False)],
)
def test_the_jobs_own_request_overrides_the_queue(lossy: Cell, rerun: bool | None, of_queue: str, again: bool) -> None:
    lossy.configure("cluster_queue", "all.q", rerun=of_queue)
    job, host = running(lossy, rerun=rerun)
    lose(lossy, host)
    assert (lossy.state.task(job, 1).status == "pending") is again


@pytest.mark.statement("CK-6", "EX-11")
@pytest.mark.parametrize(("when", "again"), [("r", True), ("xms", False), ("xr", True)])
def test_checkpointing_jobs_need_the_occasion_r(lossy: Cell, when: str, again: bool) -> None:
    lossy.add("checkpoint", "save", when=when)
    lossy.configure("cluster_queue", "all.q", ckpt_list="save")
    job, host = running(lossy, rerun=True, checkpoint="save")
    lose(lossy, host)
    assert (lossy.state.task(job, 1).status == "pending") is again


@pytest.mark.statement("EX-11", "IA-8")
def test_reschedule_kill_ends_what_may_not_run_again(lossy: Cell) -> None:
    job, host = running(lossy, rerun=False)
    lossy.configure("configuration", "global", qmaster_params="ENABLE_RESCHEDULE_KILL=true")
    lose(lossy, host)
    assert job not in lossy.state.jobs
    assert [fields.failed for fields in lossy.records(job)] == ["21"]


@pytest.mark.statement("EX-11")
@pytest.mark.parametrize(("parameters", "again"), [("none", False), ("ENABLE_RESCHEDULE_SLAVE=1", True)])
def test_a_lost_slave_host_counts_if_configured(lossy: Cell, parameters: str, again: bool) -> None:
    lossy.add("parallel_environment", "wide", allocation_rule="1", slots="99")
    lossy.configure("cluster_queue", "all.q", pe_list="wide")
    lossy.configure("configuration", "global", qmaster_params=parameters)
    job, _ = running(lossy, rerun=True, pe="wide", pe_range="3")
    lose(lossy, lossy.placed(job)[1][0].partition("@")[2])
    assert (lossy.state.task(job, 1).status == "pending") is again


@pytest.mark.statement("EX-11")
def test_all_hosts_of_a_parallel_job_lost_at_once_end_it_once(lossy: Cell) -> None:
    lossy.add("parallel_environment", "wide", allocation_rule="1", slots="99")
    lossy.configure("cluster_queue", "all.q", pe_list="wide")
    lossy.configure("configuration", "global", qmaster_params="ENABLE_RESCHEDULE_SLAVE=1")
    job, _ = running(lossy, rerun=True, pe="wide", pe_range="3")
    for host in lossy.names:
        lossy.master.lose_host(host)
    lossy.pass_time(61)
    assert len(lossy.records(job)) == 1 and lossy.state.task(job, 1).status == "pending"


@pytest.mark.statement("EX-11", "GC-1")
@pytest.mark.parametrize(
    ("local", "parameters", "again"),
    [({"reschedule_unknown": "0:5:0"}, "none", False), ({}, "DISABLE_AUTO_RESCHEDULING=1", False), ({}, "none", True)],
)
def test_the_hosts_own_configuration_and_the_switch(lossy: Cell, local: dict[str, str], parameters: str, again: bool) -> None:
    job, host = running(lossy, rerun=True)
    lossy.admin("config_add", kind="configuration", name=host, attributes=[(a, v, 1) for a, v in local.items()])
    lossy.configure("configuration", "global", qmaster_params=parameters)
    lose(lossy, host)
    assert (lossy.state.task(job, 1).status == "pending") is again


@pytest.mark.statement("EX-11")
def test_tasks_of_an_array_are_given_up_one_by_one(lossy: Cell) -> None:
    job = lossy.submit(rerun=True, tasks="1-6")
    lossy.cycle()
    there = {key[1] for key, host in lossy.running.items() if host == "h2"}
    lose(lossy, "h2")
    pending = {task.id for task in lossy.state.jobs[job].tasks.values() if task.status == "pending"}
    assert there and pending == there


@pytest.mark.statement("EX-11", "AC-1")
@pytest.mark.parametrize("silent", [True, False])
def test_tasks_lost_together_are_recorded_in_order(tmp_path: Path, silent: bool) -> None:
    cell = Cell(tmp_path, hosts=1, slots=20)
    cell.configure("configuration", "global", reschedule_unknown="0:1:0")
    jobs = [cell.submit(rerun=True, tasks="1-5") for _ in range(4)]
    cell.cycle()
    if silent:
        lose(cell, "h1")
    else:
        cell.report("h1", Inventory([], "boot1"))
    records = [record for _, record in cell.master.spool.accounted.records()]
    assert [(record.job_number, record.task_number) for record in records] == [
        (str(job), str(task)) for job in jobs for task in range(1, 6)
    ]


@pytest.mark.statement("EX-11", "SP-3")
def test_a_restarted_qmaster_gives_hosts_time_to_return(lossy: Cell) -> None:
    job, host = running(lossy, rerun=True)
    lose(lossy, host, 50)
    lossy.restart()
    lossy.pass_time(30)
    assert lossy.state.task(job, 1).status == "running"
    lossy.report(host, Load(lossy.now, dict(LOAD)))
    lossy.pass_time(40)
    assert lossy.state.task(job, 1).status == "running", "the host has returned"


@pytest.mark.statement("QI-3", "EX-12", "EX-11")
@pytest.mark.parametrize("step", [3600.0, -3600.0])
def test_setting_the_clock_neither_loses_hosts_nor_hides_their_loss(lossy: Cell, step: float) -> None:
    job, host = running(lossy, rerun=True)
    lossy.set_clock(step)
    lossy.pass_time(1)
    assert all(known.up for known in lossy.state.hosts.values())
    lossy.pass_time(400)
    assert not any(known.up for known in lossy.state.hosts.values()), "max_unheard is 5 minutes"
    lossy.set_clock(step)
    lossy.pass_time(30)
    assert lossy.state.task(job, 1).status == "running"
    lossy.pass_time(31)
    assert lossy.state.task(job, 1).status == "pending"


@pytest.mark.statement("QM-8", "QM-5", "QM-7")
def test_rescheduling_needs_an_operator_and_a_rerunnable_job(lossy: Cell) -> None:
    job, _ = running(lossy)
    push = {"targets": [str(job)], "action": "reschedule", "what": "job"}
    assert "not rerunnable" in lossy.admin("change_states", **push).answers[0][1]
    assert "privileges" in lossy.ask("change_states", **push).answers[0][1], "not even the owner"
    assert not lossy.state.task(job, 1).conditions
    lossy.admin("change_states", **push, force=True)
    assert "rescheduling" in lossy.state.task(job, 1).conditions


@pytest.mark.statement("QM-5")
def test_a_job_that_a_command_names_twice_is_pushed_back_once(lossy: Cell) -> None:
    job, host = running(lossy, rerun=True)
    lossy.master.lose_host(host)
    lossy.admin("change_states", targets=[str(job), f"{job}.1", str(job)], action="reschedule", what="job", force=True)
    assert lossy.state.task(job, 1).status == "pending"
    assert len(lossy.records(job)) == 1 and lossy.state.task(job, 1).restarts == 1


@pytest.mark.statement("QM-8", "CK-6")
def test_a_checkpointing_job_without_r_is_not_pushed_back(lossy: Cell) -> None:
    lossy.add("checkpoint", "save", when="x")
    lossy.configure("cluster_queue", "all.q", ckpt_list="save")
    job, _ = running(lossy, rerun=True, checkpoint="save")
    answer = lossy.admin("change_states", targets=[str(job)], action="reschedule", what="job")
    assert "occasions" in answer.answers[0][1] and "save" in answer.answers[0][1]


@pytest.mark.statement("SO-46")
def test_deletion_need_not_wait_for_a_host_that_is_gone(lossy: Cell) -> None:
    job, host = running(lossy)
    lose(lossy, host, 1)
    lossy.ask("delete_jobs", targets=[str(job)])
    assert lossy.state.task(job, 1).deleted_by == "alice"
    other, host = running(lossy)
    lossy.configure("configuration", "global", qmaster_params="ENABLE_FORCED_QDEL_IF_UNKNOWN=1")
    lose(lossy, host, 1)
    lossy.ask("delete_jobs", targets=[str(other)])
    assert other not in lossy.state.jobs
