"""Usage of running tasks over time, beside the requested resources: samples, their bounds, plots."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from daemons.web import usage_history
from daemons.web.pages.job_usage import gpu_utilisation, processors, usage_of
from daemons.web.usage_history import Sample, UsageHistory
from gridengine.protocols.delivery import UsageReport
from gridengine.state.jobs import Usage
from gridengine.usage.unit_usage import UnitUsage
from tests.unit.web.browsing import rows, text_of, visiting
from tests.unit.web.followed import ALICE, Followed

MB = 2.0**20


def report(followed: Followed, key: Any, cpu: float, vmem: float, peak: float) -> None:
    cell = followed.cell
    cell.pass_time(40)
    cell.report(cell.running[key], UsageReport(key, Usage(cpu=cpu, vmem=vmem, maxvmem=peak)))
    cell.master.flush()
    followed.take()


def running(followed: Followed, **fields: Any) -> Any:
    job = followed.cell.submit(**fields)
    followed.cell.cycle()
    followed.take()
    return next(key for key in followed.cell.running if key[0] == job)


def test_samples_are_kept_while_a_task_runs(followed: Followed) -> None:
    history = UsageHistory(followed.mirror)
    key = running(followed)
    for number in range(1, 4):
        report(followed, key, number * 20.0, number * MB, number * MB)
    samples = history.of(*key[:2])
    assert [each.cpu for each in samples] == [0.0, 20.0, 40.0, 60.0]
    assert processors(samples)[1:] == [0.5, 0.5]
    followed.cell.end(*key[:2])
    followed.take()
    assert history.of(*key[:2]) == []


def test_samples_are_bounded_and_reach_back_to_the_start(followed: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage_history, "MAX_TASK_SAMPLES", 20)
    history = UsageHistory(followed.mirror)
    key = running(followed)
    begin = followed.cell.now
    for number in range(100):
        report(followed, key, float(number), MB, MB)
        assert len(history.of(*key[:2])) <= 20
    samples = history.of(*key[:2])
    assert samples == sorted(samples) and samples[0].time <= begin
    assert (samples[-1].cpu, samples[-1].time) == (99.0, followed.cell.now)


@pytest.mark.parametrize(
    ("hard", "slots", "asked"),
    [
        ({}, 1, "-"),
        ({"h_vmem": "2G"}, 1, "h_vmem=2G"),
        ({"h_vmem": "2G"}, 4, "h_vmem=2G × 4"),
        ({"mem_free": "512M"}, 4, "mem_free=512M"),
        ({"h_vmem": "INFINITY", "mem_free": "1G"}, 1, "mem_free=1G"),
    ],
)
def test_the_request_is_shown_beside_the_usage(followed: Followed, hard: dict[str, str], slots: int, asked: str) -> None:
    key = running(followed)
    job = followed.cell.state.jobs[key[0]]
    task = job.tasks[key[1]]
    job.hard, task.usage, task.granted[0].slots = hard, Usage(cpu=10.0, vmem=MB, maxvmem=2 * MB), slots
    shown = usage_of(job, task, [Sample(0.0, 0.0, 0.0, 0.0), Sample(40.0, 10.0, MB, 2 * MB)])
    assert shown is not None
    assert shown.figures == [
        ("Memory", asked, "1.000M", "2.000M"),
        ("CPU cores", "1 slot" if slots == 1 else f"{slots} slots", "0.25", "0.25"),
    ]
    assert len(shown.plots[0].lines) == (2 if asked == "-" else 3)


@pytest.mark.statement("GU-12")
def test_the_page_of_a_job_shows_the_task_of_its_address(followed: Followed, tmp_path: Path) -> None:
    key = running(followed, tasks="1-2")

    async def play() -> tuple[Any, Any, Any]:
        async with visiting(followed, tmp_path, ALICE) as visitor:
            before = await visitor.get(f"/jobs/{key[0]}")
            for task in (1, 2):
                for number in (1, 2):
                    report(followed, (key[0], task, key[2]), number * 10.0 * task, MB, task * MB)
            return before, await visitor.get(f"/jobs/{key[0]}"), await visitor.get(f"/jobs/{key[0]}?task=2")

    before, first, second = asyncio.run(play())
    assert not before.xpath("//figure")
    headings = [text_of(page.xpath("//h2[contains(., 'usage')]")[0]) for page in (first, second)]
    assert headings == ["Resource usage of task 1", "Resource usage of task 2"]
    assert len(second.xpath("//figure[@data-plot]")) == 2
    assert any(row[-1] == "2.000M" for row in rows(second, 1))


def test_devices_are_shown_with_their_utilisation_over_time(followed: Followed, tmp_path: Path) -> None:
    key = running(followed)
    used = UnitUsage("h1", "gpu", "0", 40.0, 0.25, 2 * MB, 7.2e6, 40.0, True, "GPU-a")

    async def play() -> Any:
        async with visiting(followed, tmp_path, ALICE) as visitor:
            for count, utilisation in ((1, 0.25), (2, 0.5)):
                units = [used._replace(measured=40.0 * count, utilisation=utilisation)]
                followed.cell.pass_time(40)
                followed.cell.report("h1", UsageReport(key, Usage(cpu=count, vmem=MB, maxvmem=MB, units=units)))
                followed.cell.master.flush()
                followed.take()
            return await visitor.get(f"/jobs/{key[0]}")

    page = asyncio.run(play())
    (line,) = map(text_of, page.xpath("//tr[contains(., 'GPU-a')]"))
    assert line == "gpu 0 GPU-a shared h1 00:00:40 50.0 % 2.000M 2.000 kWh"
    (figure,) = [figure for figure in page.xpath("//figure") if "GPU utilisation" in text_of(figure.getparent())]
    samples = [Sample(0.0, 0.0, 0.0, 0.0), Sample(40.0, 0, 0, 0, 10.0, 40.0), Sample(80.0, 0, 0, 0, 40.0, 80.0)]
    assert gpu_utilisation([*samples, samples[-1]]) == [25.0, 75.0, None]
