"""The log of a monitored scheduling run."""

from __future__ import annotations

from datetime import UTC

import pytest

from daemons.schedd.cycle import schedule
from daemons.schedd.run_log import run_log
from gridengine.state.machines.host import HostLost
from gridengine.state.machines.instance import InstanceFlagsChanged
from gridengine.state.machines.task import TaskRequeued
from tests.builders import Cluster


def lines(cluster: Cluster) -> list[str]:
    assert cluster.view is not None
    logged = run_log(cluster.view, schedule(cluster.view, cluster.now, UTC), cluster.now, UTC)
    assert {line.partition("|")[0] for line in logged} == {"Fri Jan 15 08:00:00 2027"}
    texts = [line.partition("|")[2] for line in logged]
    assert (texts[0].strip("-"), texts[-1].strip("-")) == ("START-SCHEDULER-RUN", "STOP-SCHEDULER-RUN")
    return texts[1:-1]


@pytest.mark.statement("QF-35")
def test_closed_instances_and_waiting_jobs_have_their_reasons() -> None:
    cluster = Cluster(3, slots=1)
    assert lines(cluster) == ["no pending jobs to perform scheduling on"]
    cluster.apply(HostLost("h2", cluster.now))
    cluster.apply(InstanceFlagsChanged(["all.q@h3"], {"disabled": True}))
    first, second = cluster.submit(), cluster.submit()
    held = cluster.submit(holds={"u": cluster.state.jobs[first].pending})
    never = [cluster.submit(hard={"arch": "nosuch"}), cluster.submit(hard={"arch": "nosuch"})]
    assert lines(cluster) == [
        'queue instance "all.q@h2" dropped because it is temporarily not available',
        'queue instance "all.q@h3" dropped because it is disabled',
        f"Job {second} found its places taken by jobs that were started before it",
        f"Job {held} Job is in hold state",
        *(f'Job {job} (-l arch=nosuch) cannot run at host "h1" because it offers only hl:arch=lx-amd64' for job in never),
    ]


@pytest.mark.statement("QF-35")
def test_a_job_that_cannot_be_handled_has_its_reason() -> None:
    cluster = Cluster(1, slots=1)
    job = cluster.submit(soft={"h_rt": "x"})
    assert lines(cluster) == [f'Job {job} the scheduler cannot handle this job ("x" is not a time)']


@pytest.mark.statement("QF-35")
def test_a_job_of_which_one_task_waits_again_has_its_reason_while_others_run() -> None:
    cluster = Cluster(1, slots=2)
    job = cluster.submit(array="1-2")
    cluster.cycle()
    cluster.apply(TaskRequeued(job, 1, 1, cluster.now, error="it failed"))
    assert lines(cluster) == [f"Job {job} Job is in error state"]
