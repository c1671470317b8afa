"""Edge cases of single requests: negative values, host names with domains, values of cluster and host together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import Cell


def add_complex(cell: Cell, name: str, **columns: str) -> None:
    row = {"name": name, "shortcut": name, "type": "INT", "relop": "<=", "requestable": "YES", "consumable": "NO"}
    row |= {"default": "0", "urgency": "0", **columns}
    answer = cell.admin("config_add", kind="complex", name=name, attributes=[(a, v, 1) for a, v in row.items()])
    assert answer.status == 0, answer.answers


@pytest.mark.statement("CX-45")
@pytest.mark.parametrize(("consumable", "taken"), [("NO", True), ("YES", False), ("JOB", False)])
def test_only_of_a_consumable_less_than_nothing_cannot_be_asked(tmp_path: Path, consumable: str, taken: bool) -> None:
    cell = Cell(tmp_path)
    add_complex(cell, "degrees", consumable=consumable)
    answer = cell.ask("submit", binary=True, script_file="x", hard=["degrees=-3"])
    assert (answer.status == 0) == taken, answer.answers


@pytest.mark.statement("CX-55")
@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("h1.lab", ["all.q@h1.lab"]),
        ("h1", ["all.q@h1.lab"]),
        ("h2", ["all.q@h2"]),
        ("h1*", ["all.q@h1.lab"]),
        ("h?", ["all.q@h2"]),
        ("H1.LAB", ["all.q@h1.lab"]),
        ("h1.desk", []),
        ("lab", []),
    ],
)
def test_a_short_name_of_a_host_means_that_of_any_domain(tmp_path: Path, text: str, places: list[str]) -> None:
    cell = Cell(tmp_path, hosts=["h1.lab", "h2"])
    cell.aliases = {name: name for name in ("h1", "H1.LAB", "h1.desk", "lab")}
    cell.admin("config_add", kind="submit_host", name="h1", attributes=[])
    job = cell.submit(hard=[f"hostname={text}"])
    cell.cycle()
    assert [instance for instance, _ in cell.placed(job)] == places


@pytest.mark.statement("CX-60")
def test_a_soft_request_that_the_cluster_does_not_fulfil_prefers_no_host(tmp_path: Path) -> None:
    for at_cluster, place in (("1", "h2"), ("5", "h1")):
        directory = tmp_path / at_cluster
        directory.mkdir()
        cell = Cell(directory, hosts=2)
        add_complex(cell, "size")
        cell.configure("exec_host", "global", complex_values=f"size={at_cluster}")
        cell.configure("exec_host", "h1", complex_values="size=5")
        cell.configure("exec_host", "h2", complex_values="size=2")
        cell.configure("cluster_queue", "all.q", seq_no="0,[h1=9]")
        cell.configure("scheduler", "", queue_sort_method="seqno")
        job = cell.submit(soft=["size=3"])
        cell.cycle()
        assert [instance for instance, _ in cell.placed(job)] == [f"all.q@{place}"], at_cluster


@pytest.mark.statement("RQ-3", "RQ-6")
def test_a_quota_of_slots_counts_each_slot_of_a_parallel_job(tmp_path: Path) -> None:
    cell = Cell(tmp_path, hosts=2)
    cell.add("parallel_environment", "wide", pe_name="wide", slots="99", allocation_rule="1")
    cell.configure("cluster_queue", "all.q", pe_list="wide")
    cell.add("resource_quota", "rq", enabled="TRUE", limit="users {*} to slots=1")
    two, one = cell.submit(pe="wide", pe_range="2"), cell.submit(pe="wide", pe_range="1")
    cell.cycle()
    assert (cell.placed(two), len(cell.placed(one))) == ([], 1)
    cell.configure("resource_quota", "rq", limit="users {*} hosts {*} to slots=1")
    cell.end(one)
    cell.cycle()
    assert sorted(cell.placed(two)) == [("all.q@h1", 1), ("all.q@h2", 1)]


@pytest.mark.statement("SO-22", "AJ-5", "SC-4")
@pytest.mark.parametrize(("limits", "starts"), [({}, 3), ({"maxujobs": "3"}, 3), ({"maxujobs": "2"}, 0)])
def test_an_immediate_array_that_a_limit_keeps_from_starting_whole_goes(
    tmp_path: Path, limits: dict[str, str], starts: int
) -> None:
    cell = Cell(tmp_path)
    cell.configure("scheduler", "", **limits)
    job = cell.submit(now=True, tasks="1-3")
    cell.cycle()
    assert len(cell.running) == starts
    assert (job in cell.state.jobs) == bool(starts)


@pytest.mark.statement("SC-7", "SC-8")
def test_cluster_resources_of_a_job_reservation_stay_reserved_within_the_cycle(tmp_path: Path) -> None:
    cell = Cell(tmp_path)
    cell.configure("scheduler", "", max_reservation="5", params="DURATION_OFFSET=0")
    add_complex(cell, "lic", consumable="YES")
    cell.configure("exec_host", "global", complex_values="lic=2")
    cell.submit(hard=["lic=1", "h_rt=100"])
    cell.cycle()
    big = cell.submit("root", hard=["lic=2", "h_rt=100"], reserve=True, priority=100)
    long, short = (cell.submit(hard=["lic=1", f"h_rt={seconds}"]) for seconds in (101, 100))
    cell.cycle()
    assert [bool(cell.placed(job)) for job in (big, long, short)] == [False, False, True]
    assert [(one.job_id, one.start_time - cell.now) for one in cell.state.job_reservations] == [(big, 100)]


@pytest.mark.statement("SC-7")
def test_tasks_started_in_a_cycle_count_once_for_its_reservations(tmp_path: Path) -> None:
    cell = Cell(tmp_path, hosts=1)
    cell.configure("scheduler", "", max_reservation="5", params="DURATION_OFFSET=0")
    cell.add("parallel_environment", "wide", pe_name="wide", slots="99", allocation_rule="$pe_slots")
    cell.configure("cluster_queue", "all.q", pe_list="wide")
    cell.submit(hard=["h_rt=1000"], pe="wide", pe_range="2")
    cell.cycle()
    cell.submit("root", hard=["h_rt=5000"], priority=200)
    big = cell.submit("root", hard=["h_rt=100"], pe="wide", pe_range="3", reserve=True, priority=100)
    cell.cycle()
    assert [(one.job_id, one.start_time - cell.now) for one in cell.state.job_reservations] == [(big, 1000)]
