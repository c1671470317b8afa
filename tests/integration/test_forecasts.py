"""Forecasts on a real cell, through the installed commands, compared with the outcome."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.cells import DemoCell, eventually


def forecast(cell: DemoCell, option: str, job: str) -> dict[str, Any]:
    (found,) = json.loads(cell.must("qexplain", option, "-json", job))["jobs"]
    assert isinstance(found, dict)
    return found


@pytest.mark.statement("PR-1", "SC-8")
def test_jobs_start_in_the_order_and_before_the_latest_time_of_their_forecasts(demo_cell: DemoCell) -> None:
    def submit(name: str, *options: str) -> str:
        return demo_cell.must("qsub", "-terse", "-b", "y", "-o", "/dev/null", "-j", "y", "-N", name, *options).strip()

    go_on = demo_cell.work / "go_on"
    waiting = f"until test -e {go_on}; do sleep 0.2; done"
    first = submit("fills", "-pe", "smp", "8", "-l", "h_rt=0:10:0", "sh", "-c", waiting)
    eventually("all slots are in use", lambda: " r " in demo_cell.must("qstat", "-s", "r"))
    late = submit("late", "-pe", "smp", "8", "-l", "h_rt=0:1:0", "-p", "-200", "true")
    early = submit("early", "-pe", "smp", "8", "-l", "h_rt=0:1:0", "-p", "-100", "true")
    starts = {job: forecast(demo_cell, "-when", job) for job in (early, late)}
    order = forecast(demo_cell, "-priority", late)
    text = demo_cell.must("gridengine", "policy", "explain", late)
    overview = demo_cell.must("gridengine", "policy", "explain").splitlines()
    go_on.touch()
    assert starts[late]["latest_s"] - starts[early]["latest_s"] == pytest.approx(60, abs=1)
    assert [other["job_id"] for other in order["before"]] == [int(early)]
    assert f'job {late} ("late") of ' in text
    assert "place 2 of 2 pending jobs" in text
    assert [line.split()[:2] for line in overview[3:]] == [["1", early], ["2", late]]
    eventually("all have ended", lambda: demo_cell.must("qstat") == "")
    began = {job: json.loads(demo_cell.must("qacct", "-json", "-j", job))["records"][0]["start_time_s"] for job in (early, late)}
    assert began[early] <= began[late], "the order that was explained"
    assert all(began[job] <= starts[job]["latest_s"] for job in (early, late))
    assert "does not exist" in demo_cell.command("qexplain", "-when", first).stderr
    assert forecast(demo_cell, "-duration", submit("held", "-h", "true"))["learned_from"] >= 3
    demo_cell.must("qdel", "-u", "*")
