"""The expected start of jobs, as a range with its sentences."""

from __future__ import annotations

from typing import Any

import pytest

from daemons.forecast.answers import SAMPLED, answer, remember
from daemons.forecast.calibration import LEAST, PART, Calibration, Remembered
from daemons.forecast.run_times import EndedTask, RunTimes
from daemons.forecast.start import StartForecast
from gridengine.errors import InvalidValueError
from gridengine.state.jobs import Grant
from gridengine.state.machines.reservation import ReservationGranted, ReservationStarted
from gridengine.state.parts import whole_state
from gridengine.state.reservations import AdvanceReservation
from gridengine.state.state import State
from gridengine.values.ranges import Ranges
from tests.builders import NOW, Cluster
from tests.forecasts import basis, copies

USUAL = RunTimes([EndedTask("alice", "job", "NONE", 100, 30)] * 5)
NEWS = "jobs that are submitted or changed later may change this"


def state_of(cluster: Cluster) -> State:
    return whole_state(cluster.parts())


def ask(cluster: Cluster, *jobs: int | str, about: str = "start", run_times: RunTimes = USUAL) -> list[dict[str, Any]]:
    body = {"about": about, "jobs": list(map(str, jobs))}
    data = answer(state_of(cluster), copies(lambda: state_of(cluster)), basis(run_times, cluster.now), body)
    found: list[dict[str, Any]] = data["jobs"]
    return found


def start_of(cluster: Cluster, job: int, run_times: RunTimes = USUAL) -> dict[str, Any]:
    (found,) = ask(cluster, job, run_times=run_times)
    return found


def full(**fields: Any) -> tuple[Cluster, int]:
    """A cell whose one slot is taken by a job with a limit of 100 s, and a waiting job."""
    cluster = Cluster(hosts=1, slots=1)
    cluster.submit(hard={"h_rt": "100"})
    cluster.cycle()
    return cluster, cluster.submit(**fields)


def test_the_range_is_from_the_usual_end_to_the_limit() -> None:
    cluster, job = full()
    found = start_of(cluster, job)
    assert (found["earliest"] - NOW, found["latest"] - NOW, found["later_than"]) == (30, 100, 0)
    assert found["texts"] == [
        "if jobs end as such jobs usually do (5 ended tasks): 2027-01-15 08:00:30",
        "if no job ends before its limit: 2027-01-15 08:01:40",
        NEWS,
    ]


def test_no_start_outside_of_a_reservation_is_expected() -> None:
    cluster = Cluster(hosts=1, slots=4)
    granted = [Grant("all.q@h1", 1)]
    cluster.apply(ReservationGranted(AdvanceReservation(1, "alice", "users", NOW, NOW, NOW + 300, granted=granted)))
    cluster.apply(ReservationStarted(1, NOW))
    cluster.submit(ar=1, hard={"h_rt": "100"})
    cluster.cycle()
    found = start_of(cluster, cluster.submit(ar=1, pe="mpi", pe_range="2"))
    assert (found["expected"], found["earliest"], found["latest"]) == (0, 0, 0)
    assert found["texts"] == ["it does not start: it does not fit in advance reservation 1"]
    assert start_of(cluster, cluster.submit(ar=1, hard={"h_rt": "100"}))["earliest"] == NOW + 30


def test_without_history_there_is_the_limit_alone() -> None:
    cluster, job = full()
    found = start_of(cluster, job, RunTimes([]))
    assert (found["earliest"] - NOW, found["latest"] - NOW) == (100, 100)
    assert found["texts"][0] == "run times are not learned yet: fewer than 5 ended tasks are in the accounting records"


def test_without_limits_there_is_the_usual_end_alone() -> None:
    cluster = Cluster(hosts=1, slots=1)
    cluster.submit()
    cluster.cycle()
    job = cluster.submit()
    found = start_of(cluster, job)
    assert (found["earliest"] - NOW, found["latest"]) == (30, 0)
    assert "no latest time can be named: 1 running task has no run time limit (h_rt)" in found["texts"]
    nothing = start_of(cluster, job, RunTimes([]))
    assert (nothing["earliest"], nothing["latest"], len(nothing["texts"])) == (0, 0, 3)


def test_a_job_that_fits_starts_now() -> None:
    cluster = Cluster()
    found = start_of(cluster, cluster.submit())
    assert (found["earliest"], found["latest"]) == (NOW, NOW)
    assert "if no job ends before its limit: now" in found["texts"]


