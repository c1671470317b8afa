"""Deletion by force and of many jobs: the parameters of qmaster_params, and slices between which other requests are served."""

import asyncio
from typing import Any

import msgspec
import pytest

from daemons.qmaster.serve.requests.slices import SLICE as SLICES
from daemons.qmaster.serve.requests.slices import slices
from daemons.qmaster.serve.service import Service
from gridengine.protocols.delivery import UsageReport
from gridengine.protocols.gdi.requests import Answer, Caller, DeleteJobs
from gridengine.state.jobs import Usage
from tests.harness import Cell
from tests.service_callbacks import IdleCallbacks

ALICE = Caller("alice", 1001, "users", 100, "h1")
SLICE = SLICES[DeleteJobs]


def running(cell: Cell) -> tuple[int, str]:
    job = cell.submit()
    cell.cycle()
    return job, cell.state.jobs[job].tasks[1].host


@pytest.mark.statement("SO-48")
def test_an_owner_may_force_what_its_host_does_not_answer_for(cell: Cell) -> None:
    job, host = running(cell)
    assert cell.ask("delete_jobs", targets=[str(job)], force=True).status == 1
    cell.configure("configuration", "global", qmaster_params="ENABLE_FORCED_QDEL=true")
    answer = cell.ask("delete_jobs", targets=[str(job)], force=True)
    assert "registered" in answer.answers[0][1] and job in cell.state.jobs, "a regular deletion comes first"
    cell.master.lose_host(host)
    answer = cell.ask("delete_jobs", targets=[str(job)], force=True)
    assert "forced" in answer.answers[0][1] and job not in cell.state.jobs
    other, _ = running(cell)
    assert cell.ask("delete_jobs", "bob", targets=[str(other)], force=True).status == 1 and other in cell.state.jobs


@pytest.mark.statement("SO-46", "AC-5")
def test_without_force_an_operator_waits_for_the_host_as_well(cell: Cell) -> None:
    job, _ = running(cell)
    assert cell.admin("delete_jobs", targets=[str(job)]).status == 0
    assert job in cell.state.jobs
    assert cell.admin("delete_jobs", targets=[str(job)], force=True).status == 0
    assert job not in cell.state.jobs
    assert [fields.failed for fields in cell.records(job)] == ["37"]


@pytest.mark.statement("SO-46", "QF-14")
@pytest.mark.parametrize("how", ["qdel -f", "qconf -cq"])
def test_a_forced_deletion_kills_the_task_on_its_host_at_once(cell: Cell, how: str) -> None:
    job, host = running(cell)
    name, fields = {
        "qdel -f": ("delete_jobs", {"targets": [str(job)], "force": True}),
        "qconf -cq": ("clean_queues", {"queues": [f"all.q@{host}"]}),
    }[how]
    assert cell.admin(name, **fields).status == 0 and job not in cell.state.jobs
    cell.restart()
    cell.deliver()
    assert (job, 1, 1) not in cell.running, "the host was told, and needs no restart for it"
    assert cell.state.hosts[host].abandoned == []


@pytest.mark.statement("EX-9")
def test_a_host_that_measures_an_ended_task_is_instructed_to_forget_it(cell: Cell) -> None:
    job, host = running(cell)
    assert cell.report(host, UsageReport((job, 1, 1), Usage(1.0)))[0].forget == []
    assert cell.report(host, UsageReport((job, 1, 0), Usage(1.0)))[0].forget == [(job, 1, 0)]
    assert cell.report(host, UsageReport((job, 1, 0, 7), Usage(1.0)))[0].forget == [(job, 1, 0, 7)]


@pytest.mark.statement("SO-48")
def test_without_force_a_deletion_waits_unless_the_cell_is_configured_otherwise(cell: Cell) -> None:
    job, host = running(cell)
    cell.master.lose_host(host)
    assert "registered" in cell.ask("delete_jobs", targets=[str(job)]).answers[0][1] and job in cell.state.jobs
    cell.configure("configuration", "global", qmaster_params="ENABLE_FORCED_QDEL_IF_UNKNOWN")
    assert "forced" in cell.ask("delete_jobs", targets=[str(job)]).answers[0][1] and job not in cell.state.jobs
    job, host = running(cell)
    assert "registered" in cell.ask("delete_jobs", targets=[str(job)]).answers[0][1], "its host answers"


