"""Guards at their limits: complexes, several queues and hosts, groups by rule, orphans, and the amounts that count at each
time."""

from __future__ import annotations

import pytest

from gridengine.protocols.gdi.requests import Answer
from tests.unit.reservations.conftest import ReservingCell


def texts(answer: Answer) -> list[str]:
    return [text for _, text in answer.answers]


@pytest.fixture
def wide(cell: ReservingCell) -> ReservingCell:
    """A cell with a PE that takes any number of slots on one host, and a PE that takes one slot of each host."""
    for name, rule in (("wide", "$pe_slots"), ("thin", "1")):
        cell.add("parallel_environment", name, pe_name=name, slots="99", allocation_rule=rule)
    cell.configure("cluster_queue", "all.q", pe_list="wide thin")
    return cell


@pytest.mark.statement("AR-76", "AR-78", "CX-16")
def test_a_complex_stays_as_it_is_where_a_reservation_names_it(cell: ReservingCell) -> None:
    for name in ("lic", "spare"):
        cell.complex(f"{name} INT <= YES YES 0")
    cell.configure("exec_host", "global", complex_values="lic=9")
    number = cell.qrsub(hard=["lic=3"])
    remove = lambda name: texts(cell.admin("config_delete", kind="complex", name=name))  # noqa: E731
    assert remove("lic") == [f'denied: complex attribute "lic" is used by advance reservation {number}']
    row = {**cell.state.kind("complex")["spare"], "consumable": "JOB"}
    changed = cell.admin("config_add", kind="complex", name="spare", attributes=[(a, v, 1) for a, v in row.items()])
    assert changed.status == 0
    assert remove("spare") == ['root@master removed "spare" from complex list']


@pytest.mark.statement("AR-79", "AR-82")
def test_each_queue_and_host_of_a_reservation_is_kept(wide: ReservingCell) -> None:
    wide.add("cluster_queue", "b.q", hostlist="h2", pe_list="thin")
    wide.configure("cluster_queue", "all.q", hostlist="h1")
    number = wide.qrsub(pe="thin", pe_range="2")
    assert sorted(wide.granted(number)) == ["all.q@h1", "b.q@h2"]
    remove = lambda kind, name: texts(wide.admin("config_delete", kind=kind, name=name))  # noqa: E731
    for name in ("all.q", "b.q"):
        assert remove("cluster_queue", name) == [f'denied: cluster queue "{name}" is used by advance reservation {number}']
    for name in ("all.q", "b.q"):
        wide.configure("cluster_queue", name, hostlist="NONE")
    for name in ("h1", "h2"):
        wide.configure("host_group", "@allhosts", hostlist="h3")
        assert remove("exec_host", name) == [f'denied: exechost "{name}" is used by advance reservation {number}']


@pytest.mark.statement("AR-75", "HG-12")
def test_hosts_that_would_join_a_group_by_its_rule_are_checked(wide: ReservingCell) -> None:
    wide.add("host_group", "@few", hostlist="NONE", rule="hostname=h2")
    wide.configure("cluster_queue", "all.q", slots="4,[@few=1]")
    number = wide.qrsub(pe="wide", pe_range="3", hard_queues=["all.q@h1"])
    refused = wide.configure("host_group", "@few", rule="hostname=h1")
    text = f'denied: changing host group "@few" would break advance reservation {number}: 3 of slots are reserved at all.q@h1'
    assert texts(refused) == [text]
    assert wide.configure("host_group", "@few", rule="hostname=h3").status == 0


@pytest.mark.statement("AR-75", "QC-41")
def test_jobs_outside_do_not_count_as_reserved(wide: ReservingCell) -> None:
    wide.qrsub(at=5000, pe="wide", pe_range="2", hard_queues=["all.q@h1"])
    for _ in range(3):
        wide.submit(hard_queues=["all.q@h1"])
    wide.cycle()
    assert wide.configure("cluster_queue", "all.q", slots="2").status == 0
    assert wide.configure("cluster_queue", "all.q", slots="1").status == 1


@pytest.mark.statement("AR-80")
def test_an_orphan_goes_on_with_what_was_reserved_there(wide: ReservingCell) -> None:
    wide.qrsub(pe="wide", pe_range="3", hard_queues=["all.q@h1"])
    assert wide.configure("cluster_queue", "all.q", hostlist="h2 h3").status == 0
    assert wide.configure("cluster_queue", "all.q", slots="1").status == 0


@pytest.mark.statement("AR-74")
def test_users_removed_from_a_reservation_no_longer_need_access(cell: ReservingCell) -> None:
    cell.admin("change_users", verb="add", users=["alice", "bob"], lists=["team"])
    cell.configure("cluster_queue", "all.q", user_lists="team")
    cell.qrsub(users=["@team"])
    assert cell.admin("change_users", verb="delete", users=["bob"], lists=["team"]).status == 0
    cell.qrsub(users=["alice"])
    assert cell.admin("change_users", verb="delete", users=["alice"], lists=["team"]).status == 1


@pytest.mark.statement("AR-75", "AR-82")
def test_of_a_long_window_the_fullest_part_is_named(wide: ReservingCell) -> None:
    request = {"pe": "wide", "hard_queues": ["all.q@h1"]}
    for at, duration, slots in ((100, 900, 1), (200, 100, 3), (400, 100, 2), (600, 100, 2)):
        wide.qrsub(at=at, duration=duration, pe_range=str(slots), **request)
    refused = wide.configure("cluster_queue", "all.q", slots="2")
    text = "denied: changing cluster queue \"all.q\" would break advance reservation 1: 4 of slots are reserved at all.q@h1"
    assert texts(refused) == [text]


@pytest.mark.statement("AR-75", "AR-82")
@pytest.mark.parametrize("full_at", [100, 300])
def test_reservations_before_or_after_a_window_do_not_break_it(wide: ReservingCell, full_at: int) -> None:
    request = {"pe": "wide", "hard_queues": ["all.q@h1"]}
    wide.qrsub(at=200, duration=100, pe_range="1", **request)
    full = wide.qrsub(at=full_at, duration=100, pe_range="4", **request)
    refused = texts(wide.configure("cluster_queue", "all.q", slots="2"))
    assert [text.partition(" would break ")[2] for text in refused] == [
        f"advance reservation {full}: 4 of slots are reserved at all.q@h1"
    ]