@pytest.mark.statement("ST-18")
def test_held_and_faulty_jobs_and_jobs_that_fit_nowhere_have_the_reason_instead_of_a_time() -> None:
    cluster, held = full(holds={1: Ranges.of([1])})
    never = cluster.submit(hard={"arch": "nosuch"})
    in_error = cluster.submit(error="cannot be handled")
    after_held = cluster.submit(predecessors=(held,))
    found = {row["id"]: row["texts"] for row in ask(cluster, held, never, in_error, after_held)}
    assert found[held] == [f"it does not start: it has a user hold (qrls -h u {held} takes it off)"]
    assert found[never] == [f"it can never start as it is requested: qexplain {never} has the reason"]
    assert found[in_error][0].startswith("it does not start: it cannot be scheduled")
    assert found[after_held] == ["it does not start: it waits for other jobs"]


def test_a_running_job_and_unknown_jobs() -> None:
    cluster, _ = full()
    (found,) = ask(cluster, 1)
    assert found["texts"] == ["it is not pending"]
    assert ask(cluster, 99) == []
    with pytest.raises(InvalidValueError, match="is not a job list"):
        ask(cluster, "1x")


def test_a_job_out_of_reach_is_later_than_the_last_computed_time() -> None:
    cluster, job = full()
    forecast = StartForecast(state_of(cluster), copies(lambda: state_of(cluster)), basis(USUAL, cluster.now))
    (found,) = forecast.of_jobs([forecast.state.jobs[job]], longest_cpu_s=0.0)
    assert (found["earliest"], found["latest"], found["later_than"]) == (0, 0, NOW)
    assert found["texts"][0] == "if jobs end as such jobs usually do: later than 2027-01-15 08:00:00 (computed no further)"


def test_the_run_time_of_a_job_can_be_asked_by_itself() -> None:
    cluster, waiting = full()
    running, pending = ask(cluster, 1, waiting, about="duration")
    assert (running["limit"], pending["limit"], pending["elapsed"]) == (100, None, 0)
    basis_text = 'tasks of alice named "job" with the same requests'
    assert pending["estimate"] == {"low": 30, "usual": 30, "high": 30, "count": 5, "basis": basis_text}
    (nothing,) = ask(cluster, waiting, about="duration", run_times=RunTimes([]))
    assert (nothing["estimate"], nothing["learned_from"]) == (None, 0)


def test_the_order_of_a_job_that_takes_no_part_has_the_reason() -> None:
    cluster, held = full(holds={1: Ranges.of([1])})
    (found,) = ask(cluster, held, about="order")
    assert found["place"] == 0
    assert found["texts"] == [f"it has a user hold (qrls -h u {held} takes it off)"]


def test_compared_forecasts_give_the_range() -> None:
    cluster, job = full()
    waits = [*(10.0 * number for number in range(1, 37)), *[5000.0] * 4]
    past = Calibration([Remembered(number, NOW - 1000, 30.0, started=NOW - 1000 + wait) for number, wait in enumerate(waits)])
    state, known = state_of(cluster), basis(USUAL, cluster.now, calibration=past)
    (found,) = StartForecast(state, copies(lambda: state_of(cluster)), known).of_jobs([state.jobs[job]])
    assert found["expected"] - NOW == 30
    assert (found["earliest"] - NOW, found["latest"] - NOW) == (pytest.approx(10), pytest.approx(360)), "36 of 40 waits"
    assert found["texts"][0] == f"such ranges hold {PART:.0%} of the starts ({LEAST} forecasts compared)"


def test_forecasts_of_pending_jobs_are_remembered_with_their_ranges() -> None:
    cluster, job = full()
    cluster.submit(error="cannot be handled")
    for _ in range(SAMPLED):
        cluster.submit()
    past = Calibration([])
    state = state_of(cluster)
    remember(state, copies(lambda: state_of(cluster)), basis(USUAL, cluster.now, calibration=past))
    assert len(past.remembered) == SAMPLED
    assert {(each.asked, each.started) for each in past.remembered} == {(NOW, 0)}
    assert {(each.low, each.high) for each in past.remembered} == {(-1, -1)}, "ranges of the runs promise nothing"
    assert {each.expected for each in past.remembered if each.job == job} == {30}
    learned = Calibration([Remembered(number, NOW - 1000, 30.0, started=NOW - 955) for number in range(100, 100 + LEAST)])
    remember(state, copies(lambda: state_of(cluster)), basis(USUAL, cluster.now, calibration=learned))
    ranges = [(each.low, each.high) for each in learned.remembered[LEAST:] if each.expected == 30]
    assert ranges
    assert set(ranges) == {(45, 45)}