@pytest.mark.statement("SO-46")
def test_a_name_means_jobs_of_the_caller_also_of_an_operator(cell: Cell) -> None:
    mine, other = cell.submit(name="x", holds="u"), cell.submit("bob", name="x", holds="u")
    answer = cell.admin("delete_jobs", targets=["x"])
    assert (answer.status, answer.answers) == (1, [("error", "The job x of user(s) root does not exist")])
    assert cell.admin("delete_jobs", targets=["x*", str(other)]).answers[1] == ("info", f"root has deleted job {other}")
    assert cell.admin("delete_jobs", targets=["x"], users=["alice"]).status == 0
    assert mine not in cell.state.jobs


@pytest.mark.statement("SO-46")
def test_a_task_that_is_named_is_what_was_deleted(cell: Cell) -> None:
    job = cell.submit(tasks="1-2", holds="u")
    for target in (f"{job}.1", f"{job}.2"):
        assert cell.ask("delete_jobs", targets=[target]).answers == [("info", f"alice has deleted job-array task {target}")]
    job = cell.submit(tasks="1-2", holds="u")
    assert cell.ask("delete_jobs", targets=[str(job)]).answers == [("info", f"alice has deleted job {job}")]


@pytest.mark.statement("SO-47")
def test_many_jobs_are_deleted_in_slices(cell: Cell) -> None:
    jobs = [cell.submit(name=f"many{i % 3}") for i in range(SLICE + 30)]
    request = DeleteJobs(targets=["nosuch", "many*", "7.1"])
    parts = [part for part in slices(cell.state, request, ALICE, False) if part is not None]
    assert [len(part.targets) for part in parts] == [SLICE, 32]
    assert [target for part in parts for target in part.targets] == ["nosuch", *map(str, jobs), "7.1"]
    small = DeleteJobs(targets=[*map(str, jobs[:SLICE])])
    assert list(slices(cell.state, small, ALICE, False)) == [small]


@pytest.mark.statement("SO-47", "SO-46")
def test_other_requests_are_served_between_the_slices(cell: Cell) -> None:
    for _ in range(3 * SLICE):
        cell.submit()
    seen: list[int] = []

    async def both() -> Answer:
        service = Service(cell.master, IdleCallbacks())
        body = msgspec.json.encode({"users": ["alice"]})
        deletion = asyncio.get_running_loop().create_task(service.answer("delete_jobs", body, ALICE))
        while not deletion.done():
            await service.answer("hold_jobs", msgspec.json.encode({"targets": ["1"], "holds": "u"}), ALICE)
            seen.append(len(cell.state.jobs))
            await asyncio.sleep(0)
        return await deletion

    answer = asyncio.run(both())
    assert (answer.status, len(answer.answers), len(cell.state.jobs)) == (0, 3 * SLICE, 0)
    assert 0 < min(filter(None, seen)) < 3 * SLICE


@pytest.mark.statement("SO-46", "EX-1")
def test_an_operators_deletion_ends_also_what_runs_after_the_job_and_again_at_each_repetition(cell: Cell) -> None:
    job, _ = running(cell)

    def instructions() -> list[str]:
        cell.signals.clear()
        cell.deliver()
        return [command for _, key, command in cell.signals if key[0] == job]

    cell.ask("delete_jobs", targets=[str(job)])
    assert instructions() == ["kill"]
    assert "already in deletion" in cell.ask("delete_jobs", targets=[str(job)]).answers[0][1] and instructions() == []
    for _ in range(2):
        assert "already in deletion" in cell.admin("delete_jobs", targets=[str(job)]).answers[0][1]
        assert (instructions(), instructions()) == (["end"], [])
    assert cell.state.jobs[job].tasks[1].deleted_by == "alice"


@pytest.mark.statement("SO-46")
@pytest.mark.parametrize(("listed", "status"), [(("submit_host",), 0), (("admin_host",), 0), ((), 1)])
def test_jobs_are_deleted_from_submit_or_admin_hosts(cell: Cell, listed: tuple[str, ...], status: int) -> None:
    job = cell.submit()
    for kind in {"submit_host", "admin_host"} - set(listed):
        assert cell.admin("config_delete", kind=kind, name="h2").status == 0
    answer = cell.ask("delete_jobs", "alice", "h2", targets=[str(job)])
    assert answer.status == status
    assert (job in cell.state.jobs) == bool(status)
    if status:
        assert answer.answers == [("error", 'denied: host "h2" is neither submit nor admin host')]


