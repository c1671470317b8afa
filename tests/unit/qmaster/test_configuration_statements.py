"""Statements about queues, instances, groups, requests and the spool that one cell in this process can show."""

from __future__ import annotations

from typing import Any

import apsw
import pytest

from gridengine.state.events import decode_events
from gridengine.state.state_codes import instance_state_codes
from tests.harness import Cell
from tests.unit.qmaster.asking import attribute, entries, queue_text, read, texts


def _instances(cell: Cell, queue: str) -> list[str]:
    return sorted(name for name in cell.state.instances if name.startswith(f"{queue}@"))


def _codes(cell: Cell, instance: str) -> str:
    return instance_state_codes(cell.state, cell.state.instances[instance])


def _journal(cell: Cell) -> list[Any]:
    """The events of the last transaction as they are on disk."""
    rows = apsw.Connection(str(cell.directory / "spool.db")).execute("select events from journal order by revision desc limit 1")
    return decode_events(next(iter(rows))[0])


@pytest.mark.statement("CQ-1", "CQ-4", "CQ-5", "CQ-6")
def test_a_host_list_gives_one_instance_a_host(cell: Cell) -> None:
    cell.add("cluster_queue", "x.q", hostlist="NONE")
    assert _instances(cell, "x.q") == []
    cell.add("host_group", "@g", hostlist="h1 h2")
    assert cell.configure("cluster_queue", "x.q", hostlist="h1,@g h3").status == 0
    assert _instances(cell, "x.q") == ["x.q@h1", "x.q@h2", "x.q@h3"], "h1 is reached twice and counts once"
    assert cell.configure("cluster_queue", "x.q", hostlist="h1 h1").status == 1




@pytest.fixture
def seeds(cell: Cell) -> Cell:
    """The hosts of the examples: linux1, linux2 and solaris1, the first two in the groups of the fourth."""
    resolve = cell.master.world().resolve_host
    world = cell.master.world

    def known():  # type: ignore[no-untyped-def]
        found = world()
        found.resolve_host = lambda name: name if name in ("linux", "linux1", "linux2", "solaris1") else resolve(name)
        return found

    cell.master.world = known
    cell.add("host_group", "@linux", hostlist="linux1 linux2")
    cell.add("host_group", "@all_linux", hostlist="linux1 linux2")
    return cell


@pytest.mark.statement("CQ-20", "CQ-18", "CQ-19")
def test_example_1_of_the_seed_has_a_detached_setting(seeds: Cell) -> None:
    answer = seeds.add("cluster_queue", "bq", hostlist="solaris1 linux1", seq_no="0,[solaris1=1],[linux=2]")
    assert answer.status == 0
    assert 'attribute "seq_no" and host "linux" in queue "bq"' in texts(answer, "warning")[0]
    assert ["bq", "seq_no", "linux", False] in read(seeds, "config_detached").data  # type: ignore[operator]
    assert seeds.state.configs["bq@solaris1"].seq_no == 1


@pytest.mark.statement("CQ-21", "CQ-8")
def test_example_2_of_the_seed_lacks_a_default(seeds: Cell) -> None:
    answer = seeds.add("cluster_queue", "bq", hostlist="solaris1 linux1", seq_no="[solaris1=1],[linux1=2]")
    assert answer.status == 1
    assert '"seq_no"' in texts(answer)[0]
    assert "default" in texts(answer)[0]


@pytest.mark.statement("CQ-22", "CQ-9", "CQ-10")
def test_example_3_of_the_seed_has_three_levels(seeds: Cell) -> None:
    seeds.add("cluster_queue", "bq", hostlist="solaris1 @linux", seq_no="0,[@linux=1],[linux1=2]")
    assert [seeds.state.configs[f"bq@{host}"].seq_no for host in ("solaris1", "linux1", "linux2")] == [0, 2, 1]


