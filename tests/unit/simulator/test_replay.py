"""A trace in a virtual cell: order, places, limits, backfill, and jobs that can never run."""

from __future__ import annotations

import pytest

from daemons.simulator.virtual_cell import VirtualCell
from gridengine.errors import ConfigError
from tests.unit.simulator.small_cell import BEGIN, configuration, job, replay, started


def test_jobs_wait_for_slots_and_begin_in_order() -> None:
    outcome = replay(configuration(1, 1), job(7, 0, 100), job(8, 10, 50), job(9, 20, 5))
    assert started(outcome) == [(7, 0, 0), (8, 0, 100), (9, 0, 150)]
    assert [run.wait_s for run in outcome.runs] == [0, 90, 130]
    assert outcome.left == 0


def test_tasks_of_an_array_have_run_times_of_their_own() -> None:
    outcome = replay(configuration(1, 2), job(7, 0, 100, 10, 20))
    assert started(outcome) == [(7, 1, 0), (7, 2, 0), (7, 3, 10)]
    assert sorted(run.end_time - BEGIN for run in outcome.runs) == [10, 30, 100]


@pytest.mark.parametrize(("where", "killed_after"), [("job", 30), ("queue", 40)])
def test_a_job_is_killed_at_the_limit_of_its_run_time(where: str, killed_after: float) -> None:
    objects = configuration(1, 1)
    objects["cluster_queue"]["all.q"]["h_rt"] = "0:0:40"
    (run,) = replay(objects, job(1, 0, 100, hard=["h_rt=30"] if where == "job" else [])).runs
    assert run.killed and run.run_s == killed_after


@pytest.mark.statement("SC-8")
def test_a_short_job_is_backfilled_without_delay_of_a_reservation() -> None:
    objects = configuration(1, 2, max_reservation="10")
    wide = {"pe": "smp", "pe_range": "2"}
    jobs = [
        job(1, 0, 100, hard=["h_rt=100"]),
        job(2, 1, 50, hard=["h_rt=50"], **wide),
        job(3, 2, 98, hard=["h_rt=98"]),
        job(4, 3, 300, hard=["h_rt=300"]),
    ]
    for each in jobs[1:]:
        each.reserve = True
    assert started(replay(objects, *jobs)) == [(1, 0, 0), (3, 0, 2), (2, 0, 100), (4, 0, 150)]


def test_a_job_that_no_host_can_run_is_refused_and_named() -> None:
    wide = {"pe": "smp", "pe_range": "3"}
    outcome = replay(configuration(2, 2), job(1, 0, 5), job(2, 0, 5, **wide), job(3, 1, 5, **wide))
    assert [run.number for run in outcome.runs] == [1]
    (sentence,) = outcome.refused.sentences()
    assert sentence.startswith("refused jobs (") and sentence.endswith("): 2 (job 2, job 3)")


def test_tasks_that_never_start_are_counted() -> None:
    objects = configuration(1, 1)
    objects["calendar"] = {"never": {"calendar_name": "never", "year": "NONE", "week": "mon-sun=off"}}
    objects["cluster_queue"]["all.q"]["calendar"] = "never"
    outcome = replay(objects, job(1, 0, 5), job(2, 0, 5, 6))
    assert (outcome.runs, outcome.left) == ([], 3)


def test_a_calendar_delays_jobs() -> None:
    objects = configuration(1, 1)
    objects["calendar"] = {"night": {"calendar_name": "night", "year": "NONE", "week": "mon-sun=7-20=off"}}
    objects["cluster_queue"]["all.q"]["calendar"] = "night"
    (run,) = replay(objects, job(1, 0, 5)).runs
    assert run.wait_s == 12 * 3600  # it is 8:00


def test_the_same_trace_gives_the_same_starts() -> None:
    jobs = [job(number, number % 7, 10 + number % 13, pe="mpi", pe_range=str(1 + number % 5)) for number in range(1, 60)]
    first, second = (replay(configuration(3, 4), *jobs) for _ in range(2))
    assert first.runs == second.runs and len(first.runs) == 59


def test_a_configuration_that_the_qmaster_refuses_is_refused() -> None:
    objects = configuration()
    objects["cluster_queue"]["all.q"]["pe_list"] = "unknown"
    with pytest.raises(ConfigError, match="unknown"):
        VirtualCell(objects, BEGIN)


def test_a_configuration_without_slots_is_refused() -> None:
    with pytest.raises(ConfigError, match="no queue with slots"):
        VirtualCell(configuration(0), BEGIN)
