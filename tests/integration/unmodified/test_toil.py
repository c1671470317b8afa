"""Toil's batch system for Grid Engine unchanged: it reads `qstat -j`, and `qacct -j` as soon as `qstat` has no such job."""

from __future__ import annotations

import pytest

from tests.integration.cells import Done
from tests.integration.unmodified.conftest import BLOCKS, User

FAILING = BLOCKS["toil"].replace("return number * number", 'raise ValueError(f"number {number}")')


def carried_out(user: User, program: str) -> Done:
    options = ("--batchSystem", "grid_engine", "--disableCaching", "--retryCount", "0", "--statePollingWait", "1")
    return user.run("python", str(user.write("squares.py", program)), f"file:{user.work}/store", *options)


@pytest.mark.apart
@pytest.mark.statement("ST-18", "QA-7")
def test_its_steps_are_jobs(user: User) -> None:
    done = carried_out(user, BLOCKS["toil"])
    assert (done.returncode, done.stdout) == (0, "sum 14\n"), done.stderr


@pytest.mark.apart
@pytest.mark.statement("ST-18", "QA-7")
def test_a_step_that_fails_is_seen_by_its_exit_status(user: User) -> None:
    done = carried_out(user, FAILING)
    assert done.returncode == 1 and "ValueError: number 3" in done.stderr
    assert "failed with exit value 1: 'square'" in done.stderr
