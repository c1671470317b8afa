"""Records of the share tree in the reporting file: a record of each node, at the interval that is asked for."""

from __future__ import annotations

import pytest

from gridengine.state.apply import apply
from gridengine.state.jobs import Usage
from gridengine.state.machines.usage import UsageCharged
from tests.harness import Cell

INTERVAL_S = 600
TREE = (("Root", 1, "1"), ("default", 10, "NONE"))


@pytest.fixture
def tree(cell: Cell) -> Cell:
    """A cell with one share tree leaf for all users; one user has used 4 s."""
    cell.add("user", "alice")
    nodes = [
        pair
        for number, (name, shares, below) in enumerate(TREE)
        for pair in [("id", str(number)), ("name", name), ("type", "0"), ("shares", str(shares)), ("childnodes", below)]
    ]
    attributes = [(name, value, line) for line, (name, value) in enumerate(nodes, 1)]
    answer = cell.admin("config_add", kind="share_tree", name="", attributes=attributes)
    assert answer.status == 0, answer.answers
    cell.configure("scheduler", "", halftime="0")
    cell.submit()
    apply(cell.state, UsageCharged([("alice", "", Usage(cpu=4.0, mem=2.0, io=1.0), cell.now)]))
    return cell


def reporting(cell: Cell, parameters: str) -> None:
    answer = cell.configure("configuration", "global", reporting_params=parameters)
    assert answer.status == 0, answer.answers


def records(cell: Cell) -> list[list[str]]:
    """The fields of all records of the share tree, behind time and type."""
    path = cell.directory / "reporting"
    lines = [line.split(":") for line in path.read_text().splitlines()] if path.exists() else []
    return [line[2:] for line in lines if line[1] == "sharelog"]


@pytest.mark.statement("RP-1")
def test_each_node_has_a_record_with_its_fields_in_the_order_of_8_1_9(tree: Cell) -> None:
    reporting(tree, "reporting=true sharelog=0:10:0")
    tree.pass_time(1)
    tree.pass_time(INTERVAL_S)
    now = str(int(tree.now))
    ones = ["1.000000"] * 2
    assert records(tree)[0][:7] == [now, now, "/", "", "", "1", "1"]
    assert records(tree)[2] == [
        now, now, "/default/alice", "alice", "", "10", "1", *ones, *ones, "1.000000", "4.000000",
        "4.000000", "2.000000", "1.000000", "4.000000", "2.000000", "1.000000", "",
    ]
    assert [record[2] for record in records(tree)] == ["/", "/default", "/default/alice"]


@pytest.mark.statement("RP-2")
def test_the_records_come_once_an_interval(tree: Cell) -> None:
    reporting(tree, "reporting=true sharelog=600")
    for _ in range(INTERVAL_S * 3 // 100 + 1):
        tree.pass_time(100)
    assert len(records(tree)) == 3 * 3


@pytest.mark.statement("RP-2")
@pytest.mark.parametrize("parameters", ["reporting=true", "reporting=true sharelog=0:0:0", "sharelog=0:10:0"])
def test_no_records_come_where_none_are_requested(tree: Cell, parameters: str) -> None:
    reporting(tree, parameters)
    for _ in range(3):
        tree.pass_time(INTERVAL_S)
    assert records(tree) == []


def test_a_cell_without_a_tree_has_none(cell: Cell) -> None:
    reporting(cell, "reporting=true sharelog=0:10:0")
    for _ in range(3):
        cell.pass_time(INTERVAL_S)
    assert records(cell) == []


@pytest.mark.statement("RP-1")
def test_the_records_survive_the_death_of_a_qmaster_before_the_write(tree: Cell) -> None:
    reporting(tree, "reporting=true sharelog=0:10:0")
    tree.pass_time(1)
    tree.master.publish = lambda transactions: None  # type: ignore[method-assign]
    tree.pass_time(INTERVAL_S)
    assert records(tree) == []
    tree.restart()
    assert len(records(tree)) == 3
