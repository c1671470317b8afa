"""From dispatch to the end: the effects of host reports, deletions and restarts on tasks."""

from __future__ import annotations

import pytest

from daemons.schedd.cycle import schedule
from gridengine.placement.explanation import explanation
from gridengine.placement.pending import waiting_reason
from gridengine.protocols.delivery import Ended, Inventory, Load, Start, Started
from gridengine.state.jobs import SHORT_TRY_S
from gridengine.state.state_codes import instance_state_codes, running_state_codes
from tests.harness import LOAD, Cell


@pytest.mark.statement("SP-3", "EX-9")
def test_a_running_job_survives_the_master(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    places = cell.placed(job)
    cell.restart()
    assert cell.placed(job) == places
    assert cell.state.bookings.slots(places[0][0]) == 1
    cell.deliver()
    assert len(cell.starts) == 1, "a task that its host has is not delivered again"
    cell.end(job, exit_status=3)
    assert job not in cell.state.jobs
    assert [record.exit_status for record in cell.records(job)] == ["3"]


def test_a_task_that_was_not_acknowledged_is_delivered_again(cell: Cell) -> None:
    job = cell.submit()
    cell.place()
    cell.restart()
    assert cell.state.task(job, 1).status == "transferring"
    cell.deliver()
    assert [start.key for start in cell.starts] == [(job, 1, 1)]
    assert cell.state.task(job, 1).status == "running"


def test_the_end_of_a_task_counts_once(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    host = cell.running[job, 1, 1]
    ended = Ended((job, 1, 1), end_time=cell.now)
    for _ in range(2):
        verdicts = cell.report(host, ended, ended)
        assert [verdict.forget for verdict in verdicts] == [[(job, 1, 1)]] * 2
    assert len(cell.records(job)) == 1


def test_started_report_of_a_task_that_is_over_is_answered_forget(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    cell.end(job)
    assert cell.report("h1", Started((job, 1, 1), cell.now))[0].forget == [(job, 1, 1)]


@pytest.mark.statement("SO-32", "EX-2")
def test_exit_99_runs_the_task_again_with_a_new_attempt(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    cell.end(job, exit_status=99, failed=25)
    assert cell.state.task(job, 1).status == "pending"
    cell.cycle()
    assert cell.state.task(job, 1).attempt == 2
    assert running_state_codes(cell.state, cell.state.jobs[job], cell.state.task(job, 1)) == "Rr"
    assert cell.starts[-1].restarted == 1
    cell.end(job)
    assert len(cell.records(job)) == 2


@pytest.mark.statement("SO-32", "EX-2")
def test_a_task_that_ends_again_and_again_at_once_pauses_longer_and_longer(cell: Cell) -> None:
    job = cell.submit()
    starts = []
    begin = cell.now
    for _ in range(120):
        cell.cycle()
        if cell.running:
            starts.append(round(cell.now - begin))
            cell.end(job, exit_status=99, failed=25)
        else:
            cell.pass_time(0.5)
    assert starts == [0, 0, 1, 3, 7, 15, 30, 45]


@pytest.mark.statement("SO-32", "ST-18")
def test_a_pause_is_explained_and_ends_by_itself_or_when_the_clock_is_set_back(cell: Cell) -> None:
    job = cell.submit()
    for _ in range(2):
        cell.cycle()
        cell.end(job, exit_status=99, failed=25)
    reason = waiting_reason(cell.state, cell.state.jobs[job], cell.now)
    assert reason is not None
    assert reason.text == "job dropped for some seconds because its last 2 attempts ended within a minute each"
    assert explanation(cell.state, cell.state.jobs[job], cell.now).expected_start == cell.now + 1
    assert schedule(cell.mirror.view, cell.now).next_time == cell.now + 1
    assert waiting_reason(cell.state, cell.state.jobs[job], cell.now - 10) is None


@pytest.mark.statement("SO-32")
def test_a_task_that_ran_for_a_minute_does_not_pause(cell: Cell) -> None:
    job = cell.submit()
    for _ in range(4):
        cell.cycle()
        cell.pass_time(SHORT_TRY_S)
        cell.end(job, exit_status=99, failed=25)
    assert waiting_reason(cell.state, cell.state.jobs[job], cell.now) is None


@pytest.mark.statement("EX-2")
def test_exit_100_puts_the_job_into_error_state_until_cleared(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    cell.end(job, exit_status=100, failed=30)
    assert cell.state.task(job, 1).error
    cell.cycle()
    assert cell.state.task(job, 1).status == "pending"
    assert cell.ask("change_states", "bob", action="clear", what="job", targets=[str(job)]).status == 1, "another user's"
    assert cell.ask("change_states", action="clear", what="job", targets=[str(job)]).status == 0
    cell.cycle()
    assert cell.state.task(job, 1).status == "running"


@pytest.mark.statement("EX-4", "EX-5")
@pytest.mark.parametrize("failed", [26, 27, 28])
def test_a_fault_of_the_job_leaves_the_queue_alone(cell: Cell, failed: int) -> None:
    job = cell.submit(shells=[("", "/no/shell")])
    cell.cycle()
    instance = cell.placed(job)[0][0]
    cell.end(job, failed=failed, reason="can't chdir to /x")
    assert cell.state.task(job, 1).error.endswith(f": can't chdir to /x (on host {instance.partition('@')[2]})")
    assert cell.state.instances[instance].errors == []


@pytest.mark.statement("EX-3", "QI-10")
def test_a_failing_prolog_puts_the_instance_into_error_and_the_job_runs_elsewhere(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    instance = cell.placed(job)[0][0]
    cell.end(job, failed=8)
    assert "E" in instance_state_codes(cell.state, cell.state.instances[instance])
    cell.cycle()
    assert cell.placed(job)[0][0] != instance
    cell.restart()
    assert cell.state.instances[instance].errors, "QI-13: it survives"
    cell.admin("change_states", action="clear", what="queue", targets=[instance])
    assert not cell.state.instances[instance].errors


@pytest.mark.statement("SO-46", "AJ-6")
def test_deleting_a_running_task_kills_it_and_waits_for_its_end(cell: Cell) -> None:
    job = cell.submit(tasks="1-3")
    cell.cycle()
    assert cell.ask("delete_jobs", targets=[f"{job}.2"]).answers == [
        ("info", f"alice has registered the job-array task {job}.2 for deletion")
    ]
    cell.deliver()
    assert [(key, command) for _, key, command in cell.signals] == [((job, 2, 1), "kill")]
    cell.deliver()
    assert len(cell.signals) == 1, "a command that was carried out is not sent again"
    assert cell.ask("delete_jobs", targets=[f"{job}.2"]).answers[0][1].endswith("already in deletion")
    cell.end(job, 2, 137, 100)
    assert sorted(cell.state.jobs[job].tasks) == [1, 3]


def test_a_deleted_task_is_not_run_again_even_at_exit_status_99(cell: Cell) -> None:
    job = cell.submit(rerun=True)
    cell.cycle()
    cell.ask("delete_jobs", targets=[str(job)])
    cell.end(job, exit_status=99, failed=25)
    assert job not in cell.state.jobs


@pytest.mark.statement("SO-46", "QM-7")
def test_a_user_may_not_delete_jobs_of_another_user(cell: Cell) -> None:
    job = cell.submit()
    assert cell.ask("delete_jobs", "bob", targets=[str(job)]).status == 1
    assert job in cell.state.jobs
    assert cell.ask("delete_jobs", "bob", targets=["sleep"]).answers == [("error", "The job sleep of user(s) bob does not exist")]


def test_a_job_named_twice_in_one_command_is_deleted_once(cell: Cell) -> None:
    job = cell.submit(tasks="1-5")
    answer = cell.ask("delete_jobs", targets=[f"{job}.2", str(job), "sleep"])
    assert [text for _, text in answer.answers] == [
        f"alice has deleted job-array task {job}.2",
        f"alice has deleted job {job}",
        "The job sleep of user(s) alice does not exist",
    ]
    assert cell.state.jobs == {}


@pytest.mark.statement("SO-48")
def test_forced_deletion_is_for_operators_and_the_host_is_instructed_to_forget(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    assert cell.ask("delete_jobs", targets=[str(job)], force=True).status == 1
    cell.admin("delete_jobs", targets=[str(job)], force=True)
    assert job not in cell.state.jobs
    host = cell.running[job, 1, 1]
    assert cell.inventory(host)[0].forget == [(job, 1, 1)]


@pytest.mark.statement("QM-7", "CX-47")
def test_suspending_and_resuming_a_job(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    assert cell.ask("change_states", action="suspend", what="job", targets=[str(job)]).answers == [
        ("info", f"alice - suspended job {job}")
    ]
    cell.deliver()
    assert running_state_codes(cell.state, cell.state.jobs[job], cell.state.task(job, 1)) == "s"
    assert cell.state.bookings.slots(cell.placed(job)[0][0]) == 1
    cell.ask("change_states", action="unsuspend", what="job", targets=[str(job)])
    cell.deliver()
    assert [command for _, _, command in cell.signals] == ["suspend", "run"]


@pytest.mark.statement("QM-4", "QI-6")
def test_a_queue_suspends_its_jobs_but_releases_only_its_own_suspension(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    instance = cell.placed(job)[0][0]
    cell.ask("change_states", action="suspend", what="job", targets=[str(job)])
    cell.admin("change_states", action="suspend", what="queue", targets=[instance])
    cell.deliver()
    cell.admin("change_states", action="unsuspend", what="queue", targets=[instance])
    cell.deliver()
    assert [command for _, _, command in cell.signals] == ["suspend"]
    cell.ask("change_states", action="unsuspend", what="job", targets=[str(job)])
    cell.deliver()
    assert [command for _, _, command in cell.signals] == ["suspend", "run"]


@pytest.mark.statement("QM-8")
def test_rescheduling_needs_a_rerunnable_job(cell: Cell) -> None:
    stays, again = cell.submit(), cell.submit(rerun=True)
    cell.cycle()
    refused = cell.admin("change_states", action="reschedule", what="job", targets=[str(stays)])
    assert "not rerunnable" in refused.answers[0][1]
    cell.admin("change_states", action="reschedule", what="job", targets=[str(again)])
    cell.deliver()
    cell.end(again, exit_status=137, failed=100)
    assert cell.state.task(again, 1).status == "pending"
    assert cell.records(again)[0].failed == "25"


@pytest.mark.statement("QM-9")
@pytest.mark.parametrize(
    ("parameters", "tasks", "behind"),
    [
        ("none", "", True),
        ("none", "1-2", True),
        ("OLD_RESCHEDULE_BEHAVIOR=1", "", False),
        ("OLD_RESCHEDULE_BEHAVIOR=false", "", True),
        ("OLD_RESCHEDULE_BEHAVIOR=1", "1-2", True),
        ("OLD_RESCHEDULE_BEHAVIOR_ARRAY_JOB=true", "1-2", False),
    ],
)
def test_a_rescheduled_job_waits_behind_the_others(cell: Cell, parameters: str, tasks: str, behind: bool) -> None:
    cell.configure("configuration", "global", qmaster_params=parameters)
    cell.configure("host_group", "@allhosts", hostlist="h1")
    cell.configure("cluster_queue", "all.q", slots="1")
    first = cell.submit(rerun=True, tasks=tasks)
    cell.cycle()
    cell.now += 5
    second = cell.submit()
    cell.now += 5
    submitted = cell.state.jobs[first].submit_time
    cell.admin("change_states", action="reschedule", what="job", targets=[str(first)])
    cell.deliver()
    cell.end(first, exit_status=137)
    assert cell.state.jobs[first].submit_time == (cell.now if behind else submitted)
    assert cell.records(first)[0].submission_time == str(int(submitted)), "the try that is over keeps its own time"
    cell.cycle()
    assert bool(cell.placed(second)) == behind


def test_a_job_that_comes_back_by_itself_keeps_its_place(cell: Cell) -> None:
    job = cell.submit(rerun=True)
    submitted = cell.state.jobs[job].submit_time
    cell.cycle()
    cell.now += 5
    cell.end(job, exit_status=99, failed=25)
    assert cell.state.jobs[job].submit_time == submitted


@pytest.mark.statement("EX-10", "QC-17")
def test_a_rebooted_host_loses_its_tasks_and_rerunnable_ones_run_again(cell: Cell) -> None:
    cell.configure("host_group", "@allhosts", hostlist="h1")
    lost, again = cell.submit(rerun=False), cell.submit(rerun=True)
    cell.cycle()
    cell.running.clear()
    cell.report("h1", Load(cell.now, dict(LOAD), full=True, incarnation="boot2"), Inventory([], "boot2"))
    assert lost not in cell.state.jobs
    assert cell.records(lost)[0].failed == "21"
    assert cell.state.task(again, 1).status == "pending"
    assert cell.state.bookings.slots("all.q@h1") == 0


@pytest.mark.statement("EX-10")
def test_a_reboot_brings_no_deleted_task_back(cell: Cell) -> None:
    cell.configure("host_group", "@allhosts", hostlist="h1")
    job = cell.submit(rerun=True)
    cell.place()
    assert cell.state.task(job, 1).status == "transferring"
    assert cell.ask("delete_jobs", targets=[str(job)]).status == 0
    cell.report("h1", Load(cell.now, dict(LOAD), full=True, incarnation="boot2"), Inventory([], "boot2"))
    assert job not in cell.state.jobs


@pytest.mark.statement("EX-9")
def test_an_end_that_comes_with_the_inventory_is_believed(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    host = cell.running.pop((job, 1, 1))
    ended = Ended((job, 1, 1), exit_status=4, end_time=cell.now)
    cell.report(host, ended, Inventory([]))
    assert [record.exit_status for record in cell.records(job)] == ["4"]


@pytest.mark.statement("QI-3", "EX-12", "LS-8")
def test_a_silent_host_becomes_unknown_and_comes_back(cell: Cell) -> None:
    cell.configure("configuration", "global", max_unheard="00:00:40")
    cell.now += 41
    cell.report("h2", Load(cell.now))
    cell.master.tick()
    states = {name: instance_state_codes(cell.state, instance) for name, instance in cell.state.instances.items()}
    assert states == {"all.q@h1": "u", "all.q@h2": "", "all.q@h3": "u"}
    assert cell.state.hosts["h1"].load == {"arch": "lx-amd64", "num_proc": "4"}, "what never changes"
    jobs = [cell.submit() for _ in range(6)]
    cell.cycle()
    assert sum(bool(cell.placed(job)) for job in jobs) == 4
    cell.report("h1", Load(cell.now, dict(LOAD), full=True))
    cell.cycle()
    assert all(cell.placed(job) for job in jobs)


@pytest.mark.statement("AC-1", "OB-6", "QA-4")
def test_the_accounting_record_has_its_45_fields_in_order(cell: Cell) -> None:
    cell.configure("cluster_queue", "all.q", priority="7")
    job = cell.submit(name="a:b".replace(":", "_"), account="acct", pe="smp", pe_range="2", tasks="7", priority=-5)
    cell.cycle()
    host = cell.placed(job, 7)[0][0].partition("@")[2]
    cell.end(job, 7, exit_status=5)
    (record,) = cell.records(job)
    assert len(record) == 45
    assert record[:7] == ("all.q", host, "users", "alice", "a_b", str(job), "acct")
    assert record.priority == "7", "priority is that of the queue"
    assert (record.failed, record.exit_status) == ("0", "5")
    assert (record.granted_pe, record.slots, record.task_number) == ("smp", "2", "7")
    text = (cell.directory / "accounting").read_text().splitlines()[-1]
    assert tuple(text.split(":")) == record


@pytest.mark.statement("CQ-29", "CQ-31")
def test_an_instance_with_a_job_is_orphaned_and_goes_with_its_last_job(cell: Cell) -> None:
    cell.configure("host_group", "@allhosts", hostlist="h1")
    job = cell.submit()
    cell.cycle()
    cell.configure("host_group", "@allhosts", hostlist="h2 h3")
    assert instance_state_codes(cell.state, cell.state.instances["all.q@h1"]) == "o"
    waiting = [cell.submit() for _ in range(9)]
    cell.cycle()
    assert all(place[0] != "all.q@h1" for other in waiting for place in cell.placed(other))
    cell.configure("host_group", "@allhosts", hostlist="h1 h2 h3")
    assert instance_state_codes(cell.state, cell.state.instances["all.q@h1"]) == ""
    cell.configure("host_group", "@allhosts", hostlist="h2 h3")
    cell.end(job)
    assert "all.q@h1" not in cell.state.instances


def test_a_start_has_all_that_a_host_needs(cell: Cell) -> None:
    cell.configure("parallel_environment", "mpi", start_proc_args="/pe/start $host")
    cell.configure("cluster_queue", "all.q", shell="/bin/ksh", priority="5", h_rt="1:0:0", processors="1-3", epilog="/bye")
    job = cell.submit(binary=False, script="echo\n", script_file="s.sh", environment={"X": "1"}, pe="mpi", pe_range="6")
    cell.cycle()
    (start,) = cell.starts
    assert isinstance(start, Start)
    assert start.script, "which the batch brings along"
    assert start.environment == {"X": "1"}
    assert (start.queue.shell, start.queue.priority, start.queue.processors) == ("/bin/ksh", 5, "1-3")
    assert (start.queue.epilog, start.queue.prolog, start.queue.limits) == ("/bye", None, {"h_rt": 3600.0})
    assert (start.pe_name, start.pe_start, start.pe_stop) == ("mpi", "/pe/start $host", None)
    assert sum(grant.slots for grant in start.granted) == 6
    assert (start.job.id, start.job.tasks) == (job, {})


@pytest.mark.statement("ST-25")
def test_a_job_whose_host_reports_no_time_of_its_end_ends_as_it_began(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    began = cell.now
    cell.now += 60
    cell.report(cell.running.pop((job, 1, 1)), Ended((job, 1, 1)))
    assert [(ended.id, ended.end_time) for ended in cell.state.finished] == [(job, began)]
