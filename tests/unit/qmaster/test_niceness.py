"""Nice values of running tasks: by tickets, per host, once an interval."""

from __future__ import annotations

import pytest

from tests.harness import Cell

INTERVAL_S = 40


@pytest.fixture
def here(cell: Cell) -> Cell:
    cell.configure("configuration", "global", reprioritize="1")
    cell.configure("scheduler", "", reprioritize_interval=f"0:0:{INTERVAL_S}")
    cell.pass_time(INTERVAL_S)
    return cell


def run(cell: Cell, host: str, tickets: int) -> int:
    job = cell.submit(hard=[f"h={host}"])
    assert cell.admin("alter_jobs", targets=[str(job)], changes={"override_tickets": tickets}).status == 0
    cell.cycle()
    return job


def instructions(cell: Cell) -> dict[int, str]:
    """The instructions to hosts after a while, by job."""
    cell.pass_time(INTERVAL_S)
    cell.signals.clear()
    cell.deliver()
    return {key[0]: command for _, key, command in cell.signals}


@pytest.mark.statement("PR-10")
def test_tickets_divide_the_processor_of_each_host(here: Cell) -> None:
    most, half, none, alone = run(here, "h1", 100), run(here, "h1", 50), run(here, "h1", 0), run(here, "h2", 7)
    assert instructions(here) == {most: "nice 0", half: "nice 10", none: "nice 19", alone: "nice 0"}
    assert instructions(here) == {}, "they have them"
    here.end(most)
    here.cycle()
    assert instructions(here) == {half: "nice 0"}
    here.restart()
    assert instructions(here) == {}


@pytest.mark.statement("PR-10")
def test_switched_off_the_priorities_of_queues_count_again(here: Cell) -> None:
    here.configure("cluster_queue", "all.q", priority="3")
    _, poor = run(here, "h1", 9), run(here, "h1", 0)
    assert instructions(here)[poor] == "nice 19"
    here.configure("scheduler", "", reprioritize_interval="0:0:0")
    assert set(instructions(here).values()) == {"nice 3"}
    assert instructions(here) == {}


@pytest.mark.statement("PR-10")
def test_nothing_changes_within_an_interval(here: Cell) -> None:
    first = run(here, "h1", 10)
    instructions(here)
    second = run(here, "h1", 40)
    here.pass_time(INTERVAL_S / 2)
    here.deliver()
    assert not any(key[0] == second for _, key, _ in here.signals)
    assert instructions(here) == {first: "nice 14", second: "nice 0"}


@pytest.mark.statement("PR-10")
def test_parameters_of_a_host_bound_the_values(here: Cell) -> None:
    here.configure("configuration", "global", execd_params="PTF_MIN_PRIORITY=10,PTF_MAX_PRIORITY=-999")
    here.add("configuration", "h2", execd_params="PTF_MIN_PRIORITY=5,PTF_MAX_PRIORITY=-5")
    rich, poor, other = run(here, "h1", 4), run(here, "h1", 1), run(here, "h2", 3)
    assert instructions(here) == {rich: "nice 0", poor: "nice 8", other: "nice -5"}


@pytest.mark.statement("PR-10")
@pytest.mark.parametrize(("switch", "interval"), [("0", "0:0:40"), ("1", "0:0:0")])
def test_without_flag_or_interval_priorities_of_queues_count(cell: Cell, switch: str, interval: str) -> None:
    cell.configure("configuration", "global", reprioritize=switch)
    cell.configure("scheduler", "", reprioritize_interval=interval)
    run(cell, "h1", 10)
    assert instructions(cell) == {}
