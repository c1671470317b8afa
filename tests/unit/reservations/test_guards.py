"""Changes of the configuration that would break a reservation are refused; the same changes elsewhere are not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gridengine.protocols.gdi.requests import Answer
from gridengine.state.state_codes import instance_state_codes
from tests.unit.reservations.conftest import ReservingCell

Change = Callable[[ReservingCell, str], Answer]


@pytest.fixture
def both(cell: ReservingCell) -> ReservingCell:
    """Two equal queues: t.q with a reservation of alice and bob, u.q without a reservation."""
    cell.complex("lic INT <= YES YES 0")
    for prefix in "tu":
        cell.add("parallel_environment", f"{prefix}_pe", pe_name=f"{prefix}_pe", slots="8", allocation_rule="$fill_up")
        cell.add("checkpoint", f"{prefix}_ck", ckpt_name=f"{prefix}_ck")
        cell.add("calendar", f"{prefix}_cal", calendar_name=f"{prefix}_cal", year="NONE", week="NONE")
        cell.admin("change_users", verb="add", users=["alice", "bob"], lists=[f"{prefix}_users"])
        for name in ("pe", "host"):
            cell.admin("change_users", verb="add", users=["alice", "bob"], lists=[f"{prefix}_{name}_users"])
        cell.add(
            "cluster_queue",
            f"{prefix}.q",
            hostlist="h1" if prefix == "t" else "h2",
            slots="8",
            load_thresholds="NONE",
            pe_list=f"{prefix}_pe",
            ckpt_list=f"{prefix}_ck",
            calendar=f"{prefix}_cal",
            user_lists=f"{prefix}_users",
            complex_values="lic=8",
        )
    request = {"hard_queues": ["t.q"], "pe": "t_pe", "pe_range": "4", "checkpoint": "t_ck", "hard": ["lic=1"]}
    cell.qrsub(users=["alice", "bob"], at=100, duration=36000, **request)
    return cell


def _queue(**changes: str) -> Change:
    return lambda cell, prefix: cell.configure(
        "cluster_queue", f"{prefix}.q", **{name: value.replace("X", prefix) for name, value in changes.items()}
    )


CHANGES: dict[str, tuple[str, Change]] = {
    "pe_list": ("AR-70", _queue(pe_list="NONE")),
    "pe slots": ("AR-71", lambda cell, x: cell.configure("parallel_environment", f"{x}_pe", slots="3")),
    "ckpt_list": ("AR-72", _queue(ckpt_list="NONE")),
    "xuser_lists": ("AR-73", _queue(xuser_lists="X_host_users")),
    "pe acl": (
        "AR-73",
        lambda cell, x: cell.configure("parallel_environment", f"{x}_pe", xuser_lists=f"{x}_pe_users"),
    ),
    "host acl": (
        "AR-73",
        lambda cell, x: cell.configure("exec_host", "h1" if x == "t" else "h2", xuser_lists=f"{x}_host_users"),
    ),
    "du": ("AR-74", lambda cell, x: cell.admin("change_users", verb="delete", users=["bob"], lists=[f"{x}_users"])),
    "slots": ("AR-75", _queue(slots="3")),
    "complex_values": ("AR-76", _queue(complex_values="lic=3")),
    "complex_values gone": ("AR-76", _queue(complex_values="NONE")),
    "calendar off": (
        "AR-77",
        lambda cell, x: cell.configure("calendar", f"{x}_cal", week="mon-sun=0-24=off"),
    ),
    "qtype": ("AR-82", _queue(qtype="NONE", pe_list="NONE")),
    "dq": ("AR-79", lambda cell, x: cell.admin("config_delete", kind="cluster_queue", name=f"{x}.q")),
}


#: of each change: the object that is named, and the reason
REASONS = {
    "pe_list": ('changing cluster queue "t.q" would', 'PE "t_pe" is not in PE list'),
    "pe slots": ('changing parallel environment "t_pe" would', "4 slots of it are reserved"),
    "ckpt_list": ('changing cluster queue "t.q" would', 'checkpointing environment "t_ck" is not in its list'),
    "xuser_lists": ('changing cluster queue "t.q" would', 'has no permission for cluster queue "t.q"'),
    "pe acl": ('changing parallel environment "t_pe" would', 'PE "t_pe" is not in PE list'),
    "host acl": ('changing exechost "h1" would', 'has no permission for host "h1"'),
    "du": ('changing userset "t_users" would', 'has no permission for cluster queue "t.q"'),
    "slots": ('changing cluster queue "t.q" would', "4 of slots are reserved at t.q@h1"),
    "complex_values": ('changing cluster queue "t.q" would', "4 of lic are reserved at t.q@h1"),
    "complex_values gone": ('changing cluster queue "t.q" would', "job requests unknown resource (lic)"),
    "calendar off": ('changing calendar "t_cal" would', "queue is calendar disabled in selected time frame"),
    "qtype": ('changing cluster queue "t.q" would', 'PE "t_pe" is not in PE list'),
    "dq": ('cluster queue "t.q" is used by', "advance reservation 1"),
}


@pytest.mark.statement("AR-70", "AR-71", "AR-72", "AR-73", "AR-74", "AR-75", "AR-76", "AR-77", "AR-79", "AR-81", "AR-82")
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_refused_where_something_is_reserved_and_until_it_is_deleted(
    both: ReservingCell, name: str
) -> None:
    _, change = CHANGES[name]
    before = both.state.snapshot()
    refused = change(both, "t")
    assert refused.status == 1
    assert "advance reservation 1" in refused.answers[0][1], refused.answers
    assert refused.answers[0][1].startswith(f"denied: {REASONS[name][0]}")
    assert refused.answers[0][1].endswith(REASONS[name][1])
    assert both.state.snapshot() == before, "a refused change leaves no trace"
    assert change(both, "u").status == 0
    both.qdel_ar(1)
    assert change(both, "t").status == 0


@pytest.mark.statement("AR-75", "AR-76", "AR-71", "AR-77")
def test_unreserved_capacity_may_be_removed(both: ReservingCell) -> None:
    assert both.configure("cluster_queue", "t.q", slots="4", complex_values="lic=4").status == 0
    assert both.configure("parallel_environment", "t_pe", slots="4").status == 0
    assert both.configure("calendar", "t_cal", year="20.1.2027=off").status == 0
    assert both.configure("calendar", "t_cal", year="15.1.2027=off").status == 1


@pytest.mark.statement("AR-77")
def test_hours_that_have_passed_do_not_count(cell: ReservingCell) -> None:
    cell.add("calendar", "cal", year="NONE", week="NONE")
    cell.configure("cluster_queue", "all.q", calendar="cal")
    cell.qrsub(duration=3 * 3600)
    cell.wait(7200)
    assert cell.configure("calendar", "cal", year="15.1.2027=8-9=off").status == 0
    assert cell.configure("calendar", "cal", year="15.1.2027=8-11=off").status == 1


@pytest.mark.statement("AR-74")
@pytest.mark.parametrize("user", ["@some", "!@some"])
def test_a_list_that_a_reservation_names_is_kept(cell: ReservingCell, user: str) -> None:
    cell.admin("change_users", verb="add", users=["bob"], lists=["some"])
    number = cell.qrsub(users=["alice", user])
    answer = cell.admin("config_delete", kind="userset", name="some")
    assert answer.status == 1
    assert f"advance reservation {number}" in answer.answers[0][1]
    cell.qdel_ar(number)
    assert cell.admin("config_delete", kind="userset", name="some").status == 0


@pytest.mark.statement("AR-76", "AR-78")
def test_capacities_of_hosts_and_the_cluster_are_guarded_too(cell: ReservingCell) -> None:
    for line in ("lic INT <= YES YES 0", "disk INT <= YES YES 0", "spare INT <= YES YES 0"):
        cell.complex(line)
    cell.configure("exec_host", "global", complex_values="lic=9,spare=1")
    cell.configure("exec_host", "h1", complex_values="disk=10")
    number = cell.qrsub(hard=["lic=3", "disk=4"], hard_queues=["*@h1"])
    assert cell.configure("exec_host", "global", complex_values="lic=2,spare=1").status == 1
    assert cell.configure("exec_host", "h1", complex_values="disk=3").status == 1
    assert cell.configure("exec_host", "h1", complex_values="NONE").status == 1
    rows = dict(cell.state.kind("complex"))
    del rows["spare"]
    for name in ("lic", "disk"):
        changed = {**cell.state.kind("complex")[name], "consumable": "JOB"}
        entries = [(a, v, 1) for a, v in changed.items()]
        answer = cell.admin("config_add", kind="complex", name=name, attributes=entries)
        assert f"advance reservation {number}" in answer.answers[0][1]
    assert cell.configure("exec_host", "global", complex_values="lic=3").status == 0
    assert cell.configure("exec_host", "h1", complex_values="disk=4").status == 0


@pytest.mark.statement("AR-71", "AR-72", "AR-79")
def test_objects_that_a_reservation_uses_stay(both: ReservingCell) -> None:
    both.admin("change_users", verb="add", users=["alice"], lists=["team"])
    both.qrsub(users=["@team"], hard_queues=["all.q"])
    for kind, name in (("userset", "team"), ("exec_host", "h1"), ("parallel_environment", "t_pe")):
        answer = both.admin("config_delete", kind=kind, name=name)
        assert answer.status == 1, (kind, answer.answers)
    assert "advance reservation 2" in both.admin("config_delete", kind="userset", name="team").answers[0][1]


@pytest.mark.statement("AR-80", "CQ-30")
def test_a_reserved_instance_that_is_no_longer_configured_serves_on_as_an_orphan(cell: ReservingCell) -> None:
    number = cell.qrsub(hard_queues=["all.q@h1"])
    assert cell.configure("host_group", "@allhosts", hostlist="h2 h3").status == 0
    assert instance_state_codes(cell.state, cell.state.instances["all.q@h1"]) == "o"
    cell.restart()
    assert instance_state_codes(cell.state, cell.state.instances["all.q@h1"]).endswith("o")
    from gridengine.protocols.delivery import Load
    from tests.harness import LOAD

    for host in cell.names:
        cell.report(host, Load(cell.now, dict(LOAD), full=True, incarnation="boot1"))
    inside, outside = cell.submit(ar=number), cell.submit(hard=["hostname=h1"])
    cell.cycle()
    assert cell.placed(inside) == [("all.q@h1", 1)]
    assert not cell.placed(outside)
    assert cell.starts[-1].queue == cell.state.configs["all.q@h1"].execution
    cell.qdel_ar(number)
    assert cell.state.instances["all.q@h1"].orphaned, "its job is still there"
    cell.end(inside, exit_status=137)
    cell.tick()
    assert "all.q@h1" not in cell.state.instances
    assert number not in cell.state.reservations


@pytest.mark.statement("AR-81")
def test_a_reservation_that_is_broken_already_forbids_nothing_new(both: ReservingCell) -> None:
    # broken by something that no guard sees: the state is written by hand
    both.state.objects["cluster_queue"]["t.q"]["slots"] = "1"
    from gridengine.state.apply import apply
    from gridengine.state.machines.configuration import ObjectSet

    apply(both.state, ObjectSet("cluster_queue", "t.q", dict(both.state.objects["cluster_queue"]["t.q"])))
    assert both.configure("cluster_queue", "t.q", notify="0:1:0").status == 0


@pytest.mark.statement("AR-80", "AR-76")
def test_the_grants_beside_an_orphan_are_guarded_on_the_other_hosts(cell: ReservingCell) -> None:
    cell.add("parallel_environment", "two", pe_name="two", slots="99", allocation_rule="2")
    cell.configure("cluster_queue", "all.q", pe_list="two")
    cell.qrsub(pe="two", pe_range="6")
    cell.configure("host_group", "@allhosts", hostlist="h2 h3")
    assert cell.state.instances["all.q@h1"].orphaned
    refused = cell.configure("cluster_queue", "all.q", slots="1")
    assert "would break advance reservation 1: 2 of slots are reserved at all.q@h" in refused.answers[0][1]
    assert cell.configure("cluster_queue", "all.q", slots="2").status == 0


@pytest.mark.statement("AR-78", "AR-76")
def test_a_refusal_names_the_most_that_is_reserved_at_a_time(cell: ReservingCell) -> None:
    cell.add("parallel_environment", "wide", pe_name="wide", slots="99", allocation_rule="$pe_slots")
    cell.configure("cluster_queue", "all.q", pe_list="wide")
    request = {"pe": "wide", "hard_queues": ["all.q@h1"]}
    for slots, at in ((2, 100), (3, 4000), (4, 8000)):
        cell.qrsub(pe_range=str(slots), at=at, **request)
    long = cell.qrsub(pe_range="1", at=12000, duration=3600, **request)
    refused = cell.configure("cluster_queue", "all.q", slots="1")
    assert refused.status == 1
    assert [text.rpartition(" reservation ")[2] for _, text in refused.answers] == ["1: 2 of slots are reserved at all.q@h1"]
    assert long in cell.state.reservations
    for number in (1, 2):
        cell.qdel_ar(number)
    refused = cell.configure("cluster_queue", "all.q", slots="3")
    assert refused.answers[0][1].endswith("reservation 3: 4 of slots are reserved at all.q@h1")


@pytest.mark.statement("AR-70", "HG-10")
def test_a_group_that_a_reservation_asks_for_among_other_queues_is_guarded(cell: ReservingCell) -> None:
    cell.add("host_group", "@first", hostlist="h1")
    cell.add("cluster_queue", "a.q", hostlist="h3", seq_no="10")
    number = cell.qrsub(hard_queues=["all.q@@first", "a.q"])
    assert list(cell.granted(number)) == ["all.q@h1"]
    answer = cell.configure("host_group", "@first", hostlist="h2")
    assert answer.answers[0][1].startswith(f'denied: changing host group "@first" would break advance reservation {number}')
    cell.add("host_group", "@other", hostlist="h1")
    assert cell.configure("host_group", "@other", hostlist="h2").status == 0
