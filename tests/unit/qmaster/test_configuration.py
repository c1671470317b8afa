"""Configuration through the qmaster: rights, references in both directions, all or nothing."""

from __future__ import annotations

import pytest

from gridengine.state.state_codes import instance_state_codes
from tests.harness import Cell


@pytest.mark.statement("QF-36", "QF-38", "SE-2")
def test_only_managers_on_admin_hosts_change(cell: Cell) -> None:
    fields = {"kind": "manager", "name": "alice"}
    assert cell.ask("config_add", "alice", "h1", **fields).answers == [
        ("error", 'denied: "alice" must be manager for this operation')
    ]
    assert cell.ask("config_add", "root", "elsewhere", **fields).answers == [
        ("error", 'denied: host "elsewhere" is not an admin host')
    ]
    assert cell.admin("config_add", **fields).answers == [("info", 'root@master added "alice" to manager list')]
    assert cell.ask("config_add", "alice", "h1", kind="operator", name="bob").status == 0


@pytest.mark.statement("QF-37")
@pytest.mark.parametrize(
    ("kind", "name", "listing"),
    [
        ("cluster_queue", "x.q", "cluster queue list"),
        ("host_group", "@x", "host group list"),
        ("parallel_environment", "xpe", "parallel environment list"),
        ("calendar", "xcal", "calendar list"),
        ("userset", "xus", "userset list"),
        ("project", "xpr", "project list"),
        ("user", "xuu", "user list"),
        ("checkpoint", "xck", "checkpoint interface list"),
    ],
)
def test_adding_modifying_and_removing_give_the_known_messages(
    cell: Cell, kind: str, name: str, listing: str
) -> None:
    assert cell.add(kind, name).answers == [("info", f'root@master added "{name}" to {listing}')]
    assert cell.add(kind, name).answers[0][1].endswith(f'"{name}" already exists')
    assert cell.configure(kind, name).answers == [("info", f'root@master modified "{name}" in {listing}')]
    deleted = {"host_group": "host group entry list", "checkpoint": "checkpointing environment list"}
    assert cell.admin("config_delete", kind=kind, name=name).answers == [
        ("info", f'root@master removed "{name}" from {deleted.get(kind, listing)}')
    ]
    again = cell.admin("config_delete", kind=kind, name=name)
    assert (again.status, again.answers[0][1][-16:]) == (1, '" does not exist')


@pytest.mark.statement("CQ-33", "GD-2")
@pytest.mark.parametrize(
    ("attribute", "value", "reason"),
    [
        ("pe_list", "nosuch", 'parallel environment "nosuch" does not exist'),
        ("ckpt_list", "nosuch", 'checkpoint interface "nosuch" does not exist'),
        ("user_lists", "nosuch", 'userset "nosuch" does not exist'),
        ("projects", "nosuch", 'project "nosuch" does not exist'),
        ("calendar", "nosuch", 'calendar "nosuch" does not exist'),
        ("complex_values", "nosuch=1", "nosuch"),
        ("hostlist", "nohost", 'unable to resolve host "nohost"'),
        ("hostlist", "@nosuch", '"@nosuch" does not exist'),
        ("subordinate_list", "nosuch=1", '"nosuch" does not exist'),
        ("slots", "abc", "slots"),
        ("slots", "[h1=2]", "default"),
    ],
)
def test_a_queue_that_violates_integrity_is_refused_and_nothing_changes(
    cell: Cell, attribute: str, value: str, reason: str
) -> None:
    before = dict(cell.state.objects["cluster_queue"]["all.q"])
    answer = cell.configure("cluster_queue", "all.q", **{attribute: value})
    assert answer.status == 1
    assert reason in answer.answers[0][1]
    assert cell.state.objects["cluster_queue"]["all.q"] == before


