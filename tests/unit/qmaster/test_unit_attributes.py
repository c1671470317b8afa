"""Requests by attribute of a unit, slices, and units near each other, in a cell with the real scheduler (adr/0340)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gridengine.placement.config_snapshot import PlacementConfig
from gridengine.placement.explanation import explanation
from gridengine.placement.ledger import Ledger
from gridengine.placement.resources import host_available
from gridengine.placement.unit_choice import offer_text
from gridengine.protocols.delivery import Load
from gridengine.state.invariants import invariants
from tests.harness import LOAD, Cell
from tests.unit.qmaster.test_resource_maps import add_complex, set_values, units

ATTRIBUTES = {
    "gpu_mem": {"type": "MEMORY", "relop": "<="},
    "gpu_type": {"type": "RESTRING", "relop": "==", "default": "NONE"},
    "gpu_near": {"type": "BOOL", "relop": "=="},
}
MIXED = "gpu/0(gpu_mem=80G gpu_type=h100) gpu/1(gpu_mem=40G gpu_type=a100) gpu/2(gpu_mem=40G gpu_type=a100)"


def make(directory: Path, listed: str, text: str = "gpu=3(0-2)", hosts: int = 1, slots: int = 8, **changes: str) -> Cell:
    """A cell whose first host has these units."""
    cell = Cell(directory, hosts, slots=slots)
    assert not add_complex(cell, **changes)
    for name, row in ATTRIBUTES.items():
        assert not add_complex(cell, name=name, **{"consumable": "NO", **row})
    assert not set_values(cell, "h1", text)
    assert not set_units(cell, listed)
    return cell


def set_units(cell: Cell, listed: str, host: str = "h1") -> list[str]:
    """The answers to the properties of units; [] if they were taken."""
    change = cell.configure if cell.state.has("host_units", host) else cell.add
    answer = change("host_units", host, units=listed)
    return [text for _, text in answer.answers] if answer.status else []


def start(cell: Cell, *hard: str, **fields: Any) -> list[str]:
    """The units of a job with these requests; [] if the job waits."""
    job = cell.submit(hard=list(hard), **fields)
    cell.cycle()
    found = [unit for task in cell.state.jobs[job].tasks.values() for grant in task.units for unit in grant.units]
    assert not invariants(cell.state)
    return found


def test_a_request_gets_the_least_valuable_units_that_satisfy_it(tmp_path: Path) -> None:
    cell = make(tmp_path, MIXED)
    assert start(cell, "gpu=1") == ["1"]
    assert start(cell, "gpu=1", "gpu_mem=50G") == ["0"]
    assert start(cell, "gpu=1", "gpu_type=h*") == []
    assert start(cell, "gpu=1", "gpu_type=h100|a100") == ["2"]


def test_units_that_do_not_fit_leave_a_job_waiting_and_the_reason_names_the_attribute(tmp_path: Path) -> None:
    cell = make(tmp_path, MIXED)
    assert start(cell, "gpu=1", "gpu_mem=80G") == ["0"]
    assert start(cell, "gpu=1") == ["1"]
    assert start(cell, "gpu=1", "gpu_mem=60G") == []
    job = max(cell.state.jobs)
    causes = explanation(cell.state, cell.state.jobs[job], cell.now).causes
    lines = [line for cause in causes for line in cause.reasons]
    assert [holder for cause in causes for holder in cause.holders] == ["job 1 of alice has gpu=1(0) and no run time limit"]
    text = "1 unit of gpu is free, none has gpu_mem >= 60G: 2 of 3 in use (0 by job 1, 1 by job 2)"
    assert any(text in line for line in lines), lines
    assert start(cell, "gpu=1", "gpu_mem=90G") == []
    job = max(cell.state.jobs)
    lines = [line for cause in explanation(cell.state, cell.state.jobs[job], cell.now).causes for line in cause.reasons]
    assert any("it has 3 units of gpu, none has gpu_mem >= 90G" in line for line in lines), lines


def test_a_unit_and_its_slices_exclude_each_other(tmp_path: Path) -> None:
    listed = "gpu/0(gpu_mem=80G) gpu/0a(gpu_mem=20G parent=0) gpu/0b(gpu_mem=20G parent=0) gpu/1(gpu_mem=80G) gpu/1a(parent=1)"
    cell = make(tmp_path, listed, "gpu=5(0 0a 0b 1 1a)")
    first = cell.submit(hard=["gpu=1", "gpu_mem=10G"])
    cell.cycle()
    assert units(cell, first) == [("h1", "gpu", ["0a"])]
    config_snapshot = PlacementConfig.of(cell.state)
    offer = host_available(config_snapshot, Ledger(cell.state), "h1", "gpu")
    assert offer is not None and offer_text(cell.state, offer, "h1") == "3(0b 1 1a)", "the whole of 0a is not offered"
    assert start(cell, "gpu=1", "gpu_mem=20G") == ["0b"], "a whole one stays whole"
    assert start(cell, "gpu=1", "gpu_mem=80G") == ["1"]
    assert start(cell, "gpu=1") == [], "the slice of a unit in use is not free"
    cell.end(first)
    cell.cycle()
    assert start(cell, "gpu=1", "gpu_mem=80G") == [], "one slice is left in use"


def test_units_that_are_asked_for_together_are_near_each_other(tmp_path: Path) -> None:
    listed = "gpu/0(numa_node=0) gpu/1(numa_node=1) gpu/2(numa_node=0) gpu/3(numa_node=1)"
    cell = make(tmp_path, listed, "gpu=4(0-3)")
    assert start(cell, "gpu=1", "gpu_near=TRUE") == ["0"]
    assert start(cell, "gpu=2", "gpu_near=TRUE") == ["1", "3"]
    assert start(cell, "gpu=1") == ["2"]


def test_units_of_two_places_do_not_satisfy_a_demand_for_near_ones(tmp_path: Path) -> None:
    cell = make(tmp_path, "gpu/0(numa_node=0) gpu/1(numa_node=1)", "gpu=2(0 1)")
    assert start(cell, "gpu=2", "gpu_near=TRUE") == []
    assert start(cell, "gpu=2") == ["0", "1"]


def test_linked_units_are_chosen_together(tmp_path: Path) -> None:
    cell = make(tmp_path, "gpu/0(links=2) gpu/1(links=3) gpu/2(links=0) gpu/3(links=1)", "gpu=4(0-3)")
    assert sorted(start(cell, "gpu=2")) == ["0", "2"]
    assert sorted(start(cell, "gpu=2")) == ["1", "3"]


def test_soft_requests_prefer_units(tmp_path: Path) -> None:
    cell = make(tmp_path, MIXED)
    assert start(cell, "gpu=1", soft=["gpu_type=h100"]) == ["0"]
    assert start(cell, "gpu=1", soft=["gpu_type=h100"]) == ["1"]


@pytest.mark.parametrize(("consumable", "expected"), [("YES", 2), ("JOB", 1), ("HOST", 1)])
def test_parallel_jobs_get_fitting_units_for_slots_jobs_and_hosts(tmp_path: Path, consumable: str, expected: int) -> None:
    cell = make(tmp_path, MIXED, consumable=consumable)
    assert cell.configure("cluster_queue", "all.q", pe_list="smp").status == 0
    found = start(cell, "gpu=1", "gpu_type=a100", pe="smp", pe_range="2")
    assert found == ["1", "2"][:expected]
    assert start(cell, "gpu=1", "gpu_type=h100", pe="smp", pe_range="2") == ([] if expected == 2 else ["0"])


def test_a_waiting_job_reserves_units_that_fit_it(tmp_path: Path) -> None:
    cell = make(tmp_path, MIXED)
    assert cell.configure("scheduler", "", max_reservation="10", default_duration="1:0:0").status == 0
    assert start(cell, "gpu=1", "gpu_mem=80G", "h_rt=100") == ["0"]
    assert start(cell, "gpu=1", "gpu_mem=80G", "h_rt=1000", reserve=True) == []
    waiting = max(cell.state.jobs)
    assert start(cell, "gpu=3", "h_rt=50") == []
    cell.end(min(cell.state.jobs))
    cell.cycle()
    assert cell.state.jobs[waiting].tasks[1].units[0].units == ["0"]


def test_a_reservation_holds_units_that_fit_it(tmp_path: Path) -> None:
    cell = make(tmp_path, MIXED)
    answer = cell.ask("reserve", "root", start_time=cell.now + 300, duration=1000.0, hard=["gpu=1", "gpu_mem=80G"])
    assert answer.status == 0, answer.answers
    number = answer.data["id"]
    assert start(cell, "gpu=1", "gpu_mem=60G", "h_rt=5000") == [], "it would run into the reservation"
    assert start(cell, "gpu=1", "gpu_mem=60G", "h_rt=50") == ["0"]
    assert start(cell, "gpu=1", "h_rt=5000") == ["1"]
    assert start(cell, "gpu=1", "h_rt=5000") == ["2"]
    assert start(cell, "gpu=1", "h_rt=5000") == []
    cell.end(sorted(cell.state.jobs)[1])
    cell.pass_time(301)
    cell.report("h1", Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))
    job = cell.submit("root", hard=["gpu=1"], ar=number)
    cell.cycle()
    assert cell.state.jobs[job].tasks[1].units[0].units == ["0"]


def test_an_attribute_of_units_that_no_host_has_is_unknown(tmp_path: Path) -> None:
    cell = make(tmp_path, MIXED, hosts=2)
    assert not set_values(cell, "h2", "gpu=2(0 1)")
    assert start(cell, "gpu=1", "gpu_type=h100", hard_queues=["*@h2"]) == []
    assert start(cell, "gpu_type=h100") == [], "a job without gpu gets none"
    assert cell.placed(max(cell.state.jobs)), "and runs on a host that has such a unit"


@pytest.mark.parametrize(
    ("listed", "fault"),
    [
        ("gpu/0(gpu_mem=much)", "gpu/0: gpu_mem is of the type MEMORY"),
        ("slots/0()", '"slots" is of the type INT'),
        ("gpu/0(gpu=1)", "gpu/0: gpu is consumable"),
        ("gpu/0(unheard_of=1)", '"unheard_of" does not exist'),
        ("gpu/0() gpu/1(parent=0) gpu/2(parent=1)", '"1" is a slice itself'),
    ],
)
def test_properties_that_a_unit_cannot_have_are_refused(tmp_path: Path, listed: str, fault: str) -> None:
    cell = make(tmp_path, MIXED)
    assert any(fault in line for line in set_units(cell, listed)), set_units(cell, listed)
    assert cell.state.kind("host_units")["h1"]["units"] == MIXED


def test_units_of_a_host_that_does_not_exist_are_refused(tmp_path: Path) -> None:
    cell = make(tmp_path, MIXED, hosts=2)
    assert "reserved" in str(set_units(cell, MIXED, "global"))
    assert not set_units(cell, MIXED, "h2")
    assert cell.configure("cluster_queue", "all.q", hostlist="h1").status == 0
    assert cell.configure("host_group", "@allhosts", hostlist="h1").status == 0
    assert cell.admin("config_delete", kind="exec_host", name="h2").status == 0
    assert not cell.state.has("host_units", "h2"), "the units went with their host"
    assert any('"h2" does not exist' in line for line in set_units(cell, MIXED, "h2"))


def test_a_unit_in_use_cannot_become_the_slice_of_another_in_use(tmp_path: Path) -> None:
    cell = make(tmp_path, "gpu/0() gpu/1()", "gpu=2(0 1)")
    assert start(cell, "gpu=2") == ["0", "1"]
    assert any("gpu/0 is in use together" in line for line in set_units(cell, "gpu/0() gpu/1(parent=0)"))
    assert not invariants(cell.state)


def test_a_complex_of_units_cannot_become_consumable(tmp_path: Path) -> None:
    cell = make(tmp_path, MIXED)
    rows = cell.state.kind("complex") | {"gpu_mem": cell.state.kind("complex")["gpu_mem"] | {"consumable": "YES"}}
    lines = [(name, text, 1) for row in rows.values() for name, text in row.items()]
    answer = cell.admin("config_modify", kind="complex", name="", attributes=lines)
    assert answer.status and "gpu_mem is consumable" in answer.answers[0][1], answer.answers


def test_the_instruction_for_a_host_has_the_processors_near_the_units(tmp_path: Path) -> None:
    cell = make(tmp_path, "gpu/0(cores=0-3) gpu/1(cores=4-7) gpu/2()")
    for expected in ("0-3", "4-7", ""):
        cell.starts.clear()
        assert start(cell, "gpu=1")
        assert [each.near_processors for each in cell.starts] == [expected]


def test_a_healed_reservation_holds_units_on_its_new_host(tmp_path: Path) -> None:
    cell = make(tmp_path, MIXED, hosts=2)
    assert not set_values(cell, "h2", "gpu=3(0-2)")
    assert not set_units(cell, MIXED, "h2")
    answer = cell.ask("reserve", "root", duration=1000.0, hard=["gpu=1", "gpu_mem=80G"], heal=True)
    assert answer.status == 0, answer.answers
    reservation = cell.state.reservations[answer.data["id"]]
    before = reservation.granted[0].host
    other = "h2" if before == "h1" else "h1"
    cell.pass_time(200)
    cell.report(other, Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))
    cell.pass_time(200)
    cell.report(other, Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))
    cell.pass_time(1)
    reservation = cell.state.reservations[answer.data["id"]]
    assert [(units.host, units.units) for units in reservation.units] == [(other, ["0"])], reservation
