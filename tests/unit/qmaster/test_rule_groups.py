"""Rule-based host groups: members follow the attributes of hosts, with the same c and o as any group (HG-12)."""

from __future__ import annotations

import pytest

from gridengine.protocols.delivery import Load
from gridengine.state.state_codes import instance_state_codes
from tests.harness import LOAD, Cell
from tests.unit.qmaster.asking import attribute, entries, read, texts


@pytest.fixture
def gpus(cell: Cell) -> Cell:
    """A complex `gpu`, two of them on h1, and a queue on the group of hosts that have any."""
    row = {**cell.state.kind("complex")["h_rt"], "name": "gpu", "shortcut": "gpu", "type": "INT", "default": "0"}
    cell.admin("config_add", kind="complex", name="gpu", attributes=entries({**row, "consumable": "YES"}))
    attribute(cell, "modify", "exec_host", "h1", "complex_values", "gpu=2")
    cell.add("host_group", "@gpu", hostlist="NONE", rule="arch=lx-* & gpu>0")
    cell.add("cluster_queue", "gpu.q", hostlist="@gpu")
    return cell


def _instances(cell: Cell) -> list[str]:
    return sorted(name for name, found in cell.state.instances.items() if found.queue == "gpu.q" and not found.orphaned)


@pytest.mark.statement("HG-12", "HG-6", "CQ-28")
def test_members_follow_the_configuration_of_hosts(gpus: Cell) -> None:
    assert _instances(gpus) == ["gpu.q@h1"]
    attribute(gpus, "modify", "exec_host", "h2", "complex_values", "gpu=1")
    assert _instances(gpus) == ["gpu.q@h1", "gpu.q@h2"]
    attribute(gpus, "modify", "exec_host", "h1", "complex_values", "gpu=0")
    assert _instances(gpus) == ["gpu.q@h2"]
    gpus.configure("host_group", "@gpu", rule="arch=lx-*")
    assert _instances(gpus) == ["gpu.q@h1", "gpu.q@h2", "gpu.q@h3"]
    gpus.configure("host_group", "@gpu", rule="NONE", hostlist="h3")
    assert (_instances(gpus), gpus.state.rule_members) == (["gpu.q@h3"], {})


@pytest.mark.statement("HG-12")
def test_members_follow_load_reports_with_static_values(gpus: Cell) -> None:
    gpus.add("host_group", "@big", rule="num_proc>=8 & !hostname=h3")
    gpus.configure("cluster_queue", "gpu.q", hostlist="@big")
    assert _instances(gpus) == []
    for host in ("h2", "h3"):
        gpus.report(host, Load(gpus.now, {"num_proc": "16"}))
    assert _instances(gpus) == ["gpu.q@h2"]
    before = gpus.state.revision
    gpus.report("h2", Load(gpus.now, {"load_avg": "3"}))
    assert gpus.state.revision == before + 1, "a report without static values is not looked at"
    assert read(gpus, "config_show", kind="host_group", names=["@big"]).data[0]["rule_members"] == ["h2"]  # type: ignore[index]


@pytest.mark.statement("HG-12", "SP-3")
def test_a_silent_host_keeps_its_place(gpus: Cell) -> None:
    gpus.admin("change_states", action="disable", what="queue", targets=["gpu.q@h1"])
    gpus.master.lose_host("h1")
    attribute(gpus, "modify", "exec_host", "h2", "complex_values", "gpu=1")
    assert _instances(gpus) == ["gpu.q@h1", "gpu.q@h2"]
    gpus.master.flush()
    gpus.restart()
    assert _instances(gpus) == ["gpu.q@h1", "gpu.q@h2"]
    gpus.report("h1", Load(gpus.now, dict(LOAD), full=True, incarnation="boot1"))
    assert gpus.state.instances["gpu.q@h1"].disabled
    gpus.report("h1", Load(gpus.now, {"arch": "sol-sparc"}))
    assert _instances(gpus) == ["gpu.q@h2"]


@pytest.mark.statement("HG-12", "CQ-12", "CQ-29", "CQ-31", "HG-7")
def test_orphans_and_ambiguity_as_with_any_group(gpus: Cell) -> None:
    job = gpus.submit(hard_queues=["gpu.q"])
    gpus.cycle()
    attribute(gpus, "replace", "exec_host", "h1", "complex_values", "NONE")
    codes = lambda: instance_state_codes(gpus.state, gpus.state.instances["gpu.q@h1"])  # noqa: E731
    assert codes() == "o"
    attribute(gpus, "modify", "exec_host", "h1", "complex_values", "gpu=2")
    assert codes() == ""
    gpus.add("host_group", "@other", hostlist="h1")
    attribute(gpus, "modify", "cluster_queue", "gpu.q", "slots", "[@gpu=5],[@other=6]")
    assert codes() == "c"
    gpus.configure("host_group", "@other", hostlist="h3")
    attribute(gpus, "replace", "exec_host", "h1", "complex_values", "NONE")
    gpus.end(job)
    assert "gpu.q@h1" not in gpus.state.instances


@pytest.mark.statement("HG-12", "HG-11")
def test_all_hosts_may_be_a_rule(cell: Cell) -> None:
    cell.configure("host_group", "@allhosts", hostlist="NONE", rule="hostname=*")
    cell.add("exec_host", "h9", hostname="h9")
    assert "all.q@h9" in cell.state.instances
    cell.configure("host_group", "@allhosts", hostlist="NONE", rule="hostname=h[12]")
    assert sorted(cell.state.instances) == ["all.q@h1", "all.q@h2"]
    assert cell.admin("config_delete", kind="exec_host", name="h9").status == 0
    assert cell.state.kind("host_group")["@allhosts"]["rule"] == "hostname=h[12]"


@pytest.mark.statement("HG-12", "HG-4")
@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("load_avg>1", "changes all the time"),
        ("h_rt=1", "belongs to queues"),
        ("nosuch=1", '"nosuch" does not exist'),
        ("num_proc>", "position"),
        ("num_proc>many", "num_proc"),
        ("(" * 200 + "arch=a" + ")" * 200, "more than"),
    ],
)
def test_rules_that_cannot_be(cell: Cell, rule: str, reason: str) -> None:
    answer = cell.add("host_group", "@r", rule=rule)
    assert answer.status == 1
    assert reason in texts(answer)[0]
    assert not cell.state.has("host_group", "@r")


@pytest.mark.statement("HG-12", "HG-1", "OB-2")
def test_ordinary_groups_are_printed_as_ever(gpus: Cell) -> None:
    assert list(gpus.state.kind("host_group")["@allhosts"]) == ["group_name", "hostlist"]
    assert gpus.state.kind("host_group")["@gpu"]["rule"] == "arch=lx-* & gpu>0"
    answer = gpus.admin("config_delete", kind="complex", name="gpu")
    assert answer.status == 1, "the rule and a host name it"
