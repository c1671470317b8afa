"""The page and the row of a finished job: exit status, meaning of `failed`, usage; a failure never looks like a success."""

from __future__ import annotations

import asyncio
import csv
import io
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gridengine.protocols.delivery import Ended, OutputTail
from gridengine.protocols.gdi.requests import Caller
from gridengine.usage.failed import AFTER_JOB, CHANGING_DIRECTORY, ENFORCED
from gridengine.usage.unit_usage import UnitUsage
from tests.unit.web.browsing import Visitor, rows, text_of, visiting
from tests.unit.web.followed import ALICE, BOB, Followed


def run(followed: Followed, **ended: Any) -> int:
    """A job of alice's that ran to its end."""
    job = followed.cell.submit(name="sim")
    followed.cell.cycle()
    followed.cell.pass_time(60)
    followed.cell.end(job, 1, **ended)
    followed.cell.master.flush()
    followed.take()
    return job


@pytest.fixture
def browse(followed: Followed, tmp_path: Path) -> Callable[..., Any]:
    def run_play(play: Callable[[Visitor], Awaitable[Any]], caller: Caller = ALICE) -> Any:
        async def playing() -> Any:
            async with visiting(followed, tmp_path, caller) as visitor:
                return await play(visitor)

        return asyncio.run(playing())

    return run_play


@pytest.fixture
def page(browse: Any) -> Callable[[str], Any]:
    return lambda address: browse(lambda visitor: visitor.get(address))


@pytest.mark.statement("GU-12", "AC-1")
@pytest.mark.parametrize(
    ("ended", "result", "state"),
    [
        ({"exit_status": 0}, "exit status 0", "z finished"),
        ({"exit_status": 3}, "exit status 3", "z failed"),
        ({"exit_status": 137}, "killed by signal KILL", "z failed"),
        ({"exit_status": 137, "failed": ENFORCED}, "killed on h1 after 1 s", "z failed"),
    ],
)
def test_a_finished_job_has_its_page(followed: Followed, page: Any, ended: dict[str, int], result: str, state: str) -> None:
    job = run(followed, **ended)
    shown = page(f"/jobs/{job}")
    assert text_of(shown.find(".//h1")) == f"Job {job} · sim"
    assert "owner alice" in text_of(shown.find(".//main"))
    (row,) = rows(shown)[:1]
    assert row[1].startswith(f"{state} {result}")
    assert row[2:4] == [str(ended["exit_status"]), "all.q@h1"]
    if "failed" in ended:
        assert "failed 37: " in row[1]


@pytest.mark.statement("GU-12", "DM-5")
def test_the_api_has_the_record_of_a_finished_job_at_its_address(followed: Followed, browse: Any) -> None:
    job = run(followed, exit_status=137)
    status, record = browse(lambda visitor: visitor.json(f"/api/v1/jobs/{job}"))
    assert status == 200
    assert record.items() >= {"id": job, "name": "sim", "owner": "alice", "finished": True, "failed": True}.items()
    (task,) = record["tasks"]
    assert task.items() >= {"exit_status": 137, "signal": 9, "failed": 0, "host": "h1", "queue": "all.q", "slots": 1}.items()
    assert browse(lambda visitor: visitor.json("/api/v1/jobs/99"))[0] == 404


def test_a_job_that_never_ran_has_its_record(followed: Followed, browse: Any) -> None:
    job = followed.cell.submit(name="never", holds="u")
    followed.cell.ask("delete_jobs", targets=[str(job)])
    followed.cell.master.flush()
    followed.take()
    status, record = browse(lambda visitor: visitor.json(f"/api/v1/jobs/{job}"))
    assert (status, record["name"], record["tasks"]) == (200, "never", [])
    assert "No task of this job ran." in text_of(browse(lambda visitor: visitor.get(f"/jobs/{job}")))


@pytest.mark.statement("GU-12", "SO-45")
def test_a_finished_job_is_submitted_again_from_its_page(followed: Followed, browse: Any) -> None:
    job = run(followed, exit_status=3)

    async def play(visitor: Any) -> list[str]:
        page = await visitor.get(f"/jobs/{job}")
        form = next(each for each in page.iter("form") if each.get("method") == "post")
        assert [each.get("value") for each in form.iter("button")] == ["copy"]
        assert f"/submit?from={job}" in [each.get("href") for each in page.iter("a")]
        return await visitor.post("/jobs", action="copy", target=str(job))  # type: ignore[no-any-return]

    assert browse(play) == [f'Your job {job + 1} ("sim") has been submitted']
    assert followed.cell.state.jobs[job + 1].name == "sim"


def test_a_job_without_its_script_is_not_resubmittable(followed: Followed, browse: Any) -> None:
    job = run(followed)
    for state in (followed.cell.state, followed.mirror.state):
        state.finished.clear()

    async def play(visitor: Any) -> Any:
        return await visitor.get(f"/jobs/{job}"), await visitor.post("/jobs", action="copy", target=str(job))

    page, answers = browse(play)
    button = next(each for each in page.iter("button") if each.text == "Resubmit")
    assert button.get("aria-disabled") == "true" and "The script is no longer known" in text_of(page)
    assert answers == [f"the script of job {job} is no longer known: that of the last 100 ended jobs is kept"]