@pytest.mark.statement("CQ-23", "X-3", "CQ-12", "CQ-14")
def test_example_4_of_the_seed_is_ambiguous(seeds: Cell) -> None:
    answer = seeds.add("cluster_queue", "bq", hostlist="solaris1 @linux", seq_no="5,[@linux=1],[@all_linux=2]")
    assert answer.status == 0
    assert [_codes(seeds, f"bq@{host}") for host in ("solaris1", "linux1", "linux2")] == ["u", "uc", "uc"]
    assert seeds.state.configs["bq@linux1"].seq_no == 5


@pytest.mark.statement("CQ-11", "X-2")
def test_the_same_identifier_twice_is_refused(cell: Cell) -> None:
    answer = cell.configure("cluster_queue", "all.q", slots="1,[h1=2],[h1=3]")
    assert answer.status == 1
    assert '"h1" has more than one value' in texts(answer)[0]


@pytest.mark.statement("CQ-28", "CQ-29", "CQ-31", "HG-6", "QI-11")
def test_hosts_leave_and_come_back(cell: Cell) -> None:
    job = cell.submit(hard_queues=["all.q@h1"])
    cell.cycle()
    cell.configure("host_group", "@allhosts", hostlist="h3")
    assert _instances(cell, "all.q") == ["all.q@h1", "all.q@h3"]
    assert _codes(cell, "all.q@h1") == "o"
    later = cell.submit(hard_queues=["all.q@h1"])
    cell.cycle()
    assert not cell.placed(later)
    cell.configure("host_group", "@allhosts", hostlist="h1 h3")
    assert _codes(cell, "all.q@h1") == ""
    cell.cycle()
    assert cell.placed(later)
    cell.configure("host_group", "@allhosts", hostlist="h3")
    cell.end(job)
    assert _codes(cell, "all.q@h1") == "o"
    cell.end(later)
    assert _instances(cell, "all.q") == ["all.q@h3"]


@pytest.mark.statement("CQ-32", "HG-7")
def test_a_change_is_in_all_instances_at_once(cell: Cell) -> None:
    attribute(cell, "modify", "cluster_queue", "all.q", "shell", "/bin/bash")
    assert {config.text["shell"] for config in cell.state.configs.values()} == {"/bin/bash"}
    cell.add("host_group", "@g", hostlist="NONE")
    attribute(cell, "modify", "cluster_queue", "all.q@@g", "slots", "9")
    cell.configure("host_group", "@g", hostlist="h2")
    assert [cell.state.configs[f"all.q@h{number}"].slots for number in (1, 2, 3)] == [4, 9, 4]


@pytest.mark.statement("QC-1", "GD-3")
def test_a_queue_keeps_its_name(cell: Cell) -> None:
    text = {**cell.state.kind("cluster_queue")["all.q"], "qname": "other.q"}
    answer = cell.admin("config_modify", kind="cluster_queue", name="all.q", attributes=entries(text))
    assert (answer.status, texts(answer)) == (1, ['denied: cluster queue "other.q" does not exist'])
    assert attribute(cell, "modify", "cluster_queue", "all.q", "qname", "other.q").status == 1
    removed = cell.admin("config_delete", kind="cluster_queue", name="all.q")
    assert removed.status == 0, "deletion takes nothing but the name"


@pytest.mark.statement("GD-1", "GD-4", "QF-9", "QC-42", "QC-43")
def test_a_queue_is_added_as_a_whole_and_read_with_or_without_instances(cell: Cell) -> None:
    text = {**read(cell, "config_template", kind="cluster_queue").data, "qname": "x.q", "hostlist": "h1"}  # type: ignore[dict-item]
    missing = {key: value for key, value in text.items() if key != "slots"}
    add = lambda text: cell.admin("config_add", kind="cluster_queue", name="x.q", attributes=entries(text))  # noqa: E731
    refused = add(missing)
    assert (refused.status, '"slots": the attribute is missing' in texts(refused)[0]) == (1, True)
    assert add(text).status == 0
    shown = read(cell, "config_show", kind="cluster_queue", names=["x.q"]).data
    assert shown == [{"name": "x.q", "attributes": text}]
    select = {"select": {"queues": ["x.q"]}}
    instances = read(cell, "status", queues=select).data["queues"]  # type: ignore[index]
    assert [instance["name"] for instance in instances] == ["x.q@h1"]
    both = read(cell, "status", queues=select, queue_configurations={"queues": ["x.q"]}).data
    assert {"queues", "queue_configurations"} == both.keys()  # type: ignore[attr-defined]


