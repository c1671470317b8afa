"""Cores, memory, time and GPUs in the units of people become the options of qsub that fit the cell."""

from __future__ import annotations

import pytest

from daemons.web.pages.plain_request import memory_value, plain_fields, plain_options, time_value
from gridengine.errors import InvalidValueError
from tests.harness import Cell
from tests.unit.web.followed import ALICE


@pytest.mark.parametrize(
    ("text", "value"), [("2 G", "2G"), ("2GB", "2G"), ("500 m", "500M"), ("1.5 GiB", "1.5G"), ("3T", "3T")]
)
def test_a_memory_size_has_a_unit(text: str, value: str) -> None:
    assert memory_value(text) == value


@pytest.mark.parametrize("text", ["2", "G", "-2 G", "2 X", "2 G G", "1e9 G", "٣ G"])
def test_a_memory_size_without_a_unit_is_an_error(text: str) -> None:
    with pytest.raises(InvalidValueError, match="memory size"):
        memory_value(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 h 30 m", "01:30:00"), ("90 min", "01:30:00"), ("1h30m", "01:30:00"), ("2 days, 1 hour", "49:00:00"),
        ("45s", "00:00:45"), ("1:30:00", "01:30:00"), ("10 Minutes", "00:10:00"),
    ],
)
def test_a_time_has_units(text: str, value: str) -> None:
    assert time_value(text) == value


@pytest.mark.parametrize("text", ["90", "1:30", "h", "1 month", "1 h x", "-1 h", "1 h -5 m"])
def test_a_time_without_units_is_an_error(text: str) -> None:
    with pytest.raises(InvalidValueError, match="time"):
        time_value(text)


def test_fields_become_requests_before_those_of_the_form(cell: Cell) -> None:
    given = {"memory": "2 G", "time": "1 h", "-l": "arch=lx-amd64", "command": "true"}
    options, faults = plain_options(cell.state, ALICE, given)
    assert faults == {}
    assert options["-l"] == "h_vmem=2G,h_rt=01:00:00,arch=lx-amd64"
    assert "-pe" not in options and "-alloc" not in options


def test_a_consumable_attribute_comes_first(cell: Cell) -> None:
    assert plain_fields(cell.state, ALICE).memory == "h_vmem"
    before = cell.state.kind("complex")["virtual_free"]
    change = {"kind": "complex", "name": "virtual_free", "before": before, "after": {**before, "consumable": "JOB"}}
    cell.admin("config_change", changes=[change], plan=False)
    offered = plain_fields(cell.state, ALICE)
    assert (offered.memory, offered.per_job) == ("virtual_free", True)


def test_gpus_are_offered_where_the_cell_counts_them(cell: Cell) -> None:
    options, faults = plain_options(cell.state, ALICE, {"gpus": "2"})
    assert "no such resource" in faults["gpus"]
    cell.add("complex", "gpu", shortcut="gpu", type="INT", relop="<=", consumable="YES", default="0")
    options, faults = plain_options(cell.state, ALICE, {"gpus": "2"})
    assert (options["-l"], faults) == ("gpu=2", {})


def test_cores_take_the_environment_of_one_host_that_most_queues_have(cell: Cell) -> None:
    for name, rule, slots in (("spread", "$round_robin", "99"), ("small", "$pe_slots", "2"), ("smp", "$pe_slots", "99")):
        cell.add("parallel_environment", name, allocation_rule=rule, slots=slots)
    cell.configure("cluster_queue", "all.q", pe_list="spread small smp")
    assert plain_options(cell.state, ALICE, {"cores": "2"})[0]["-pe"] == "small 2"
    assert plain_options(cell.state, ALICE, {"cores": "4"})[0]["-pe"] == "smp 4"
    assert "-pe" not in plain_options(cell.state, ALICE, {"cores": "1"})[0]
    cell.add("userset", "staff", entries="bob")
    cell.configure("parallel_environment", "smp", user_lists="staff")
    assert plain_options(cell.state, ALICE, {"cores": "4"})[0]["-alloc"] == "$pe_slots 4"


def test_without_an_environment_an_allocation_rule_takes_one_host(cell: Cell) -> None:
    cell.configure("cluster_queue", "all.q", pe_list="NONE")
    options, faults = plain_options(cell.state, ALICE, {"cores": "4"})
    assert (options["-alloc"], faults) == ("$pe_slots 4", {})


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"memory": "2 G", "-l": "h_vmem=4G"}, "memory"), ({"time": "1 h", "-l": "arch=x,h_rt=5"}, "time"),
        ({"cores": "2", "-pe": "mpi 4"}, "cores"), ({"cores": "none"}, "cores"), ({"cores": "0"}, "cores"),
        ({"memory": "2"}, "memory"),
    ],
)
def test_a_repeated_or_unreadable_value_is_an_error_of_its_field(cell: Cell, given: dict[str, str], field: str) -> None:
    assert list(plain_options(cell.state, ALICE, given).faults) == [field]
