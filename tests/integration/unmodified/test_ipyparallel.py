"""ipyparallel's launchers for SGE as they are: the engines are an array job, which goes with the cluster."""

from __future__ import annotations

import pytest

from tests.integration.unmodified.conftest import BLOCKS, User

FAILING = """\
import ipyparallel

with ipyparallel.Cluster(engines="sge", n=2, controller_ip="127.0.0.1") as engines:
    print(sorted(engines[:].apply_sync(lambda: int(__import__("os").environ["SGE_TASK_ID"]))))
    try:
        engines[1].apply_sync(lambda: 1 / 0)
    except ipyparallel.RemoteError as error:
        print(error.ename)
"""


@pytest.mark.apart
def test_its_engines_compute(user: User) -> None:
    assert user.play(BLOCKS["ipyparallel"]) == ["sum 328350"]


@pytest.mark.apart
def test_its_engines_are_tasks_of_one_job(user: User) -> None:
    assert user.play(FAILING) == ["[1, 2]", "ZeroDivisionError"]
