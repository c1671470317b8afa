"""Records of queue instances and hosts in the reporting file: states, consumables in use, load values."""

from __future__ import annotations

import pytest

from gridengine.protocols.delivery import Load
from tests.harness import LOAD, Cell


def records(cell: Cell, *kinds: str) -> list[list[str]]:
    """The records of these types without their times."""
    path = cell.directory / "reporting"
    lines = [line.split(":") for line in path.read_text().splitlines()] if path.exists() else []
    return [[field for field in line if field != str(int(cell.now))] for line in lines if line[1] in kinds]


def reporting(cell: Cell, more: str = "") -> None:
    cell.configure("configuration", "global", reporting_params=f"reporting=true {more}")


def licences(cell: Cell) -> None:
    """Give the cell five licences."""
    cell.add("complex", "lic", shortcut="lic", type="INT", relop="<=", requestable="YES", consumable="YES")
    cell.configure("exec_host", "global", complex_values="lic=5")


def hear(cell: Cell, host: str, **values: str) -> None:
    cell.report(host, Load(cell.now, {**LOAD, **values}, full=True, incarnation="boot1"))


@pytest.mark.statement("RP-1")
def test_the_state_of_an_instance_is_written_when_it_changes(cell: Cell) -> None:
    reporting(cell)
    cell.submit()
    cell.cycle()
    for action in ("disable", "disable", "enable"):
        cell.admin("change_states", action=action, what="queue", targets=["all.q@h1"])
    assert records(cell, "queue") == [["queue", "all.q", "h1", "d"], ["queue", "all.q", "h1", ""]]


@pytest.mark.statement("RP-1")
def test_instances_of_a_lost_host_are_unknown_until_it_is_heard_again(cell: Cell) -> None:
    reporting(cell)
    cell.master.lose_host("h2")
    hear(cell, "h2")
    assert records(cell, "queue") == [["queue", "all.q", "h2", "u"], ["queue", "all.q", "h2", ""]]


@pytest.mark.statement("RP-1", "RP-2")
def test_use_of_consumables_is_logged_at_start_and_end_of_a_job(cell: Cell) -> None:
    licences(cell)
    reporting(cell, "log_consumables=true")
    job = cell.submit(hard=["lic=2"])
    cell.cycle()
    host = cell.placed(job)[0][0].partition("@")[2]
    cell.end(job)
    assert records(cell, "queue_consumable", "host_consumable") == [
        ["queue_consumable", "all.q", host, "", "slots=1.000000=4.000000"],
        ["host_consumable", "global", "X", "lic=2.000000=5.000000"],
        ["queue_consumable", "all.q", host, "", "slots=0.000000=4.000000"],
        ["host_consumable", "global", "X", "lic=0.000000=5.000000"],
    ]


@pytest.mark.statement("RP-2")
@pytest.mark.parametrize(
    ("variables", "kinds"),
    [("NONE", []), ("lic", ["host_consumable"]), ("slots,lic", ["queue_consumable", "host_consumable"])],
)
def test_without_log_consumables_those_in_report_variables_are_written(
    cell: Cell, variables: str, kinds: list[str]
) -> None:
    licences(cell)
    reporting(cell)
    cell.configure("exec_host", "global", report_variables=variables)
    cell.submit(hard=["lic=2"])
    cell.cycle()
    assert [record[0] for record in records(cell, "queue_consumable", "host_consumable")] == kinds


@pytest.mark.statement("RP-1")
def test_load_values_are_written_as_numbers_when_a_host_reports_them(cell: Cell) -> None:
    reporting(cell)
    cell.configure("exec_host", "h1", report_variables="np_load_avg,mem_free,arch,swap_free")
    for host in ("h1", "h2"):
        hear(cell, host, np_load_avg="0.5", mem_free="1.000K")
    assert records(cell, "host") == [["host", "h1", "X", "arch=lx-amd64,mem_free=1024.000000,np_load_avg=0.500000"]]


def test_a_host_that_reports_none_of_these_values_is_not_written(cell: Cell) -> None:
    reporting(cell)
    cell.configure("exec_host", "h1", report_variables="np_load_avg")
    cell.report("h1", Load(cell.now, {"mem_free": "1.000K"}, incarnation="boot1"))
    assert records(cell, "host") == []