@pytest.mark.statement("US-8", "HG-9", "QF-11", "QF-23")
@pytest.mark.parametrize(
    ("kind", "name", "user"),
    [
        ("parallel_environment", "make", 'cluster queue "all.q"'),
        ("host_group", "@allhosts", 'cluster queue "all.q"'),
        ("exec_host", "h1", 'host group "@allhosts"'),
    ],
)
def test_an_object_in_use_is_not_removed(cell: Cell, kind: str, name: str, user: str) -> None:
    answer = cell.admin("config_delete", kind=kind, name=name)
    assert answer.status == 1
    assert user in answer.answers[0][1]
    assert cell.state.has(kind, name)


@pytest.mark.statement("QF-11")
def test_a_queue_with_jobs_is_not_removed(cell: Cell) -> None:
    job = cell.submit()
    cell.cycle()
    assert "still has jobs" in cell.admin("config_delete", kind="cluster_queue", name="all.q").answers[0][1]
    cell.end(job)
    assert cell.admin("config_delete", kind="cluster_queue", name="all.q").status == 0
    assert cell.state.instances == {}


@pytest.mark.statement("HG-3")
def test_a_cycle_of_host_groups_is_refused(cell: Cell) -> None:
    cell.add("host_group", "@a", hostlist="h1")
    cell.add("host_group", "@b", hostlist="@a")
    answer = cell.configure("host_group", "@a", hostlist="@b")
    assert answer.status == 1
    assert "contain itself" in answer.answers[0][1]


@pytest.mark.statement("CQ-12", "CQ-14", "CQ-15", "CQ-17", "HG-7")
def test_state_c_comes_with_ambiguity_and_goes_with_it(cell: Cell) -> None:
    cell.add("host_group", "@a", hostlist="h1 h2")
    cell.add("host_group", "@b", hostlist="h2 h3")
    cell.configure("cluster_queue", "all.q", slots="1,[@a=2],[@b=3]")
    codes = lambda: {n: instance_state_codes(cell.state, i) for n, i in cell.state.instances.items()}  # noqa: E731
    assert codes() == {"all.q@h1": "", "all.q@h2": "c", "all.q@h3": ""}
    assert cell.state.configs["all.q@h2"].slots == 1
    cell.configure("cluster_queue", "all.q", slots="1,[@a=2],[@b=3],[h2=9]")
    assert codes()["all.q@h2"] == ""
    cell.configure("cluster_queue", "all.q", slots="1,[@a=2],[@b=3]")
    cell.configure("host_group", "@b", hostlist="h3")
    assert codes()["all.q@h2"] == ""


@pytest.mark.statement("CQ-16")
def test_state_c_keeps_new_jobs_out_and_lets_old_ones_run(cell: Cell) -> None:
    cell.configure("host_group", "@allhosts", hostlist="h1")
    job = cell.submit()
    cell.cycle()
    cell.add("host_group", "@a", hostlist="h1")
    cell.add("host_group", "@b", hostlist="h1")
    cell.configure("cluster_queue", "all.q", slots="5,[@a=2],[@b=3]")
    later = cell.submit()
    cell.cycle()
    assert cell.placed(job)
    assert not cell.placed(later)


@pytest.mark.statement("QC-38")
def test_initial_state_of_a_new_instance(cell: Cell) -> None:
    cell.add("cluster_queue", "x.q", hostlist="h1 h2", initial_state="default,[h2=disabled]", pe_list="NONE")
    assert instance_state_codes(cell.state, cell.state.instances["x.q@h2"]) == "d"
    assert instance_state_codes(cell.state, cell.state.instances["x.q@h1"]) == ""