@pytest.mark.statement("SO-46", "SO-48")
@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"targets": ["77"]}, 'denied: job "77" does not exist'),
        ({"targets": ["77.1"]}, 'denied: job "77.1" does not exist'),
        ({"targets": ["nosuch"]}, "The job nosuch of user(s) alice does not exist"),
        ({"targets": ["nosuch"], "users": ["bob", "eve"]}, "The job nosuch of user(s) bob,eve does not exist"),
        ({"targets": [], "users": ["eve"]}, "There is no job registered for the following users: eve"),
        ({"targets": ["{job}.9"]}, 'job "{job}" task "9" does not exist'),
        ({"targets": ["{job}.8-9"]}, 'job "{job}" task id range "8,9" comprises no tasks'),
        ({"targets": ["{job}"], "tasks": "7"}, 'job "{job}" task "7" does not exist'),
    ],
)
def test_missing_targets_are_reported(cell: Cell, fields: dict[str, Any], text: str) -> None:
    job = cell.submit(tasks="1-3")
    fields["targets"] = [target.format(job=job) for target in fields["targets"]]
    answer = cell.ask("delete_jobs", "alice", **fields)
    assert (answer.status, answer.answers) == (1, [("error", text.format(job=job))])
    assert len(cell.state.jobs[job].pending) == 3


@pytest.mark.statement("SO-46", "SO-48")
def test_deleted_tasks_are_listed_unless_the_whole_job_is_deleted(cell: Cell) -> None:
    def delete(*targets: str) -> list[str]:
        return [text for _, text in cell.ask("delete_jobs", targets=list(targets)).answers]

    first, second, third = (cell.submit(tasks="1-20") for _ in range(3))
    assert delete(f"{first}.5") == [f"alice has deleted job-array task {first}.5"]
    assert delete(f"{first}.6-8") == [f"alice has deleted job-array tasks 6-8:1 of job {first}"]
    assert delete(str(first)) == [f"alice has deleted job {first}"]
    assert delete(f"{second}.1-19", str(second)) == [
        f"alice has deleted job-array tasks 1-19:1 of job {second}",
        f"alice has deleted job {second}",
    ]
    cell.cycle()
    assert len(cell.state.jobs[third].tasks) == 12
    assert delete(str(third)) == [
        f"alice has deleted job-array tasks 13-20:1 of job {third}",
        *(f"alice has registered the job-array task {third}.{task} for deletion" for task in range(1, 13)),
    ]
    assert delete(f"{third}.2") == [f"job {third}.2 is already in deletion"]


@pytest.mark.statement("SO-46")
def test_the_next_job_is_deleted_though_one_is_not_ones_own(cell: Cell) -> None:
    strange, own = cell.submit("bob"), cell.submit()
    answer = cell.ask("delete_jobs", targets=[str(strange), str(own)])
    text = f'alice - you do not have the necessary privileges to delete the job "{strange}"'
    assert answer.answers == [("error", text), ("info", f"alice has deleted job {own}")]
    assert list(cell.state.jobs) == [strange]


@pytest.mark.statement("AC-1", "SO-48")
def test_a_forced_end_is_recorded_as_killed(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    cell.admin("delete_jobs", targets=[str(job)], force=True)
    (record,) = cell.records(job)
    assert (record.failed, record.exit_status) == ("37", "137")


@pytest.mark.statement("SO-46")
def test_a_deletion_of_all_jobs_deletes_only_the_callers_own(cell: Cell) -> None:
    strange, own = cell.submit("bob"), cell.submit()
    answer = cell.ask("delete_jobs", targets=[], users=["*"])
    text = f'alice - you do not have the necessary privileges to delete the job "{strange}"'
    assert answer.answers == [("error", text), ("info", f"alice has deleted job {own}")]


@pytest.mark.statement("SO-46", "AJ-6")
def test_running_tasks_are_named_in_their_order_whenever_they_began(cell: Cell) -> None:
    job = cell.submit(tasks="1-3")
    cell.ask("hold_jobs", targets=[f"{job}.1-2"])
    cell.cycle()
    cell.ask("hold_jobs", targets=[f"{job}.1-2"], release=True)
    cell.cycle()
    assert list(cell.state.jobs[job].tasks) == [3, 1, 2]
    assert [text for _, text in cell.ask("delete_jobs", targets=[str(job)]).answers] == [
        f"alice has registered the job-array task {job}.{task} for deletion" for task in (1, 2, 3)
    ]
