"""Jobs past their run time on hosts that are not heard of (RL-11)."""

from __future__ import annotations

import pytest

from gridengine.protocols.delivery import Load
from tests.harness import Cell


def let_pass(cell: Cell, seconds: float) -> None:
    cell.now += seconds
    cell.master.tick()
    cell.master.flush()


@pytest.mark.statement("RL-11")
@pytest.mark.parametrize(("hard", "queue"), [(["h_rt=600"], {}), ([], {"s_rt": "0:10:0"}), (["h_rt=600"], {"h_rt": "0:20:0"})])
def test_the_master_ends_them(cell: Cell, hard: list[str], queue: dict[str, str]) -> None:
    cell.configure("configuration", "global", qmaster_params="ENABLE_ENFORCE_MASTER_LIMIT=true")
    cell.configure("cluster_queue", "all.q", **queue)
    job = cell.submit(hard=hard)
    cell.cycle()
    let_pass(cell, 655)
    assert cell.state.task(job, 1) is not None, "DURATION_OFFSET is not over"
    let_pass(cell, 6)
    assert job not in cell.state.jobs
    assert [(record.failed, record.exit_status) for record in cell.records(job)] == [("37", "137")]
    host = cell.running[job, 1, 1]
    assert cell.inventory(host)[0].forget == [(job, 1, 1)], "its host kills it when it is back"


@pytest.mark.statement("RL-11")
def test_not_without_the_parameter_and_not_on_a_host_that_is_there(cell: Cell) -> None:
    job = cell.submit(hard=["h_rt=600"])
    cell.cycle()
    let_pass(cell, 2000)
    assert cell.state.task(job, 1) is not None
    cell.configure("configuration", "global", qmaster_params="ENABLE_ENFORCE_MASTER_LIMIT=true")
    cell.report(cell.running[job, 1, 1], Load(cell.now, {}))
    let_pass(cell, 1)
    assert cell.state.task(job, 1) is not None
