"""Removal of configuration objects: objects in use stay, objects that only share a name go."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import Cell
from tests.unit.qmaster.asking import texts


def remove(cell: Cell, kind: str, name: str) -> list[str]:
    return texts(cell.admin("config_delete", kind=kind, name=name))


@pytest.mark.statement("QF-23", "US-8")
def test_objects_may_share_the_name_of_what_is_in_use(cell: Cell) -> None:
    cell.add("parallel_environment", "mpi", pe_name="mpi", slots="9")
    cell.configure("cluster_queue", "all.q", pe_list="mpi")
    cell.submit(hard_queues=["all.q@h1"], pe="mpi", pe_range="1")
    cell.cycle()
    for name in ("h1", "global", "mpi"):
        cell.add("project", name)
        assert remove(cell, "project", name) == [f'root@master removed "{name}" from project list']
    assert remove(cell, "submit_host", "h1") == ['root@master removed "h1" from submit host list']


@pytest.mark.statement("QF-11")
def test_of_the_instances_of_a_queue_with_jobs_the_first_by_name_is_named(tmp_path: Path) -> None:
    cell = Cell(tmp_path, hosts=9)
    for host in reversed(cell.names):
        cell.submit(hard_queues=[f"all.q@{host}"])
    cell.cycle()
    assert remove(cell, "cluster_queue", "all.q") == ['denied: cluster queue "all.q" still has jobs in "all.q@h1"']


@pytest.mark.statement("QF-24", "QF-25")
@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        ("admin_host", "master", 'denied: can\'t delete master host "master" from admin host list'),
        ("manager", "root", 'may not remove user "root" from manager list'),
        ("operator", "root", 'may not remove user "root" from operator list'),
        ("exec_host", "global", "can't delete exechost \"global\" from list"),
        ("scheduler", "", "denied: the scheduler configuration cannot be removed"),
    ],
)
def test_without_these_there_is_no_cell(cell: Cell, kind: str, name: str, text: str) -> None:
    cell.add("operator", "root")
    assert remove(cell, kind, name) == [text]
    assert cell.state.has(kind, name)
