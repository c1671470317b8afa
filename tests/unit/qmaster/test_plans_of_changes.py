"""A plan of a change set shows its effect on queue instances, and changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness import Cell
from tests.unit.qmaster.asking import texts

NOTHING: dict[str, Any] = {
    what: [] for what in ("appear", "go", "orphaned", "revived", "settled", "changed", "ambiguous")
}


def change(cell: Cell, kind: str, name: str, **attributes: str) -> dict[str, Any]:
    before = cell.state.kind(kind)[name]
    return {"kind": kind, "name": name, "before": before, "after": {**before, **attributes}}


def planned(cell: Cell, *changes: dict[str, Any]) -> dict[str, Any]:
    """The parts of a plan about instances, without empty parts."""
    before = cell.state.snapshot()
    answer = cell.admin("config_change", changes=list(changes), plan=True)
    assert (answer.status, answer.answers, cell.state.snapshot()) == (0, [], before)
    data: Any = answer.data
    assert data["refused"] == []
    return {what: found for what, found in data["instances"].items() if found}


def carried_out(cell: Cell, *changes: dict[str, Any]) -> None:
    assert cell.admin("config_change", changes=list(changes)).status == 0


@pytest.mark.statement("CQ-28", "CQ-29", "CQ-30")
def test_instances_appear_go_become_orphans_and_come_back(cell: Cell) -> None:
    for host in ("h1", "h3"):
        cell.submit(hard_queues=[f"all.q@{host}"])
    cell.cycle()
    only_h9 = change(cell, "host_group", "@allhosts", hostlist="h9")
    assert planned(cell, only_h9) == {
        "appear": ["all.q@h9"],
        "go": ["all.q@h2"],
        "orphaned": ["all.q@h1", "all.q@h3"],
    }
    carried_out(cell, only_h9)
    assert planned(cell, change(cell, "host_group", "@allhosts", hostlist="h9 h1")) == {"revived": ["all.q@h1"]}
    assert planned(cell, change(cell, "cluster_queue", "all.q", seq_no="7")) == {"changed": ["all.q@h9"]}


@pytest.mark.statement("CQ-19", "CQ-13")
def test_plans_list_new_and_resolved_ambiguities(cell: Cell) -> None:
    for name in ("@a", "@b"):
        cell.add("host_group", name, hostlist="h3 h1")
    both = change(cell, "cluster_queue", "all.q", seq_no="0,[@a=1],[@b=2]", hostlist="h3 h2 h1")
    conflict = ["seq_no", ["@a", "@b"]]
    assert planned(cell, both)["ambiguous"] == [["all.q@h1", *conflict], ["all.q@h3", *conflict]]
    carried_out(cell, both)
    assert planned(cell, change(cell, "cluster_queue", "all.q", notify="0:1:0")) == {
        "changed": ["all.q@h1", "all.q@h2", "all.q@h3"]
    }, "what is ambiguous already is no news"
    priority = change(cell, "cluster_queue", "all.q", priority="0,[@a=1],[@b=2]")
    assert [found[1] for found in planned(cell, priority)["ambiguous"]] == ["priority", "priority"]
    less = change(cell, "cluster_queue", "all.q", hostlist="h2 h3")
    assert planned(cell, less, change(cell, "host_group", "@a", hostlist="h1")) == {
        "go": ["all.q@h1"],
        "settled": ["all.q@h3"],
        "changed": ["all.q@h3"],
    }


@pytest.mark.statement("HG-12", "CQ-28")
def test_the_members_of_a_group_by_its_rule_are_planned_as_well(cell: Cell) -> None:
    cell.add("host_group", "@some", hostlist="NONE", rule="hostname=h1")
    cell.add("cluster_queue", "some.q", hostlist="@some")
    wider = change(cell, "host_group", "@some", rule="hostname=h1 | hostname=h2")
    assert planned(cell, wider) == {"appear": ["some.q@h2"]}


def test_a_setting_for_a_host_changes_only_its_instance(cell: Cell) -> None:
    cell.add("cluster_queue", "other.q", hostlist="h1 h2")
    assert planned(cell, change(cell, "cluster_queue", "all.q", slots="4,[h2=1]")) == {"changed": ["all.q@h2"]}


def test_a_plan_of_what_is_so_already_has_nothing_to_say(cell: Cell) -> None:
    same = change(cell, "cluster_queue", "all.q")
    assert cell.admin("config_change", changes=[same], plan=True).data == {"refused": [], "warnings": [], "instances": {}}
    slower = cell.admin("config_change", changes=[change(cell, "exec_host", "h1", load_scaling="la=2")], plan=True)
    assert slower.data == {"refused": [], "warnings": [], "instances": NOTHING}


@pytest.mark.statement("CQ-33", "CQ-12")
def test_a_plan_names_refusals_and_warnings(cell: Cell) -> None:
    wrong = [
        change(cell, "cluster_queue", "all.q", pe_list="nosuch"),
        {"kind": "project", "name": "p", "before": {"name": "p"}, "after": None},
    ]
    text = 'denied: project "p" has been changed since this change was made'
    assert cell.admin("config_change", changes=wrong, plan=True).data["refused"] == [text]
    missing = cell.admin("config_change", changes=wrong[:1], plan=True).data
    assert ["nosuch" in line for line in missing["refused"]] == [True] and missing["instances"] == {}
    unused = cell.admin("config_change", changes=[change(cell, "cluster_queue", "all.q", slots="4,[h8=1]")], plan=True)
    assert unused.data["warnings"] == ['unused setting for attribute "slots" and host "h8" in queue "all.q".']


@pytest.mark.statement("QF-24")
def test_of_several_wrong_changes_each_is_refused_and_none_is_made(cell: Cell) -> None:
    gone = {"kind": "exec_host", "name": "global", "before": cell.state.kind("exec_host")["global"], "after": None}
    answer = cell.admin("config_change", changes=[change(cell, "cluster_queue", "all.q", pe_list="nosuch"), gone])
    assert (answer.status, len(texts(answer, "error")), texts(answer, "info")) == (1, 2, [])
    assert cell.state.kind("cluster_queue")["all.q"]["pe_list"] != "nosuch" and cell.state.has("exec_host", "global")
