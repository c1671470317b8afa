"""The amounts that a job is charged with while it holds slots."""

from __future__ import annotations

import pytest

from gridengine.placement.charges import charges
from tests.builders import Cluster


@pytest.mark.statement("CX-46")
def test_consumables_alone_are_charged_and_slots_are_counted_elsewhere() -> None:
    cluster = Cluster(1)
    cluster.complex("gpu INT <= YES YES 0 0")
    job = cluster.job(hard={"gpu": "2", "h_rt": "100", "mem_free": "1G", "slots": "1"})
    assert charges(cluster.state, job) == {"gpu": "2"}
