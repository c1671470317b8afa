"""Configuration at its edges: other names of hosts, complexes in use, changes of many objects and groups, warnings."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridengine.config import KINDS
from gridengine.protocols.delivery import Load
from gridengine.usage.failed import RESCHEDULED
from tests.harness import LOAD, Cell
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


def test_a_change_of_many_objects_reports_the_outcome_of_each(cell: Cell) -> None:
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
        f"denied: {what} has been changed since this change was made"
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
@pytest.mark.parametrize("requests", [{"hard": ["lic=1"]}, {"soft": ["lic=1"]}])
def test_a_complex_is_in_use_by_hard_and_by_soft_requests(cell: Cell, requests: dict[str, list[str]]) -> None:
    _complex(cell, consumable="NO")
    cell.submit()
    job = cell.submit(**requests)
    refusal = f'denied: complex attribute "lic" is still referenced in job {job}'
    assert texts(cell.admin("config_delete", kind="complex", name="lic")) == [refusal]


@pytest.mark.statement("CX-16")
def test_a_complex_of_an_ended_attempt_can_be_removed(cell: Cell) -> None:
    """The default of the attribute was taken while the task ran."""
    _complex(cell, default="1")
    attribute(cell, "modify", "exec_host", "global", "complex_values", "lic=9")
    job = cell.submit()
    cell.cycle()
    cell.end(job, exit_status=99, failed=RESCHEDULED)
    assert cell.state.task(job, 1).status == "pending"
    attribute(cell, "replace", "exec_host", "global", "complex_values", "NONE")
    assert cell.admin("config_delete", kind="complex", name="lic").status == 0


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
def test_configured_values_must_fit_the_new_type_of_a_complex(cell: Cell) -> None:
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


@pytest.mark.statement("LS-5", "CX-45")
def test_a_load_value_of_any_type_is_scaled_by_any_number(cell: Cell) -> None:
    assert cell.configure("exec_host", "h1", load_scaling="p=0.5,la=2").status == 0
    assert cell.state.kind("exec_host")["h1"]["load_scaling"] == "num_proc=0.500000,load_avg=2.000000"


@pytest.mark.statement("QF-26", "QF-33")
def test_unchanged_objects_are_not_written_again(cell: Cell) -> None:
    cell.admin("change_users", verb="add", users=["bob"], lists=["some"])
    before = cell.state.revision
    again = cell.admin("change_users", verb="add", users=["bob"], lists=["some"])
    assert again.answers == [("error", '"bob" is already in access list "some"')]
    assert cell.configure("cluster_queue", "all.q").status == 0
    assert cell.state.revision == before


@pytest.mark.statement("QF-24")
def test_a_name_that_cannot_be_is_not_blamed_on_a_line(cell: Cell) -> None:
    for kind in ("admin_host", "manager"):
        answer = cell.admin("config_add", kind=kind, name="a b")
        assert answer.status == 1 and not texts(answer)[0].startswith("line"), answer


@pytest.mark.statement("CX-2")
def test_a_shortcut_means_one_complex_only(cell: Cell) -> None:
    assert texts(_complex(cell, shortcut="a"))[0].endswith('"a" is already the name or shortcut of "arch"')
    assert not cell.state.has("complex", "lic")


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


@pytest.mark.statement("CQ-12", "CQ-13")
def test_a_group_that_changes_beside_other_objects_is_looked_at_as_well(cell: Cell) -> None:
    cell.add("host_group", "@a", hostlist="h1 h3")
    cell.add("user", "bob")
    cell.add("cluster_queue", "z.q", hostlist="@a", seq_no="0,[h3=1]")
    cell.add("cluster_queue", "plain.q", hostlist="@a")
    changes = []
    for kind, name, more in (("user", "bob", {"fshare": "3"}), ("host_group", "@a", {"hostlist": "h1"})):
        before = cell.state.kind(kind)[name]
        changes.append({"kind": kind, "name": name, "before": before, "after": {**before, **more}})
    answer = cell.admin("config_change", changes=changes)
    assert texts(answer, "warning") == ['unused setting for attribute "seq_no" and host "h3" in queue "z.q".']


@pytest.mark.statement("CQ-28", "QF-11")
def test_a_host_that_is_new_with_its_queue_keeps_its_values(cell: Cell) -> None:
    queue = {**cell.state.kind("cluster_queue")["all.q"], "qname": "new.q", "hostlist": "h9 h8"}
    host = {**cell.state.kind("exec_host")["h1"], "hostname": "h9", "complex_values": "slots=2"}
    changes = [
        {"kind": "project", "name": "p", "before": None, "after": {**KINDS["project"].template("p").attributes()}},
        {"kind": "cluster_queue", "name": "new.q", "before": None, "after": queue},
        {"kind": "exec_host", "name": "h9", "before": None, "after": host},
    ]
    assert cell.admin("config_change", changes=changes).status == 0
    hosts = cell.state.kind("exec_host")
    assert [hosts[name]["complex_values"] for name in ("h9", "h8")] == ["slots=2", "NONE"]


@pytest.mark.statement("CQ-13")
@pytest.mark.parametrize(("hosts", "shown"), [(5, "h1 h2 h3 h4 h5"), (6, "h1 h2 h3 h4 h5 and 1 more")])
def test_five_ambiguous_hosts_are_named(tmp_path: Path, hosts: int, shown: str) -> None:
    cell = Cell(tmp_path, hosts=hosts)
    for name in ("@a", "@b"):
        cell.add("host_group", name, hostlist=" ".join(cell.names))
    (text,) = texts(cell.configure("cluster_queue", "all.q", seq_no="0,[@a=1],[@b=2]"), "warning")
    assert text.endswith(f"for hosts: {shown}")


@pytest.mark.statement("GC-5", "HG-4")
def test_an_exec_host_keeps_its_name_although_it_resolves_to_another(cell: Cell) -> None:
    cell.aliases = {"h2": "h1", "h3": None}  # type: ignore[dict-item]
    answer = cell.add("cluster_queue", "x.q", hostlist="h2 h3", slots="1,[h2=2]")
    assert answer.status == 0, texts(answer)
    stored = cell.state.kind("cluster_queue")["x.q"]
    assert (stored["hostlist"], stored["slots"]) == ("h2 h3", "1,[h2=2]")


@pytest.mark.statement("GC-1", "QF-37")
def test_a_configuration_without_a_name_is_that_of_the_cluster(cell: Cell) -> None:
    text = {**cell.state.kind("configuration")["global"], "max_jobs": "7"}
    answer = cell.admin("config_modify", kind="configuration", name="", attributes=entries(text))
    assert texts(answer) == ['root@master modified "global" in configuration list']
    assert cell.state.configuration().max_jobs == 7


@pytest.mark.statement("QF-37")
@pytest.mark.parametrize(
    ("kind", "name", "status"), [("user", "u", 1), ("admin_host", "h1", 0), ("submit_host", "h1", 0), ("exec_host", "h1", 1)]
)
def test_existing_objects_are_refused_except_bare_hosts(cell: Cell, kind: str, name: str, status: int) -> None:
    cell.add("user", "u")
    answer = cell.admin("config_add", kind=kind, name=name, attributes=[])
    if kind in ("user", "exec_host"):
        answer = cell.add(kind, name)
    assert (answer.status, texts(answer)[0].endswith(f'"{name}" already exists')) == (status, True)


@pytest.mark.statement("US-8", "QF-21")
def test_the_pe_that_a_running_job_got_by_a_pattern_stays(cell: Cell) -> None:
    for name in ("mpi", "other"):
        cell.add("parallel_environment", name, pe_name=name, slots="9")
    cell.configure("cluster_queue", "all.q", pe_list="mpi")
    job = cell.submit(pe="m*", pe_range="1")
    cell.cycle()
    assert cell.placed(job)
    cell.configure("cluster_queue", "all.q", pe_list="NONE")
    remove = lambda name: texts(cell.admin("config_delete", kind="parallel_environment", name=name))  # noqa: E731
    assert remove("mpi") == [f'denied: parallel environment "mpi" is still referenced in job {job}']
    assert remove("other") == ['root@master removed "other" from parallel environment list']


@pytest.mark.statement("US-8", "HG-9")
def test_of_several_users_of_an_object_the_first_is_named(cell: Cell) -> None:
    cell.add("userset", "some", entries="bob")
    for name in ("a.q", "b.q"):
        cell.add("cluster_queue", name, hostlist="h1", user_lists="some")
    answer = cell.admin("config_delete", kind="userset", name="some")
    assert texts(answer) == ['denied: userset "some" is still referenced in cluster queue "a.q"']


@pytest.mark.statement("CX-14")
@pytest.mark.parametrize("value", ["NONE", "none", "np_load_avg", "nla,arch"])
def test_report_variables_by_name_or_shortcut(cell: Cell, value: str) -> None:
    assert cell.configure("exec_host", "h1", report_variables=value).status == 0
    kept = {"nla,arch": "np_load_avg,arch"}.get(value, value)
    assert cell.state.kind("exec_host")["h1"]["report_variables"].lower() == kept.lower()


@pytest.mark.statement("SI-1", "SI-2")
@pytest.mark.parametrize(
    ("attribute", "text"), [("qmaster_params", "SIMULATE_EXECDS=TRUE"), ("execd_params", "SIMULATE_JOBS=TRUE")]
)
def test_nothing_is_simulated(cell: Cell, attribute: str, text: str) -> None:
    """The parameters are accepted; jobs need a reachable host, and last until it reports their end, whatever the argument of
    the parameters is."""
    assert cell.configure("configuration", "global", **{attribute: text}).status == 0
    cell.pass_time(600)
    cell.report("h1", Load(cell.now, dict(LOAD), full=True, incarnation="boot2"))
    silent, heard = cell.submit(hard=["h=h2"], args=["1"]), cell.submit(hard=["h=h1"], args=["1"])
    cell.cycle()
    cell.pass_time(60)
    assert (cell.placed(silent), cell.placed(heard)) == ([], [("all.q@h1", 1)])
    cell.end(heard)
    assert [record.failed for record in cell.records(heard)] == ["0"]
