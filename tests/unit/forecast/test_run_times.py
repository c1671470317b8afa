"""Run times learned from accounting records."""

from __future__ import annotations

import random

import pytest

from daemons.forecast.run_times import EndedTask, RunTimes, ended_tasks
from gridengine.usage.accounting import FIELDS, AccountingRecord
from gridengine.values.units import INFINITY
from tests.builders import Cluster

DAY = 86_400.0


def ended(name: str, *seconds: float, owner: str = "alice", limit: float = INFINITY, requests: str = "NONE") -> list[EndedTask]:
    return [EndedTask(owner, name, requests, limit, each) for each in seconds]


def test_the_quantiles_of_jobs_of_the_same_name() -> None:
    job = Cluster().job(name="sim")
    known = RunTimes([*ended("sim", 10, 20, 30, 40, 50, requests="-l h_rt=9"), *ended("other", 1000, 1000, 1000, 1000, 1000)])
    found = known.estimate(job, INFINITY)
    assert found is not None
    assert (found.low, found.usual, found.high, found.count) == (14, 30, 46, 5)
    assert found.basis == 'tasks of alice named "sim"'


def test_a_task_that_runs_is_compared_with_the_tasks_that_ran_longer() -> None:
    job, dice = Cluster().job(name="sim"), random.Random(1)
    known = RunTimes(ended("sim", 10, 20, 30, 40, 50))

    def drawn(limit: float, elapsed: float) -> set[float]:
        return {known.drawn(dice, job, limit, elapsed) for _ in range(100)}

    assert drawn(INFINITY, 0) == {10, 20, 30, 40, 50}
    assert drawn(INFINITY, 35) == {40, 50}
    assert drawn(48, 45) == {48}, "never above the limit"
    assert drawn(INFINITY, 60) == {INFINITY}, "no task ran that long"
    assert drawn(90, 60) == {90}


def test_few_tasks_of_a_name_give_way_to_equal_requests_then_to_the_user_then_to_all() -> None:
    job = Cluster().job(name="new", hard={"h_rt": "100"})
    requests = ended("old", 1, 2, 3, 4, 5, limit=100, requests="-l h_rt=100")
    by_user = ended("x", 6, 6, 6, 6, 6, limit=60, requests="-l h_rt=60")
    by_all = ended("y", 1, 1, 1, 1, 1, owner="bob")

    def basis(*tasks: EndedTask) -> str:
        found = RunTimes(tasks).estimate(job, 100)
        return found.basis if found is not None else ""

    same = ended("new", 1, 2, 3, 4, 5, requests="-l h_rt=100")
    assert basis(*same, *requests) == 'tasks of alice named "new" with the same requests'
    assert basis(*ended("new", 1, 2, 3, 4), *requests) == "tasks of alice with the same requests"
    assert basis(*by_user, *by_all) == "tasks of alice"
    assert basis(*by_all) == "tasks of all users"
    assert basis(*by_all[:4]) == ""
    found = RunTimes(by_user).estimate(job, 100)
    assert found is not None
    assert found.usual == 10, "a tenth of the limit, as the others"


def test_records_of_slaves_and_of_tasks_that_never_ran_are_left_out() -> None:
    def record(**fields: str) -> AccountingRecord:
        plain = dict.fromkeys(FIELDS, "0") | {"owner": "alice", "job_name": "sim", "pe_taskid": "NONE", "start_time": "5"}
        plain |= {"category": "-q all.q -l arch=x,h_rt=1:0:0 -pe mpi 2", "ru_wallclock": "60.5"}
        return AccountingRecord([*(plain | fields).values()])

    category = "-q all.q -l arch=x,h_rt=1:0:0 -pe mpi 2"
    assert ended_tasks([record(), record(pe_taskid="1.h2"), record(start_time="0"), record(ru_wallclock="?")]) == [
        EndedTask("alice", "sim", category, 3600, 60.5)
    ]
    soft = record(category="-soft -l h_rt=60")
    assert ended_tasks([soft])[0].limit == INFINITY
    assert ended_tasks([record(category="-l h_rt=what")])[0].limit == INFINITY


@pytest.mark.parametrize("elapsed", [0.0, DAY])
def test_without_records_nothing_is_known(elapsed: float) -> None:
    job = Cluster().job()
    assert RunTimes([]).estimate(job, INFINITY, elapsed) is None
    assert RunTimes([]).drawn(random.Random(1), job, 50, elapsed) == 50
