"""Tasks on a host that are not in the spool: kept as orphans, adopted, or forgotten, but never killed for not being known."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from daemons.qmaster.queries.reading import READERS
from gridengine.protocols.delivery import Ended, Inventory, Load, Origin, Started, UsageReport
from gridengine.protocols.gdi.requests import Caller
from gridengine.state.hosts import OrphanTask
from gridengine.state.jobs import Usage
from gridengine.values.task_key import TaskKey
from tests.harness import LOAD, Cell

KEY = TaskKey(77, 1, 1)
ORIGIN = Origin("bob", 5.0)


def send_inventory(
    cell: Cell, key: TaskKey = KEY, origin: Origin = ORIGIN, host: str = "h1"
) -> tuple[list[TaskKey], list[TaskKey]]:
    """The host's inventory has this one task; the tasks to be forgotten, and the orphans."""
    verdict = cell.report(host, Inventory([key], "boot1", [origin]))[0]
    return verdict.forget, verdict.orphans


def heard(cell: Cell) -> None:
    """All hosts report after a start of the master."""
    for name in cell.names:
        cell.report(name, Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))


def start_one(cell: Cell, **fields: object) -> tuple[int, str]:
    """A running job and its host."""
    job = cell.submit(**fields)
    cell.cycle()
    return job, cell.running[(job, 1, 1)]


def save(cell: Cell, copy: Path) -> Path:
    """Copy the spool as it is now."""
    cell.master.spool._db.execute("pragma wal_checkpoint(truncate)")
    shutil.copy(cell.directory / "spool.db", copy)
    return copy


def restore(cell: Cell, copy: Path) -> None:
    """The master ends, an earlier spool is put in the place of its own, and it starts again."""
    cell.master.spool.close()
    shutil.copy(copy, cell.directory / "spool.db")
    cell.restart()
    heard(cell)


