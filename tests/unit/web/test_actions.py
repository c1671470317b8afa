"""Actions on jobs, queue instances and hosts beyond a plain click: many targets, force, kinds of holds, priorities."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from daemons.web.pages.jobs import most_targets
from gridengine.protocols.gdi.requests import Caller
from tests.unit.web.browsing import visiting
from tests.unit.web.followed import ALICE, ROOT, Followed


@pytest.fixture
def post(followed: Followed, tmp_path: Path) -> Callable[..., list[str]]:
    """What is said to a form that is sent."""

    def run(address: str, caller: Caller = ALICE, **fields: Any) -> list[str]:
        async def playing() -> list[str]:
            async with visiting(followed, tmp_path, caller) as visitor:
                followed.take()
                return await visitor.post(address, **fields)

        return asyncio.run(playing())

    return run


@pytest.mark.parametrize("action", ["hold", "priority", "delete"])
def test_all_that_match_are_more_than_one_request_holds(followed: Followed, post: Any, action: str) -> None:
    name = {"hold": "hold_jobs", "priority": "alter_jobs", "delete": "delete_jobs"}[action]
    count = min(most_targets(name) + 50, 1100)
    for _ in range(count):
        followed.cell.submit()
    messages = post("/jobs", action=action, all="1", list="/jobs?owner=alice", to="-7")
    assert len(messages) == count, messages[:3]
    jobs = followed.cell.state.jobs.values()
    if action == "hold":
        assert all(job.holds for job in jobs)
    else:
        assert [job for job in jobs if job.priority != -7] == []


@pytest.mark.statement("GU-12")
def test_holds_of_each_kind(followed: Followed, post: Any) -> None:
    job = followed.cell.submit(holds="u")
    assert any("operator" in line or "denied" in line for line in post("/jobs", action="hold", target=str(job), holds=["o"]))
    assert len(followed.cell.state.jobs[job].holds) == 1
    post("/jobs", ROOT, action="hold", target=str(job), holds=["o", "s"])
    assert len(followed.cell.state.jobs[job].holds) == 3
    post("/jobs", ROOT, action="release", target=str(job), holds=["u", "o", "s"])
    assert not followed.cell.state.jobs[job].holds


@pytest.mark.parametrize("priority", ["", "high", "1" * 40, "\u0663"])
def test_a_priority_that_is_none_is_refused(followed: Followed, post: Any, priority: str) -> None:
    job = followed.cell.submit(holds="u")
    (messages,) = post("/jobs", action="priority", target=str(job), to=priority)
    assert "priority" in messages
    assert followed.cell.state.jobs[job].priority == 0


@pytest.mark.statement("GU-4")
def test_a_job_on_a_host_that_is_gone_is_deleted_by_force(followed: Followed, post: Any) -> None:
    job = followed.cell.submit()
    followed.cell.cycle()
    (place,) = followed.cell.state.jobs[job].placed
    followed.cell.master.lose_host(place.host)
    post("/jobs", ROOT, action="delete", target=str(job))
    assert job in followed.cell.state.jobs
    post("/jobs", ROOT, action="delete", target=str(job), force="y")
    assert job not in followed.cell.state.jobs


def test_a_manager_removes_all_jobs_of_an_instance(followed: Followed, post: Any) -> None:
    job = followed.cell.submit()
    followed.cell.cycle()
    instance = f"all.q@{followed.cell.state.jobs[job].placed[0].host}"
    post("/instances", ALICE, action="clean", target=instance)
    assert job in followed.cell.state.jobs
    post("/instances", ROOT, action="clean", target=instance)
    assert job not in followed.cell.state.jobs


def test_only_managers_stop_daemons(post: Any) -> None:
    (messages,) = post("/hosts", ALICE, action="jobs", host="h1")
    assert "denied" in messages
