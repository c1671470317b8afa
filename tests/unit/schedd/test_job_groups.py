"""Job groups over cycles: a cycle examines only changed jobs, and the order is the same as after examining all."""

from __future__ import annotations

import pytest

from daemons.schedd import survey as surveys
from daemons.schedd.cycle import schedule
from gridengine.state.jobs import JobChanges
from gridengine.state.machines.job import HoldsChanged, JobChanged, PrioritiesSet
from gridengine.values.ranges import Ranges
from tests.builders import NOW, Cluster


def looks(cluster: Cluster) -> int:
    """The number of jobs that the next cycle examines."""
    assert cluster.view is not None
    cluster.view.begin()
    return surveys.survey(cluster.view, NOW).looks


def waiting(jobs: int) -> Cluster:
    """Jobs of ten categories that wait for a full host, with reported priorities."""
    cluster = Cluster(1, slots=1)
    for number in range(jobs):
        cluster.submit(hard={"h_rt": str(3600 + number % 10)})
    cluster.cycle()
    cluster.cycle()
    return cluster


@pytest.mark.statement("CX-65")
@pytest.mark.parametrize("jobs", [50, 500])
def test_a_cycle_examines_changed_jobs_alone_however_many_are_pending(jobs: int) -> None:
    cluster = waiting(jobs)
    assert looks(cluster) == 0
    cluster.submit(hard={"h_rt": "3600"})
    cluster.apply(HoldsChanged(7, Ranges.of([1]), 1))
    assert looks(cluster) == 2
    cluster.end(1)
    assert len(cluster.cycle().starts) == 1
    assert looks(cluster) <= 3, "the started job, and those whose priorities are not applied yet"


@pytest.mark.parametrize("jobs", [50, 500])
def test_jobs_with_a_start_time_or_a_predecessor_are_examined_in_each_cycle(jobs: int) -> None:
    cluster = waiting(jobs)
    cluster.submit(start_after=NOW + 100)
    cluster.submit(predecessors=(3,))
    cluster.cycle()
    assert looks(cluster) == 2


def test_a_long_group_is_served_in_order() -> None:
    cluster = waiting(500)
    served = [1]
    for _ in range(300):
        cluster.end(served[-1])
        served += [start.job_id for start in cluster.cycle().starts]
    assert served == list(range(1, 302))


def test_a_job_with_another_priority_changes_its_group() -> None:
    cluster = waiting(30)
    cluster.apply(JobChanged(20, JobChanges(priority=100)))
    cluster.apply(JobChanged(2, JobChanges(priority=-100)))
    cluster.apply(HoldsChanged(3, Ranges.of([1]), 1))
    order = [1]
    for _ in range(4):
        cluster.end(order[-1])
        order += [start.job_id for start in cluster.cycle().starts]
    assert order == [1, 20, 4, 5, 6]


def test_priorities_are_reported_in_portions_until_all_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surveys, "MAX_REPORTED", 40)
    cluster = Cluster(1, slots=1)
    for _ in range(100):
        cluster.submit()
    assert cluster.view is not None
    reported = []
    while orders := schedule(cluster.view, NOW):
        reported.append(len(orders.priorities))
        assert orders.next_time == (NOW + surveys.REPORT_MORE_S if reported[-1] == 40 else 0.0)
        if not orders.priorities:
            break
        cluster.apply(PrioritiesSet(orders.priorities))
    assert reported == [40, 40, 20, 0]
    assert len(cluster.state.priorities) == 100


def test_priorities_that_the_qmaster_did_not_apply_are_reported_again() -> None:
    cluster = Cluster(1, slots=1)
    cluster.submit()
    assert cluster.view is not None
    first = schedule(cluster.view, NOW).priorities
    assert first and schedule(cluster.view, NOW).priorities == first


def test_a_held_job_shows_no_priority_from_then_on() -> None:
    cluster = waiting(3)
    cluster.apply(HoldsChanged(2, Ranges.of([1]), 1))
    assert cluster.cycle().priorities == {2: surveys.NO_PRIORITY}
    assert cluster.cycle().priorities == {}
