"""Usage of users and projects as the share tree counts it: kept, decayed, set to zero."""

from __future__ import annotations

import pytest

from gridengine.protocols.delivery import UsageReport
from gridengine.state.configured.scheduler import SchedulerConfiguration
from gridengine.state.jobs import Usage
from tests.harness import Cell
from tests.unit.qmaster.asking import read, texts

HALF_LIFE_S = 168 * 3600
"""Of the default scheduler configuration."""


@pytest.fixture
def here(cell: Cell) -> Cell:
    cell.configure("configuration", "global", enforce_user="false")
    cell.add("user", "alice")
    cell.add("project", "P")
    return cell


def usage(cell: Cell) -> dict[tuple[str, str], float]:
    """(user, project) -> cpu s."""
    return {(user, project): cpu for user, project, cpu, _, _ in read(cell, "share_usage").data}  # type: ignore[attr-defined]


def run(cell: Cell, user: str = "alice", **fields: str) -> int:
    """A job of half a second of cpu time that has ended."""
    job = running(cell, user, **fields)
    cell.end(job)
    return job


def running(cell: Cell, user: str = "alice", cpu: float = 0.0, **fields: str) -> int:
    job = cell.submit(user, **fields)
    cell.cycle()
    if cpu:
        key = next(key for key in cell.running if key[0] == job)
        cell.report(cell.running[key], UsageReport(key, Usage(cpu=cpu)))
    return job


@pytest.mark.statement("PR-6", "PR-12", "QF-33")
def test_usage_is_kept_of_users_and_projects_and_decays(here: Cell) -> None:
    run(here)
    run(here, project="P")
    run(here, "bob", project="P")
    run(here, "bob")
    assert usage(here) == {("alice", ""): 0.5, ("alice", "P"): 0.5, ("bob", "P"): 0.5}, "bob is no user of the configuration"
    here.now += HALF_LIFE_S
    assert usage(here)["alice", ""] == 0.25
    run(here)
    assert usage(here)["alice", ""] == 0.75
    before = usage(here)
    here.restart()
    assert usage(here) == before
    here.admin("config_delete", kind="user", name="alice")
    here.admin("config_delete", kind="project", name="P")
    assert usage(here) == {}


@pytest.mark.statement("QF-33")
def test_usage_is_set_to_zero_also_of_what_runs(here: Cell) -> None:
    run(here)
    job = running(here, cpu=0.4)
    assert usage(here) == {("alice", ""): pytest.approx(0.9)}
    answer = here.admin("clear_usage", users=["alice"])
    assert (answer.status, texts(answer)) == (0, ['root@master modified "alice" in user list'])
    assert usage(here) == {("alice", ""): 0.0}
    here.restart()
    here.end(job)
    assert usage(here) == {("alice", ""): pytest.approx(0.1)}, "what was used after it counts, and no more"


@pytest.mark.statement("QF-33")
def test_all_users_and_projects_are_cleared_without_a_list(here: Cell) -> None:
    run(here)
    run(here, "bob", project="P")
    answer = here.admin("clear_usage")
    assert [text.split()[2] for text in texts(answer)] == ['"alice"', '"bob"', '"P"']
    assert usage(here) == {}


@pytest.mark.statement("QF-33", "QF-36", "QF-38")
def test_unknown_users_and_callers_without_the_right_clear_nothing(here: Cell) -> None:
    run(here)
    answer = here.admin("clear_usage", users=["alice", "nosuch"])
    assert (answer.status, texts(answer)) == (1, ['denied: user "nosuch" does not exist'])
    assert texts(here.ask("clear_usage", "alice")) == ['denied: "alice" must be manager for this operation']
    assert usage(here) == {("alice", ""): 0.5}


def _half_lives(of_kinds: str) -> dict[str, float]:
    return SchedulerConfiguration.of({"halftime": "2", "halflife_decay_list": of_kinds}).half_lives_s


@pytest.mark.statement("PR-7")
def test_half_lives_of_single_kinds_of_usage(here: Cell) -> None:
    assert _half_lives("none") == {"cpu": 7200, "mem": 7200, "io": 7200}
    assert _half_lives("cpu=-1:io=3") == {"cpu": -1, "mem": 7200, "io": 180}
    here.configure("scheduler", "", halftime="0")
    run(here)
    here.now += HALF_LIFE_S
    assert usage(here) == {("alice", ""): 0.5}, "0: no decay"
    here.configure("scheduler", "", halflife_decay_list="cpu=-1")
    running(here, cpu=0.3)
    assert usage(here) == {("alice", ""): pytest.approx(0.3)}, "-1: as long as the task runs"


@pytest.mark.statement("EX-16")
def test_reserved_usage_counts_if_configured_for_the_host(here: Cell) -> None:
    here.configure("configuration", "global", execd_params="SHARETREE_RESERVED_USAGE=true")
    job = running(here, cpu=3, hard=["h_vmem=2G"])
    here.now += 100
    assert read(here, "share_usage").data == [["alice", "", 100.0, 200.0, 0.0]]
    here.admin("clear_usage", users=["alice"])
    here.now += 50
    here.end(job)
    (charged,) = read(here, "share_usage").data
    assert charged[:2] == ["alice", ""] and charged[2:4] == pytest.approx([50.0, 100.0])


@pytest.mark.statement("QF-33")
def test_the_usage_of_other_users_is_not_cleared(here: Cell) -> None:
    here.add("user", "bob")
    job = running(here, "bob", cpu=0.4)
    running(here, cpu=0.3)
    here.admin("clear_usage", users=["alice"])
    assert usage(here) == {("alice", ""): 0.0, ("bob", ""): pytest.approx(0.4)}
    here.end(job)
    assert usage(here)["bob", ""] == pytest.approx(0.5)


@pytest.mark.statement("QF-33")
def test_where_there_is_no_usage_nothing_is_cleared(cell: Cell) -> None:
    before = cell.state.revision
    answer = cell.admin("clear_usage")
    assert (answer.status, answer.answers, cell.state.revision) == (0, [], before)


@pytest.mark.statement("QF-33")
def test_users_and_projects_are_cleared_in_the_order_of_names(here: Cell) -> None:
    for name in ("zoe", "Adam"):
        here.add("user", name)
    for name in ("Q", "A"):
        here.add("project", name)
    assert [text.split()[2] for text in texts(here.admin("clear_usage"))] == [
        '"Adam"', '"alice"', '"zoe"', '"A"', '"P"', '"Q"',
    ]
