"""Lines in the logs of a cell when a job was ended, and texts that are never there."""

from __future__ import annotations

import pytest

from tests.integration.cells import DemoCell, eventually


@pytest.mark.statement("GC-4", "RL-2")
def test_the_log_of_the_master_has_the_cause_of_a_jobs_end_and_the_log_of_the_host_its_usage(demo_cell: DemoCell) -> None:
    cell = demo_cell
    logs = [cell.place / "spool" / "qmaster" / "messages", cell.place / "spool" / "execd" / cell.host / "messages"]
    submit = ("qsub", "-terse", "-b", "y", "-o", "/dev/null", "-j", "y")
    limited = cell.must(*submit, "-l", "h_rt=1", "sleep", "100").strip()
    deleted = cell.must(*submit, "sleep", "100").strip()
    eventually("it runs", lambda: f" {deleted} " in cell.must("qstat", "-s", "r"))
    cell.must("qdel", deleted)
    eventually("both are over", lambda: not {limited, deleted} & set(cell.must("qstat").split()))
    text = logs[0].read_text()
    assert f"on {cell.host} has ended: limit h_rt of 1 s exceeded; exit status 137\n" in text.partition(f"|W|job {limited} (")[2]
    assert f"on {cell.host} is ended: qdel by " in text.partition(f"|W|job {deleted} (")[2]
    assert f"|W|task {limited}.1 of " in logs[1].read_text()
    for log in logs:
        assert [line for line in log.read_text().splitlines() if len(line.split("|")) < 5] == []
        assert not any(token in log.read_text() for token in ("Traceback", "\x1b", "ray.exceptions"))