@pytest.mark.statement("EX-9")
def test_orphans_are_left_alone_and_logged_once(cell: Cell, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        assert send_inventory(cell) == ([], [KEY])
    assert caplog.text.count('host h1 has task 77.1 of user "bob", which this cell does not know') == 1
    assert cell.state.hosts["h1"].orphans == [OrphanTask(KEY, "bob", 5.0)]
    listed = READERS["strays"](cell.master, {}, Caller("alice", 1001, "users", 100, "h1"))
    assert listed.data == {"strays": [["h1", 77, 1, "bob", 5.0]]}
    assert cell.submit() == 78, "no new job gets its number"
    cell.report("h1", Inventory([], "boot1"))
    assert not cell.state.hosts["h1"].orphans


def test_job_numbers_stay_above_those_of_orphans_after_a_restart(cell: Cell) -> None:
    send_inventory(cell)
    cell.restart()
    assert cell.state.next_job_id == 78


@pytest.mark.statement("EX-9")
def test_no_report_of_an_orphan_ends_it_or_loses_its_end(cell: Cell) -> None:
    send_inventory(cell)
    verdicts = cell.report("h1", Started(KEY, 1.0), UsageReport(KEY, Usage(1.0)), UsageReport((*KEY, 1), Usage(1.0)), Ended(KEY))
    assert [verdict.forget for verdict in verdicts] == [[], [], [], []]
    assert verdicts[3].orphans == [KEY]


def test_a_master_that_knows_nothing_kills_nothing(cell: Cell, tmp_path: Path) -> None:
    """After `start --fresh` all hosts still have the tasks of the spool that is lost."""
    jobs = [start_one(cell) for _ in range(3)]
    fresh = Cell(tmp_path / "fresh")
    fresh.running, fresh.starts = dict(cell.running), cell.starts
    for name in fresh.names:
        assert not fresh.inventory(name)[0].forget
    fresh.deliver()
    assert set(fresh.running) == {(job, 1, 1) for job, _ in jobs}
    assert fresh.submit() == max(job for job, _ in jobs) + 1


@pytest.mark.statement("SO-48")
def test_an_operator_ends_orphans_by_force(cell: Cell) -> None:
    cell.running[KEY] = "h1"
    send_inventory(cell)
    assert cell.ask("delete_jobs", "alice", targets=["77"]).status == 1
    assert cell.ask("delete_jobs", "alice", targets=["77"], force=True).status == 1
    assert cell.admin("delete_jobs", targets=["77"]).answers == [("error", 'denied: job "77" does not exist')]
    assert cell.admin("delete_jobs", targets=["77.2"], force=True).status == 1
    answer = cell.admin("delete_jobs", targets=["77"], force=True)
    assert answer.answers == [("info", "root forced the end of the orphan task 77.1 on host h1")]
    cell.restart()
    cell.deliver()
    assert KEY not in cell.running
    assert not cell.state.hosts["h1"].abandoned and not cell.state.hosts["h1"].orphans


def test_an_orphan_that_is_to_end_is_forgotten_by_a_host_that_comes_back(cell: Cell) -> None:
    send_inventory(cell)
    cell.admin("delete_jobs", targets=["77.1"], force=True)
    assert send_inventory(cell) == ([KEY], [])


@pytest.mark.statement("EX-9")
def test_a_restored_master_adopts_what_began_after_its_spool_was_saved(cell: Cell, tmp_path: Path) -> None:
    job = cell.submit()
    copy = save(cell, tmp_path / "saved")
    cell.cycle()
    host, before = cell.running[(job, 1, 1)], cell.placed(job)
    restore(cell, copy)
    verdict = cell.inventory(host)[0]
    assert (verdict.forget, verdict.orphans) == ([], [])
    assert cell.placed(job) == before
    assert cell.state.slots_used(before[0][0]) == 1
    cell.cycle()
    assert [start.key for start in cell.starts] == [(job, 1, 1)], "it is not started again"
    cell.end(job, exit_status=3)
    assert [fields.exit_status for fields in cell.records(job)] == ["3"]


def test_the_end_that_comes_with_the_adoption_is_taken_when_it_is_reported_again(cell: Cell, tmp_path: Path) -> None:
    job = cell.submit()
    copy = save(cell, tmp_path / "saved")
    cell.cycle()
    key, ended = (job, 1, 1), Ended((job, 1, 1), exit_status=3, end_time=cell.now)
    host = cell.running[key]
    restore(cell, copy)
    inventory = Inventory([key], "boot1", [Origin.of(cell.starts[0])])
    assert not cell.report(host, inventory, ended)[1].ok
    assert cell.report(host, ended)[0].forget == [key]
    assert [fields.exit_status for fields in cell.records(job)] == ["3"]


def test_of_two_later_attempts_of_a_task_the_last_is_adopted(cell: Cell, tmp_path: Path) -> None:
    """The host does not know yet that the end of the first was taken."""
    job = cell.submit()
    copy = save(cell, tmp_path / "saved")
    cell.cycle()
    host, origin = cell.running[(job, 1, 1)], Origin.of(cell.starts[0])
    restore(cell, copy)
    first, second = (job, 1, 1), (job, 1, 2)
    verdict = cell.report(host, Inventory([first, second], "boot1", [origin, origin]))[0]
    assert (verdict.forget, verdict.orphans) == ([first], [])
    assert cell.state.task(job, 1, 2).status == "running"
    assert sum(cell.state.slots_used(name) for name in cell.state.instances) == 1


def test_a_task_that_cannot_be_adopted_is_an_orphan(cell: Cell) -> None:
    """Its queue is gone, or the host runs a version that does not say which places a task has."""
    job = cell.submit()
    submitted = cell.state.jobs[job].submit_time
    for origin in (Origin("alice", submitted), Origin()):
        assert send_inventory(cell, (job, 1, 1), origin) == ([], [(job, 1, 1)])
        assert cell.state.hosts["h1"].orphans


@pytest.mark.parametrize("other", ["owner", "time", "host"])
def test_numbers_alone_do_not_make_a_task_the_cells_own(cell: Cell, other: str) -> None:
    """A job of an earlier life of the cell had the number that a running job has."""
    job, host = start_one(cell)
    mine = Origin.of(cell.starts[-1])
    changes = {"owner": Origin("bob", mine.submit_time), "time": Origin("alice", 5.0), "host": mine}
    where = next(name for name in cell.names if name != host) if other == "host" else host
    assert send_inventory(cell, (job, 1, 1), changes[other], where) == ([], [(job, 1, 1)])
    assert send_inventory(cell, (job, 1, 1), mine, host) == ([], [])


def test_the_end_of_an_earlier_job_of_the_same_number_is_known(cell: Cell) -> None:
    """The task was deleted by force while its host was away; later another job got its number."""
    job, host = start_one(cell)
    mine = Origin.of(cell.starts[-1])
    cell.admin("delete_jobs", targets=[str(job)], force=True)
    cell.state.hosts[host].abandoned.clear()
    assert send_inventory(cell, (job, 1, 1), mine, host) == ([(job, 1, 1)], [])
    cell.state.next_job_id = job
    assert cell.submit("bob") == job
    assert send_inventory(cell, (job, 1, 1), mine, host) == ([(job, 1, 1)], [])
    assert send_inventory(cell, (job, 1, 1), Origin("alice", 5.0), host) == ([], [(job, 1, 1)]), "no task of another owner"


@pytest.mark.statement("QM-9")
def test_a_job_that_was_put_behind_others_keeps_its_running_tasks(cell: Cell) -> None:
    job = cell.submit(tasks="1-2", rerun=True)
    cell.cycle()
    cell.now += 100
    cell.admin("change_states", action="reschedule", what="job", targets=[f"{job}.1"])
    cell.deliver()
    cell.end(job, 1, failed=25)
    assert cell.state.jobs[job].submit_time > cell.state.jobs[job].submitted
    host = cell.running[(job, 2, 1)]
    verdict = cell.inventory(host)[0]
    assert (verdict.forget, verdict.orphans) == ([], [])


@pytest.mark.parametrize(
    ("target", "ended"),
    [
        ("77", [(77, 1, 1), (77, 12, 1)]),
        ("77.1", [(77, 1, 1)]),
        ("77.12", [(77, 12, 1)]),
        ("78", [(78, 1, 1)]),
        ("7", []),
        ("77.2", []),
        ("*", []),
        ("77.1-2", []),
    ],
)
def test_a_target_selects_only_the_orphans_of_its_job_or_task(cell: Cell, target: str, ended: list[TaskKey]) -> None:
    keys = [(77, 1, 1), (77, 12, 1), (78, 1, 1)]
    cell.report("h1", Inventory(keys, "boot1", [ORIGIN] * 3))
    answer = cell.admin("delete_jobs", targets=[target], force=True, users=[])
    assert (answer.status == 0) == bool(ended)
    expected = [f"root forced the end of the orphan task {job}.{task} on host h1" for job, task, _ in ended]
    assert [text for level, text in answer.answers if level == "info"] == expected
    assert sorted(cell.state.hosts["h1"].abandoned) == ended


@pytest.mark.statement("EX-9")
@pytest.mark.parametrize("missing", ["queue", "pe", "nothing"])
def test_a_task_is_adopted_if_its_queue_instances_still_exist(cell: Cell, tmp_path: Path, missing: str) -> None:
    cell.add("parallel_environment", "two", pe_name="two", slots="99", allocation_rule="1")
    cell.add("cluster_queue", "x.q", hostlist="h1 h2", pe_list="two", slots="1")
    job = cell.submit(pe="two", pe_range="2", hard_queues=["x.q"])
    copy = save(cell, tmp_path / "saved")
    cell.cycle()
    host, origin = cell.running[(job, 1, 1)], Origin.of(cell.starts[0])
    restore(cell, copy)
    if missing == "queue":
        other = next(name for name in ("h1", "h2") if name != host)
        cell.configure("cluster_queue", "x.q", hostlist=host, slots="1")
        assert f"x.q@{other}" not in cell.state.instances
    if missing == "pe":
        cell.ask("alter_jobs", targets=[str(job)], changes={"pe": "", "pe_range": ""})
        cell.configure("cluster_queue", "x.q", pe_list="NONE")
        assert cell.admin("config_delete", kind="parallel_environment", name="two").status == 0
    adopted = send_inventory(cell, (job, 1, 1), origin, host) == ([], [])
    assert adopted == (missing == "nothing")
    task = cell.state.task(job, 1)
    assert (task is not None and task.status == "running") == adopted
    if adopted:
        assert (task.pe, sorted(grant.instance for grant in task.granted)) == ("two", ["x.q@h1", "x.q@h2"])


def test_only_numbers_that_are_not_given_out_yet_are_raised(cell: Cell) -> None:
    job = cell.submit()
    send_inventory(cell, (job + 5, 1, 1))
    assert cell.submit() == job + 6
    send_inventory(cell, (job + 7, 1, 1))
    assert cell.submit() == job + 8, "the next one would have had it"
    send_inventory(cell, (job + 3, 1, 1))
    assert cell.submit() == job + 9


def test_a_slave_of_an_adopted_attempt_stays_an_orphan(cell: Cell, tmp_path: Path) -> None:
    """Nothing is known of it but its number: its client cannot be notified of its end."""
    job = cell.submit()
    copy = save(cell, tmp_path / "saved")
    cell.cycle()
    host, origin = cell.running[(job, 1, 1)], Origin.of(cell.starts[0])
    restore(cell, copy)
    keys: list[TaskKey] = [(job, 1, 1), (job, 1, 1, 1)]  # type: ignore[list-item]
    verdict = cell.report(host, Inventory(keys, "boot1", [origin, origin]))[0]
    assert (verdict.forget, verdict.orphans) == ([], keys[1:])


def test_an_owner_who_may_force_deletions_ends_no_orphans(cell: Cell) -> None:
    cell.configure("configuration", "global", qmaster_params="ENABLE_FORCED_QDEL=true")
    send_inventory(cell)
    answer = cell.ask("delete_jobs", "bob", targets=["77"], force=True)
    assert answer.answers == [("error", 'denied: job "77" does not exist')]
    assert cell.state.hosts["h1"].orphans


@pytest.mark.statement("EX-9")
@pytest.mark.parametrize("expected", [True, False])
def test_an_adopted_task_has_run_since_the_time_that_its_host_reports(cell: Cell, tmp_path: Path, expected: bool) -> None:
    job = cell.submit()
    copy = save(cell, tmp_path / "saved")
    cell.cycle()
    host, origin = cell.running[(job, 1, 1)], Origin.of(cell.starts[0])
    restore(cell, copy)
    began = cell.now
    cell.now += 30
    send_inventory(cell, (job, 1, 1), msgspec.structs.replace(origin, time=began if expected else 0.0), host)
    assert cell.state.task(job, 1).start_time == (began if expected else cell.now)


@pytest.mark.statement("EX-9")
def test_earlier_attempts_have_ended_and_later_ones_without_slots_are_orphans(cell: Cell) -> None:
    job, host = start_one(cell, rerun=True, tasks="1-2")
    cell.end(job, 1, exit_status=99, failed=25)
    cell.end(job, 2)
    own = Origin("alice", cell.state.jobs[job].submitted)
    assert cell.state.task(job, 1).status == "pending"
    for key in ((job, 1, 1), (job, 2, 1), (job, 2, 2)):
        assert send_inventory(cell, key, own, host) == ([key], []), "this try is over, or that task"
    assert send_inventory(cell, (job, 1, 2), own, host) == ([], [(job, 1, 2)])


@pytest.mark.statement("EX-9")
def test_a_host_that_is_not_of_the_cell_has_orphans_alone(cell: Cell) -> None:
    job, _ = start_one(cell)
    for key in ((job, 1, 1), KEY):
        assert cell.report("h8", UsageReport(key, Usage(cpu=1.0)))[0].forget == []
    assert cell.state.task(job, 1).usage is None
