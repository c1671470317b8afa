"""Parsl's GridEngineProvider unchanged: it submits blocks, reads `qstat`, and reports a job that fails to start as failed."""

from __future__ import annotations

import pytest

from tests.integration.unmodified.conftest import BLOCKS, User

BLOCKS_OF_JOBS = """\
import os
import time

from parsl.jobs.states import JobState
from parsl.providers import GridEngineProvider


def provider(options):
    made = GridEngineProvider(queue="all.q", scheduler_options=options)
    made.script_dir = os.getcwd()
    return made


def until(provider, job, state):
    for _ in range(600):
        if provider.status([job])[0].state == state:
            return state.name
        time.sleep(0.2)


good, bad = provider(""), provider("#$ -wd /no/such/directory")
job = bad.submit("true", 1, "cannot.begin")
print(until(bad, job, JobState.FAILED), bad.cancel([job]))
job = good.submit("sleep 600", 1, "long")
print(until(good, job, JobState.RUNNING), good.cancel(["999999"]), good.cancel([job]), until(good, job, JobState.COMPLETED))
job = good.submit("exit 3", 1, "short")
print(until(good, job, JobState.COMPLETED), job)
"""


@pytest.mark.apart
def test_its_blocks_compute_and_go(user: User) -> None:
    assert user.play(BLOCKS["parsl"]) == ["sum 8555"]


@pytest.mark.apart
def test_parsl_sees_failed_cancelled_and_completed_jobs(user: User) -> None:
    failed, cancelled, short = user.play(BLOCKS_OF_JOBS)
    assert failed == "FAILED [True]"
    assert cancelled == "RUNNING [False] [True] COMPLETED"
    assert short.startswith("COMPLETED ")
    accounted = user.cell.must("qacct", "-j", short.split()[1])
    assert "\nexit_status  3 " in accounted and "\nfailed       0 " in accounted