@pytest.mark.statement("QF-1", "QF-3", "QF-4", "QF-5", "QF-39")
def test_attribute_verbs_on_queue_domain_and_instance(cell: Cell) -> None:
    change = lambda verb, name, attribute, value: cell.admin(  # noqa: E731
        "config_attributes", verb=verb, kind="cluster_queue", name=name, changes=[(attribute, value)]
    )
    text = lambda attribute: cell.state.objects["cluster_queue"]["all.q"][attribute]  # noqa: E731
    change("modify", "all.q@@allhosts", "slots", "7")
    change("modify", "all.q@h2", "slots", "9")
    assert text("slots") == "4,[@allhosts=7],[h2=9]"
    change("delete", "all.q", "pe_list", "make nosuch")
    assert text("pe_list") == "smp mpi"
    change("add", "all.q", "pe_list", "make,smp")
    assert text("pe_list") == "smp mpi make"
    change("modify", "all.q", "load_thresholds", "np_load_avg=2")
    change("add", "all.q", "load_thresholds", "mem_free=1M")
    assert text("load_thresholds") == "np_load_avg=2,mem_free=1M"
    change("replace", "all.q", "load_thresholds", "NONE")
    assert text("load_thresholds") == "NONE"
    assert change("modify", "all.q", "nosuch", "1").status == 1
    assert change("modify", "all.q", "qname", "x").status == 1
    assert change("modify", "nosuch", "slots", "1").status == 1


@pytest.mark.statement("HG-10")
def test_attribute_verbs_on_host_groups(cell: Cell) -> None:
    cell.admin("config_attributes", verb="delete", kind="host_group", name="@allhosts", changes=[("hostlist", "h3")])
    assert sorted(cell.state.instances) == ["all.q@h1", "all.q@h2"]
    cell.admin("config_attributes", verb="add", kind="host_group", name="@allhosts", changes=[("hostlist", "h3")])
    assert "all.q@h3" in cell.state.instances


@pytest.mark.statement("QF-24", "QF-25")
def test_protected_objects_cannot_be_removed(cell: Cell) -> None:
    assert "master host" in cell.admin("config_delete", kind="admin_host", name="master").answers[0][1]
    assert cell.admin("config_delete", kind="submit_host", name="master").status == 0, "no host for submission alone"
    assert cell.admin("config_delete", kind="manager", name="root").status == 1
    assert cell.admin("config_add", kind="admin_host", name="h1").status == 0, "adding again is tolerated"


@pytest.mark.statement("SP-3", "SP-7", "IN-2")
def test_configuration_survives_a_restart(cell: Cell) -> None:
    cell.add("host_group", "@a", hostlist="h1")
    cell.configure("cluster_queue", "all.q", slots="1,[@a=2]")
    cell.admin("change_states", action="disable", what="queue", targets=["all.q@h3"])
    objects = cell.state.objects
    cell.restart()
    assert cell.state.objects == objects
    assert cell.state.configs["all.q@h1"].slots == 2
    assert instance_state_codes(cell.state, cell.state.instances["all.q@h3"]) == "du"


@pytest.mark.statement("QF-18", "QF-19", "CX-14", "CX-16")
def test_the_complex_table_changes_in_one_step(cell: Cell) -> None:
    table = lambda rows: [(a, v, 1) for row in rows.values() for a, v in row.items()]  # noqa: E731
    rows = {name: dict(text) for name, text in cell.state.objects["complex"].items()}
    new = {**rows["h_rt"], "name": "lic", "shortcut": "lic", "type": "INT", "consumable": "YES", "default": "0"}
    modify = lambda rows: cell.admin("config_modify", kind="complex", name="", attributes=table(rows))  # noqa: E731
    assert modify(rows).answers == [("info", "Complex attribute configuration has not been changed")]
    assert modify({**rows, "lic": new}).answers == [("info", 'root@master added "lic" to complex entry list')]
    cell.configure("exec_host", "h1", complex_values="lic=3")
    assert 'exechost "h1"' in modify(rows).answers[0][1]
    assert modify({name: row for name, row in rows.items() if name != "slots"}).status == 1
    assert cell.state.has("complex", "slots")
    cell.configure("exec_host", "h1", complex_values="NONE")
    assert modify(rows).answers == [("info", 'root@master removed "lic" from complex list')]
