"""dask-jobqueue as it is: workers are jobs of this cell, that come, are deleted, and go with their cluster."""

from __future__ import annotations

import pytest

from tests.integration.unmodified.conftest import BLOCKS, User

LOST = """\
import subprocess
import time

from dask.distributed import Client
from dask_jobqueue import SGECluster


def slow(number):
    time.sleep(0.2)
    return number * number


def refuses(number):
    raise ValueError(f"number {number}")


if __name__ == "__main__":
    options = {"job_extra_directives": ["-N dw", "-w e"], "log_directory": "logs"}
    with SGECluster(queue="all.q", cores=1, memory="300MB", **options) as cluster, Client(cluster) as client:
        cluster.scale(jobs=2)
        client.wait_for_workers(2)
        names = {number: worker.job_id for number, worker in cluster.workers.items()}
        futures = client.map(slow, range(40))
        subprocess.run(["qdel", sorted(names.values())[0]], check=True, stdout=subprocess.DEVNULL)
        print("sum", sum(client.gather(futures)))
        try:
            client.submit(refuses, 3).result()
        except ValueError as error:
            print("raised", error)
        cluster.adapt(minimum_jobs=3, maximum_jobs=3)
        client.wait_for_workers(3)
        cluster.scale(jobs=0)
        while client.scheduler_info()["workers"]:
            time.sleep(0.1)
        print("none")
"""


@pytest.mark.apart
@pytest.mark.statement("SO-1", "QC-29")
def test_a_cluster_computes_and_goes_with_its_jobs(user: User) -> None:
    assert user.play(BLOCKS["dask"]) == ["sum 328350"]
    assert len(list((user.work / "logs").iterdir())) == 2


@pytest.mark.apart
def test_a_worker_whose_job_is_deleted_is_made_up_for(user: User) -> None:
    assert user.play(LOST) == ["sum 20540", "raised number 3", "none"]