@pytest.mark.statement("GD-5", "QF-1", "QF-3", "QF-4", "QF-5")
def test_the_four_sub_commands_on_a_list(cell: Cell) -> None:
    queue = lambda verb, value: attribute(cell, verb, "cluster_queue", "all.q", "load_thresholds", value)  # noqa: E731
    queue("replace", "np_load_avg=1,mem_free=1G")
    queue("add", "np_load_avg=2,load_avg=9")
    assert queue_text(cell, "load_thresholds") == "np_load_avg=2,mem_free=1G,load_avg=9", "equal keys are overwritten"
    queue("modify", "mem_free=3G,cpu=1")
    assert queue_text(cell, "load_thresholds") == "np_load_avg=2,mem_free=3G,load_avg=9,cpu=1", "missing ones are added"
    assert queue("delete", "mem_free,swap_free").status == 0
    assert queue_text(cell, "load_thresholds") == "np_load_avg=2,load_avg=9,cpu=1", "missing ones are ignored"


@pytest.mark.statement("QF-2")
@pytest.mark.parametrize(
    ("kind", "name", "attribute_name", "value"),
    [
        ("cluster_queue", "all.q", "pe_list", "make"),
        ("exec_host", "h1", "complex_values", "slots=3"),
        ("host_group", "@allhosts", "hostlist", "h1"),
        ("parallel_environment", "make", "user_lists", "arusers"),
        ("user", "x", "fshare", "3"),
        ("project", "x", "acl", "arusers"),
        ("calendar", "x", "week", "mon=off"),
        ("userset", "arusers", "entries", "alice"),
        ("checkpoint", "x", "ckpt_dir", "/var"),
        ("resource_quota", "x", "enabled", "TRUE"),
    ],
)
def test_attribute_verbs_work_on_every_kind(
    cell: Cell, kind: str, name: str, attribute_name: str, value: str
) -> None:
    if name == "x":
        cell.add(kind, name)
    assert attribute(cell, "replace", kind, name, attribute_name, value).status == 0
    assert cell.state.kind(kind)[name][attribute_name] == value


@pytest.mark.statement("GD-7", "QN-8")
def test_triggers_by_queue_domain_instance_and_wildcard(cell: Cell) -> None:
    cell.add("host_group", "@g", hostlist="h1 h2")
    for target, disabled in [("all.q@h3", 1), ("all.q@@g", 3)]:
        cell.admin("change_states", action="disable", what="queue", targets=[target])
        assert sum(found.disabled for found in cell.state.instances.values()) == disabled
    cell.admin("change_states", action="enable", what="queue", targets=["*@h[12]"])
    assert [name for name, found in sorted(cell.state.instances.items()) if found.disabled] == ["all.q@h3"]


@pytest.mark.statement("GD-8", "HG-8", "HG-9", "CQ-33")
def test_a_group_is_checked_with_its_instances_first(cell: Cell) -> None:
    before = cell.state.snapshot()
    for hosts in ("h1 nohost", "h1 @nosuch", "@allhosts"):
        assert cell.configure("host_group", "@allhosts", hostlist=hosts).status == 1
    assert cell.admin("config_delete", kind="host_group", name="@allhosts").status == 1
    assert cell.state.snapshot() == before


@pytest.mark.statement("SP-1", "SP-2")
def test_states_of_instances_are_stored_apart_from_their_queue(cell: Cell) -> None:
    cell.admin("change_states", action="disable", what="queue", targets=["all.q"])
    names = {type(event).__name__ for event in _journal(cell)}
    assert names == {"InstanceFlagsChanged"}
    cell.configure("cluster_queue", "all.q", slots="3")
    events = _journal(cell)
    assert [(type(event).__name__, event.kind, event.name) for event in events] == [
        ("ObjectSet", "cluster_queue", "all.q")
    ]


