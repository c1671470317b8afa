"""Configuration at its edges: other names of hosts, complexes in use, changes of many objects and groups, warnings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness import Cell
from tests.unit.qmaster.asking import attribute, entries, queue_text, texts


def _complex(cell: Cell, **columns: str):  # type: ignore[no-untyped-def]
    row = {**cell.state.kind("complex")["h_rt"], "name": "lic", "shortcut": "l", "type": "INT", "default": "0"}
    row |= {"consumable": "YES", **columns}
    return cell.admin("config_add", kind="complex", name="lic", attributes=entries(row))


@pytest.mark.statement("QF-6", "QF-1")
def test_a_setting_for_a_host_that_nothing_knows_stays_one_for_that_host(cell: Cell) -> None:
    answer = attribute(cell, "modify", "cluster_queue", "all.q@nohost", "slots", "3")
    assert texts(answer, "warning") == ['unused setting for attribute "slots" and host "nohost" in queue "all.q".']
    assert queue_text(cell, "slots") == "4,[nohost=3]"


@pytest.mark.statement("CX-4")
def test_only_queues_have_settings_for_hosts(cell: Cell) -> None:
    answer = attribute(cell, "modify", "exec_host", "h1", "complex_values", "[h2=3]")
    assert answer.status == 1
    assert cell.state.kind("exec_host")["h1"]["complex_values"] == "NONE"


@pytest.mark.statement("US-5", "PR-13")
def test_a_user_who_was_made_beside_a_project_of_his_name_stays_changeable(cell: Cell) -> None:
    cell.add("project", "alice")
    assert texts(cell.add("user", "alice")) == ['denied: users and projects share their names, there is project "alice"']
    cell.configure("configuration", "global", enforce_user="auto")
    cell.submit()
    assert cell.configure("user", "alice", fshare="9").status == 0


def test_a_change_of_many_objects_says_what_became_of_each(cell: Cell) -> None:
    cell.add("user", "bob")
    cell.add("project", "old")
    bob, old = cell.state.kind("user")["bob"], cell.state.kind("project")["old"]
    changes = [
        {"kind": "user", "name": "bob", "before": bob, "after": {**bob, "fshare": "3"}},
        {"kind": "project", "name": "new", "before": None, "after": {**old, "name": "new"}},
        {"kind": "project", "name": "old", "before": old, "after": None},
    ]
    assert texts(cell.admin("config_change", changes=changes, plan=True)) == []
    assert cell.state.kind("user")["bob"] == bob
    answer = cell.admin("config_change", changes=changes)
    assert texts(answer) == [
        f"root@master {what}" for what in ('modified user "bob"', 'added project "new"', 'removed project "old"')
    ]
    again = cell.admin("config_change", changes=changes)
    assert texts(again, "error") == [
        f"denied: {what} is not any more what this change was made from"
        for what in ('project "new"', 'project "old"', 'user "bob"')
    ]


@pytest.mark.statement("GC-5", "HG-4", "QF-6")
def test_hosts_are_stored_by_their_unique_names(cell: Cell) -> None:
    cell.aliases = {"one": "h1", "two": "h2"}
    cell.add("host_group", "@g", hostlist="one h1 two")
    assert cell.state.kind("host_group")["@g"]["hostlist"] == "h1 h2", "each once"
    cell.add("cluster_queue", "x.q", hostlist="one @g", slots="4,[two=2],[@g=1]", seq_no="5")
    stored = cell.state.kind("cluster_queue")["x.q"]
    assert (stored["hostlist"], stored["slots"], stored["seq_no"]) == ("h1 @g", "4,[@g=1],[h2=2]", "5")
    assert attribute(cell, "modify", "cluster_queue", "x.q@one", "seq_no", "7").status == 0
    assert attribute(cell, "modify", "cluster_queue", "x.q@@g", "seq_no", "8").status == 0
    assert attribute(cell, "modify", "cluster_queue", "x.q", "seq_no", "6").status == 0
    assert queue_text(cell, "seq_no", "x.q") == "6,[@g=8],[h1=7]"
    cell.add("resource_quota", "rq", limit="name two users {*} to slots=3")
    assert attribute(cell, "modify", "resource_quota", "rq/two", "limit", "slots=2").status == 0, "no host's name"
    assert cell.state.kind("resource_quota")["rq"]["limit"] == "name two users {*} to slots=2"


@pytest.mark.statement("CX-16")
@pytest.mark.parametrize("wish", [{"hard": ["lic=1"]}, {"soft": ["lic=1"]}])
def test_a_complex_is_in_use_by_hard_and_by_soft_requests(cell: Cell, wish: dict[str, list[str]]) -> None:
    _complex(cell, consumable="NO")
    cell.submit()
    job = cell.submit(**wish)
    refusal = f'denied: complex attribute "lic" is still referenced in job {job}'
    assert texts(cell.admin("config_delete", kind="complex", name="lic")) == [refusal]


@pytest.mark.statement("CX-16", "CX-17")
def test_a_complex_that_one_task_of_an_array_still_holds_stays(cell: Cell) -> None:
    _complex(cell, default="1")
    attribute(cell, "modify", "exec_host", "global", "complex_values", "lic=1")
    job = cell.submit(tasks="1-2")
    cell.cycle()
    assert [cell.placed(job, task) != [] for task in (1, 2)] == [True, False]
    text = f'denied: type and consumable of complex attribute "lic" cannot be changed: job {job} requests it'
    assert texts(_complex(cell, default="1", type="DOUBLE")) == [text]
    slots = {**cell.state.kind("complex")["slots"], "urgency": "7"}
    assert cell.admin("config_add", kind="complex", name="slots", attributes=entries(slots)).status == 0


@pytest.mark.statement("CX-45", "CX-2")
def test_what_a_complex_was_given_must_be_a_value_of_its_new_type(cell: Cell) -> None:
    assert _complex(cell, consumable="NO", type="STRING", relop="==", default="NONE").status == 0
    attribute(cell, "modify", "exec_host", "h1", "complex_values", "lic=blue")
    attribute(cell, "modify", "cluster_queue", "all.q", "complex_values", "[h2=lic=red]")
    assert '"lic" is of the type INT' in texts(_complex(cell, consumable="NO"))[0]
    attribute(cell, "modify", "exec_host", "h1", "complex_values", "lic=1")
    assert '"lic" is of the type INT' in texts(_complex(cell, consumable="NO"))[0], "the queue's counts as well"
    attribute(cell, "modify", "cluster_queue", "all.q", "complex_values", "[h2=lic=2]")
    assert _complex(cell, consumable="NO").status == 0


@pytest.mark.statement("QC-34", "CX-45")
def test_only_what_there_is_of_a_consumable_has_an_end(cell: Cell) -> None:
    for name, value, status in (
        ("complex_values", "h_rt=INFINITY", 0),
        ("complex_values", "slots=INFINITY", 1),
        ("complex_values", "slots=0", 0),
        ("load_thresholds", "slots=-1", 0),
    ):
        assert attribute(cell, "replace", "cluster_queue", "all.q", name, value).status == status, (name, value)


@pytest.mark.statement("CQ-12", "CQ-13")
def test_a_change_of_groups_looks_at_every_queue(cell: Cell) -> None:
    for name in ("@a", "@b"):
        cell.add("host_group", name, hostlist="h1 h2 h3")
    cell.add("cluster_queue", "plain.q", hostlist="@b")
    cell.add("cluster_queue", "z.q", hostlist="@a", seq_no="0,[h3=1]")
    cell.add("cluster_queue", "y.q", hostlist="@a", seq_no="0,[h3=1]")
    assert texts(cell.configure("host_group", "@a", hostlist="h1"), "warning") == [
        f'unused setting for attribute "seq_no" and host "h3" in queue "{name}".' for name in ("z.q", "y.q")
    ]
    assert texts(cell.configure("host_group", "@b", hostlist="h1"), "warning") == []


@pytest.mark.statement("CQ-13")
@pytest.mark.parametrize(("hosts", "shown"), [(5, "h1 h2 h3 h4 h5"), (6, "h1 h2 h3 h4 h5 and 1 more")])
def test_five_ambiguous_hosts_are_named(tmp_path: Path, hosts: int, shown: str) -> None:
    cell = Cell(tmp_path, hosts=hosts)
    for name in ("@a", "@b"):
        cell.add("host_group", name, hostlist=" ".join(cell.names))
    (text,) = texts(cell.configure("cluster_queue", "all.q", seq_no="0,[@a=1],[@b=2]"), "warning")
    assert text.endswith(f"for hosts: {shown}")
