"""Forecasts on a real cell, through the installed commands, compared with the outcome."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest

from daemons.forecast import forecast_file
from daemons.forecast.calibration import SOFT_S, Calibration, Remembered
from tests.integration.cells import DemoCell, eventually
from tests.integration.guides import play
from tests.integration.test_guides import typed


def forecast(cell: DemoCell, option: str, job: str) -> dict[str, Any]:
    (found,) = json.loads(cell.must("qexplain", option, "-json", job))["jobs"]
    assert isinstance(found, dict)
    return found


def submit(cell: DemoCell, name: str, *options: str) -> str:
    return cell.must("qsub", "-terse", "-b", "y", "-o", "/dev/null", "-j", "y", "-N", name, *options).strip()


def start_of(cell: DemoCell, job: str) -> float:
    """The start of an ended job, epoch s."""
    return float(json.loads(cell.must("qacct", "-json", "-j", job))["records"][0]["start_time_s"])


@pytest.mark.statement("PR-1", "SC-8")
def test_jobs_start_in_the_order_and_before_the_latest_time_of_their_forecasts(demo_cell: DemoCell) -> None:
    go_on = demo_cell.work / "go_on"
    waiting = f"until test -e {go_on}; do sleep 0.2; done"
    first = submit(demo_cell, "fills", "-pe", "smp", "8", "-l", "h_rt=0:10:0", "sh", "-c", waiting)
    eventually("all slots are in use", lambda: " r " in demo_cell.must("qstat", "-s", "r"))
    late = submit(demo_cell, "late", "-pe", "smp", "8", "-l", "h_rt=0:1:0", "-p", "-200", "true")
    early = submit(demo_cell, "early", "-pe", "smp", "8", "-l", "h_rt=0:1:0", "-p", "-100", "true")
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
    began = {job: start_of(demo_cell, job) for job in (early, late)}
    assert began[early] <= began[late], "the order that was explained"
    assert all(began[job] <= starts[job]["latest_s"] for job in (early, late))
    assert "does not exist" in demo_cell.command("qexplain", "-when", first).stderr
    assert forecast(demo_cell, "-duration", submit(demo_cell, "held", "-h", "true"))["learned_from"] >= 3
    demo_cell.must("qdel", "-u", "*")


def test_a_forecast_is_shown_before_and_after_submission_and_compared_with_the_start(demo_cell: DemoCell) -> None:
    """The starts of the sampled jobs are in their ranges, and `policy forecast` counts them so."""
    request = ("-pe", "smp", "8", "-l", "h_rt=0:1:0", "-b", "y", "-N", "habit", "true")
    for _ in range(6):
        demo_cell.must("qsub", "-sync", "y", "-o", "/dev/null", "-j", "y", *request)
    demo_cell.must("gridengine", "policy", "forecast", "--sample")
    assert "no range has been compared" in demo_cell.must("gridengine", "policy", "forecast")
    write_history(demo_cell)
    go_on = demo_cell.work / "go_on_later"
    submit(demo_cell, "fills", "-pe", "smp", "8", "-l", "h_rt=0:10:0", "sh", "-c", f"until test -e {go_on}; do sleep 0.2; done")
    eventually("all slots are in use", lambda: " r " in demo_cell.must("qstat", "-s", "r"))
    asked = demo_cell.command("qsub", "-w", "p", *request)
    assert asked.returncode == 1, "no slot is free"
    assert asked.stdout.startswith("expected start: 20"), "the time at which they are"
    jobs = [demo_cell.must("qsub", "-terse", "-o", "/dev/null", "-j", "y", *request).strip() for _ in range(2)]
    eventually("the scheduler has ranked them", lambda: order_in_qstat(demo_cell) == ["habit", "habit"])
    plain, shown = demo_cell.must("qstat").splitlines(), demo_cell.must("qstat", "-when").splitlines()
    assert [line for line in shown if "Expected start:" not in line] == plain
    assert len(shown) == len(plain) + 2, "the job of -w p was not submitted"
    demo_cell.must("gridengine", "policy", "forecast", "--sample")
    ranges = {job: forecast(demo_cell, "-when", job) for job in jobs}
    assert all(found["earliest_s"] <= found["expected_s"] <= found["latest_s"] for found in ranges.values())
    assert all("forecasts compared" in found["texts"][0] for found in ranges.values())
    go_on.touch()
    eventually("all have ended", lambda: demo_cell.must("qstat") == "")
    assert all(int(found["earliest_s"]) <= start_of(demo_cell, job) <= found["latest_s"] for job, found in ranges.items())
    demo_cell.must("gridengine", "policy", "forecast", "--sample")
    rows = [line[16:].split() for line in demo_cell.must("gridengine", "policy", "forecast").splitlines()[1:]]
    assert [row[:4] for row in rows if row[0] != "0"] == [["2", "100.0%", "0.0%", "0.0%"]]


def write_history(cell: DemoCell) -> None:
    """Give the cell 60 compared forecasts. Their waits were from a hundredth to a hundred times as long as expected, so a range
    that is learned from them begins at once, and lasts for minutes at least."""
    (file,) = cell.place.rglob("forecasts")
    begin, expected = time.time() - 86_400, 3600.0
    waits = [(expected + SOFT_S) * 10 ** (number / 15 - 2) - SOFT_S for number in range(60)]
    history = [Remembered(number, begin, expected, started=begin + max(1.0, wait)) for number, wait in enumerate(waits, 1000)]
    forecast_file.write(file, Calibration(history))


@pytest.mark.statement("PR-1", "PR-4")
def test_the_page_of_policies_leads_from_the_order_to_another_weight(own_cell: DemoCell) -> None:
    """A job of project `b` waits before one of project `a`, which has three times its shares, until the weight is changed."""
    for project, shares in (("a", 300), ("b", 100)):
        (own_cell.work / project).write_text(f"name {project}\noticket 0\nfshare {shares}\nacl NONE\nxacl NONE\n")
        own_cell.must("qconf", "-Aprj", project)
    scheduler = re.sub(r"(?m)^(weight_tickets_functional) .*", r"\1 10000", own_cell.must("qconf", "-ssconf"))
    (own_cell.work / "scheduler").write_text(scheduler)
    own_cell.must("qconf", "-Msconf", "scheduler")
    submit(own_cell, "fills", "-pe", "smp", "8", "-l", "h_rt=1:0:0", "sleep", "3600")
    eventually("all slots are in use", lambda: " r " in own_cell.must("qstat", "-s", "r"))
    submit(own_cell, "survey", "-P", "b", "-pe", "smp", "8", "-l", "h_rt=0:10:0", "true")
    submit(own_cell, "model", "-P", "a", "-l", "h_rt=0:10:0", "true")
    eventually("the scheduler has ranked them", lambda: order_in_qstat(own_cell) == ["survey", "model"])
    assert play("../policies.md", own_cell.work, lambda command: typed(own_cell, command)) == 6
    eventually("the scheduler agrees", lambda: order_in_qstat(own_cell) == ["model", "survey"])


def order_in_qstat(cell: DemoCell) -> list[str]:
    """The names of the pending jobs, the first one first; jobs without a priority yet do not count."""
    rows = [line.split() for line in cell.must("qstat", "-s", "p").splitlines()[2:]]
    return [row[2] for row in rows if float(row[1])]