@pytest.mark.statement("SP-6", "HG-6")
def test_a_change_of_a_group_is_one_transaction_on_disk(cell: Cell) -> None:
    revision = cell.state.revision
    cell.configure("host_group", "@allhosts", hostlist="h1 h8 h9")
    assert cell.state.revision == revision + 1
    assert {event.name for event in _journal(cell)} == {"h8", "h9", "@allhosts"}
    instances = set(cell.state.instances)
    cell.restart()
    assert set(cell.state.instances) == instances == {"all.q@h1", "all.q@h8", "all.q@h9"}


@pytest.mark.statement("CQ-32")
def test_a_change_to_the_tuple_of_a_host_resolves_that_host_alone(
    cell: Cell, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gridengine.config.queue_resolution import ResolvableQueue

    cell.add("host_group", "@g", hostlist="h2 h3")
    resolved: list[str] = []
    resolve = ResolvableQueue.resolve

    def noting(self, host, groups):  # type: ignore[no-untyped-def]
        resolved.append(host)
        return resolve(self, host, groups)

    def after(change: str) -> list[str]:
        resolved.clear()
        from gridengine.state.apply import apply
        from gridengine.state.machines.configuration import ObjectSet

        text = {**cell.state.kind("cluster_queue")["all.q"], "slots": change}
        apply(cell.state, ObjectSet("cluster_queue", "all.q", text))
        return sorted(resolved)

    monkeypatch.setattr(ResolvableQueue, "resolve", noting)
    assert after("4,[h1=5]") == ["h1"]
    assert after("4,[h1=5],[@g=6]") == ["h2", "h3"]
    assert after("4,[@g=6]") == ["h1"]
    assert after("3,[@g=6]") == ["h1", "h2", "h3"]
    assert [cell.state.configs[f"all.q@h{number}"].slots for number in (1, 2, 3)] == [3, 6, 6]


@pytest.mark.statement("OB-7", "OB-3", "OB-5")
def test_other_objects_meet_in_the_queue(cell: Cell) -> None:
    for kind, name, attribute_name in [
        ("calendar", "c", "calendar"),
        ("project", "p", "projects"),
        ("userset", "dept", "user_lists"),
    ]:
        assert attribute(cell, "modify", "cluster_queue", "all.q", attribute_name, name).status == 1
        cell.add(kind, name)
        assert attribute(cell, "modify", "cluster_queue", "all.q", attribute_name, name).status == 0
    assert "make" in queue_text(cell, "pe_list")


@pytest.mark.statement("QI-12", "QI-4", "QI-6", "QI-3")
def test_states_are_shown_together(cell: Cell) -> None:
    cell.admin("change_states", action="disable", what="queue", targets=["all.q@h1"])
    cell.admin("change_states", action="suspend", what="queue", targets=["all.q@h1"])
    cell.master.lose_host("h1")
    assert _codes(cell, "all.q@h1") == "dus"


@pytest.mark.statement("QF-38", "QF-37")
def test_several_names_are_answered_one_by_one(cell: Cell) -> None:
    lines = [
        texts(cell.admin("config_add", kind="manager", name=name))[0] for name in ("joe", "root")
    ]
    assert lines == ['root@master added "joe" to manager list', 'manager "root" already exists']
    lines = [texts(cell.admin("config_delete", kind="manager", name=name))[0] for name in ("joe", "zoe")]
    assert lines == ['root@master removed "joe" from manager list', 'denied: manager "zoe" does not exist']


@pytest.mark.statement("US-1", "US-2", "US-3")
@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("user", ["name", "oticket", "fshare", "delete_time", "default_project"]),
        ("project", ["name", "oticket", "fshare", "acl", "xacl"]),
        ("userset", ["name", "type", "fshare", "oticket", "entries"]),
    ],
)
def test_users_projects_and_lists_have_these_attributes(cell: Cell, kind: str, attributes: list[str]) -> None:
    assert list(read(cell, "config_template", kind=kind).data) == attributes  # type: ignore[call-overload]