@pytest.mark.statement("GU-12")
def test_the_owner_reads_the_output_on_the_host_of_the_job(followed: Followed, browse: Any) -> None:
    job = run(followed)

    async def play(visitor: Any) -> Any:
        visitor.link.tail = OutputTail("/home/alice/sim.o1", 5, 0, "done\n")
        return await visitor.get(f"/jobs/{job}"), await visitor.get(f"/jobs/{job}/output?task=1")

    page, tail = browse(play)
    assert [each.get("hx-get") for each in page.iter("div") if each.get("hx-get")] == [
        f"/jobs/{job}/output?task=1&stream=stdout"
    ]
    assert "done" in text_of(tail.find(".//pre"))
    others = text_of(browse(lambda visitor: visitor.get(f"/jobs/{job}"), BOB))
    assert "Only the owner (alice) can view output." in others
    assert "Resubmit" in others and "neither the owner of the job (alice) nor an operator" in others


def test_an_array_lists_its_ended_tasks_and_where_it_writes(followed: Followed, browse: Any) -> None:
    job = followed.cell.submit(name="sweep", tasks="1-9", task_concurrency=3, cwd="/home/alice/run")
    followed.cell.cycle()
    followed.cell.end(job, 1)
    followed.cell.end(job, 2, exit_status=4)
    followed.cell.master.flush()
    followed.take()
    page = browse(lambda visitor: visitor.get(f"/jobs/{job}"))
    text = text_of(page.find(".//main"))
    assert "qw waiting tasks 4-9:1" in text and "max. concurrent tasks (-tc) 3" in text
    assert "stdout /home/alice/run/sweep.o1.$TASK_ID" in text
    assert [row[:3] for row in rows(page, 1)] == [["2", "z failed exit status 4", "4"], ["1", "z finished exit status 0", "0"]]


def test_the_list_shows_how_jobs_ended_and_when(followed: Followed, page: Any) -> None:
    good, bad = run(followed, exit_status=0), run(followed, exit_status=3)
    killed = run(followed, exit_status=137, failed=AFTER_JOB)
    listed = {row[1]: row for row in rows(page("/jobs?state=finished"))}
    assert list(listed) == [str(killed), str(bad), str(good)], "the last to end comes first"
    assert listed[str(good)][4:6] == ["z finished exit status 0", "0"]
    assert listed[str(bad)][4:6] == ["z failed exit status 3", "3"]
    assert listed[str(killed)][4] == "z failed killed by signal KILL failed 100: assumedly after job"
    assert [row[1] for row in rows(page("/jobs?state=failed"))] == [str(killed), str(bad)]
    ended = followed.cell.state.finished[-1].end_time
    assert ended > followed.cell.state.finished[-1].submit_time
    failures = text_of(page("/"))
    assert "Failed in the last 24 hours" in failures and "2 failed: by user, host and result" in failures


@pytest.mark.statement("AC-1")
def test_the_list_shows_the_share_of_slots_and_memory_that_was_used(followed: Followed, browse: Any) -> None:
    cell = followed.cell
    job = cell.submit(name="wide", pe="smp", pe_range="2", hard=["h_vmem=1G"])
    cell.cycle()
    key = next(iter(cell.running))
    used = {"ru_wallclock": 100.0, "cpu": 50.0, "maxvmem": 0.5 * 2**30}
    cell.report(cell.running.pop(key), Ended(key, start_time=cell.now - 100, end_time=cell.now, usage=used))
    cell.master.flush()
    followed.take()

    async def play(visitor: Visitor) -> tuple[Any, str]:
        async with visitor.client.get("/jobs?state=finished&format=csv") as response:
            assert response.content_type == "text/csv"
            return await visitor.get("/jobs?state=finished"), await response.text()

    listed, file = browse(play)
    (row,) = rows(listed)
    assert row[6:10] == ["00:01:40", "00:00:50 25 % of slots", "512.000M 25 % of 2.000G", "all.q@h1"]
    (cells,) = csv.DictReader(io.StringIO(file))
    assert cells.items() >= {"job": str(job), "cpu_efficiency": "0.25", "requested_memory_bytes": str(2**31)}.items()


def test_a_job_that_never_was_is_missing(followed: Followed, page: Any) -> None:
    assert "There is no job 999" in text_of(page("/jobs/999"))


def test_a_task_in_error_shows_as_that(followed: Followed, page: Any) -> None:
    job = run(followed, failed=CHANGING_DIRECTORY)
    states = [row[1] for row in rows(page(f"/jobs/{job}"))]
    assert any(text.startswith("Eqw error") for text in states), states


def test_the_page_of_a_finished_job_shows_its_devices(followed: Followed, browse: Any) -> None:
    used = [UnitUsage("h1", "gpu", "0", 60.0, 0.5, 2.0**31, None, 50.0, identifier="GPU-a")]
    with_gpu, without = run(followed, units=used), run(followed)

    async def play(visitor: Visitor) -> list[Any]:
        return [await visitor.get(f"/jobs/{job}") for job in (with_gpu, without)]

    shown, plain = browse(play)
    (line,) = map(text_of, shown.xpath("//tr[contains(., 'GPU-a')]"))
    assert line == "gpu 0 GPU-a h1 00:01:00 50.0 % 2.000G -"
    assert "Devices" not in text_of(plain)
