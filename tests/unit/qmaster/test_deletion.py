"""Deletion by force and of many jobs: the parameters of qmaster_params, and slices between which others are served."""

import asyncio
from typing import Any

import msgspec
import pytest

from daemons.qmaster.decide.deletion_slices import SLICE, slices
from daemons.qmaster.service import Service
from gridengine.delivery import UsageReport
from gridengine.gdi.requests import Answer, Caller, DeleteJobs
from gridengine.state.jobs import Usage
from tests.harness import Cell

ALICE = Caller("alice", 1001, "users", 100, "h1")


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
    assert [fields[11] for fields in cell.records(job)] == ["37"]


@pytest.mark.statement("SO-46", "QF-14")
@pytest.mark.parametrize("how", ["qdel -f", "qconf -cq"])
def test_what_is_ended_by_force_is_killed_on_its_host_at_once(cell: Cell, how: str) -> None:
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
def test_a_host_that_measures_what_is_over_is_told_to_forget_it(cell: Cell) -> None:
    job, host = running(cell)
    assert cell.report(host, UsageReport((job, 1, 1), Usage(1.0)))[0].forget == []
    assert cell.report(host, UsageReport((job, 1, 0), Usage(1.0)))[0].forget == [(job, 1, 0)]
    assert cell.report(host, UsageReport((job, 1, 0, 7), Usage(1.0)))[0].forget == [(job, 1, 0, 7)]


@pytest.mark.statement("SO-48")
def test_without_force_a_deletion_waits_unless_the_cell_says_otherwise(cell: Cell) -> None:
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
    parts = slices(cell.state, request, ALICE)
    assert [len(part.targets) for part in parts] == [SLICE, 32]
    assert [target for part in parts for target in part.targets] == ["nosuch", *map(str, jobs), "7.1"]
    small = DeleteJobs(targets=[*map(str, jobs[:SLICE])])
    assert slices(cell.state, small, ALICE) == [small]


@pytest.mark.statement("SO-47", "SO-46")
def test_others_are_served_between_the_slices(cell: Cell) -> None:
    for _ in range(3 * SLICE):
        cell.submit()
    seen: list[int] = []

    async def nothing(*arguments: Any) -> Any:
        return None

    async def both() -> Answer:
        service = Service(cell.master, nothing, nothing, nothing, dict, nothing)
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
def test_an_operators_deletion_ends_also_what_runs_after_the_job_and_that_as_often_as_it_is_said(cell: Cell) -> None:
    job, _ = running(cell)

    def told() -> list[str]:
        cell.signals.clear()
        cell.deliver()
        return [command for _, key, command in cell.signals if key[0] == job]

    cell.ask("delete_jobs", targets=[str(job)])
    assert told() == ["kill"]
    assert "already in deletion" in cell.ask("delete_jobs", targets=[str(job)]).answers[0][1] and told() == []
    for _ in range(2):
        assert "already in deletion" in cell.admin("delete_jobs", targets=[str(job)]).answers[0][1]
        assert (told(), told()) == (["end"], [])
    assert cell.state.jobs[job].tasks[1].deleted_by == "alice"
